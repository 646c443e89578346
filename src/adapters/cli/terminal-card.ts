import { diffWordsWithSpace, structuredPatch } from "diff";
import type { FileDifference, JobArchive } from "../../application/ports/jobs.ts";
import { changedFiles, findGitFolder } from "../../domain/jobs/result.ts";
import { isBinaryContent, modeLines } from "../../domain/patch/compare-lines.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { readCode } from "../../domain/texts/code-tokens.ts";
import { shownPath } from "../../domain/texts/format-text.ts";
import { printable } from "./command.ts";
import type { Block } from "./live-screen.ts";
import { cutToColumns, visibleWidth, wrapColumns } from "./terminal-pi.ts";
import type { DiffPiece, Style } from "./terminal-style.ts";

/** One line of a difference, before it is drawn. */
export type DiffLine =
  | { readonly kind: "file"; readonly path: string; readonly added: number; readonly removed: number }
  /** Between two places of a file. */
  | { readonly kind: "gap" }
  | { readonly kind: "note"; readonly text: string }
  /** Deleted with its files, or made or deleted without any. */
  | { readonly kind: "folder"; readonly path: string; readonly files: number; readonly text: string }
  | {
      readonly kind: "same" | "added" | "removed";
      readonly number: number;
      readonly pieces: readonly DiffPiece[];
    };

const CONTEXT = 2;
/** Longer files are compared without words. */
const MOST_WORDS = 400;
const LONGEST_FILE = 2_000_000;

/** File by file, with the changed words within a line. Git's own files are only counted: they would hide the change. */
export function diffLines(differences: readonly FileDifference[], texts: TerminalMessages): DiffLine[] {
  const own = differences.filter(({ path }) => !path.startsWith(".git/"));
  const gitFiles = differences.length - own.length;
  const lines = own.flatMap((difference) => {
    const notes = difference.modes === undefined ? [] : modeLines(difference.modes);
    const [first, ...rest] = differenceLines(difference, texts);
    return [...(first ? [first] : []), ...notes.map((text): DiffLine => ({ kind: "note", text })), ...rest];
  });
  return gitFiles === 0 ? lines : [...lines, { kind: "note", text: texts.gitFiles(gitFiles) }];
}

/** The changes of a job: its files, then folders with the number of their files, then what only got other permissions. */
export function jobLines(
  archive: Pick<JobArchive, "differences" | "walkDifferences" | "read">,
  jobId: string,
  texts: TerminalMessages,
): DiffLine[] {
  const files = archive.differences(jobId);
  const shown = new Set(files.map(({ path }) => path));
  const job = archive.read(jobId);
  const isKept = job !== null && ["committed", "staged", "undone"].includes(job.state);
  const others = changedFiles(isKept ? job.changes : []).filter(
    ({ path }) => !shown.has(path) && findGitFolder(path) === undefined,
  );
  const lines = others.map(({ path, kind }): DiffLine => {
    const name = printable(shownPath(path));
    if (kind === "modified") return { kind: "note", text: texts.modeChanged(name) };
    const count = [...archive.walkDifferences(jobId, path)].length;
    return { kind: "folder", path: name, files: count, text: texts.folder(name, count, kind) };
  });
  return [...diffLines(files, texts), ...lines];
}

function differenceLines(
  { path, before, after, isLink }: FileDifference,
  texts: TerminalMessages,
): DiffLine[] {
  const name = printable(shownPath(path));
  if (before === undefined || after === undefined)
    return [
      { kind: "file", path: name, added: 0, removed: 0 },
      { kind: "note", text: isLink ? texts.diffLink : texts.diffUnknown },
    ];
  const sides = [before, after].filter((side) => side !== null);
  const bytes = (after ?? before ?? "").length;
  const note = sides.some(isBinaryContent)
    ? texts.diffBinary(bytes)
    : sides.some((side) => side.length > LONGEST_FILE)
      ? texts.diffTooLong(bytes)
      : null;
  if (note === null) return fileLines(name, decode(before), decode(after));
  return [
    { kind: "file", path: name, added: 0, removed: 0 },
    { kind: "note", text: note },
  ];
}

function decode(bytes: Uint8Array | null): string {
  if (bytes === null) return "";
  return printable(Buffer.from(bytes).toString("utf8")).replaceAll("\t", "    ");
}

