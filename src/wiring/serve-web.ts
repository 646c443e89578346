import { isDirectChat } from "../adapters/channels/registry.ts";
import type { ConfigLine, WebHost } from "../adapters/web/host.ts";
import { createEnvironmentReader } from "../application/containers/environments-now.ts";
import { createFleetControl } from "../application/fleet/control-fleet.ts";
import { cacheAnswer, checkHealth } from "../application/serve/inbox-health.ts";
import { healthChecks } from "../application/serve/health-checks.ts";
import { createMetrics } from "../application/serve/health.ts";
import { createOwnChats } from "../application/serve/own-chats.ts";
import { stopMessage } from "../application/serve/stop-message.ts";
import { createWaitForAnswer } from "../application/serve/wait-for-answer.ts";
import { createChatWatch } from "../application/serve/console-chats.ts";
import { allTasks } from "../infrastructure/tasks/all-tasks.ts";
import { describeConfig, sourceText } from "../config/describe.ts";
import { loadConfig } from "../config/load.ts";
import { formatDayIn } from "../domain/chat/day-in.ts";
import { messagesFor } from "../domain/texts/messages.ts";
import { readMachineId } from "../infrastructure/fleet/machine-id.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";
import { watchOwnPieces } from "../infrastructure/platform/own-pieces.ts";
import { timers } from "../infrastructure/platform/runtime-timers.ts";
import { createChatLeases } from "../infrastructure/chat/chat-leases.ts";
import { createSessionReader, createTaskReader } from "../infrastructure/web/console-readers.ts";
import { isStoreAway } from "../infrastructure/store/store-away.ts";
import { tryWrite } from "../infrastructure/store/try-write.ts";
import { createTaskFileReader } from "../infrastructure/tasks/task-file-reader.ts";
import { VERSION } from "../version.ts";
import { openModels } from "./models.ts";
import type { ForgeService } from "./serve-forges.ts";
import type { Inbox } from "./serve-inbox.ts";
import type { ServeDeps } from "./serve-parts.ts";
import { createFirstSetUp } from "./serve-set-up.ts";
import { createSettings } from "./serve-settings.ts";

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

/** What the console and the API show of the house. */
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
          leases: createChatLeases({
            db,
            workspace: parts.workspaceName,
            process: parts.owner,
            isGone: parts.owners.isGone,
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
    dayOf: (at) => formatDayIn(state.current().config.session.timezone, at),
    timezone: () => state.current().config.session.timezone,
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
  // What an earlier configuration said is no answer.
  const held = { config: parts.state.current().config, ask: ask() };
  return () => {
    const { config } = parts.state.current();
    if (config !== held.config) Object.assign(held, { config, ask: ask() });
    return held.ask();
  };
}

/** What `config show` would print now. */
async function configurationLines({ env, options }: ServeDeps): Promise<ConfigLine[]> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok) return [];
  return describeConfig(loaded).map(({ key, value, source }) => ({
    key,
    value: JSON.stringify(value),
    source: source.kind === "default" ? null : sourceText(source),
  }));
}
