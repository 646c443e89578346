import { fromBytesText, readableText, toBytesText } from "../platform/bytes-text.ts";
import { attemptOr } from "../platform/error-text.ts";
import { editFile, type MatchRule } from "./apply-hunks.ts";
import type {
  BinaryPatch,
  DiffFile,
  Edit,
  EditPlan,
  FileEntry,
  FileSource,
  FileWrite,
  Hunk,
  HunkReport,
} from "./patch-command.ts";
import { Matching } from "./target-lines.ts";

/** The functions that the planner receives, because the domain has no access to them. */
export interface PlanOptions {
  /** Inflates zlib data to exactly `size` bytes; throws on corrupt data. */
  readonly inflate: (data: Uint8Array, size: number) => Uint8Array;
  /** Lower-case hex SHA-1; with it, binary patches are checked against the blobs they name. */
  readonly sha1?: (bytes: Uint8Array) => string;
}

type ContentResult =
  | { readonly ok: true; readonly bytes: Uint8Array; readonly reports: readonly HunkReport[] }
  | { readonly ok: false; readonly message: string; readonly reports: readonly HunkReport[] };

function diffContent(
  file: DiffFile,
  path: string,
  old: Uint8Array,
  options: PlanOptions,
  matching: Matching,
): ContentResult {
  if (file.change === "text") {
    if (file.hunks.length === 0) return { ok: true, bytes: old, reports: [] };
    const edited = editFile(path, old, file.hunks, "diff", matching);
    return edited.ok
      ? { ok: true, bytes: edited.bytes, reports: edited.reports }
      : { ok: false, message: `${path}: patch does not apply`, reports: edited.reports };
  }
  const refuse = (message: string): ContentResult => ({
    ok: false,
    message,
    reports: [{ path, hunk: 0, status: "refused", message }],
  });
  if (file.forward === undefined)
    return refuse(`${path}: the patch says that binary files differ but does not carry the change`);
  if (!isFullBlob(file.oldBlob) || !isFullBlob(file.newBlob))
    return refuse(`${path}: cannot apply a binary patch without full index line`);
  if (file.oldPath !== null && !isBlob(old, file.oldBlob, options))
    return refuse(`${path}: the binary patch is made for other content`);
  // The reverse part is not applied, but a truncated one shows that the patch did not arrive complete.
  if (file.reverse !== undefined && inflated(file.reverse, options) === null)
    return refuse(
      `${path}: the reverse part of the binary patch is corrupt; the patch may have been cut off`,
    );
  if (/^0+$/.test(file.newBlob)) return { ok: true, bytes: new Uint8Array(), reports: [] };
  const bytes = binaryResult(file.forward, old, options);
  if (bytes === null) return refuse(`${path}: binary patch does not apply`);
  if (!isBlob(bytes, file.newBlob, options)) return refuse(`${path}: binary patch creates incorrect result`);
  return { ok: true, bytes, reports: [{ path, hunk: 1, status: "applied", strategy: "exact" }] };
}

function binaryResult(patch: BinaryPatch, old: Uint8Array, options: PlanOptions): Uint8Array | null {
  const data = inflated(patch, options);
  return data === null || patch.method === "literal" ? data : applyGitDelta(old, data);
}

function inflated(patch: BinaryPatch, options: PlanOptions): Uint8Array | null {
  return attemptOr(null, () => {
    const data = options.inflate(patch.data, patch.size);
    return data.length === patch.size ? data : null;
  });
}

function isFullBlob(blob: string | undefined): blob is string {
  return blob !== undefined && (blob.length === 40 || blob.length === 64);
}

function isBlob(bytes: Uint8Array, blob: string, { sha1 }: PlanOptions): boolean {
  if (sha1 === undefined || blob.length !== 40) return true;
  return sha1(Buffer.concat([Buffer.from(`blob ${bytes.length}\0`), bytes])) === blob;
}

/** git's binary delta: copy from the old content or insert new bytes. Null where it does not fit the old content. */
function applyGitDelta(old: Uint8Array, delta: Uint8Array): Uint8Array | null {
  let at = 0;
  const readSize = (): number => {
    let size = 0;
    let scale = 1;
    for (; at < delta.length; scale *= 128) {
      const byte = delta[at++]!;
      size += (byte & 127) * scale;
      if ((byte & 128) === 0) return size;
    }
    return -1;
  };
  if (readSize() !== old.length) return null;
  const size = readSize();
  if (size < 0 || size > 0x7fffffff) return null;
  const out = new Uint8Array(size);
  let to = 0;
  while (at < delta.length) {
    const op = delta[at++]!;
    if (op === 0) return null;
    let from = 0;
    let length = op;
    if (op & 128) {
      for (let k = 0; k < 4; k++) if (op & (1 << k)) from += (delta[at++] ?? 0) * 2 ** (8 * k);
      length = 0;
      for (let k = 0; k < 3; k++) if (op & (16 << k)) length += (delta[at++] ?? 0) << (8 * k);
      if (length === 0) length = 0x10000;
    }
    const source = op & 128 ? old : delta;
    if ((op & 128) === 0) {
      from = at;
      at += length;
    }
    if (from + length > source.length || to + length > size) return null;
    out.set(source.subarray(from, from + length), to);
    to += length;
  }
  return to === size ? out : null;
}