function fileLines(path: string, old: string, now: string): DiffLine[] {
  const { hunks } = structuredPatch(path, path, old, now, "", "", { context: CONTEXT });
  const lines: DiffLine[] = [];
  const count = { added: 0, removed: 0 };
  for (const [at, hunk] of hunks.entries()) {
    if (at > 0) lines.push({ kind: "gap" });
    const place = { old: hunk.oldStart, now: hunk.newStart };
    let [gone, come]: [string[], string[]] = [[], []];
    const settle = () => {
      lines.push(...pairLines(gone, come, place));
      place.old += gone.length;
      place.now += come.length;
      [gone, come] = [[], []];
    };
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith("-")) {
        if (come.length > 0) settle();
        gone.push(text);
        count.removed += 1;
      } else if (line.startsWith("+")) {
        come.push(text);
        count.added += 1;
      } else if (!line.startsWith("\\")) {
        settle();
        lines.push({ kind: "same", number: place.now, pieces: [{ text, isChanged: false }] });
        place.old += 1;
        place.now += 1;
      }
    }
    settle();
  }
  const language = /[^./]*$/.exec(path)?.[0] ?? "";
  const shown = lines.length > MOST_COLOURED ? lines : lines.map((line) => colourLine(line, language));
  return [{ kind: "file", path, ...count }, ...shown];
}

/** Longer differences are drawn without the colours of their code. */
const MOST_COLOURED = 1_000;

/** A changed line with its pieces cut where strings, comments, numbers and keywords end. */
function colourLine(line: DiffLine, language: string): DiffLine {
  if (line.kind !== "added" && line.kind !== "removed") return line;
  const text = line.pieces.map((piece) => piece.text).join("");
  // The lines above are not known here: one that begins with an asterisk is in the middle of a comment.
  const { tokens } = readCode(text, language, /^\s*\*(?:\s|\/|$)/.test(text) ? "*/" : null);
  const ends = tokens.map((token) => token.text.length);
  let [at, left] = [0, ends[0] ?? 0];
  const pieces = line.pieces.flatMap(({ text: whole, isChanged }) => {
    const parts: DiffPiece[] = [];
    for (let from = 0; from < whole.length; ) {
      const part = whole.slice(from, from + left);
      parts.push({ text: part, isChanged, kind: tokens[at]?.kind });
      from += part.length;
      left -= part.length;
      if (left === 0) left = ends[++at] ?? 0;
    }
    return parts;
  });
  return { ...line, pieces };
}

/** Pairs removed lines with the lines that replaced them: in similar lines, only the differing words are highlighted. */
function pairLines(
  gone: readonly string[],
  come: readonly string[],
  place: { readonly old: number; readonly now: number },
): DiffLine[] {
  const whole = (text: string): DiffPiece[] => [{ text, isChanged: false }];
  const [old, now] = [gone.map(whole), come.map(whole)];
  for (let at = 0; at < Math.min(gone.length, come.length); at++) {
    const [before = "", after = ""] = [gone[at], come[at]];
    if (before.length + after.length > MOST_WORDS) continue;
    const words = diffWordsWithSpace(before, after);
    const kept = words
      .filter((word) => !word.added && !word.removed)
      .reduce((sum, { value }) => sum + value.trim().length, 0);
    if (kept * 3 < Math.max(before.trim().length, after.trim().length)) continue;
    old[at] = words
      .filter((word) => !word.added)
      .map(({ value, removed }) => ({ text: value, isChanged: removed }));
    now[at] = words
      .filter((word) => !word.removed)
      .map(({ value, added }) => ({ text: value, isChanged: added }));
  }
  return [
    ...old.map((pieces, at): DiffLine => ({ kind: "removed", number: place.old + at, pieces })),
    ...now.map((pieces, at): DiffLine => ({ kind: "added", number: place.now + at, pieces })),
  ];
}

/** Rows that one changed line may take before it is cut. */
const MOST_ROWS = 4;
const NUMBER_WIDTH = 5;

/** Numbers and signs are in a gutter; changed lines wrap, the others are cut. */
export function diffRows(lines: readonly DiffLine[], columns: number, style: Style): string[] {
  return lines.flatMap((line) => lineRows(line, columns, style));
}

