import type { Kysely } from "kysely";
import { createWebApp } from "../adapters/web/app.ts";
import { createWebChannel } from "../adapters/web/channel.ts";
import type { WebHost } from "../adapters/web/host.ts";
import { createAdmission } from "../application/inbox/admission.ts";
import { createAnswering } from "../application/inbox/answer-messages.ts";
import { createBus } from "../application/inbox/bus.ts";
import { checkHealth } from "../application/inbox/health.ts";
import { createJobDesk } from "../application/inbox/job-desk.ts";
import { createMetrics } from "../application/inbox/metrics.ts";
import { createPairing } from "../application/inbox/pairing.ts";
import { createReceiver } from "../application/inbox/receive-messages.ts";
import { createSending } from "../application/inbox/send-replies.ts";
import type { ListenOptions, Serving } from "../application/inbox/server.ts";
import type { AccessStore } from "../application/ports/access.ts";
import type { Channel } from "../application/ports/channel.ts";
import type { MessageStore } from "../application/ports/message-store.ts";
import type { OpenOptions } from "../application/ports/opening.ts";
import type { Timers } from "../application/ports/timers.ts";
import type { Config } from "../config/config.ts";
import type { Secrets } from "../config/secrets.ts";
import { chatMessagesFor } from "../domain/texts/chat/messages.ts";
import { messagesFor } from "../domain/texts/messages.ts";
import type { ServeMessages } from "../domain/texts/serve/messages.ts";
import { jobActions } from "../domain/work/job-actions.ts";
import { hashHex } from "../infrastructure/runtime/hash.ts";
import { listenHttp } from "../infrastructure/runtime/http-server.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { createOwnerNames } from "../infrastructure/work/process/owner-name.ts";
import { VERSION } from "../version.ts";
import { openModels } from "./models.ts";
import { openChannels } from "./serve-channels.ts";
import { startCleanUp } from "./serve-clean-up.ts";
import { schedulesOf, startSchedules } from "./serve-schedules.ts";
import type { OpenedState } from "./serve-state.ts";
import {
  configurationLines,
  dayIn,
  environmentReader,
  healthChecks,
  sessionReader,
  taskReader,
} from "./serve-views.ts";
import { watchModels } from "./watch-models.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface ListenParts {
  readonly env: Environment;
  readonly options: OpenOptions & { readonly demo: boolean };
  readonly db: Kysely<Database>;
  readonly state: Extract<OpenedState, { ok: true }>;
  readonly access: AccessStore;
  readonly store: MessageStore;
  /** As it was at the start: address, limits. */
  readonly config: Config;
  readonly secrets: Secrets;
  readonly home: string;
  readonly words: () => ServeMessages;
}

const LIMIT_BYTES = 10 * 1024 ** 2;
const HEALTH_MS = 3_000;
const HEALTH_CACHE_MS = 2_000;
const PRUNE_MS = 6 * 3_600_000;
/** Together less than the thirty seconds in which a service manager expects us gone. */
const [ANSWER_GRACE_MS, SEND_GRACE_MS] = [20_000, 5_000];