/**
 * Plans a whole diff as git applies it: every file is checked before anything is written, a later part sees the
 * result of an earlier one on the same path, renames and copies read the content from before, and a file that is
 * deleted anywhere in the diff does not block the creation of another.
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
  readonly matching: Matching;
  readonly reports: HunkReport[];
  readonly errors: string[];
  /** Paths that some part deletes or renames away, already or later. */
  readonly leaving: ReadonlySet<string>;
  readonly fates: Map<string, FileFate>;
  /** The current entries at the parent folders, looked at once. */
  readonly parents: Map<string, FileEntry["kind"]>;
  readonly removed: Set<string>;
  readonly written: Map<string, FileAfter>;
  /** The folders above the written paths. */
  readonly folders: Set<string>;
}

function planDiff(
  files: readonly DiffFile[],
  source: FileSource,
  options: PlanOptions,
  matching: Matching,
): EditPlan {
  const leaving = new Set<string>();
  for (const file of files) {
    if (file.oldPath !== null && (file.newPath === null || file.operation === "rename"))
      leaving.add(file.oldPath);
  }
  const work: DiffWork = {
    source,
    options,
    matching,
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
  const path = file.oldPath ?? file.newPath ?? "";
  work.reports.push({ path, hunk: 0, status: "refused", message: problem });
}

/** Plans one part; the reason if it is refused as a whole. Hunks that fail have their own reports. */
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
    const blocked = blockingParent(work, to, from === null || isMade(file));
    if (blocked !== null) return blocked;
  }
  const mode = modeAfter(file, before?.result ?? null);
  if (typeof mode === "string") return mode;
  const old = before?.result.bytes ?? new Uint8Array();
  const content = diffContent(file, to ?? from ?? path, old, work.options, work.matching);
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

/** The part creates a file from another one as it was before the diff. */
const isMade = ({ operation }: DiffFile) => operation === "rename" || operation === "copy";

