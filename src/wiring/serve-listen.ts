import { resolve } from "node:path";
import { isDirectChat } from "../adapters/channels/registry.ts";
import { lateEndpoint } from "../adapters/mcp/host.ts";
import { createWebApp } from "../adapters/web/app.ts";
import type { WebHost } from "../adapters/web/host.ts";
import { configurationLines, createFirstSetUp, createSettings } from "../adapters/web/settings-store.ts";
import {
  cleanUpStaleContainers,
  createEnvironmentReader,
  scheduleCleanUp,
} from "../application/containers/open-environments.ts";
import { createFleetControl } from "../application/fleet/machine-presence.ts";
import { chatKeyOf, readChatKey } from "../application/ports/chat.ts";
import { LARGEST_BODY_BYTES } from "../application/ports/platform.ts";
import type { KeptKind, Schedule } from "../application/ports/serve.ts";
import { isTokenKept } from "../application/serve/access.ts";
import { createServerHealth, createServerMetrics } from "../application/serve/health.ts";
import { type ListenOptions, type RunningServer, runServer } from "../application/serve/server.ts";
import {
  configuredSchedules,
  startPruning,
  startTimedWork,
  type TimedWork,
  warnOfUnknownChannels,
} from "../application/serve/timed-rounds.ts";
import {
  createChatWatch,
  createFileNames,
  createOwnChats,
  createWaitForAnswer,
  stopMessage,
} from "../application/web/console-chats.ts";
import type { Config, Secrets } from "../config/config.ts";
import { homeConfigFile } from "../config/environment.ts";
import { machineLabels } from "../config/settings.ts";
import { formatDayIn, resolveTimeZone } from "../domain/platform/days.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import { createNamedChats, createSessionStore } from "../infrastructure/chat/session-store.ts";
import { readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { createUsageStore } from "../infrastructure/models/usage-store.ts";
import { watchModels } from "../infrastructure/models/watch-models.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";
import { listenHttp } from "../infrastructure/platform/http-server.ts";
import { watchOwnPieces } from "../infrastructure/platform/installation.ts";
import { createRunningEditor } from "../infrastructure/platform/running-editor.ts";
import { readTextFile, replaceFile } from "../infrastructure/platform/text-files.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { createChatTurns } from "../infrastructure/serve/chat-turns.ts";
import { noteAddress } from "../infrastructure/serve/live-address.ts";
import { createRetentionStore } from "../infrastructure/serve/retention-store.ts";
import { createScheduleStore, startSchedules } from "../infrastructure/serve/schedules.ts";
import { storeFileOf, tryTables, tryWrite } from "../infrastructure/store/open-store.ts";
import { allTasks, createTaskFileReader } from "../infrastructure/tasks/task-files.ts";
import { createSessionReader, createTaskReader } from "../infrastructure/web/console-readers.ts";
import { VERSION } from "../version.ts";
import { createComparisonReader, createHistory } from "./history.ts";
import { openModels } from "./models.ts";
import type { ServedForges } from "./serve-forges.ts";
import { type ListenDeps, randomBytes, type ServeDeps } from "./serve-state.ts";
import { type ChannelInbox, openWorking } from "./serve-work.ts";

async function startRounds(
  deps: ServeDeps,
  { receiver, channels, isKnown }: ChannelInbox,
): Promise<TimedWork> {
  const { services, db, state, store, access, words, log, onTrouble, workspaceName: workspace } = deps;
  const { now } = timers;
  const configured = () => configuredSchedules(state.current().config);
  warnOfUnknownChannels(configured(), channels, (...named) => log(words().scheduleUnknownChannel(...named)));
  const scheduled = createScheduleStore({ db, workspace, now, messages: store });
  const { prepare: newMessage, announce: onFired } = receiver;
  const mayPost = async ({ chat, user = "", token }: Schedule) =>
    (await isTokenKept(access, token)) && isKnown(readChatKey(chat).channel, user);
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

export interface WebHostDeps extends ServeDeps {
  readonly inbox: ChannelInbox;
  readonly forges: ServedForges | null;
  readonly place: ReturnType<WebHost["place"]>;
  readonly mcp: WebHost["mcp"];
  readonly closing: AbortSignal;
  readonly reload: () => Promise<string | null>;
}

const MOST_COUNTED_JOBS = 5_000;

export function createWebHost(deps: WebHostDeps): WebHost {
  const { services, demo, db, state, store, access, inbox, forges, startedAt, onTrouble } = deps;
  const { bus, live, answering, control, viewerJobs, receiver } = inbox;
  const { env, home } = services;
  const { current } = state;
  const { now } = timers;
  const timezone = () => resolveTimeZone(current().config.session.timezone);
  const { workspaceName: workspace, owner } = deps;
  const { next: newId, isGone } = deps.owners;
  const turns = createChatTurns({ db, workspace, process: owner, isGone, newId, beatsElsewhere: true });
  const cancel = (id: string) => answering.cancel(id);
  return {
    version: VERSION,
    demo,
    startedAt,
    viewerJobs,
    messages: store,
    access,
    receive: receiver.receive,
    images: () => current().images,
    ownChats: createOwnChats({ chats: (filter) => store.chats(filter), isDirect: isDirectChat }),
    stopMessage: (message) => stopMessage({ cancel, turns }, message),
    bus,
    live,
    watchChat: createChatWatch({
      standing: store.standing,
      remote: async (ids) => (await control?.reportedWorks(ids)) ?? new Map(),
      live,
      bus,
      timers,
    }),
    waitForAnswer: createWaitForAnswer({ message: store.message, bus, timers }),
    runningEditor: createRunningEditor(env, now),
    fleet: createFleetControl({ ...deps, self: readMachineId(home) }),
    health: createServerHealth({
      config: () => current().config,
      askStore: async () => {
        await tryTables(db);
        await tryWrite(db, now());
      },
      findGonePiece: watchOwnPieces(),
      models: () => modelsNow(deps),
      pingDocker: async (address, signal) =>
        (await import("../infrastructure/platform/docker-ping.ts")).pingDocker(address, signal),
      channels: inbox.channels,
      after: timers.after,
    }),
    ...readersOf(deps, timezone),
    ...settingsOf(deps),
    ownCommands: () => current().ownCommands.list(),
    listFiles: createFileNames((limit) => current().listFiles(limit), now),
    metrics: createServerMetrics({
      bus,
      startedAt,
      now,
      residentBytes: () => process.memoryUsage.rss(),
      gauges: () => ({ ...forges?.counts(), picoclaw_uncaught_errors: deps.uncaught.count }),
      counts: () => store.counts(),
    }),
    messagesFor,
    workspace: () => current().workspace.root,
    locale: () => current().locale,
    mask: (text) => current().workspace.mask(text),
    timezone,
    place: () => deps.place,
    sha256: (text) => hashHex("sha256", text),
    random: randomBytes,
    now,
    onTrouble: (error, path) => onTrouble(error, path),
    webhooks: () => new Map([...inbox.webhooks, ...(forges?.webhooks ?? [])]),
    mcp: deps.mcp,
    closing: deps.closing,
  };
}

/** What pages show of chats, jobs, tasks and containers; each is loaded when it is asked for. */
function readersOf(
  { services, db, state: { current }, workspaceName: workspace, inbox: { viewerJobs } }: WebHostDeps,
  timezone: WebHost["timezone"],
): Pick<WebHost, "findWhy" | "exportTalk" | "readFigures" | "sources"> {
  const { env } = services;
  const { now } = timers;
  return {
    findWhy: async (path, line, seen) => {
      const { findWhy, readSeenText } = await import("../application/history/find-why.ts");
      const deps = createHistory(current().workspace, env).why();
      const text = readSeenText(deps, path, seen);
      return { why: await findWhy(deps, path, line, seen), lines: text.ok ? text.lines : [] };
    },
    exportTalk: async (chatKey, form, locale) =>
      (await import("./export-talk.ts")).exportTalk(
        { sessions: createSessionStore({ db, workspace, now }), workspace: current().workspace, locale },
        chatKey,
        form,
      ),
    readFigures: async (viewer, days) => {
      const jobs = (await viewerJobs.list(viewer, MOST_COUNTED_JOBS)).map(({ job }) => job);
      const { readFigures } = await import("../application/history/work-figures.ts");
      return readFigures(
        {
          usage: createUsageStore(db),
          ...(viewer.role !== "operator" && {
            chatKey: chatKeyOf(viewer.channel, viewer.userId),
            withChatsBelow: true,
          }),
          jobs,
          journalOf: (jobId) => viewerJobs.knownJournal(viewer, jobId),
          dayOf: (at) => formatDayIn(timezone(), at),
          now: now(),
        },
        days,
      );
    },
    sources: () => ({
      sessions: createSessionReader({
        db,
        workspace,
        store: createSessionStore({ db, workspace, now }),
        chatsOf: (channel) => createNamedChats({ db, workspace, channel }),
      }),
      tasks: allTasks([
        createTaskReader(async () => {
          const { createSolveReader } = await import("../infrastructure/tasks/solve-store.ts");
          return createSolveReader(db);
        }, current().config.tasks.max_steps),
        createTaskFileReader(current().workspace.storage),
      ]),
      comparisons: createComparisonReader(current().workspace, env),
      environments: createEnvironmentReader(
        () => current().config.command_executor.enabled,
        async () => (await import("./environments.ts")).openEnvironments(env, services.options),
      ),
    }),
  };
}

function settingsOf(deps: WebHostDeps): Pick<WebHost, "configuration" | "settings" | "setUp"> {
  const { services, state, demo, reload, onTrouble } = deps;
  const { env, home, options, secrets } = services;
  const { current } = state;
  const { configFile, cwd } = options;
  const settingsDeps = {
    place: { env, ...options },
    home,
    file: configFile === undefined ? homeConfigFile(home) : resolve(cwd, configFile),
    current,
    reload,
    readText: readTextFile,
    replaceFile,
    openModels: (config: Config, known: Secrets) =>
      openModels(config, known, { locale: current().locale, home, env }),
    namedHosts: async (folder: string) => (await import("./named-hosts.ts")).hostsOf(folder),
    listInstalled: async (baseUrl: string) =>
      (await import("../infrastructure/models/list-models.ts")).listModelNames(baseUrl),
    nextTime: async (cron: string, timezone: string) =>
      (await import("../infrastructure/serve/schedules.ts")).nextTimeOf(cron, timezone, new Date()),
    secrets,
    now: timers.now,
  };
  const open = async () => (await import("./set-up.ts")).openSetUp(env, { ...options, startOver: false });
  return {
    configuration: () => configurationLines(settingsDeps),
    settings: createSettings(settingsDeps),
    setUp: createFirstSetUp({ ...settingsDeps, demo }, { open, reload, onTrouble }),
  };
}

export function modelsNow({ services: { env, home, secrets }, state }: ServeDeps) {
  const { config, locale, workspace } = state.current();
  return openModels(config, secrets, { locale, home, env, mask: workspace.mask });
}
