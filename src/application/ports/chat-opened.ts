import type { ChatMessages } from "../../domain/texts/chat.ts";
import type { Chat, ForkResult } from "../chat/sessions.ts";
import type {
  Conversation,
  ImageStore,
  NamedChat,
  NamedChats,
  NewTurn,
  OwnCommands,
  TalkForm,
} from "./chat.ts";
import type { WorkspaceProcesses } from "./sandbox-processes.ts";

export interface OpenChat {
  readonly conversation: Conversation;
  readonly images: ImageStore;
  readonly chat: ChatMessages;
  /** The commands that can follow a slash, including routes. */
  readonly commands: readonly string[];
  readonly ownCommands: OwnCommands;
  /** Paths of the project's files, nearest the root first. */
  listFiles(limit: number): readonly string[];
  processes(): Promise<WorkspaceProcesses>;
  /** The models that would talk and write code; null: none can. */
  who(): Promise<{ readonly chat: string | null; readonly coder: string | null }>;
  /** How many tokens a model takes; null if that is unknown. */
  contextOf(model: string): number | null;
  /** A chat that has not begun begins with what another one knows. */
  fork(from: Chat, to: Chat): Promise<ForkResult>;
  readonly chats: NamedChats;
  /** The editors', of every workspace, the one that was used last first. */
  editorChats(): Promise<readonly NamedChat[]>;
  /** The messages of the last day of a chat of this workspace, oldest first. */
  spoken(chatKey: string, limit: number): Promise<readonly NewTurn[]>;
  /** A chat of this workspace as the text of one file; null: nothing was said in it. */
  exportTalk(chatKey: string, form: TalkForm): Promise<string | null>;
  /** For a process that stays: sessions end with their day, even without a message. Returns how to end it. */
  keepTime(): () => void;
  /** Waits for what still runs behind the last reply. */
  close(): Promise<void>;
}