/** The file a part starts from; null when it creates one; a text when it cannot start. */
function readOld(
  work: DiffWork,
  file: DiffFile,
): { readonly path: string; readonly result: FileAfter } | null | string {
  if (file.oldPath === null) return null;
  const fate = isMade(file) ? undefined : work.fates.get(file.oldPath);
  if (fate === "deleted") return `${file.oldPath}: has been renamed or deleted by this patch`;
  if (fate !== undefined) return { path: file.oldPath, result: fate };
  const readAt = (path: string) =>
    symlinkAbove(work, path, false) === null
      ? toFileAfter(work.source.look(path))
      : "is beyond a symbolic link";
  const found = readAt(file.oldPath);
  if (typeof found !== "string") return { path: file.oldPath, result: found };
  if (found === "missing" && file.alternatePath !== undefined && isSafePath(file.alternatePath)) {
    const other = readAt(file.alternatePath);
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
    return { mode: before.mode, setMode: before.setMode || isMade(file) };
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

/** The report of an edit as text for a model or a person: what failed and why, the current lines, what not to resend. */
const MAX_LISTED = 20;

export function formatEditReport(reports: readonly HunkReport[]): string {
  const failed = reports.filter((report) => report.status !== "applied");
  if (failed.length === 0) return formatApplied(reports);
  const parts = failed.slice(0, MAX_LISTED).map(formatFailed);
  if (failed.length > MAX_LISTED) parts.push(`… and ${failed.length - MAX_LISTED} more that failed.`);
  const good = reports.length - failed.length;
  parts.push(
    good > 0
      ? `Nothing of this edit was written. ${countHunks(good)} would apply; the others have to be corrected.`
      : "Nothing of this edit was written.",
  );
  return parts.join("\n");
}

function formatApplied(reports: readonly HunkReport[]): string {
  const lines = reports.slice(0, MAX_LISTED).map((report) => {
    const where = report.line === undefined ? "" : ` at line ${report.line}`;
    const how =
      report.strategy === undefined || report.strategy === "exact" ? "" : ` (matched by ${report.strategy})`;
    return `${reportPath(report)}: applied${where}${how}`;
  });
  if (reports.length > MAX_LISTED) lines.push(`… and ${reports.length - MAX_LISTED} more`);
  return lines.join("\n");
}

function formatFailed(report: HunkReport): string {
  const place = `${reportPath(report)}: `;
  const said = report.message ?? report.status;
  const head = said.startsWith(place) ? said : `${place}${said}`;
  const candidates = report.candidates ?? [];
  if (candidates.length === 0) return head;
  const title = report.status === "ambiguous" ? "It matches at:" : "The nearest lines:";
  const shown = candidates.map((candidate) => {
    const likeness =
      report.status === "ambiguous"
        ? ""
        : ` (${Math.min(99, Math.round(candidate.similarity * 100))} % alike)`;
    const { line, from = line, text, differs } = candidate;
    const numbered = `  line ${line}${likeness}\n${hunkNumbers(text, from)}`;
    if (differs === undefined) return numbered;
    return `${numbered}\n  line ${differs.line} is the first that differs; expected was\n    ${" ".repeat(String(differs.line).length)}| ${differs.expected}`;
  });
  return [head, title, ...shown].join("\n");
}

function hunkNumbers(text: string, from: number): string {
  const lines = text.split("\n");
  const width = String(from + lines.length - 1).length;
  return lines.map((line, i) => `    ${String(from + i).padStart(width)}| ${line}`).join("\n");
}

function reportPath(report: HunkReport): string {
  return report.hunk === 0 ? report.path : `${report.path} hunk ${report.hunk}`;
}

function countHunks(hunks: number): string {
  return hunks === 1 ? "1 hunk" : `${hunks} hunks`;
}

/** All that an edit will write, or why it writes nothing. The edits of one patch share `matching`. */
export function planEdit(
  edit: Edit,
  source: FileSource,
  options: PlanOptions,
  matching = new Matching(),
): EditPlan {
  switch (edit.kind) {
    case "diff":
      return planDiff(edit.files, source, options, matching);
    case "v4a":
      return planOne(source, edit.path, edit.hunks, "v4a", matching, edit.moveTo);
    case "search-replace":
      return planOne(source, edit.path, [edit.hunk], "search-replace", matching);
  }
}

/** Loads what only a coder's draft needs. */
export const loadMadeEdits = () => import("./made-edits.ts");
export type WithoutMade = Awaited<ReturnType<typeof loadMadeEdits>>["withoutMade"];

export function createEditPlanner(): (edit: Edit, source: FileSource, options: PlanOptions) => EditPlan {
  const matching = new Matching();
  return (edit, source, options) => planEdit(edit, source, options, matching);
}

/** Every path an edit may read or write, each once. */
export function editPaths(edit: Edit): string[] {
  const paths = new Set<string>();
  if (edit.kind === "diff") {
    for (const file of edit.files) {
      for (const path of [file.oldPath, file.newPath, file.alternatePath]) if (path) paths.add(path);
    }
  } else {
    paths.add(edit.path);
    if (edit.kind === "v4a" && edit.moveTo !== undefined) paths.add(edit.moveTo);
  }
  return [...paths];
}

function planOne(
  source: FileSource,
  path: string,
  hunks: readonly Hunk[],
  rule: MatchRule,
  matching: Matching,
  moveTo?: string,
): EditPlan {
  const refuse = (message: string): EditPlan => {
    const report: HunkReport = { path, hunk: 0, status: "refused", message };
    return { ok: false, error: message, reports: [report] };
  };
  const found = source.look(path);
  if (found.kind === "missing") {
    const hunk = hunks[0];
    const creates =
      rule === "search-replace" && hunk !== undefined && hunk.lines.every((line) => line.tag === "+");
    return creates ? planCreation(path, hunk) : refuse(`${path}: No such file`);
  }
  if (found.kind !== "file")
    return refuse(`${path}: ${found.kind === "symlink" ? "is a symbolic link" : `is not a file`}`);
  const edited = editFile(path, found.bytes, hunks, rule, matching);
  if (!edited.ok) return { ok: false, error: planError(path, edited.reports), reports: edited.reports };
  if (moveTo === undefined || moveTo === path) {
    return { ok: true, writes: [{ kind: "write", path, bytes: edited.bytes }], reports: edited.reports };
  }
  const there = source.look(moveTo);
  if (there.kind === "directory") return refuse(`${moveTo}: is a directory`);
  const writes: FileWrite[] = [
    { kind: "delete", path },
    { kind: "write", path: moveTo, bytes: edited.bytes, mode: found.mode & 0o7777 },
  ];
  return { ok: true, writes, reports: edited.reports };
}

function planCreation(path: string, { lines }: Hunk): EditPlan {
  const bytes = fromBytesText(lines.map(({ text, eol }) => text + eol).join(""));
  const report: HunkReport = { path, hunk: 1, status: "applied", strategy: "exact", line: 1 };
  return { ok: true, writes: [{ kind: "write", path, bytes }], reports: [report] };
}

/** For people: the file, which of its edits, and the line to look at. */
function planError(path: string, reports: readonly HunkReport[]): string {
  const [first, ...others] = reports.filter((report) => report.status !== "applied");
  const which = reports.length > 1 ? `, edit ${first?.hunk} of ${reports.length}` : "";
  const near = first?.status === "not-found" ? first.candidates?.[0] : undefined;
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return `${path}${which}${near === undefined ? "" : `, near line ${near.line}`}: ${first?.message ?? first?.status ?? "failed"}${more}`;
}
