import type { Kysely } from "kysely";
import { commandNames } from "../application/chat/commands/registry.ts";
import { createConversation } from "../application/chat/conversation.ts";
import type { OpenChat } from "../application/chat/open-chat.ts";
import type { ChatParts } from "../application/chat/parts.ts";
import type { Models } from "../application/ports/model.ts";
import type { Opening, OpenOptions } from "../application/ports/opening.ts";
import { costBy } from "../domain/models/cost.ts";
import { ROUTES } from "../domain/routing/route.ts";
import { chatMessagesFor, memoryMessagesFor } from "../domain/texts/texts.ts";
import { createMcpPool } from "../infrastructure/mcp/mcp-pool.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { createProjectFiles } from "../tools/read/project-files.ts";
import { VERSION } from "../version.ts";
import { createChatMemory } from "./chat-memory.ts";
import { openModels } from "./models.ts";
import { openStoreOnce } from "./store-once.ts";
import { openWorkspace } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** How long MCP servers wait for the next message of their chat. */
const MCP_IDLE_MS = 300_000;

/** What a caller may bring along; the rest comes from the configuration. */
export interface ChatChoices {
  readonly models?: Models;
  readonly now?: () => Date;
  /** A store that is open already; it stays open. */
  readonly db?: Kysely<Database>;
}

/** Opens the conversation on a workspace: the models and the memory, wired by hand. */
export async function openChat(
  env: Environment,
  options: OpenOptions,
  choices: ChatChoices = {},
): Promise<Opening<OpenChat>> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { workspace, loaded, parts: workspaceParts, messages, warnings } = opened;
  const { config, home } = loaded;
  const { locale } = messages;
  const chat = chatMessagesFor(locale);
  const { clock, random, logger } = workspaceParts;
  const now = choices.now ?? workspaceParts.now;
  const models =
    choices.models ?? openModels(config, loaded.secrets, { locale, home, env, mask: workspace.mask });
  const stored = await openStoreOnce(choices.db, loaded, now);
  if (!stored.ok) {
    const message = memoryMessagesFor(locale).storeUnavailable(stored.trouble);
    return { ok: false, exitCode: 3, messages, problems: [], message };
  }
  const memory = createChatMemory(
    {
      config,
      models,
      costOf: costBy(config.budget.prices),
      log: logger,
      locale,
      mask: workspace.mask,
      workspace: workspace.root,
      now,
      pid: process.pid,
    },
    stored.db,
  );
  const background = new Set<Promise<void>>();
  const pool = createMcpPool({
    idleMs: MCP_IDLE_MS,
    setTimer(run, ms) {
      const timer = setTimeout(run, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
  });
  const parts: ChatParts = {
    workspace,
    project: createProjectFiles(workspace, workspaceParts.planOptions),
    sessions: memory.sessions,
    router: memory.router,
    queue: memory.queue,
    meter: memory.meter,
    openToolbox: async (request) =>
      (await import("./toolbox.ts")).openToolbox(
        { env, opened, options, loaded, version: VERSION, pool },
        request,
      ),
    afterReply(work) {
      const running = work().catch((cause: unknown) =>
        logger.warn("chat", "chat.after_reply_failed", "chat.after_reply_failed", { error: String(cause) }),
      );
      background.add(running);
      void running.finally(() => background.delete(running));
    },
    commands: memory.commands,
    settings: {
      maxLoops: config.loop.max_loops,
      maxMillis: config.loop.max_millis,
      defaultCoder: config.roles.default_coder,
      dryRun: config.worker.dry_run,
      protectedPatterns: config.worker.protected_patterns,
      mcpServers: Object.keys(config.mcp_servers),
    },
    messages,
    chat,
    logger,
    now,
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
    commands: [...commandNames(parts), ...ROUTES.map((route) => route.toLowerCase())],
    keepTime: memory.keepTime,
    async close() {
      await Promise.allSettled([...background, pool.closeAll()]);
      await stored.close();
    },
  };
}
