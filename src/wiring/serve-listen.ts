import { lateEndpoint } from "../adapters/mcp/host.ts";
import { createWebApp } from "../adapters/web/app.ts";
import { cleanUpStaleContainers, scheduleCleanUp } from "../application/containers/open-environments.ts";
import { LARGEST_BODY_BYTES } from "../application/ports/platform.ts";
import type { KeptKind } from "../application/ports/serve.ts";
import { type ListenOptions, type RunningServer, runServer } from "../application/serve/server.ts";
import {
  configuredSchedules,
  createScheduleGate,
  startPruning,
  startTimedWork,
  type TimedWork,
  warnOfUnknownChannels,
} from "../application/serve/timed-rounds.ts";
import { machineLabels } from "../config/settings.ts";
import { watchModels } from "../infrastructure/models/watch-models.ts";
import { listenHttp } from "../infrastructure/platform/http-server.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { noteAddress } from "../infrastructure/serve/live-address.ts";
import { createRetentionStore } from "../infrastructure/serve/retention-store.ts";
import { createScheduleStore, startSchedules } from "../infrastructure/serve/schedules.ts";
import { storeFileOf } from "../infrastructure/store/open-store.ts";
import type { ListenDeps, ServeDeps } from "./serve-state.ts";
import { createWebHost, modelsNow } from "./serve-web.ts";
import { type ChannelInbox, openWorking } from "./serve-work.ts";

/** The timed work of `serve`: schedules, looking after models, pruning, cleaning up containers. */
async function startRounds(
  deps: ServeDeps,
  { receiver, channels, isAllowed }: ChannelInbox,
): Promise<TimedWork> {
  const { services, db, state, store, access, words, log, onTrouble, workspaceName: workspace } = deps;
  const { now } = timers;
  const configured = () => configuredSchedules(state.current().config);
  warnOfUnknownChannels(configured(), channels, (...named) => log(words().scheduleUnknownChannel(...named)));
  const scheduled = createScheduleStore({ db, workspace, now, messages: store });
  const { prepare: newMessage, announce: onFired } = receiver;
  const mayPost = createScheduleGate({ isAllowed, access });
  return startTimedWork({
    renewed: [
      () =>
        startSchedules(configured(), { store: scheduled, mayPost, newMessage, onFired, timers, onTrouble }),
      () => {
        const { config, locale } = state.current();
        return watchModels(modelsNow(deps), {
          intervalMs: config.ollama.health_check_interval * 1000,
          timeoutMs: config.models.connect_timeout * 1000,
          locale,
          after: timers.after,
          say: log,
        });
      },
    ],
    steady: [
      () => {
        const days = (kind: KeptKind) => state.current().config.retention[kind];
        return startPruning({ store: createRetentionStore(db, now), access, days, timers, onTrouble });
      },
      () =>
        scheduleCleanUp({
          config: () => state.current().config.command_executor,
          cleanUp: () =>
            cleanUpStaleContainers(async () =>
              (await import("./environments.ts")).openEnvironments(services.env, services.options),
            ),
          onTrouble,
        }),
    ],
  });
}

/** Wires receiving, answering, sending and the web together, and listens. */
export async function listenAndServe(
  given: ListenDeps,
  { host, port, log }: ListenOptions,
): Promise<RunningServer> {
  const { config, home } = given.services;
  const publicUrl = config.serve.public_url?.replace(/\/+$/, "") ?? null;
  const labels = machineLabels(config, process.arch);
  const working = await openWorking(given, {
    kind: "serve",
    labels,
    lanes: config.serve.max_chats,
    publicUrl,
    log,
  });
  const { deps, inbox, forges } = working;
  const closing = new AbortController();
  const place = { host, port, publicUrl };
  const mcp = lateEndpoint(() => openMcpEndpoint(deps));
  return runServer({
    working,
    place,
    reload: deps.state.reload,
    listen: (reload) => {
      const web = { ...deps, inbox, forges, place, mcp: mcp.answer, closing: closing.signal, reload };
      const fetch = createWebApp(createWebHost(web));
      return listenHttp({ host, port, limitBytes: LARGEST_BODY_BYTES, fetch });
    },
    startRounds: () => startRounds(deps, inbox),
    noteAddress: (address) => {
      const storeFile = given.services.databaseUrl === undefined ? storeFileOf({ home }) : null;
      return noteAddress(home, { address, storeFile }, new Date());
    },
    closing,
    closeMcp: mcp.close,
  });
}

async function openMcpEndpoint({ services, state }: ServeDeps) {
  const { openMcp } = await import("./mcp.ts");
  const { root } = state.current().workspace;
  const opened = await openMcp(services.env, { ...services.options, workspace: root }, () => {});
  if (!opened.ok) throw new Error(opened.message ?? "the workspace cannot be opened");
  return opened.endpoint();
}
