import type { LineRange } from "../patch/compare-lines.ts";
import type {
  Edit,
  FileEntry,
  FileSource,
  FileWrite,
  Hunk,
  HunkReport,
  PatchCommand,
} from "../patch/patch-command.ts";
import { createEditPlanner, editPaths, formatEditReport, type PlanOptions } from "../patch/plan-edit.ts";

/** The current files. A path that is not judged (protected, outside, behind a link) is left to the executor. */
export interface CheckedFiles extends FileSource {
  judges(path: string): boolean;
}

export type CheckedEdits =
  | { readonly ok: true }
  /** `report` is for the model that wrote the patch. */
  | { readonly ok: false; readonly failed: number; readonly report: string };

/** Tries a patch's edits without writing, up to the first command that runs a program: the files after it are unknown. */
export function checkEdits(
  commands: readonly PatchCommand[],
  files: CheckedFiles,
  options: PlanOptions,
): CheckedEdits {
  const written = new Map<string, FileEntry>();
  // Each file is read once for all edits.
  const source: FileSource = {
    look(path) {
      const known = written.get(path) ?? files.look(path);
      written.set(path, known);
      return known;
    },
  };
  const reports: HunkReport[] = [];
  const planEdit = createEditPlanner();
  let failed = 0;
  for (const command of commands) {
    if (command.type !== "file_edit") break;
    if (command.edit === undefined) {
      imagine(command, source, written);
      continue;
    }
    if (!editPaths(command.edit).every((path) => files.judges(path))) continue;
    const plan = planEdit(command.edit, source, options);
    reports.push(...plan.reports);
    if (plan.ok) for (const write of plan.writes) note(write, source, written);
    else failed++;
  }
  return failed === 0 ? { ok: true } : { ok: false, failed, report: formatEditReport(reports) };
}

function note(write: FileWrite, source: FileSource, written: Map<string, FileEntry>): void {
  switch (write.kind) {
    case "write": {
      const before = source.look(write.path);
      const mode = write.mode ?? (before.kind === "file" ? before.mode : 0o644);
      written.set(write.path, { kind: "file", bytes: write.bytes, mode });
      return;
    }
    case "symlink":
      written.set(write.path, { kind: "symlink", target: write.target });
      return;
    case "delete":
      written.set(write.path, { kind: "missing" });
  }
}

