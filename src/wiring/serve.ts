import type { FarJobs } from "../application/chat/chat-turn.ts";
import type { ModelCall } from "../application/models/meter.ts";
import type { Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import { createSignIn } from "../application/serve/access.ts";
import type { Server } from "../application/serve/server.ts";
import { createCommitGuard } from "../application/serve/take-work.ts";
import { resolveLocale } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import { serveMessagesFor } from "../domain/texts/serve.ts";
import { createOwnerNames } from "../infrastructure/engine/process-table.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { createAccessStore } from "../infrastructure/serve/access-store.ts";
import { liveAddress } from "../infrastructure/serve/live-address.ts";
import { workspaceNameOf } from "./chat-memory.ts";
import { openServeState, type ServeDeps } from "./serve-state.ts";
import { openOwnStore } from "./store.ts";
import type { Telemetry } from "./telemetry.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const now = () => new Date();
const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
const sha256 = (text: string) => hashHex("sha256", text);

/** Opens everything that `serve` runs; nothing listens yet. */
export async function openServe(
  env: Environment,
  options: OpenOptions & { readonly demo: boolean },
): Promise<Opening<Server>> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  const { config, home, secrets } = loaded;
  const stored = await openOwnStore(loaded, { locale: resolveLocale({ env, config }), now });
  if (!stored.ok) return stored;
  const { db, databaseUrl } = stored;
  const late: { telemetry: Telemetry | null } = { telemetry: null };
  const far: ServeDeps["far"] = { jobs: null };
  const farJobs: FarJobs = async (asker, jobId) => (await far.jobs?.(asker, jobId)) ?? null;
  const onModelCall = (call: ModelCall) => late.telemetry?.tracer.asked(call);
  const guard = createCommitGuard(
    () => performance.now(),
    (ms) => new Promise((resolve) => void timers.after(ms, resolve)),
  );
  const { mayCommit } = guard;
  const owners = createOwnerNames(process.pid);
  const owner = owners.next();
  const state = await openServeState(env, options, { db, onModelCall, mayCommit, farJobs, process: owner });
  if (!state.ok) {
    await db.destroy();
    return state.refused;
  }
  const { otlp_endpoint: collector } = config.telemetry;
  if (collector !== null) {
    const mask = (text: string) => state.current().workspace.mask(text);
    const { openTelemetry } = await import("./telemetry.ts");
    late.telemetry = openTelemetry({ config, secrets, home, mask }, collector);
  }
  const { telemetry } = late;
  const access = await createAccessStore(db, now);
  const signIn = createSignIn({ access, sha256, random, now });
  const words = () => serveMessagesFor(state.current().locale);
  const workspaceName = workspaceNameOf(loaded, state.current().workspace.root);
  const common = { env, options, db, databaseUrl, workspaceName, owners, owner };
  const opened = { ...common, state, access, config, secrets, home, words, telemetry, guard, far };
  return {
    ok: true,
    ...state.current(),
    words,
    access,
    signIn,
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
