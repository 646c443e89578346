import type { Edit } from "./edit.ts";

/** The three things a patch may ask for. Anything else parses, and fails as a command when it is run. */
export const COMMAND_TYPES = ["file_edit", "shell_command", "git_operation"] as const;
export type CommandType = (typeof COMMAND_TYPES)[number];

export const FILE_EDIT_ACTIONS = ["create", "update", "delete", "append", "rename", "mkdir", "copy"] as const;
export type FileEditAction = (typeof FILE_EDIT_ACTIONS)[number];

export const GIT_ACTIONS = ["add", "commit", "reset", "checkout"] as const;
export type GitAction = (typeof GIT_ACTIONS)[number];

/**
 * One command of a patch, immutable. `type` and `action` are whatever the patch said.
 * `target` is a path (file_edit), a shell line (shell_command) or git's argument (git_operation);
 * `content` is file text, a destination path, further shell text or a commit message.
 */
export interface PatchCommand {
  readonly type: string;
  readonly action: string;
  readonly target: string;
  readonly content: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly shell?: string;
  /** Set when the command changes files by matching (a diff, a V4A operation, a SEARCH/REPLACE block). */
  readonly edit?: Edit;
}
