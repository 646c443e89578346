import type { DiffFile, EditPlan, FileEntry, FileSource, FileWrite, HunkReport } from "./patch-command.ts";
import { readableText, toBytesText } from "./patch-text.ts";
import { diffContent, type PlanOptions } from "./diff-content.ts";
import { createBudget } from "./work-budget.ts";

/**
 * Plans a whole diff as git applies it: every file is checked before anything is written, a later part sees the
 * result of an earlier one on the same path, renames and copies read the content from before, and what is deleted
 * anywhere in the diff does not stand in the way of what is created.
 */
const TYPE = 0o170000;
const REGULAR = 0o100000;
const SYMLINK = 0o120000;

/** A file after some parts of the diff. */
interface FileAfter {
  readonly bytes: Uint8Array;
  /** Type bits and permissions. */
  readonly mode: number;
  readonly setMode: boolean;
}
type FileFate = FileAfter | "deleted";

interface DiffWork {
  readonly source: FileSource;
  readonly options: PlanOptions;
  readonly budget: { left: number };
  readonly reports: HunkReport[];
  readonly errors: string[];
  /** Paths that some part deletes or renames away, done or still to come. */
  readonly leaving: ReadonlySet<string>;
  readonly fates: Map<string, FileFate>;
  /** What stands at the parent folders, looked at once. */
  readonly parents: Map<string, FileEntry["kind"]>;
  readonly removed: Set<string>;
  readonly written: Map<string, FileAfter>;
  /** The folders above what is written. */
  readonly folders: Set<string>;
}

export function planDiff(files: readonly DiffFile[], source: FileSource, options: PlanOptions): EditPlan {
  const leaving = new Set<string>();
  for (const file of files) {
    if (file.oldPath !== null && (file.newPath === null || file.operation === "rename"))
      leaving.add(file.oldPath);
  }
  const work: DiffWork = {
    source,
    options,
    budget: createBudget(),
    reports: [],
    errors: [],
    leaving,
    fates: new Map(),
    parents: new Map(),
    removed: new Set(),
    written: new Map(),
    folders: new Set(),
  };
  for (const file of files) planFile(work, file);
  if (work.errors.length > 0)
    return { ok: false, error: work.errors.slice(0, 20).join("\n"), reports: work.reports };
  return { ok: true, writes: writesOf(work), reports: work.reports };
}

function planFile(work: DiffWork, file: DiffFile): void {
  const problem = checkFile(work, file);
  if (problem === null) return;
  work.errors.push(problem);
  work.reports.push({
    path: file.oldPath ?? file.newPath ?? "",
    hunk: 0,
    status: "refused",
    message: problem,
  });
}

/** Plans one part; the reason where it is refused as a whole. Hunks that fail report for themselves. */
function checkFile(work: DiffWork, file: DiffFile): string | null {
  const path = file.oldPath ?? file.newPath ?? "";
  if (file.oldPath !== null && !isSafePath(file.oldPath)) return `invalid path: ${file.oldPath}`;
  if (file.newPath !== null && file.newPath !== file.oldPath && !isSafePath(file.newPath))
    return `invalid path: ${file.newPath}`;
  const before = readOld(work, file);
  if (typeof before === "string") return before;
  const from = before?.path ?? null;
  const to =
    file.newPath === null ? null : file.operation === "modify" && from !== null ? from : file.newPath;
  if (to !== null) {
    const blocked = blockingParent(
      work,
      to,
      from === null || file.operation === "rename" || file.operation === "copy",
    );
    if (blocked !== null) return blocked;
  }
  const mode = modeAfter(file, before?.result ?? null);
  if (typeof mode === "string") return mode;
  const content = diffContent(
    file,
    to ?? from ?? path,
    before?.result.bytes ?? new Uint8Array(),
    work.options,
    work.budget,
  );
  for (const report of content.reports) work.reports.push(report);
  if (!content.ok) {
    work.errors.push(content.message);
    return null;
  }
  if (to === null && content.bytes.length > 0) return `${path}: removal patch leaves file contents`;
  settleFile(work, file, from, to, { bytes: content.bytes, ...mode });
  if (file.change === "text" && file.hunks.length === 0)
    work.reports.push({ path: to ?? path, hunk: 0, status: "applied" });
  return null;
}

function settleFile(
  work: DiffWork,
  file: DiffFile,
  from: string | null,
  to: string | null,
  result: FileAfter,
): void {
  if (to !== null) {
    work.fates.set(to, result);
    work.written.set(to, result);
    for (let at = to.lastIndexOf("/"); at > 0; at = to.lastIndexOf("/", at - 1))
      work.folders.add(to.slice(0, at));
  }
  if (from !== null && (to === null || file.operation === "rename")) {
    work.fates.set(from, "deleted");
    work.removed.add(from);
  }
}

