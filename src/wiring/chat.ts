import type { Kysely } from "kysely";
import { createChatMemory, createTerminalChats } from "../application/chat/chat-memory.ts";
import { createChatQueue, createSteering } from "../application/chat/chat-queue.ts";
import type { ChatDeps } from "../application/chat/chat-turn.ts";
import { createBackground, openConversation } from "../application/chat/conversation.ts";
import { nameAnsweringModels } from "../application/chat/model-commands.ts";
import { type Advise, createAdvise } from "../application/platform/advise.ts";
import type { FarJobs } from "../application/ports/chat.ts";
import type { OpenChat } from "../application/ports/chat-opened.ts";
import type { KnownChecks } from "../application/ports/checks.ts";
import type { Opening, OpenOptions, WorkspaceDeps } from "../application/ports/jobs-workspace.ts";
import type { ModelRecords, Models } from "../application/ports/models.ts";
import type { ModelCall } from "../application/ports/models-meter.ts";
import { chatSettings } from "../config/settings.ts";
import { areCommandsTrusted } from "../config/trust.ts";
import { findInCatalogue } from "../domain/models/catalogue.ts";
import { formatDayIn } from "../domain/platform/days.ts";
import { chatMessagesFor, memoryMessagesFor } from "../domain/texts/chat.ts";
import { createImageStore } from "../infrastructure/chat/image-store.ts";
import { createMcpPool, type McpPool } from "../infrastructure/chat/mcp-pool.ts";
import { createOwnCommands, hasMcpFile } from "../infrastructure/chat/own-commands.ts";
import { createRoutingStore } from "../infrastructure/chat/routing-store.ts";
import {
  createNamedChats,
  createSessionStore,
  readSpokenTurns,
} from "../infrastructure/chat/session-store.ts";
import { openProjectChecks } from "../infrastructure/checks/check-memory.ts";
import { parsesSource } from "../infrastructure/platform/parse-source.ts";
import { createOwnerNames } from "../infrastructure/platform/process-table.ts";
import { startTimer, timers } from "../infrastructure/platform/timers.ts";
import { toStorage } from "../infrastructure/platform/workspace-storage.ts";
import type { EmptiedFolders } from "../infrastructure/sandbox/surroundings.ts";
import { createChatTurns } from "../infrastructure/serve/chat-turns.ts";
import type { HeldTurn } from "../infrastructure/store/liveness.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { createProjectFiles } from "../tools/read/project-files.ts";
import { openMeter } from "./meter.ts";
import { openModels } from "./models.ts";
import { type Environment, loadShellParser } from "./services.ts";
import { type OpenStore, openOwnStore } from "./store.ts";
import { type OpenedFolder, openWorkspace } from "./workspace.ts";

/** Between two looks at a chat's turn: one that is held, and one that another process holds. */
const [LOOK_MS, POLL_MS] = [1_000, 100];

/** The parts that a caller may provide; the others are built from the configuration. */
export interface ChatChoices {
  readonly models?: Models;
  readonly advise?: Advise;
  readonly now?: () => Date;
  readonly db?: Kysely<Database>;
  readonly openStore?: OpenStore;
  readonly mayCommit?: WorkspaceDeps["mayCommit"];
  /** Folders that its commands see empty. */
  readonly emptied?: EmptiedFolders;
  /** Set in a comparison, for agents: called with the status of each answer of their servers. */
  readonly onContestAnswer?: (status: number) => void;
  /** The name under which the queue of this process says that it lives. */
  readonly process?: string;
  readonly farJobs?: FarJobs;
  /** The program ends with the answer to one message. */
  readonly isOnce?: boolean;
  readonly onModelCall?: ((call: ModelCall) => void) | undefined;
}

interface ChatParts {
  readonly opened: OpenedFolder;
  readonly options: OpenOptions;
  readonly choices: ChatChoices;
  readonly db: Kysely<Database>;
  readonly now: () => Date;
}

