import { createWebApp } from "../adapters/web/app.ts";
import { cleanUpStaleContainers, scheduleCleanUp } from "../application/containers/open-environments.ts";
import { LARGEST_BODY_BYTES } from "../application/ports/platform.ts";
import type { KeptKind } from "../application/ports/serve.ts";
import type { ListenOptions, RunningServer } from "../application/serve/server.ts";
import { configuredSchedules, startPruning } from "../application/serve/timed-rounds.ts";
import type { Config } from "../config/config.ts";
import { watchModels } from "../infrastructure/models/watch-models.ts";
import { listenHttp } from "../infrastructure/platform/http-server.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { noteAddress } from "../infrastructure/serve/live-address.ts";
import { createRetentionStore } from "../infrastructure/serve/retention-store.ts";
import { createScheduleStore, startSchedules } from "../infrastructure/serve/schedules.ts";
import type { ListenDeps, ServeDeps } from "./serve-state.ts";
import { createWebHost, modelsNow } from "./serve-web.ts";
import { type Inbox, labelsOf, openWorking } from "./serve-work.ts";

/** `serve.keep_days` is the older name of one of them. */
function daysKept({ retention, serve }: Config, kind: KeptKind): number {
  return kind === "messages" ? (retention.messages ?? serve.keep_days) : retention[kind];
}

export interface Schedules {
  /** The configuration has changed. */
  renew(): Promise<void>;
  stop(): void;
}

/** The timed work of `serve`: schedules, looking after models, pruning, cleaning up containers. */
export async function startServeSchedules(
  parts: ServeDeps,
  { receiver, channels }: Inbox,
): Promise<Schedules> {
  const { env, options, db, state, store, access, words, log, onTrouble } = parts;
  const configured = () => configuredSchedules(state.current().config);
  for (const { name, chat } of configured()) {
    const [channel = ""] = chat.split(":");
    if (!channels.has(channel)) log(words().scheduleUnknownChannel(name, channel));
  }
  const watch = () => {
    const { config, locale } = state.current();
    return watchModels(modelsNow(parts), {
      intervalMs: config.ollama.health_check_interval * 1000,
      timeoutMs: config.models.connect_timeout * 1000,
      locale,
      after: timers.after,
      say: log,
    });
  };
  const scheduled = createScheduleStore({
    db,
    workspace: parts.workspaceName,
    now: timers.now,
    messages: store,
  });
  const { prepare: newMessage, announce: onFired } = receiver;
  const schedule = () =>
    startSchedules(configured(), { store: scheduled, newMessage, onFired, timers, onTrouble });
  const renewed = { schedules: await schedule(), models: watch() };
  const stopPruning = startPruning({
    store: createRetentionStore(db, timers.now),
    access,
    days: (kind) => daysKept(state.current().config, kind),
    timers,
    onTrouble,
  });
  const stopCleanUp = scheduleCleanUp({
    config: () => state.current().config.command_executor,
    cleanUp: () =>
      cleanUpStaleContainers(async () => (await import("./environments.ts")).openEnvironments(env, options)),
    onTrouble,
  });
  return {
    async renew() {
      renewed.schedules();
      renewed.schedules = await schedule();
      renewed.models();
      renewed.models = watch();
    },
    stop() {
      stopPruning();
      renewed.models();
      stopCleanUp();
      renewed.schedules();
    },
  };
}

/** Wires receiving, answering, sending and the web together, and listens. */
export async function listenAndServe(
  given: ListenDeps,
  { host, port, log }: ListenOptions,
): Promise<RunningServer> {
  const publicUrl = given.config.serve.public_url?.replace(/\/+$/, "") ?? null;
  const labels = labelsOf(given.config);
  const lanes = given.config.serve.max_chats;
  const working = await openWorking(given, { kind: "serve", labels, lanes, publicUrl, log });
  const { parts, inbox, forges } = working;
  const { state } = parts;
  const closing = new AbortController();
  const place = { host, port, publicUrl };
  const mcp = lateMcp(parts);
  const renew = { rounds: async () => {} };
  const reload = async () => {
    const problem = await state.reload();
    if (problem === null) await renew.rounds();
    return problem;
  };
  const web = createWebHost({
    ...parts,
    inbox,
    forges,
    place,
    mcp: mcp.answer,
    closing: closing.signal,
    reload,
  });
  const server = listenHttp({ host, port, limitBytes: LARGEST_BODY_BYTES, fetch: createWebApp(web) });
  place.port = server.port;
  const startAll = async () => {
    await working.start();
    return startServeSchedules(parts, inbox);
  };
  const rounds = await startAll().catch(async (error: unknown) => {
    // No process would answer a message taken in here.
    closing.abort();
    await server.close();
    await working.giveUp();
    throw error;
  });
  renew.rounds = rounds.renew;
  const shown = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;
  const address = `${shown}:${server.port}`;
  const forgetAddress = noteAddress(parts.home, address, new Date());
  return {
    url: publicUrl ?? `http://${address}`,
    reload,
    async stop() {
      forgetAddress();
      rounds.stop();
      closing.abort();
      server.drain();
      await working.stop(async () => {
        await mcp.close();
        await server.close();
      });
    },
  };
}

/** The MCP endpoint, loaded at its first request. */
function lateMcp({ state }: ServeDeps) {
  const made: { endpoint?: ReturnType<typeof state.openMcp> } = {};
  return {
    async answer() {
      made.endpoint ??= state.openMcp();
      const endpoint = await made.endpoint;
      return (request: Request) => endpoint.handle(request);
    },
    close: async () => (await made.endpoint)?.close(),
  };
}
