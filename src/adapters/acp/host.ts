import type { OpenChat } from "../../application/chat/open-chat.ts";
import type { Opening } from "../../application/ports/opening.ts";

export type OpenedEditorFolder = Opening<OpenChat>;
export type EditorFolder = Extract<OpenedEditorFolder, { ok: true }>;

/** What the ACP agent needs of the program. */
export interface AcpHost {
  readonly version: string;
  /** The conversation on the folder that an editor has open. Asked once a folder. */
  open(cwd: string): Promise<OpenedEditorFolder>;
  /** Why a folder may not be worked in; null: it may. */
  refuses(cwd: string): string | null;
  /** The name of a new session. */
  newSessionId(): string;
  /** For people, never on the way of the protocol. */
  log(text: string): void;
}
