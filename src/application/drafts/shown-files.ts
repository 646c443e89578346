import type { CheckedFiles } from "../../domain/drafts/check-edits.ts";
import type { FileEntry, PatchCommand } from "../../domain/patch/patch-command.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { decodeText, isSameFile } from "../../domain/platform/file-bytes.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type { MergedNote } from "../ports/jobs-draft.ts";

/** The bytes of each file when a coder was shown it: other bytes now are another author's work, which its edits must not replace. */
export type ShownFiles = ReturnType<typeof createShownFiles>;

export function createShownFiles() {
  const shown = new Map<string, Uint8Array | null>();
  const first = new Map<string, Uint8Array | null>();
  /** Records the bytes of a file that was not shown before others changed it. */
  const knowFirst = (path: string, bytes: Uint8Array | null): void => {
    if (!first.has(path)) first.set(path, bytes);
  };
  const sent = new Set<string>();
  return {
    /** The bytes of a file when the work began, as first shown; undefined if unknown. */
    firstBytes: (path: string): Uint8Array | null | undefined => first.get(path),
    knowFirst,
    /** The same files; each one read is recorded. `ownPaths` is asked once at most, because a draft may have thousands. */
    watch(
      files: ProjectFiles,
      ownPaths: () => ReadonlySet<string> = () => new Set(),
      isSavedSince: (path: string) => boolean = () => false,
    ): ProjectFiles {
      let own: ReadonlySet<string> | null = null;
      return {
        ...files,
        read(path, limitChars) {
          const entry = lookOrNull(files.source, path);
          const read = files.read(path, limitChars);
          const isRead = entry?.kind === "missing" || (read !== null && entry?.kind === "file");
          if (!isRead) return read;
          shown.set(path, bytesOf(entry));
          if (first.has(path)) return read;
          own ??= ownPaths();
          // What was saved since the work began is another author's, all of it: the bytes from before are unknown.
          if (!own.has(path)) knowFirst(path, isSavedSince(path) ? null : bytesOf(entry));
          return read;
        },
      };
    },
    /** The bytes when it was last shown; null if it did not exist, undefined if it was never read. */
    bytes: (path: string): Uint8Array | null | undefined => shown.get(path),
    /** The coder knows these files only as it was first shown them. */
    asFirst(paths: readonly string[]): void {
      for (const path of paths) {
        const bytes = first.get(path);
        if (bytes === undefined) shown.delete(path);
        else shown.set(path, bytes);
      }
    },
    sent(paths: Iterable<string>): void {
      for (const path of paths) sent.add(path);
    },
    /** The files of `sent` whose bytes differ by now. Each is reported once. */
    takeChanged: (now: CheckedFiles): string[] =>
      [...sent].filter((path) => {
        const before = shown.get(path);
        const entry = before === undefined ? null : lookOrNull(now, path);
        const changed = entry !== null && before !== undefined && !isSameFile(before, bytesOf(entry));
        if (changed) sent.delete(path);
        return changed;
      }),
  };
}

function lookOrNull(files: CheckedFiles, path: string): FileEntry | null {
  if (!files.judges(path)) return null;
  return attemptOr(null, () => files.look(path));
}

function bytesOf(entry: FileEntry): Uint8Array | null {
  return entry.kind === "file" ? entry.bytes : null;
}

/** The author of the other side of a conflict. */
export interface OtherChange {
  /** The job that changed the file; null where it was changed outside of PicoClaw. */
  readonly job: Pick<StoredJob, "jobId" | "title"> | null;
  readonly movedTo?: string;
}

/** An edit for an outdated version of a file; it does not run. */
export interface StaleEdit {
  readonly path: string;
  readonly what: "conflict" | "delete" | "rename" | "gone";
  /** Two of the three texts; the third is the current file. Null: no file; undefined: unknown or not text. */
  readonly shown: string | null | undefined;
  readonly yours: string | null | undefined;
  readonly other: OtherChange;
}

/** A file whose conflict was not settled, with the texts that are known. */
export type ContestedFile = Pick<StaleEdit, "path" | "shown" | "yours">;

export interface SettledCommands {
  /** Whole-file blocks of stale files contain the merged text. */
  readonly commands: readonly PatchCommand[];
  readonly merged: readonly MergedNote[];
  readonly stale: readonly StaleEdit[];
}

export interface SettleDeps {
  readonly files: CheckedFiles;
  readonly shown: Pick<ShownFiles, "bytes">;
  /** Whether a file that was never shown has changed since the message began. */
  readonly changedMeanwhile: (path: string) => boolean;
  readonly whoChanged: (path: string) => OtherChange;
}

/** Merges whole-file edits with changes since the coder saw the file; what cannot be merged is stale and must not run. */
export async function settleStaleEdits(
  deps: SettleDeps,
  commands: readonly PatchCommand[],
): Promise<SettledCommands> {
  const merged: MergedNote[] = [];
  const stale: StaleEdit[] = [];
  const written = new Set<string>();
  const settleOne = async (command: PatchCommand): Promise<PatchCommand> => {
    const { type, action, content, edit } = command;
    if (type !== "file_edit") return command;
    const path = plainPath(command.target);
    if (edit !== undefined) {
      if (edit.kind === "v4a" && edit.moveTo !== undefined) {
        stale.push(...staleTarget(deps, plainPath(edit.moveTo), written));
        written.add(plainPath(edit.moveTo));
      }
      return command;
    }
    const isOwn = written.has(path);
    written.add(path);
    switch (action) {
      case "create":
      case "update": {
        if (isOwn) return command;
        const block = await settleBlock(deps, path, content);
        if (block === null) return command;
        if ("what" in block) {
          stale.push(block);
          return command;
        }
        if (block.by !== undefined) merged.push({ path, by: block.by });
        return { ...command, content: block.content };
      }
      case "delete":
        if (!isOwn) stale.push(...staleRemoval(deps, path, "delete"));
        return command;
      case "rename":
      case "copy": {
        if (!isOwn && action === "rename") stale.push(...staleRemoval(deps, path, "rename"));
        const to = plainPath(content);
        stale.push(...staleTarget(deps, to, written));
        written.add(to);
        return command;
      }
      default:
        return command;
    }
  };
  const settled: PatchCommand[] = [];
  for (const command of commands) settled.push(await settleOne(command));
  return { commands: settled, merged, stale };
}