function lineRows(line: DiffLine, columns: number, style: Style): string[] {
  switch (line.kind) {
    case "file":
      return [cutToColumns(`  ${style.bold(line.path)}  ${countsOf(line, style)}`, columns)];
    case "gap":
      return [style.dim(`${" ".repeat(NUMBER_WIDTH)}  ⋮`)];
    case "note":
    case "folder":
      return [cutToColumns(`       ${style.dim(line.text)}`, columns)];
    case "same": {
      const text = `${gutter(line.number)}   ${line.pieces.map((piece) => piece.text).join("")}`;
      return [style.dim(cutToColumns(text, columns))];
    }
    case "added":
    case "removed":
      return changedRows(line, columns, style);
  }
}

function countsOf(
  { added, removed }: { readonly added: number; readonly removed: number },
  style: Style,
): string {
  const parts = [added > 0 ? style.green(`+${added}`) : "", removed > 0 ? style.red(`−${removed}`) : ""];
  return parts.filter((part) => part !== "").join(" ");
}

const gutter = (number: number) => String(number).padStart(NUMBER_WIDTH);

function changedRows(
  { kind, number, pieces }: Extract<DiffLine, { kind: "same" | "added" | "removed" }>,
  columns: number,
  style: Style,
): string[] {
  const sign = kind === "added" ? "+" : "-";
  const colour = kind === "added" ? style.green : style.red;
  const ground = kind === "added" ? style.added : style.removed;
  const width = columns - NUMBER_WIDTH - 3;
  const rows = wrapPieces(pieces, Math.max(8, width));
  const shown =
    rows.length > MOST_ROWS ? [...rows.slice(0, MOST_ROWS - 1), [{ text: "…", isChanged: false }]] : rows;
  return shown.map((row, at) => {
    const head = at === 0 ? `${gutter(number)} ${sign} ` : " ".repeat(NUMBER_WIDTH + 3);
    return `${colour(head)}${ground(row)}`;
  });
}

function wrapPieces(pieces: readonly DiffPiece[], columns: number): DiffPiece[][] {
  const text = pieces.map((piece) => piece.text).join("");
  if (visibleWidth(text) <= columns) return [[...pieces]];
  const rows: DiffPiece[][] = [[]];
  let used = 0;
  for (const { text: whole, ...look } of pieces) {
    let part = "";
    for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(whole)) {
      const width = visibleWidth(segment);
      if (used + width > columns) {
        rows.at(-1)?.push({ text: part, ...look });
        rows.push([]);
        part = "";
        used = 0;
      }
      part += segment;
      used += width;
    }
    if (part !== "") rows.at(-1)?.push({ text: part, ...look });
  }
  return rows;
}

/** Lines of a difference that a card shows; the rest is one key away. */
const CARD_LINES = 40;

export interface CardFacts {
  /** The work done, in one sentence. */
  readonly title: string;
  /** `#12`. */
  readonly label: string;
  readonly lines: readonly DiffLine[];
  /** Errors, and facts that the user should know: each may be long. */
  readonly remarks: readonly string[];
  /** Lines of the difference that are shown. Default: 40. */
  readonly mostLines?: number;
}

/** Title, files and difference, without a verdict: that stays alive until the next message. */
export function cardBlock(
  { title, label, lines, remarks, mostLines = CARD_LINES }: CardFacts,
  texts: TerminalMessages,
  style: () => Style,
): Block {
  const more = lines.length - mostLines;
  const shown = more > 0 ? lines.slice(0, mostLines) : lines;
  return {
    render(columns) {
      const look = style();
      const [first = "", ...rest] = wrapColumns(
        `${look.bold(printable(title))}  ${look.dim(label)}`,
        columns - 2,
      );
      return [
        "",
        `${look.cyan("●")} ${first}`,
        ...rest.map((row) => `  ${row}`),
        ...diffRows(shown, columns, look),
        ...(more > 0 ? [look.dim(cutToColumns(`       ${texts.moreLines(more)}`, columns))] : []),
        ...remarks.flatMap((remark) =>
          printable(remark)
            .split("\n")
            .flatMap((line) => wrapColumns(line, columns - 2).map((row) => `  ${row}`)),
        ),
      ];
    },
  };
}
