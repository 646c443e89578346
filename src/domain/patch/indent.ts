import { indentLength } from "./white-space.ts";

/** How indentation in an edit translates to indentation in the file; null where no one rule explains all lines. */
export type Reindent = (text: string) => string;

interface IndentPair {
  readonly edit: string;
  readonly file: string;
}

const INDENT_UNITS = ["\t", "    ", "  ", "        ", "   "] as const;

/** `pairs` are the lines that match each other but for their indentation. */
export function findReindent(pairs: readonly (readonly [edit: string, file: string])[]): Reindent | null {
  const seen = new Map<string, string>();
  for (const [edit, file] of pairs) {
    const editIndent = edit.slice(0, indentLength(edit));
    if (editIndent.length === edit.length) continue;
    const fileIndent = file.slice(0, indentLength(file));
    const known = seen.get(editIndent);
    if (known !== undefined && known !== fileIndent) return null;
    seen.set(editIndent, fileIndent);
  }
  const indents = [...seen].map(([edit, file]): IndentPair => ({ edit, file }));
  return shiftOf(indents) ?? indentUnits(indents);
}

/** The same string is put before, or taken from, every indentation. */
function shiftOf(indents: readonly IndentPair[]): Reindent | null {
  const first = indents[0];
  if (first === undefined) return (text) => text;
  if (first.file.endsWith(first.edit)) {
    const added = first.file.slice(0, first.file.length - first.edit.length);
    if (indents.every((pair) => pair.file === added + pair.edit))
      return (text) => (isBlank(text) ? text : added + text);
  }
  if (first.edit.endsWith(first.file)) {
    const taken = first.edit.slice(0, first.edit.length - first.file.length);
    if (indents.every((pair) => pair.edit === taken + pair.file)) {
      return (text) => (text.startsWith(taken) ? text.slice(taken.length) : text.slice(indentLength(text)));
    }
  }
  return null;
}

/** Another unit (tabs for spaces, two for four), perhaps some levels deeper. */
function indentUnits(indents: readonly IndentPair[]): Reindent | null {
  let best: { from: string; to: string; levels: number } | null = null;
  for (const from of INDENT_UNITS) {
    for (const to of INDENT_UNITS) {
      if (from === to) continue;
      const levels = levelsBetween(indents, from, to);
      if (levels !== null && (best === null || Math.abs(levels) < Math.abs(best.levels)))
        best = { from, to, levels };
    }
  }
  if (best === null) return null;
  const { from, to, levels } = best;
  return (text) => {
    if (isBlank(text)) return text;
    const depth = depthOf(text, from);
    return to.repeat(Math.max(0, depth + levels)) + text.slice(depth * from.length);
  };
}

function levelsBetween(indents: readonly IndentPair[], from: string, to: string): number | null {
  let levels: number | null = null;
  for (const { edit, file } of indents) {
    const editDepth = depthOf(edit, from);
    const fileDepth = depthOf(file, to);
    if (edit.slice(editDepth * from.length) !== file.slice(fileDepth * to.length)) return null;
    if (levels !== null && levels !== fileDepth - editDepth) return null;
    levels = fileDepth - editDepth;
  }
  return levels;
}

function depthOf(text: string, unit: string): number {
  let depth = 0;
  while (text.startsWith(unit, depth * unit.length)) depth++;
  return depth;
}

function isBlank(text: string): boolean {
  return indentLength(text) === text.length;
}