function plainPath(path: string): string {
  return path.replace(/^(\.\/)+/, "");
}

interface MergedBlock {
  readonly content: string;
  /** Absent where the block changes nothing. */
  readonly by?: string | null;
}

/** Null if the file is as it was shown, or was never shown. */
async function settleBlock(
  deps: SettleDeps,
  path: string,
  content: string,
): Promise<StaleEdit | MergedBlock | null> {
  const base = deps.shown.bytes(path);
  const entry = lookOrNull(deps.files, path);
  if (base === undefined || base === null || entry === null) return null;
  const now = bytesOf(entry);
  if (isSameFile(base, now)) return null;
  if (now === null) return toStaleEdit(deps, { path, what: "gone", yours: content });
  const { mergeFile } = await import("../../domain/platform/merge.ts");
  const result = mergeFile({ base, ours: new TextEncoder().encode(content), theirs: now });
  switch (result.kind) {
    case "same":
    case "ours":
      return null;
    case "theirs":
      return { content: decodeText(now) ?? content };
    case "clean":
      return { content: decodeText(result.bytes) ?? content, by: deps.whoChanged(path).job?.jobId ?? null };
    case "conflict":
      return toStaleEdit(deps, { path, what: "conflict", yours: content });
  }
}

function staleRemoval(deps: SettleDeps, path: string, what: "delete" | "rename"): StaleEdit[] {
  const base = deps.shown.bytes(path);
  const entry = lookOrNull(deps.files, path);
  if (entry?.kind !== "file") return [];
  const isStale = base === undefined ? deps.changedMeanwhile(path) : !isSameFile(base, entry.bytes);
  return isStale ? [toStaleEdit(deps, { path, what, yours: null })] : [];
}

/** A new file at the target of a move or copy would be replaced. */
function staleTarget(deps: SettleDeps, path: string, written: ReadonlySet<string>): StaleEdit[] {
  const entry = written.has(path) ? null : lookOrNull(deps.files, path);
  if (entry?.kind !== "file") return [];
  const base = deps.shown.bytes(path);
  const isStale =
    base === undefined || base === null ? deps.changedMeanwhile(path) : !isSameFile(base, entry.bytes);
  return isStale ? [toStaleEdit(deps, { path, what: "conflict", yours: undefined })] : [];
}

function toStaleEdit(
  { shown, whoChanged }: SettleDeps,
  { path, what, yours }: Pick<StaleEdit, "path" | "what" | "yours">,
): StaleEdit {
  return { path, what, yours, shown: textOf(shown.bytes(path)), other: whoChanged(path) };
}

/** Null if there is no file, undefined if its content is unknown or not text. */
export function textOf(bytes: Uint8Array | null | undefined): string | null | undefined {
  return bytes === null || bytes === undefined ? bytes : (decodeText(bytes) ?? undefined);
}

const ASK_AGAIN =
  "The file is shown as it is now. Answer with the changes that it still needs, so that both changes are kept; repeat your edit only if it applies to the file as it is now.";

/** The message to a coder about edits that did not run: who changed the file, and two of the three texts; the current one follows. */
export function wordStaleEdits(stale: readonly StaleEdit[], limitChars: number): string {
  const share = Math.floor(limitChars / Math.max(1, stale.length) / 2);
  return [
    ...stale.map((edit) => {
      const { path, shown, yours } = edit;
      const texts = [
        wordVersion(path, "as you were shown it", shown, share),
        wordVersion(path, "as you would have it", yours, share),
      ];
      return [wordStale(edit), ...texts.filter((text) => text !== "")].join("\n");
    }),
    ASK_AGAIN,
  ].join("\n\n");
}

function wordStale({ path, what, other }: StaleEdit): string {
  const who =
    other.job === null
      ? "the user or another program (not a job of PicoClaw)"
      : `job ${other.job.jobId} ("${other.job.title.slice(0, 100)}")`;
  switch (what) {
    case "conflict":
      return `${path} was changed by ${who} after you were shown it, and your version would undo that. Your version was not used.`;
    case "delete":
    case "rename":
      return `${path} was changed by ${who} after you were shown it. It was not ${what}d: look at the change first.`;
    case "gone":
      return other.movedTo === undefined
        ? `${path} was removed by ${who} after you were shown it. Your version was not written: it would bring the file back.`
        : `${path} was renamed to ${other.movedTo} by ${who} after you were shown it. Your version was not written: edit ${other.movedTo} if the change still belongs there.`;
  }
}

/** Not a `<file>` element: only the current text counts as shown. */
export function wordVersion(
  path: string,
  which: string,
  text: string | null | undefined,
  limit: number,
): string {
  if (text === undefined || text === null) return "";
  const cut =
    text.length > limit ? `${text.slice(0, limit)}\n… (${text.length - limit} more characters)` : text;
  return `<text path="${path}" version="${which}">\n${cut}${cut.endsWith("\n") ? "" : "\n"}</text>`;
}
