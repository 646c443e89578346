/**
 * Ranks functions and other short parts of the likeliest sources by the terms of a request: files with their texts and their own scores in,
 * passages out, the best first. A long file contains every word somewhere; the function to change contains several of them at once.
 * No line belongs to two passages.
 */
import type { LineRange } from "../patch/compare-lines.ts";
import type { Term } from "../platform/request-terms.ts";
import { definitionsOf, endOf, isAlias } from "./file-excerpts.ts";

export interface ScoredText {
  readonly path: string;
  readonly text: string;
  readonly score: number;
  /** The terms in it, by their index in the list. */
  readonly terms: readonly number[];
}

export interface Passage extends LineRange {
  readonly path: string;
  /** The name that it defines; empty outside of definitions. */
  readonly name: string;
  readonly chars: number;
  readonly score: number;
  /** It holds a message that the request quotes, and few others do. */
  readonly quoted: boolean;
}

/** A longer definition is split into those inside it; one that the request names may be longer. */
const LONGEST_BLOCK = 150;
const LONGEST_NAMED = 300;
/** Lines of a passage outside of definitions. */
const CHUNK = 30;
/** Definitions of a longer file are not read: it is data, or written by a program. */
const LONGEST_READ = 600_000;
/** How soon more lines with a term add little, how much long passages count for less, and the weight of the file's own score. */
const SATURATION = 0.6;
const LENGTH = 0.3;
const FILE = 0.6;
/** Passages that hold a quoted message at most, if it identifies them. */
const FEW = 3;

interface Block extends LineRange {
  readonly path: string;
  readonly name: string;
  readonly chars: number;
  /** Lines with each term. */
  readonly counts: Map<number, number>;
  readonly fileScore: number;
}

export function rankPassages(
  files: readonly ScoredText[],
  terms: readonly Term[],
  /** The value of each term by its rarity among files. */
  worth: readonly number[],
): Passage[] {
  const blocks = files.flatMap((file) => blocksOf(file, terms));
  const mean = blocks.reduce((sum, { chars }) => sum + chars, 0) / Math.max(1, blocks.length);
  const holders = terms.map(() => 0);
  for (const { counts } of blocks) for (const term of counts.keys()) holders[term] = (holders[term] ?? 0) + 1;
  const value = terms.map(
    ({ weight }, at) =>
      ((worth[at] ?? 0) + weight * Math.log(1 + (blocks.length + 1) / ((holders[at] ?? 0) + 0.5))) / 2,
  );
  const score = ({ counts, chars, name, fileScore }: Block): number => {
    let sum = FILE * fileScore;
    const damp = SATURATION * (1 - LENGTH + (LENGTH * chars) / mean);
    for (const [term, count] of counts)
      sum += ((value[term] ?? 0) * count * (SATURATION + 1)) / (count + damp);
    if (name !== "")
      for (const [at, term] of terms.entries()) if (isInName(name, term)) sum += worth[at] ?? 0;
    return sum;
  };
  return blocks
    .filter(({ counts }) => counts.size > 0)
    .map((block) => {
      const { path, name, from, to, chars, counts } = block;
      const quoted = [...counts.keys()].some(
        (at) => terms[at]?.kind === "quote" && (holders[at] ?? 0) <= FEW,
      );
      return { path, name, from, to, chars, score: score(block), quoted };
    })
    .sort((a, b) => b.score - a.score);
}

function isInName(name: string, { kind, spellings }: Term): boolean {
  return spellings.some((one) => (kind === "word" ? name.toLowerCase() : name).includes(one));
}

function blocksOf({ path, text, score, terms: held }: ScoredText, terms: readonly Term[]): Block[] {
  const lines = text.split("\n");
  const owner = new Int32Array(lines.length + 2).fill(-1);
  const blocks: Block[] = [];
  const add = (from: number, to: number, name: string) => {
    let chars = 0;
    for (let line = from; line <= to; line++) {
      owner[line] = blocks.length;
      chars += (lines[line - 1] as string).length + 1;
    }
    blocks.push({ path, from, to, name, chars, counts: new Map(), fileScore: score });
  };
  const named = new Set(terms.flatMap(({ kind, spellings }) => (kind === "identifier" ? spellings : [])));
  for (const definition of text.length > LONGEST_READ ? [] : definitionsOf(lines, path)) {
    const { line, name } = definition;
    if (owner[line] !== -1) continue;
    const to = endOf(lines, definition);
    if (to - line >= (named.has(name) ? LONGEST_NAMED : LONGEST_BLOCK)) continue;
    let from = line;
    while (from > 1 && owner[from - 1] === -1 && line - from < 12 && COMMENT.test(lines[from - 2] as string))
      from--;
    add(from, to, isAlias(lines[line - 1] ?? "") ? "" : name);
  }
  for (let from = 1; from <= lines.length; from++) {
    if (owner[from] !== -1) continue;
    let to = from;
    while (to < lines.length && owner[to + 1] === -1 && to - from < CHUNK) to++;
    add(from, to, "");
    from = to;
  }
  countLines(text, { held, terms, owner, blocks });
  return blocks;
}

/** Comments and decorators above a definition belong to it. */
const COMMENT = /^\s*(?:\/\/|\/?\*|#(?!#* )|@|""")/;

interface Counting {
  readonly held: readonly number[];
  readonly terms: readonly Term[];
  readonly owner: Int32Array;
  readonly blocks: readonly Block[];
}

/** Counts the lines of each passage that contain a term: a word at the beginning of a part of a name, anything else as it is written. */
function countLines(text: string, { held, terms, owner, blocks }: Counting): void {
  const lower = text.toLowerCase();
  // A letter whose small form is longer would shift every place after it.
  const folded = lower.length === text.length ? lower : text;
  for (const at of held) {
    const { kind, spellings } = terms[at] as Term;
    const isWord = kind === "word";
    for (const one of spellings) {
      let [line, last, end] = [1, 0, text.indexOf("\n")];
      const where = isWord ? folded : text;
      for (let index = where.indexOf(one); index !== -1; index = where.indexOf(one, index + one.length)) {
        if (isWord && !beginsPart(text, index)) continue;
        for (; end !== -1 && end < index; end = text.indexOf("\n", end + 1)) line++;
        const block = blocks[owner[line] ?? -1];
        if (line === last || block === undefined) continue;
        last = line;
        block.counts.set(at, (block.counts.get(at) ?? 0) + 1);
      }
    }
  }
}

/** `Total` of `invoiceTotal` and of `HTMLTotal` begins a part of a name, `port` of `report` does not. */
function beginsPart(text: string, index: number): boolean {
  const before = text.charAt(index - 1);
  if (!/[A-Za-z]/.test(before)) return true;
  return /[A-Z]/.test(text.charAt(index)) && (/[a-z]/.test(before) || /[a-z]/.test(text.charAt(index + 1)));
}
