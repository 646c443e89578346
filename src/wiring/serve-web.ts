import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isDirectChat } from "../adapters/channels/registry.ts";
import type { ConfigLine, WebHost } from "../adapters/web/host.ts";
import { createEnvironmentReader } from "../application/containers/open-environments.ts";
import { createFleetControl } from "../application/fleet/machine-presence.ts";
import type { SettingEdit, SettingsStore } from "../application/ports/web.ts";
import {
  createChatWatch,
  createOwnChats,
  createWaitForAnswer,
  stopMessage,
} from "../application/serve/console-chats.ts";
import { cacheAnswer, checkHealth, createMetrics, healthChecks } from "../application/serve/health.ts";
import { createSetUpSteps } from "../application/setup/setup-steps.ts";
import { homeConfigFile } from "../config/environment.ts";
import { describeConfig, loadConfig, sourceText } from "../config/load.ts";
import {
  areCommandsTrusted,
  distrustWorkspace,
  trustedFolders,
  trustSubject,
  trustWorkspace,
} from "../config/trust.ts";
import { isOwnVariable } from "../config/usual-variables.ts";
import { formatDayIn, resolveTimeZone } from "../domain/chat/session.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import { manageMessagesFor } from "../domain/texts/web.ts";
import { readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";
import { watchOwnPieces } from "../infrastructure/platform/installation.ts";
import { readTextFile, replaceFile } from "../infrastructure/platform/text-files.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { createChatTurns } from "../infrastructure/serve/chat-turns.ts";
import { isStoreAway, tryWrite } from "../infrastructure/store/open-store.ts";
import { allTasks, createTaskFileReader } from "../infrastructure/tasks/task-files.ts";
import { createSessionReader, createTaskReader } from "../infrastructure/web/console-readers.ts";
import { VERSION } from "../version.ts";
import { openModels } from "./models.ts";
import type { ForgeService } from "./serve-forges.ts";
import type { ServeDeps } from "./serve-state.ts";
import type { Inbox } from "./serve-work.ts";

/** The steps of `init` for the console, while there is no configuration. */
function createFirstSetUp(
  { env, options, home, onTrouble }: ServeDeps,
  reload: () => Promise<string | null>,
): WebHost["setUp"] {
  const { demo, ...place } = options;
  const file =
    options.configFile === undefined ? homeConfigFile(home) : resolve(options.cwd, options.configFile);
  return {
    async isNeeded() {
      if (demo || existsSync(file)) return false;
      const loaded = await loadConfig({ env, ...place });
      if (!loaded.ok) return false;
      const chosen = Object.entries(loaded.sources).filter(
        ([, source]) => source.kind !== "environment" || isOwnVariable(source),
      );
      return !chosen.some(([key]) => /^(?:roles|providers)\./.test(key));
    },
    steps: createSetUpSteps({
      open: async () => (await import("./set-up.ts")).openSetUp(env, { ...place, anew: false }),
      reload,
      onTrouble,
    }),
  };
}

const LIST_MS = 1_000;

/** The settings that the console changes; `reload` has the server take them up. */
function createSettings(parts: ServeDeps, reload: () => Promise<string | null>): SettingsStore {
  const { env, options, home, state } = parts;
  const { demo: _, ...place } = options;
  const file =
    options.configFile === undefined ? homeConfigFile(home) : resolve(options.cwd, options.configFile);
  const words = () => manageMessagesFor(state.current().locale);
  const workspace = () => state.current().workspace.root;

  async function change(edits: readonly SettingEdit[]): Promise<string | null> {
    const { editYaml } = await import("../config/edit-yaml.ts");
    const old = readTextFile(file);
    const text = editYaml(old ?? "", edits);
    if (text === null) return words().notEditable(file);
    const loaded = await loadConfig({ env, ...place, instead: { file, text } });
    const { configProblem } = messagesFor(state.current().locale);
    if (!loaded.ok) return [words().notAccepted, ...loaded.errors.map(configProblem)].join("\n");
    const broken = findBrokenRole(loaded, edits);
    if (broken !== null) return `${words().notAccepted}\n${broken}`;
    replaceFile(file, text);
    const refused = await reload();
    if (refused !== null) {
      replaceFile(file, old);
      await reload();
    }
    return refused;
  }

  /** A role that could not be asked any more, with the reason; one that cannot be asked as it is now stays as it is. */
  function findBrokenRole(
    { config, secrets }: Extract<Awaited<ReturnType<typeof loadConfig>>, { ok: true }>,
    edits: readonly SettingEdit[],
  ): string | null {
    if (!edits.some(({ path }) => path[0] === "roles" || path[0] === "security")) return null;
    const before = modelsNow(parts);
    const next = openModels(config, secrets, { locale: state.current().locale, home, env });
    for (const role of ["chat", "worker", "coder1", "coder2", "coder3"] as const) {
      const [then, now] = [next.forRole(role), before.forRole(role)];
      if (!("generate" in then) && ("generate" in now || now.code !== then.code)) return then.message;
    }
    return null;
  }

  /** One after the other: each reads what the one before wrote. */
  const turn: { last: Promise<unknown> } = { last: Promise.resolve() };

  return {
    change(edits) {
      const mine = turn.last.then(() => change(edits));
      turn.last = mine.catch(() => {});
      return mine;
    },
    async read() {
      const loaded = await loadConfig({ env, ...place });
      return {
        file,
        config: loaded.ok ? loaded.config : state.current().config,
        lockedBy: (key) => {
          const source = loaded.ok ? loaded.sources[key] : undefined;
          if (source === undefined || (source.kind === "file" && source.file === file)) return null;
          return sourceText(source);
        },
      };
    },
    trust: () => ({
      workspace: workspace(),
      trusted: areCommandsTrusted({ home, workspace: workspace() }),
      ...trustSubject(workspace()),
      folders: trustedFolders(home),
    }),
    async trustSeen(seen) {
      const done = trustWorkspace({ home, workspace: workspace(), now: new Date(), seen });
      if (!done.ok)
        return done.reason === "changed" ? words().trustChanged : words().notWritten(String(done.cause));
      const refused = await reload();
      if (refused !== null) distrustWorkspace({ home, workspace: done.workspace });
      return refused;
    },
    async distrust(folder) {
      return distrustWorkspace({ home, workspace: folder }) ? reload() : words().notTrusted(folder);
    },
    async modelNames() {
      const { ollama, providers } = state.current().config;
      const { listModels } = await import("../infrastructure/models/list-models.ts");
      const installed = await listModels(ollama.base_url, AbortSignal.timeout(LIST_MS));
      const named = Object.values(providers).flatMap(({ model }) => (model === null ? [] : [model]));
      return [...new Set([...(installed ?? []).map(({ name }) => name), ...named])];
    },
    async nextTime(cron, timezone) {
      const { nextTimeOf } = await import("../infrastructure/serve/schedules.ts");
      return nextTimeOf(cron, timezone, new Date());
    },
  };
}

const HEALTH_MS = 3_000;
const HEALTH_CACHE_MS = 2_000;

export interface WebHostDeps extends ServeDeps {
  readonly inbox: Inbox;
  readonly forges: ForgeService | null;
  readonly place: ReturnType<WebHost["place"]>;
  readonly mcp: WebHost["mcp"];
  readonly closing: AbortSignal;
  /** As `Serving.reload`. */
  readonly reload: () => Promise<string | null>;
}

/** The installation's data that the console and the API show. */
export function createWebHost(parts: WebHostDeps): WebHost {
  const { env, options, db, state, store, inbox, startedAt, onTrouble } = parts;
  const { now } = timers;
  const metrics = createMetrics(inbox.bus);
  return {
    version: VERSION,
    demo: options.demo,
    startedAt,
    viewerJobs: inbox.viewerJobs,
    messages: store,
    access: parts.access,
    receive: inbox.receive,
    ownChats: createOwnChats({ chats: (filter) => store.chats(filter), isDirect: isDirectChat }),
    stopMessage: (message) =>
      stopMessage(
        {
          cancel: (id) => inbox.answering.cancel(id),
          turns: createChatTurns({
            db,
            workspace: parts.workspaceName,
            process: parts.owner,
            isGone: parts.owners.isGone,
            newId: parts.owners.next,
            beatsElsewhere: true,
          }),
        },
        message,
      ),
    bus: inbox.bus,
    live: inbox.live,
    watchChat: createChatWatch({
      standing: store.standing,
      told: async (ids) => (await inbox.control?.toldWorks(ids)) ?? new Map(),
      live: inbox.live,
      bus: inbox.bus,
      timers,
    }),
    waitForAnswer: createWaitForAnswer({ message: store.message, bus: inbox.bus, timers }),
    fleet: createFleetControl({ ...parts, self: readMachineId(parts.home) }),
    sources: () => ({
      sessions: createSessionReader(db, parts.workspaceName),
      tasks: allTasks([
        createTaskReader(db, state.current().config.tasks.max_steps),
        createTaskFileReader(state.current().workspace.storage),
      ]),
      environments: createEnvironmentReader(
        () => state.current().config.command_executor.enabled,
        async () => (await import("./environments.ts")).openEnvironments(env, options),
      ),
    }),
    health: healthOf(parts),
    configuration: () => configurationLines(parts),
    settings: createSettings(parts, parts.reload),
    ownCommands: () => state.current().ownCommands.list(),
    setUp: createFirstSetUp(parts, parts.reload),
    metrics: async () =>
      metrics.render(
        {
          process_resident_memory_bytes: process.memoryUsage.rss(),
          ...parts.forges?.counts(),
          picoclaw_uptime_seconds: Math.floor((now().getTime() - startedAt.getTime()) / 1_000),
        },
        await store.counts(),
      ),
    messagesFor,
    workspace: () => state.current().workspace.root,
    locale: () => state.current().locale,
    mask: (text) => state.current().workspace.mask(text),
    dayOf: (at) => formatDayIn(resolveTimeZone(state.current().config.session.timezone), at),
    timezone: () => resolveTimeZone(state.current().config.session.timezone),
    place: () => parts.place,
    sha256: (text) => hashHex("sha256", text),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    now,
    onTrouble: (error, path) => onTrouble(error, path),
    isStoreAway,
    webhooks: () => new Map([...inbox.reached.webhooks, ...(parts.forges?.webhooks ?? [])]),
    mcp: parts.mcp,
    closing: parts.closing,
  };
}

/** The models as the configuration has them now. */
export function modelsNow({ env, home, secrets, state }: ServeDeps) {
  const { config, locale, workspace } = state.current();
  return openModels(config, secrets, { locale, home, env, mask: workspace.mask });
}

function healthOf(parts: WebHostDeps): WebHost["health"] {
  const findGonePiece = watchOwnPieces();
  const checks = () => {
    const { enabled, docker } = parts.state.current().config.command_executor;
    return healthChecks({
      askStore: () => tryWrite(parts.db, timers.now()),
      findGonePiece,
      models: modelsNow(parts),
      defaultCoder: parts.state.current().config.roles.default_coder,
      pingDocker: enabled
        ? async (signal) =>
            (await import("../infrastructure/platform/docker-ping.ts")).pingDocker(docker.host, signal)
        : null,
      channels: parts.inbox.channels.values(),
    });
  };
  const ask = () => cacheAnswer(HEALTH_CACHE_MS, () => checkHealth(checks(), HEALTH_MS, timers.after));
  // The result of an earlier configuration is not an answer.
  const held = { config: parts.state.current().config, ask: ask() };
  return () => {
    const { config } = parts.state.current();
    if (config !== held.config) Object.assign(held, { config, ask: ask() });
    return held.ask();
  };
}

/** The configuration that this process works with. A file that was edited by hand since is told beside it. */
async function configurationLines({ env, options, secrets, state }: ServeDeps): Promise<ConfigLine[]> {
  const loaded = await loadConfig({ env, ...options });
  const sources = loaded.ok ? loaded.sources : {};
  const { config } = state.current();
  const next = new Map(
    loaded.ok ? describeConfig(loaded).map(({ key, value }) => [key, JSON.stringify(value)]) : [],
  );
  return describeConfig({ config, sources, secrets }).map(({ key, value, source }) => {
    const [now, later] = [JSON.stringify(value), next.get(key)];
    return {
      key,
      value: now,
      source: source.kind === "default" ? null : sourceText(source),
      ...(later !== undefined && later !== now && { next: later }),
    };
  });
}