/** The files after a plain file command, for later edits of the same patch. */
function imagine(
  { action, target, content }: PatchCommand,
  source: FileSource,
  written: Map<string, FileEntry>,
): void {
  const path = target.replace(/^\.\//, "");
  const there = source.look(path);
  switch (action) {
    case "create":
    case "update":
      written.set(path, { kind: "file", bytes: Buffer.from(content), mode: 0o644 });
      return;
    case "append": {
      const before = there.kind === "file" ? there.bytes : new Uint8Array();
      written.set(path, { kind: "file", bytes: Buffer.concat([before, Buffer.from(content)]), mode: 0o644 });
      return;
    }
    case "delete":
      written.set(path, { kind: "missing" });
      return;
    case "rename":
      written.set(path, { kind: "missing" });
      written.set(content, there);
      return;
    case "copy":
      written.set(content, there);
  }
}

/** Why an edit waits until its coder has reviewed it. */
export type Doubt =
  /** `****` in a name is the mask of a secret: the file that is meant is unknown. */
  | { readonly kind: "masked"; readonly path: string }
  /** The whole file is replaced, though its coder has not seen its current content. */
  | { readonly kind: "unseen"; readonly path: string }
  /** A mark such as `... existing code ...` would become part of the file. */
  | { readonly kind: "elision"; readonly path: string; readonly line: string }
  /** Only a fraction of the file would be left. */
  | { readonly kind: "shrinks"; readonly path: string; readonly from: number; readonly to: number }
  /** The block is only named like a file, and these names are missing in it; without names, it ends in the middle. */
  | { readonly kind: "not-whole"; readonly path: string; readonly names: readonly string[] }
  /** A mark of an edit or of a merge conflict would become part of the file. */
  | { readonly kind: "mark"; readonly path: string; readonly line: string };

export interface ShownToCoder {
  readonly shown: (path: string) => boolean;
  /** Whether the coder was warned about that file before: then it insists on the edit. */
  readonly told: (path: string) => boolean;
  /** Why a block cannot be the whole file; null if it can. */
  readonly notWhole?: (
    path: string,
    before: string,
    after: string,
    isGuess: boolean,
  ) => { readonly names: readonly string[] } | null;
  /** A small model may write another language, or half a file, under the right name. */
  readonly isSmall?: boolean;
}

/** A file with fewer lines may shrink without a doubt. */
const WONDER_FROM = 40;
const FRACTION = 4;

/** Edits in which the model probably wrote less than it meant. Files that are not judged are left out. */
export function doubtfulEdits(
  commands: readonly PatchCommand[],
  files: CheckedFiles,
  seen: ShownToCoder,
): Doubt[] {
  const doubts: Doubt[] = maskedNames(commands, files);
  const written = new Map<string, string>();
  for (const { type, action, target, content, edit, metadata } of commands) {
    if (type !== "file_edit") continue;
    if (edit !== undefined) {
      doubts.push(...doubtfulHunks(edit, files));
      continue;
    }
    const path = target.replace(/^\.\//, "");
    if (action === "delete" || action === "rename") written.set(path, "");
    if (action !== "create" && action !== "update") continue;
    const current = files.judges(path) ? readFileText(files, path) : null;
    const before = written.has(path) ? null : current;
    // Two fences of one path may each be a part of the file; a coder that insists means the last. Commands are ordered by meaning.
    const isWrittenBefore = written.has(path) && metadata?.language !== undefined && !seen.told(path);
    const replaced = written.get(path) ?? current ?? "";
    written.set(path, content);
    const found = marksIn(path, withoutExamples(path, content.split("\n")), current ?? "");
    doubts.push(...found);
    const isGuess = metadata?.named === "asked";
    const mayBePart =
      (metadata?.named !== undefined || isWrittenBefore) &&
      (replaced.trim() !== "" || isGuess || metadata?.named === "open") &&
      !isSame(replaced, content);
    const mayNotParse = seen.isSmall === true && !mayBePart && replaced.trim() !== "" && !seen.told(path);
    const whole =
      (mayBePart || mayNotParse) && found.length === 0
        ? (seen.notWhole?.(path, replaced, content, isGuess) ?? null)
        : null;
    const cut =
      metadata?.ends === "early"
        ? { names: [] }
        : mayNotParse && (whole?.names.length ?? 0) > 0
          ? null
          : (whole ??
            (mayBePart && isWrittenBefore && found.length === 0 && !sharesLine(replaced, content)
              ? { names: [] }
              : null));
    if (cut) doubts.push({ kind: "not-whole", path, names: cut.names });
    if (found.length > 0 || cut || before === null || before.trim() === "" || isSame(before, content))
      continue;
    if (!seen.shown(path)) doubts.push({ kind: "unseen", path });
    else if (!seen.told(path)) doubts.push(...shrinking(path, before, content));
  }
  return doubts;
}

/** The lines of a Markdown file outside of its closed fences: what a fence shows is an example. */
function withoutExamples(path: string, lines: readonly string[]): readonly string[] {
  if (!/\.(?:md|mdx|markdown)$/i.test(path)) return lines;
  const kept: string[] = [];
  let open = "";
  let from = 0;
  for (const line of lines) {
    const [mark = ""] = /^ {0,3}(?:`{3,}|~{3,})/.exec(line) ?? [];
    if (open === "" && mark !== "") [open, from] = [mark.trim(), kept.length];
    else if (open !== "" && line.trim().startsWith(open) && /^(?:`+|~+)$/.test(line.trim())) {
      kept.length = from;
      open = "";
      continue;
    }
    kept.push(line);
  }
  return kept;
}

function sharesLine(one: string, other: string): boolean {
  const lines = new Set(one.split("\n").map((line) => line.trim()));
  lines.delete("");
  return other.split("\n").some((line) => lines.has(line.trim()));
}

function maskedNames(commands: readonly PatchCommand[], files: CheckedFiles): Doubt[] {
  const paths = affectedFiles(commands).map((path) => path.replace(/^\.\//, ""));
  return paths.flatMap((path): Doubt[] => {
    const masked = /^.*\*{4}[^/]*/.exec(path)?.[0];
    return masked === undefined || files.look(masked).kind !== "missing" ? [] : [{ kind: "masked", path }];
  });
}

function isSame(before: string, after: string): boolean {
  return before.trimEnd() === after.trimEnd();
}

function shrinking(path: string, before: string, after: string): Doubt[] {
  const [from, to] = [before.split("\n").length, after.split("\n").length];
  return from >= WONDER_FROM && to * FRACTION < from ? [{ kind: "shrinks", path, from, to }] : [];
}

function doubtfulHunks(edit: Edit, files: CheckedFiles): Doubt[] {
  return hunksOf(edit).flatMap(({ path, hunks }): Doubt[] => {
    const added = hunks.flatMap(({ lines }) =>
      lines.filter(({ tag }) => tag === "+").map(({ text }) => text),
    );
    return marksIn(
      path,
      added.map((line) => Buffer.from(line, "latin1").toString()),
      (files.judges(path) && readFileText(files, path)) || "",
    );
  });
}

function marksIn(path: string, lines: readonly string[], before: string): Doubt[] {
  const elision = elisionIn(lines, before);
  if (elision !== null) return [{ kind: "elision", path, line: elision }];
  const mark = lines.find(
    (line, at) => isMark(line, lines[at - 1] ?? "") && !before.includes(line.trimEnd()),
  );
  return mark === undefined ? [] : [{ kind: "mark", path, line: mark.trim() }];
}

/** A mark of SEARCH/REPLACE or of a merge conflict, alone on its line. Equals signs below a shorter line underline a title. */
function isMark(line: string, above: string): boolean {
  const mark = line.trimEnd();
  if (/^(?:<{7}|>{7})(?: .{0,200})?$/.test(mark)) return true;
  return mark === "=======" && (above.trim() === "" || above.trim().length > mark.length);
}

/** The files of these in which a command takes a line away; one that only adds lines is none. */
export function alteredFiles(command: PatchCommand, of: readonly string[], files: CheckedFiles): string[] {
  const paths = affectedFiles([command]).map((path) => path.replace(/^(?:\.\/)+/, ""));
  return paths.filter((path) => {
    if (!of.includes(path)) return false;
    const { action, edit, content } = command;
    if (edit !== undefined)
      return hunksOf(edit).some(({ hunks }) =>
        hunks.some(({ lines }) => lines.some(({ tag }) => tag === "-")),
      );
    if (action === "append") return false;
    const after = content.split("\n").values();
    const kept = (readFileText(files, path) ?? "").split("\n").filter((line) => line.trim() !== "");
    return action !== "update" && action !== "create"
      ? true
      : !kept.every((line) => after.some((one) => one === line));
  });
}

function hunksOf(edit: Edit): readonly { readonly path: string; readonly hunks: readonly Hunk[] }[] {
  switch (edit.kind) {
    case "search-replace":
      return [{ path: edit.path, hunks: [edit.hunk] }];
    case "v4a":
      return [{ path: edit.path, hunks: edit.hunks }];
    case "diff":
      return edit.files.flatMap((file) =>
        file.change === "text" ? [{ path: file.newPath ?? file.oldPath ?? "", hunks: file.hunks }] : [],
      );
  }
}

/** `// ... existing code ...`, `# … rest of the file unchanged`, `# 省略 …`: a comment in place of code. */
const ELISION =
  /^\s*(?:\/\/|#|\/\*|<!--|--|;|%|\{\/\*)?\s*[([<]?\s*(?:\.{3}|…)\s*[([]?\s*(?:(?:the )?(?:existing|rest|remaining|remainder|unchanged|previous|same as|other|keep|omitted|code)|既存|残り|以下|省略|変更なし|中略|同じ)/iu;

/** A line of the examples that coders are shown, copied in place of code. */
const EXAMPLE = /^\(the new lines\)$|^all of the new content of \S/;

/** The first such line that was not in the file before. */
function elisionIn(lines: readonly string[], before: string): string | null {
  const isOmission = (line: string) => ELISION.test(line) || EXAMPLE.test(line);
  return lines.find((line) => isOmission(line) && !before.includes(line.trim()))?.trim() ?? null;
}

function readFileText(files: CheckedFiles, path: string): string | null {
  const found = files.look(path);
  return found.kind === "file" ? Buffer.from(found.bytes).toString() : null;
}

/** The paths that a patch names. The paths that its programs touch are known only after they ran. */
export function affectedFiles(commands: readonly PatchCommand[]): string[] {
  const paths = commands.flatMap(({ type, action, target, content, edit }) => {
    if (type !== "file_edit") return [];
    if (edit !== undefined) return editPaths(edit);
    return action === "rename" || action === "copy" ? [target, content] : [target];
  });
  return [...new Set(paths)];
}

/** Shorter lines of an edit, such as brackets, identify no place. */
const TELLING = 8;

/** The only place of each line that occurs once in a text, from 1; a line that occurs more often identifies none. */
export function indexLines(text: string): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [at, line] of text.split("\n").entries()) {
    const key = line.trim();
    if (key.length >= TELLING) places.set(key, places.has(key) ? 0 : at + 1);
  }
  return places;
}

/** The lines that failed edits were meant for: the candidates in their report, else where the expected lines occur. */
export function meantLines(
  commands: readonly PatchCommand[],
  path: string,
  places: ReadonlyMap<string, number>,
  report: string,
): number[] {
  const said = [...report.matchAll(/^ {2}line (\d+)/gm)].map(([, line]) => Number(line));
  if (said.length > 0) return said;
  return commands
    .flatMap(({ edit }) => (edit === undefined ? [] : hunksOf(edit)))
    .filter((one) => one.path === path)
    .flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines))
    .filter(({ tag }) => tag !== "+")
    .flatMap(({ text: line }) => places.get(Buffer.from(line, "latin1").toString().trim()) || []);
}

