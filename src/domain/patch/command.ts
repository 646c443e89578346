import type { Edit } from "./patch-command.ts";

/**
 * One command of a patch, immutable. `type` and `action` are whatever the patch said; what is not one of
 * `file_edit` (create, update, delete, append, rename, mkdir, copy), `shell_command` (run) and `git_operation`
 * (add, commit, reset, checkout) parses, and fails as a command when it is run.
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
