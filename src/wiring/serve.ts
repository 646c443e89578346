import type { FarJobs } from "../application/ports/chat.ts";
import type { Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { ModelCall } from "../application/ports/models-meter.ts";
import { createSignIn } from "../application/serve/access.ts";
import { openReloadableChat, type Server } from "../application/serve/server.ts";
import { createCommitGuard } from "../application/serve/take-work.ts";
import { resolveLocale } from "../domain/texts/locale.ts";
import { serveMessagesFor } from "../domain/texts/serve.ts";
import { workspaceName } from "../infrastructure/fleet/workspace-name.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";
import { createOwnerNames } from "../infrastructure/platform/process-table.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { createAccessStore } from "../infrastructure/serve/access-store.ts";
import { liveAddress } from "../infrastructure/serve/live-address.ts";
import { takeAsMigrated } from "../infrastructure/store/schema.ts";
import { type HandDeps, type ListenDeps, randomBytes } from "./serve-state.ts";
import { type Environment, openServices } from "./services.ts";
import type { Telemetry } from "./telemetry.ts";

/** Opens everything that `serve` runs; nothing listens yet. */
export async function openServe(
  env: Environment,
  { demo, ...options }: OpenOptions & { readonly demo: boolean },
  hand: HandDeps | null = null,
): Promise<Opening<Server>> {
  const services = await openServices(env, options);
  if (!services.ok) return services;
  const { config, home, now } = services;
  const stored = await services.openStore({ given: hand?.lentStore(services), migrate: hand === null });
  if (!stored.ok) return stored;
  const { db } = stored;
  if (hand !== null) takeAsMigrated(db);
  const late: { telemetry: Telemetry | null } = { telemetry: null };
  const far: ListenDeps["far"] = { jobs: null };
  const guard = createCommitGuard(
    () => performance.now(),
    (ms) => new Promise((resolve) => void timers.after(ms, resolve)),
  );
  const owners = createOwnerNames(process.pid);
  const owner = owners.next();
  const { openChat } = await import("./chat.ts");
  const chatParts = {
    db,
    process: owner,
    mayCommit: guard.mayCommit,
    onModelCall: (call: ModelCall) =>
      hand === null ? late.telemetry?.tracer.asked(call) : hand.noteCall(call),
    farJobs: (async (asker, jobId) => (await far.jobs?.(asker, jobId)) ?? null) satisfies FarJobs,
  };
  const state = await openReloadableChat(
    () => openChat(env, options, chatParts),
    (current) => resolveLocale({ env, config: current }),
  );
  if (!state.ok) {
    await db.destroy();
    return state;
  }
  const mask = (text: string) => state.current().workspace.mask(text);
  const { otlp_endpoint: collector } = config.telemetry;
  // The front follows the messages of its hands.
  if (collector !== null && hand === null)
    late.telemetry = (await import("./telemetry.ts")).openTelemetry({ ...services, mask }, collector);
  const { telemetry } = late;
  const access = await createAccessStore(db, now);
  const sha256 = (text: string) => hashHex("sha256", text);
  const words = () => serveMessagesFor(state.current().locale);
  const opened: ListenDeps = {
    services,
    demo,
    db,
    state,
    access,
    workspaceName: workspaceName({ ...services, root: state.current().workspace.root }),
    owner,
    owners,
    words,
    guard,
    far,
    telemetry,
    hand,
  };
  return {
    ok: true,
    ...state.current(),
    words,
    access,
    signIn: createSignIn({ access, sha256, random: randomBytes, now }),
    liveAddress: () => liveAddress(home),
    close: async () => {
      await telemetry?.tracing.close();
      await state.close();
      await db.destroy();
    },
    listen: async (at) => (await import("./serve-listen.ts")).listenAndServe(opened, at),
    join: async (at) => (await import("./serve-work.ts")).joinFleet(opened, at),
  };
}