/** A longer hunk is shown by its ends: the coder wrote it a moment ago. */
const LONGEST_CHANGE = 40;
const CHANGE_ENDS = { first: 24, last: 10 };

/** The lines of a file that edits wrote, as far as the file still contains them. */
export function changedRanges(commands: readonly PatchCommand[], path: string, text: string): LineRange[] {
  const placeOf = createPlaceFinder(text.split("\n").map((line) => line.trim()));
  return commands
    .flatMap(({ edit }) => (edit === undefined ? [] : hunksOf(edit)))
    .filter((one) => one.path.replace(/^(\.\/)+/, "") === path)
    .flatMap(({ hunks }) => hunks)
    .flatMap(({ lines: all }) => {
      const written = all.filter(({ tag }) => tag !== "-");
      const wanted = written.map((line) => Buffer.from(line.text, "latin1").toString().trim());
      const at = placeOf(wanted);
      if (at < 0) return [];
      // The lines that a hunk adds, or where it took some away.
      const first = written.findIndex(({ tag }) => tag === "+");
      const last = written.findLastIndex(({ tag }) => tag === "+");
      const from = at + 1 + Math.max(0, first);
      const to = first < 0 ? at + wanted.length : at + 1 + last;
      if (to - from < LONGEST_CHANGE) return [{ from, to }];
      return [
        { from, to: from + CHANGE_ENDS.first - 1 },
        { from: to - CHANGE_ENDS.last + 1, to },
      ];
    });
}

/** The lines that are compared for each line of the file and of what is sought in it. */
const COMPARED_PER_LINE = 8;

/**
 * Finds the first line, from 0, at which all of some lines occur consecutively; -1 if they do not. All searches of a file share one
 * budget, so that a file of equal lines costs no more than another; a place that is beyond it is not found.
 */
function createPlaceFinder(lines: readonly string[]): (wanted: readonly string[]) => number {
  const places = new Map<string, number[]>();
  for (const [at, line] of lines.entries()) {
    const known = places.get(line);
    if (known === undefined) places.set(line, [at]);
    else known.push(at);
  }
  let left = lines.length * COMPARED_PER_LINE;
  return (wanted) => {
    if (wanted.every((line) => line === "")) return -1;
    left += wanted.length * COMPARED_PER_LINE;
    const found = wanted.map((line) => places.get(line) ?? []);
    const rarest = found.reduce((best, at, i) => (at.length < found[best]!.length ? i : best), 0);
    for (const at of found[rarest]!) {
      const start = at - rarest;
      let same = 0;
      while (same < wanted.length && lines[start + same] === wanted[same]) same++;
      left -= same + 1;
      if (same === wanted.length && left >= 0) return start;
      if (left < 0) return -1;
    }
    return -1;
  };
}