const timers: Timers = {
  now: () => new Date(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};
const now = timers.now;
const random = (bytes: number) => crypto.getRandomValues(new Uint8Array(bytes));
const sha256 = (text: string) => hashHex("sha256", text);

/** Wires receiving, answering, sending and the web together, and listens. */
export async function listenAndServe(
  { env, options, db, state, access, store, config, secrets, home, words }: ListenParts,
  { host, port, log }: ListenOptions,
): Promise<Serving> {
  const closing = new AbortController();
  const bus = createBus();
  const metrics = createMetrics(bus);
  const owners = createOwnerNames(process.pid);
  const owner = owners.next();
  const startedAt = now();
  const onTrouble = (error: unknown, place = "serve") =>
    log(
      `${place}: ${state.current().workspace.mask(error instanceof Error ? (error.stack ?? error.message) : String(error))}`,
    );
  const labels = () => chatMessagesFor(state.current().locale).actions;
  const channels = new Map<string, Channel>([["web", createWebChannel()]]);
  const sending = createSending({
    store,
    channel: (name) => channels.get(name),
    present: (reply) => ({ ...reply, actions: desk.actions(reply, labels()) }),
    bus,
    owner,
    timers,
    chance: Math.random,
    onTrouble,
  });
  const answering = createAnswering({
    store,
    conversation: () => state.current().conversation,
    channel: (name) => channels.get(name),
    standingJobs: (id, noted) =>
      state
        .current()
        .workspace.archive.list()
        .filter(({ jobId, groupId }) => groupId.endsWith(`#${id}`) || noted.includes(jobId))
        .filter(({ state: at }) => at !== "discarded" && at !== "running")
        .map(({ jobId }) => jobId),
    actionsFor: (jobIds) => {
      const { archive } = state.current().workspace;
      return jobActions(
        jobIds.map((id) => archive.read(id)).filter((job) => job !== null),
        labels(),
      );
    },
    bus,
    owner,
    timers,
    uuid: () => crypto.randomUUID(),
    messages: words,
    dayOf: (at) => dayIn(state.current().config.session.timezone, at),
    limit: config.serve.max_chats,
    isBusy: () => receiver.isBusy(),
    replyWaits: (chat) => sending.kick(chat),
    onTrouble: (error, message) => onTrouble(error, message?.id),
  });
  const pairing = createPairing({ access, messages: words, random, now });
  const knownPerson = async (channel: string, userId: string) => {
    const at = state.current().config;
    const allowed =
      channel === "line" ? at.line.allowed_users : channel === "slack" ? at.slack.allowed_users : [];
    if (!allowed.includes(userId)) return access.person(channel, userId);
    return { channel, userId, name: "", role: "user" as const, addedAt: startedAt.toISOString() };
  };
  const receiver = createReceiver({
    store,
    admit: createAdmission({
      access: { person: (channel, userId) => knownPerson(channel, userId) },
      messages: words,
      onStranger: (message) => pairing.greet(message),
      perMinute: () => state.current().config.serve.rate_limit,
      now,
    }),
    workspace: state.current().workspace.root,
    bus,
    wake: (chat) => answering.wake(chat),
    now,
    random,
  });
  const { receive } = receiver;
  const reached = await openChannels({
    db,
    config: () => state.current().config,
    secrets,
    locale: () => state.current().locale,
    receive,
    timers,
    kick: (chat) => sending.kick(chat),
    publicUrl: config.serve.public_url?.replace(/\/+$/, "") ?? null,
    onTrouble,
  });
  for (const channel of reached.channels) channels.set(channel.name, channel);
  const forges = config.command_executor.enabled
    ? await (await import("./serve-forges.ts")).openForgeService(env, options, log)
    : null;
  if (typeof forges === "string") log(forges);
  const forgeService = typeof forges === "string" ? null : forges;
  const desk = createJobDesk({
    workspace: () => state.current().workspace,
    store,
    cancelMessage: (id) => answering.cancel(id),
    bus,
    pid: process.pid,
    now,
  });
  const health = cached(HEALTH_CACHE_MS, () => checkHealth(checksNow(), HEALTH_MS, timers.after));
  const modelsNow = () => {
    const { config: at, locale, workspace } = state.current();
    return openModels(at, secrets, { locale, home, env, mask: workspace.mask });
  };
  const watchNow = () => {
    const { config: at, locale } = state.current();
    return watchModels(modelsNow(), at, { locale, say: log });
  };
  const checksNow = () => {
    const { enabled, docker } = state.current().config.command_executor;
    return healthChecks({
      db,
      models: modelsNow(),
      docker: { enabled, host: docker.host },
      channels: channels.values(),
    });
  };
  const mcp: {
    endpoint?: Promise<{ handle(request: Request): Promise<Response>; close(): Promise<void> }>;
  } = {};
  const place = { host, port, publicUrl: config.serve.public_url?.replace(/\/+$/, "") ?? null };
  const web: WebHost = {
    version: VERSION,
    demo: options.demo,
    startedAt,
    desk,
    messages: store,
    access,
    receive,
    cancelMessage: (id) => answering.cancel(id),
    bus,
    sources: () => ({
      sessions: sessionReader(db, state.current().workspace.root),
      tasks: taskReader(db),
      environments: environmentReader(env, options, () => state.current().config.command_executor.enabled),
    }),
    health,
    configuration: () => configurationLines(env, options),
    metrics: async () =>
      metrics.render(
        {
          process_resident_memory_bytes: process.memoryUsage.rss(),
          picoclaw_uptime_seconds: Math.floor((now().getTime() - startedAt.getTime()) / 1_000),
        },
        await store.counts(),
      ),
    messagesFor,
    workspace: () => state.current().workspace.root,
    locale: () => state.current().locale,
    mask: (text) => state.current().workspace.mask(text),
    dayOf: (at) => dayIn(state.current().config.session.timezone, at),
    timezone: () => state.current().config.session.timezone,
    place: () => place,
    sha256,
    random,
    now,
    onTrouble: (error, path) => onTrouble(error, path),
    webhooks: () => new Map([...reached.webhooks, ...(forgeService?.webhooks ?? [])]),
    mcp: async () => {
      mcp.endpoint ??= state.openMcp();
      const endpoint = await mcp.endpoint;
      return (request) => endpoint.handle(request);
    },
    closing: closing.signal,
  };
  const server = listenHttp({ host, port, limitBytes: LIMIT_BYTES, fetch: createWebApp(web) });
  place.port = server.port;
  await state.current().workspace.repair();
  await state.current().workspace.closeDeadJobs();
  await answering.start(owners.isGone);
  await sending.start();
  await reached.start();
  await forgeService?.start();
  const nameLostSchedules = () => {
    for (const { name, chat } of schedulesOf(state.current().config)) {
      const [channel = ""] = chat.split(":");
      if (!channels.has(channel)) log(words().scheduleUnknownChannel(name, channel));
    }
  };
  nameLostSchedules();
  const schedules = { stop: await startSchedules(state.current().config, receive, onTrouble) };
  const modelWatch = { stop: watchNow() };
  const prune = setInterval(() => {
    const days = state.current().config.serve.keep_days;
    const before = new Date(now().getTime() - days * 24 * 3_600_000).toISOString();
    void (days > 0 ? store.prune(before) : Promise.resolve()).catch(onTrouble);
    void access.prune(now().toISOString()).catch(onTrouble);
  }, PRUNE_MS);
  prune.unref();
  const stopCleanUp = startCleanUp({
    env,
    options,
    config: () => state.current().config.command_executor,
    onTrouble,
  });
  const shown = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;
  const serving: Serving = {
    url: place.publicUrl ?? `http://${shown}:${server.port}`,
    async reload() {
      const problem = await state.reload();
      if (problem !== null) return problem;
      schedules.stop();
      schedules.stop = await startSchedules(state.current().config, receive, onTrouble);
      modelWatch.stop();
      modelWatch.stop = watchNow();
      return null;
    },
    async stop() {
      clearInterval(prune);
      modelWatch.stop();
      stopCleanUp();
      schedules.stop();
      closing.abort();
      server.drain();
      const tasksEnd = forgeService?.stop();
      await answering.stop(ANSWER_GRACE_MS);
      await sending.stop(SEND_GRACE_MS);
      await tasksEnd;
      await (await mcp.endpoint)?.close();
      await Promise.all([...channels.values()].map((channel) => channel.close()));
      await server.close();
    },
  };
  return serving;
}

/** The same answer for a short while, and one question at a time. */
function cached<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  const last: { at: number; answer?: Promise<T> } = { at: 0 };
  return () => {
    if (last.answer === undefined || Date.now() - last.at > ms) {
      last.at = Date.now();
      last.answer = ask();
    }
    return last.answer;
  };
}
