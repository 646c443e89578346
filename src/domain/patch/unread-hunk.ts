import type { HunkLine } from "./patch-command.ts";

/** A hunk that knows its place in the patch; its lines are read when a plan first asks for them. */
export abstract class UnreadHunk {
  private kept: readonly HunkLine[] | undefined;

  get lines(): readonly HunkLine[] {
    this.kept ??= this.read();
    return this.kept;
  }

  protected abstract read(): readonly HunkLine[];
}
