import type { TextLines } from "./text-lines.ts";

/** One change of a file: at a line, so many lines go and these come. */
export interface Splice {
  /** 0-based line of the file before the edit. */
  readonly at: number;
  readonly remove: number;
  readonly insert: readonly InsertedLine[];
  /** Goes to the end of the file, after whatever else is put there. */
  readonly last?: boolean;
}

export interface InsertedLine {
  readonly text: string;
  /** The line end to write; null: the one its neighbours have. */
  readonly eol: string | null;
}

/** Carries out splices that do not overlap. Every byte outside them stays. */
export function composeText(file: TextLines, splices: readonly Splice[]): string {
  const ordered = sortSplices(splices) ? splices : splices.toSorted(compareSplices);
  const parts: string[] = [];
  let kept = 0;
  for (const splice of ordered) {
    parts.push(file.text.slice(kept, file.starts[splice.at]!));
    if (splice.insert.length > 0) {
      if (splice.at === file.count && endsOpen(file, parts)) parts.push(file.mainEol() || "\n");
      pushInserted(file, splice, parts);
    }
    kept = file.starts[splice.at + splice.remove]!;
  }
  parts.push(file.text.slice(kept));
  return parts.join("");
}

function sortSplices(splices: readonly Splice[]): boolean {
  return splices.every((splice, i) => i === 0 || compareSplices(splices[i - 1]!, splice) <= 0);
}

/** At one line, what is put before it comes first, then what replaces it. */
function compareSplices(a: Splice, b: Splice): number {
  return (
    a.at - b.at || Math.sign(a.remove) - Math.sign(b.remove) || Number(a.last ?? 0) - Number(b.last ?? 0)
  );
}

/** The text so far stops in the middle of a line. */
function endsOpen(file: TextLines, parts: readonly string[]): boolean {
  const text = parts.findLast((part) => part !== "");
  return text !== undefined && !file.endsLine(text);
}

function pushInserted(file: TextLines, splice: Splice, parts: string[]): void {
  const end = splice.at + splice.remove;
  const endsOpen = end === file.count && file.count > 0 && file.eol(file.count - 1) === "";
  let eol: string | null = null;
  splice.insert.forEach((line, i) => {
    const last = i === splice.insert.length - 1;
    if (line.eol !== null && (line.eol !== "" || (last && end === file.count)))
      parts.push(line.text, line.eol);
    else if (last && endsOpen) parts.push(line.text);
    else {
      eol ??= neighbourEol(file, splice.at, end);
      parts.push(line.text, eol);
    }
  });
}

/** What the lines before and after agree on, else what most of the file has. */
function neighbourEol(file: TextLines, at: number, end: number): string {
  const before = at > 0 ? file.eol(at - 1) : "";
  const after = end < file.count ? file.eol(end) : "";
  if (before !== "" && (after === "" || after === before)) return before;
  if (before === "" && after !== "") return after;
  return file.mainEol() || "\n";
}
