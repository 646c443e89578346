import { availableParallelism } from "node:os";
import type { Kysely } from "kysely";
import { commandNames } from "../application/chat/chat-commands.ts";
import { type ChatQueue, createSteering } from "../application/chat/chat-queue.ts";
import type { ChatDeps, FarJobs } from "../application/chat/chat-turn.ts";
import { createConversation, type OpenChat } from "../application/chat/conversation.ts";
import type { WorkspaceDeps } from "../application/jobs/execution.ts";
import type { ModelCall } from "../application/models/meter.ts";
import type { NamedChats } from "../application/ports/chat.ts";
import type { Opening, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { Models } from "../application/ports/models.ts";
import type { Logger } from "../application/ports/platform.ts";
import type { Config } from "../config/config.ts";
import { areCommandsTrusted } from "../config/trust.ts";
import { chatKeyOf, formatDayIn, resolveTimeZone } from "../domain/chat/session.ts";
import { ROUTES } from "../domain/config/route.ts";
import { chatMessagesFor } from "../domain/texts/chat.ts";
import { createMcpPool } from "../infrastructure/chat/mcp-pool.ts";
import { createOwnCommands } from "../infrastructure/chat/own-commands.ts";
import { createNamedChats } from "../infrastructure/chat/session-store.ts";
import { createCheckMemory } from "../infrastructure/checks/check-memory.ts";
import { toStorage } from "../infrastructure/engine/job-storage.ts";
import { findProgram } from "../infrastructure/engine/staging.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { createProjectFiles } from "../tools/read/project-files.ts";
import { VERSION } from "../version.ts";
import { createChatMemory, memoryOptionsOf } from "./chat-memory.ts";
import { type OpenStore, openOwnStore } from "./store.ts";
import { openWorkspace } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long a banner waits for the local models. */
const LOOK_MS = 1_000;
/** How long MCP servers wait for the next message of their chat. */
const MCP_IDLE_MS = 300_000;

/** How long a chat that is spoken in is waited for, to be forgotten. */
const FORGET_MS = 5_000;

/** The parts that a caller may provide; the rest comes from the configuration. */
export interface ChatChoices {
  readonly models?: Models;
  readonly now?: () => Date;
  /** A store that is open already; it stays open. */
  readonly db?: Kysely<Database>;
  /** For a process that opens several folders. */
  readonly openStore?: OpenStore;
  readonly mayCommit?: WorkspaceDeps["mayCommit"];
  /** The name under which the queue of this process says that it lives. */
  readonly process?: string;
  /** Where there are other machines. */
  readonly farJobs?: FarJobs;
  /** For whoever traces. */
  readonly onModelCall?: ((call: ModelCall) => void) | undefined;
}

/** Opens the conversation on a workspace: the models and the memory, wired by hand. */
export async function openChat(
  env: Environment,
  options: OpenOptions,
  choices: ChatChoices = {},
): Promise<Opening<OpenChat>> {
  const opened = await openWorkspace(env, options, choices);
  if (!opened.ok) return opened;
  const { workspace, loaded, parts: workspaceParts, messages, warnings } = opened;
  const { config } = loaded;
  const chat = chatMessagesFor(messages.locale);
  const { clock, random, logger } = workspaceParts;
  const now = choices.now ?? workspaceParts.now;
  const { openStore = openOwnStore } = choices;
  const stored = await openStore(loaded, { locale: messages.locale, now, given: choices.db });
  if (!stored.ok) return stored;
  const remembered = memoryOptionsOf(env, opened, choices);
  const memory = createChatMemory(remembered, stored.db);
  const background = createBackground(logger);
  const projectOf: ChatDeps["projectOf"] = (files) =>
    createProjectFiles({ ...workspace, files }, workspaceParts.planOptions);
  const pool = createMcpPool({ idleMs: MCP_IDLE_MS, setTimer: (run, ms) => timers.after(ms, run) });
  const ownCommands = createOwnCommands({
    home: loaded.home,
    workspace: workspace.root,
    isTrusted: () => areCommandsTrusted({ home: loaded.home, workspace: workspace.root }),
    mask: workspace.mask,
  });
  const parts: ChatDeps = {
    workspace,
    project: projectOf(workspace.files),
    projectOf,
    checks: {
      settings: config.checks,
      memory: createCheckMemory({
        home: loaded.home,
        root: workspace.root,
        storage: toStorage(workspace.root, workspace.storage, true).outer,
      }),
      hasProgram: (name) => findProgram(name, env.PATH ?? "") !== null,
      atOnce: Math.max(1, Math.floor(availableParallelism() / 2)),
    },
    canAsk: (role) => "generate" in remembered.models.forRole(role),
    reachesOutward,
    sessions: memory.sessions,
    router: memory.router,
    queue: memory.queue,
    steering: createSteering(),
    meter: memory.meter,
    openToolbox: async (request) =>
      (await import("./toolbox.ts")).openToolbox(
        { env, opened, options, loaded, version: VERSION, pool },
        request,
      ),
    ...(choices.farJobs !== undefined && { farJobs: choices.farJobs }),
    afterReply: background.start,
    commands: memory.commands,
    looks: memory.looks,
    ownCommands,
    settings: settingsOf(config),
    messages,
    chat,
    logger,
    now,
    today: () => formatDayIn(resolveTimeZone(config.session.timezone), now()),
    clock,
    random,
  };
  return {
    ok: true,
    workspace,
    config,
    messages,
    warnings,
    chat,
    conversation: createConversation(parts),
    commands: [
      ...new Set([
        ...commandNames(parts),
        ...ROUTES.map((route) => route.toLowerCase()),
        ...ownCommands.list().map(({ name }) => name),
      ]),
    ],
    ownCommands,
    who: async () => {
      await remembered.models.look?.(AbortSignal.timeout(LOOK_MS));
      const named = async (role: Parameters<Models["forRole"]>[0]) => {
        const model = remembered.models.forRole(role);
        if (!("generate" in model)) return null;
        // A local model that is not there is not announced; a cloud is not asked for a banner.
        const check = model.local ? await model.check(AbortSignal.timeout(LOOK_MS)) : null;
        return check === null || check.ok ? `${model.provider}/${model.model}` : null;
      };
      const [talker, coder] = await Promise.all([named("chat"), named(config.roles.default_coder)]);
      return { chat: talker, coder };
    },
    fork: memory.sessions.fork,
    chats: namedChats(stored.db, remembered.workspace, memory.queue),
    keepTime: memory.keepTime,
    async close() {
      await Promise.allSettled([background.settled(), pool.closeAll()]);
      await stored.close();
    },
  };
}

/** Nothing is forgotten while somebody speaks there. */
function namedChats(db: Kysely<Database>, workspace: string, queue: ChatQueue): NamedChats {
  const chats = createNamedChats({ db, workspace, channel: "cli" });
  return {
    list: chats.list,
    async forget(name) {
      const signal = AbortSignal.timeout(FORGET_MS);
      const done = await queue.run(chatKeyOf("cli", name), () => chats.forget(name), { signal });
      if (!done.ran) return "busy";
      return done.value ? "forgotten" : "unknown";
    },
  };
}

function settingsOf(config: Config): ChatDeps["settings"] {
  return {
    maxLoops: config.loop.max_loops,
    maxMillis: config.loop.max_millis,
    defaultCoder: config.roles.default_coder,
    dryRun: config.worker.dry_run,
    protectedPatterns: config.worker.protected_patterns,
    mcpServers: Object.keys(config.mcp_servers),
    coder: {
      attempts: config.coder.attempts,
      explore: config.coder.explore,
      onRed: config.coder.on_red,
      maxMinutes: config.coder.max_minutes,
      budgetUsd: config.coder.budget_usd,
      candidates: config.coder.candidates,
      escalate: config.coder.escalate,
    },
  };
}

/** The parser is loaded for the first script that may reach somebody. */
async function reachesOutward(script: string): Promise<boolean> {
  const { mayReachOutward, reachesOutward: reaches } = await import("../domain/policy/reaches-outward.ts");
  if (!mayReachOutward(script)) return false;
  const { parseShell } = await import("../infrastructure/policy/parse-shell.ts");
  return reaches(script, parseShell);
}

/** Work that goes on behind a reply; whoever closes waits for it. */
function createBackground(logger: Logger) {
  const running = new Set<Promise<void>>();
  return {
    start(work: () => Promise<void>) {
      const one = work().catch((cause: unknown) =>
        logger.warn("chat", "chat.after_reply_failed", "chat.after_reply_failed", { error: String(cause) }),
      );
      running.add(one);
      void one.finally(() => running.delete(one));
    },
    settled: () => Promise.allSettled(running),
  };
}