export async function openChat(
  env: Environment,
  options: OpenOptions,
  choices: ChatChoices = {},
): Promise<Opening<OpenChat>> {
  const opened = await openWorkspace(env, options, choices);
  if (!opened.ok) return opened;
  const { workspace, services, deps: workspaceParts, messages, warnings } = opened;
  const { config, home, locale, log } = services;
  const { root } = workspace;
  const now = choices.now ?? workspaceParts.now;
  const stored = await (choices.openStore ?? openOwnStore)(services, { now, given: choices.db });
  if (!stored.ok) return stored;
  const parts = { opened, options, choices, db: stored.db, now };
  const kept = openKept(parts);
  const { models, memory, inStore, queue, sessions, images } = kept;
  const pool = createMcpPool({ setTimer: (run, ms) => timers.after(ms, run) });
  const late = loadLater(parts, kept, pool);
  const background = createBackground(log);
  const projectOf: ChatDeps["projectOf"] = (files) =>
    createProjectFiles({ ...workspace, files }, workspaceParts.planOptions);
  const isTrusted = () => areCommandsTrusted({ home, workspace: root });
  const ownCommands = createOwnCommands({ home, workspace: root, isTrusted, mask: workspace.mask });
  const chat = chatMessagesFor(locale);
  const project = projectOf(workspace.files);
  const deps: ChatDeps = {
    ...memory,
    ...late,
    ...{ workspace, project, projectOf, images, queue, ownCommands, messages, chat, now },
    checks: openChecksOf(opened),
    canAsk: (role) => "generate" in models.forRole(role),
    steering: createSteering(),
    meter: kept.metered.meter,
    namesServers: () => Object.keys(config.mcp_servers).length > 0 || hasMcpFile(root),
    ...(choices.farJobs !== undefined && { farJobs: choices.farJobs }),
    afterReply: background.start,
    settings: chatSettings(config),
    logger: log,
    advise: choices.advise ?? createAdvise(log),
    today: () => formatDayIn(config.session.timezone, now()),
    clock: workspaceParts.clock,
    random: workspaceParts.random,
  };
  return {
    ok: true,
    ...{ workspace, config, messages, warnings, chat, images, ownCommands },
    ...openConversation(deps),
    processes: late.openProcesses,
    listFiles: project.list,
    who: () => nameAnsweringModels(models, config.roles),
    contextOf: (model) => findInCatalogue(kept.metered.catalogue, model)?.context ?? null,
    fork: memory.sessions.fork,
    editorChats: createNamedChats({ ...inStore, channel: "acp" }).list,
    exportTalk: async (...talk) =>
      (await import("./export-talk.ts")).exportTalk({ sessions, workspace, locale }, ...talk),
    spoken: (chatKey, limit) => readSpokenTurns(sessions, chatKey, limit),
    chats: createTerminalChats(createNamedChats({ ...inStore, channel: "cli" }), queue),
    keepTime: memory.keepTime,
    async close() {
      await Promise.allSettled([background.settled(), pool.closeAll()]);
      await stored.close();
    },
  };
}

/** The stores of chats, and the models that they ask. */
function openKept({ opened: { workspace, services, deps }, choices, db, now }: ChatParts) {
  const { config, home, secrets, locale, log, env } = services;
  const using: { models: Models; records?: ModelRecords } = {
    models: choices.models ?? openModels(config, secrets, { locale, home, env, mask: workspace.mask }),
  };
  const models: Models = {
    forRole: (role, choice) => using.models.forRole(role, choice),
    look: async (...asked) => using.models.look?.(...asked),
  };
  /** The turns of chats that this process holds: what is written under one that was lost is refused. */
  const held = new Map<string, HeldTurn>();
  const { onModelCall } = choices;
  const metered = openMeter(services, { db, root: workspace.root, models, now, held, onModelCall });
  const owners = createOwnerNames(process.pid);
  const inStore = { db, workspace: metered.workspace, held };
  const queue = createChatQueue({
    turns: createChatTurns({
      ...inStore,
      process: choices.process ?? owners.next(),
      isGone: owners.isGone,
      newId: owners.next,
      beatsElsewhere: choices.process !== undefined,
    }),
    now,
    lookMs: LOOK_MS,
    pollMs: POLL_MS,
    setTimer: startTimer,
    retry: (run, ms) => void timers.after(ms, run),
  });
  const sessions = createSessionStore({ ...inStore, now });
  const memory = createChatMemory({
    ...metered,
    ...{ config, queue, models, log, now, timers },
    store: sessions,
    routing: createRoutingStore(inStore),
    archive: workspace.archive,
    mask: workspace.mask,
    words: memoryMessagesFor(locale),
    elapsed: deps.clock,
  });
  const images = createImageStore({ ...inStore, now, newId: () => crypto.randomUUID() });
  return { using, models, metered, inStore, queue, sessions, memory, images };
}

