import type { Conversation } from "../application/ports/conversation.ts";
import type { NotOpened, Opened, OpenOptions } from "../application/ports/opening.ts";
import type { OwnCommands } from "../application/ports/own-commands.ts";
import { resolveLocale } from "../config/locale.ts";
import type { Locale } from "../domain/texts/messages.ts";
import { serveMessagesFor } from "../domain/texts/texts.ts";
import type { ChatChoices } from "./chat.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What a reload replaces. */
export interface ServeState extends Opened {
  readonly conversation: Conversation;
  readonly ownCommands: OwnCommands;
  readonly locale: Locale;
}

export type OpenedState =
  | {
      readonly ok: true;
      current(): ServeState;
      /** Reads the configuration again; null when that went well, else why the old one stays. */
      reload(): Promise<string | null>;
      openMcp(): Promise<{ handle(request: Request): Promise<Response>; close(): Promise<void> }>;
      close(): Promise<void>;
    }
  | { readonly ok: false; readonly refused: NotOpened };

/** The workspace and the conversation on it, exchangeable while the server runs. */
export async function openServeState(
  env: Environment,
  options: OpenOptions,
  choices: Pick<ChatChoices, "db" | "onModelCall" | "mayCommit" | "process" | "farJobs">,
): Promise<OpenedState> {
  const { openChat } = await import("./chat.ts");
  const first = await openChat(env, options, choices);
  if (!first.ok) return { ok: false, refused: first };
  const held = { chat: first, stopClock: first.keepTime() };
  /** Messages that are being answered keep what they began with. */
  const retired: (typeof first)[] = [];
  return {
    ok: true,
    current: () => {
      const { workspace, config, messages, warnings, conversation, ownCommands } = held.chat;
      const locale = resolveLocale({ env, config });
      return { workspace, config, messages, warnings, conversation, ownCommands, locale };
    },
    async reload() {
      const next = await openChat(env, options, choices);
      if (!next.ok) {
        const { messages, problems, message } = next;
        return message ?? [messages.configInvalid, ...problems.map(messages.configProblem)].join("\n");
      }
      // Messages that wait belong to the workspace that this process was started for.
      if (next.workspace.root !== held.chat.workspace.root) {
        await next.close();
        return serveMessagesFor(resolveLocale({ env, config: next.config })).workspaceMoved(
          next.workspace.root,
        );
      }
      retired.push(held.chat);
      held.chat = next;
      held.stopClock();
      held.stopClock = next.keepTime();
      return null;
    },
    async openMcp() {
      const { openMcp } = await import("./mcp.ts");
      const { root } = held.chat.workspace;
      const opened = await openMcp(env, { ...options, workspace: root }, () => {});
      if (!opened.ok) throw new Error(opened.message ?? "the workspace cannot be opened");
      return opened.endpoint();
    },
    async close() {
      held.stopClock();
      for (const chat of [...retired, held.chat]) await chat.close();
    },
  };
}