/** The file a part starts from; null when it creates one; a text when it cannot start. */
function readOld(
  work: DiffWork,
  file: DiffFile,
): { readonly path: string; readonly result: FileAfter } | null | string {
  if (file.oldPath === null) return null;
  const independent = file.operation === "rename" || file.operation === "copy";
  const fate = independent ? undefined : work.fates.get(file.oldPath);
  if (fate === "deleted") return `${file.oldPath}: has been renamed or deleted by this patch`;
  if (fate !== undefined) return { path: file.oldPath, result: fate };
  const link = symlinkAbove(work, file.oldPath, false);
  if (link !== null) return `${file.oldPath}: is beyond a symbolic link`;
  const found = toFileAfter(work.source.look(file.oldPath));
  if (typeof found !== "string") return { path: file.oldPath, result: found };
  if (found === "missing" && file.alternatePath !== undefined && isSafePath(file.alternatePath)) {
    const other =
      symlinkAbove(work, file.alternatePath, false) === null
        ? toFileAfter(work.source.look(file.alternatePath))
        : "";
    if (typeof other !== "string") return { path: file.alternatePath, result: other };
  }
  if (found === "missing" && file.mayCreate === true) return null;
  return found === "missing" ? `${file.oldPath}: No such file` : `${file.oldPath}: ${found}`;
}

function toFileAfter(found: FileEntry): FileAfter | string {
  switch (found.kind) {
    case "file":
      return { bytes: found.bytes, mode: REGULAR | (found.mode & 0o7777), setMode: false };
    case "symlink":
      return { bytes: Buffer.from(found.target, "utf8"), mode: SYMLINK, setMode: false };
    case "missing":
      return "missing";
    case "directory":
      return "is a directory";
    case "other":
      return "is not a regular file";
  }
}

/** Why nothing can be put at a path, or null. */
function blockingParent(work: DiffWork, path: string, mustBeFree: boolean): string | null {
  if (symlinkAbove(work, path, true) !== null) return `affected file '${path}' is beyond a symbolic link`;
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
    const parent = path.slice(0, at);
    const fate = work.fates.get(parent);
    if (fate === "deleted" || work.leaving.has(parent)) continue;
    if (fate !== undefined) return `${path}: ${parent} is not a directory`;
    const kind = entryKind(work, parent);
    if (kind === "directory") break;
    if (kind !== "missing") return `${path}: ${parent} is not a directory`;
  }
  if (work.folders.has(path)) return `${path}: is not a directory, but this patch puts something below it`;
  if (!mustBeFree) return null;
  const fate = work.fates.get(path);
  if (fate === "deleted" || work.leaving.has(path)) return null;
  if (fate !== undefined) return `${path}: already exists`;
  const found = work.source.look(path);
  if (found.kind === "missing") return null;
  if (found.kind !== "directory") return `${path}: already exists in working directory`;
  return [...work.leaving].some((gone) => gone.startsWith(`${path}/`)) ? null : `${path}: is a directory`;
}

function entryKind(work: DiffWork, parent: string): FileEntry["kind"] {
  let kind = work.parents.get(parent);
  if (kind === undefined) {
    kind = work.source.look(parent).kind;
    work.parents.set(parent, kind);
  }
  return kind;
}

/** The nearest parent that is, or will be, a symlink. */
function symlinkAbove(work: DiffWork, path: string, planned: boolean): string | null {
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
    const parent = path.slice(0, at);
    const fate = planned ? work.fates.get(parent) : undefined;
    if (fate !== undefined && fate !== "deleted" && (fate.mode & TYPE) === SYMLINK) return parent;
    if (planned && (fate === "deleted" || work.leaving.has(parent))) continue;
    if (entryKind(work, parent) === "symlink") return parent;
  }
  return null;
}

/** Type and permissions after a part: the file's own unless the diff names others. */
function modeAfter(file: DiffFile, before: FileAfter | null): Omit<FileAfter, "bytes"> | string {
  const path = file.newPath ?? file.oldPath ?? "";
  const type = (file.newMode ?? 0) & TYPE;
  if (before === null) {
    const mode = file.newMode ?? REGULAR | 0o644;
    if (type !== 0 && type !== REGULAR && type !== SYMLINK)
      return `${path}: mode ${mode.toString(8)} is not supported`;
    return {
      mode: (mode & TYPE) === SYMLINK ? SYMLINK : REGULAR | (mode & 0o111 ? 0o755 : 0o644),
      setMode: (mode & 0o111) !== 0,
    };
  }
  const oldType = before.mode & TYPE;
  if (file.oldMode !== undefined && (file.oldMode & TYPE) !== oldType) return `${path}: wrong type`;
  if (file.newPath === null || file.newMode === undefined) {
    return {
      mode: before.mode,
      setMode: before.setMode || file.operation === "rename" || file.operation === "copy",
    };
  }
  if (type !== oldType) return `${path}: new mode (${file.newMode.toString(8)}) does not match old mode`;
  const executable = before.mode | ((before.mode & 0o444) >> 2);
  return { mode: file.newMode & 0o111 ? executable : before.mode & ~0o111, setMode: true };
}

function writesOf(work: DiffWork): FileWrite[] {
  const writes: FileWrite[] = [];
  for (const path of work.removed)
    if (!work.written.has(path)) writes.push({ kind: "delete", path, pruneParents: true });
  for (const [path, result] of work.written) {
    if ((result.mode & TYPE) === SYMLINK) {
      writes.push({ kind: "symlink", path, target: readableText(toBytesText(result.bytes)) });
    } else {
      const mode = result.setMode ? { mode: result.mode & 0o7777 } : {};
      writes.push({ kind: "write", path, bytes: result.bytes, ...mode });
    }
  }
  return writes;
}

/** git's rule for paths in a diff: relative, without `.`, `..`, empty parts and git's own folder. */
function isSafePath(path: string): boolean {
  if (path === "" || path.startsWith("/") || path.includes("\0")) return false;
  return !/(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i.test(path);
}
