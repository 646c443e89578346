import type { ChatMessages } from "../../domain/texts/texts.ts";
import type { Conversation } from "../ports/conversation.ts";
import type { NamedChats } from "../ports/named-chats.ts";
import type { OwnCommands } from "../ports/own-commands.ts";
import type { ForkResult } from "./fork-session.ts";
import type { Chat } from "./session-parts.ts";

/** A conversation on a workspace, with what a surface needs beside it. */
export interface OpenChat {
  readonly conversation: Conversation;
  readonly chat: ChatMessages;
  /** What can follow a slash, routes too. */
  readonly commands: readonly string[];
  /** Those that the user wrote, as they are by now. */
  readonly ownCommands: OwnCommands;
  /** Who would talk and who would write code, by model; null: nobody can. */
  who(): Promise<{ readonly chat: string | null; readonly coder: string | null }>;
  /** A chat that has not begun begins with what another one knows. */
  fork(from: Chat, to: Chat): Promise<ForkResult>;
  /** The terminal's. */
  readonly chats: NamedChats;
  /** For a process that stays: sessions end with their day, though nobody speaks. Returns how to end it. */
  keepTime(): () => void;
  /** Waits for what still runs behind the last reply. */
  close(): Promise<void>;
}