/** Parts that only some messages need are loaded with the first of them. */
function loadLater(
  { opened, options, choices, db, now }: ChatParts,
  { using, metered, sessions }: ReturnType<typeof openKept>,
  pool: McpPool,
) {
  const { workspace, services } = opened;
  const { config, home, locale, env } = services;
  const openDoor = async () =>
    (await import("./processes.ts")).openProcessesDoor(opened, choices.isOnce ?? false);
  return {
    reachesOutward,
    parsesSource,
    modelRecords: async () => {
      const { createModelRecords } = await import("../infrastructure/models/model-records.ts");
      using.records ??= createModelRecords(home, now);
      return using.records;
    },
    isCommit: async (name) =>
      (await import("../application/chat/talk-commands.ts")).isCommit(opened.deps, name),
    openToolbox: async (request) =>
      (await import("./toolbox.ts")).openWorkspaceToolbox(
        { opened, processes: await openDoor(), options, pool },
        request,
      ),
    openForges: async () =>
      (await import("./project-forge.ts")).openProjectForges(services, workspace.root, now),
    openSchedules: async () =>
      (await import("./chat-schedules.ts")).openChatSchedules(services, {
        db,
        workspace: metered.workspace,
        now,
      }),
    modelHosts: async () => {
      const { allowedHosts, changeAllowedHosts } = await import("../infrastructure/sandbox/allowed-hosts.ts");
      return {
        list: () => allowedHosts(home, workspace.root),
        change: (...to) => changeAllowedHosts({ home, workspace: workspace.root }, ...to),
      };
    },
    setCloudTalk: async (to) =>
      (await import("./cloud-talk.ts")).writeCloudTalk(services, to, (next) => {
        using.models = next;
      }),
    heads: {
      standing: config.roles.coder.head,
      open: async () => (await import("./heads.ts")).openHeads(env, opened, choices.onContestAnswer),
    },
    exportTalk: async (...talk) =>
      (await import("./export-talk.ts")).exportTalkToFile(
        { sessions, workspace, locale, home, now },
        ...talk,
      ),
    openHistory: async () => (await import("./history.ts")).createHistory(workspace, env),
    figures: async (of, days) =>
      (await import("./history.ts")).createWordFigures(services, db, workspace.archive)(of, days),
    openProcesses: async () => (await openDoor()).open(),
    openProcessTools: async (readOnly) => (await openDoor()).openTools(readOnly),
  } satisfies Partial<ChatDeps>;
}

/** Whether a script sends something out that cannot be taken back. The parser is loaded for the first that may. */
async function reachesOutward(script: string): Promise<boolean> {
  const { mayReachOutward, reachesOutward: reaches } = await import("../domain/policy/reaches-outward.ts");
  return mayReachOutward(script) && reaches(script, await loadShellParser());
}

export function openChecksOf({
  workspace: { root, storage },
  services: { home, env, config },
}: OpenedFolder) {
  const place = { home, root, storage: toStorage(root, storage, true).outer, path: env.PATH ?? "" };
  const sourceParsers = async () => ({
    parseShell: await loadShellParser(),
    parseYaml: (await import("yaml")).parse,
  });
  return Object.assign(openProjectChecks({ ...place, settings: config.checks }), { sourceParsers });
}

/** The facts about the checks of a workspace, for `picoclaw checks`. */
export async function openKnownChecks(
  env: Environment,
  options: OpenOptions,
): Promise<Opening<{ readonly checks: KnownChecks }>> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { files } = opened.workspace;
  const { createKnownChecks } = await import("../application/checks/list-checks.ts");
  const place = openChecksOf(opened);
  return {
    ...opened,
    checks: createKnownChecks({ files, now: Date.now, ...place, settings: () => place.settings }),
  };
}
