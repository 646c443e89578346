import { type Definition, definitionsOf, endOf } from "./outline.ts";
import type { Term } from "./context-request-terms.ts";

/** Lines of a file, both ends included, from 1. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

export interface ExcerptRequest {
  readonly terms: readonly Term[];
  /** Characters of all excerpts together. */
  readonly limit: number;
  /** Lines that somebody named: of a stack trace, of a failed edit. */
  readonly focus?: readonly number[];
  /** Whether the first and the last lines belong to it: where a test or a section is added. */
  readonly ends?: boolean;
  /** Ranges that are shown in any case, as far as they fit. */
  readonly also?: readonly LineRange[];
}

const LONGEST_BLOCK = 70;
const AROUND_HIT = { before: 8, after: 12 };
const ENDS = { first: 12, last: 14 };
/** Lines between two excerpts that are cheaper to show than to leave out. */
const SMALL_GAP = 3;
/** An excerpt is at least this many lines longer than one. */
const SMALLEST = 3;
/** What a term is worth in its next excerpt. */
const SEEN = 0.5;

/** The parts of a long text that a request is about: whole definitions where they are short enough. */
export function chooseExcerpts(lines: readonly string[], request: ExcerptRequest): LineRange[] {
  const definitions = definitionsOf(lines);
  const taken = createExcerptBudget(lines, request.limit);
  if (request.ends === true) {
    taken.take({ from: 1, to: Math.min(ENDS.first, lines.length) });
    taken.take({ from: Math.max(1, lines.length - ENDS.last + 1), to: lines.length });
  }
  for (const range of request.also ?? []) taken.take(range);
  for (const line of request.focus ?? []) taken.take(blockAround(lines, definitions, line), line);
  const hits = hitsOf(lines, definitions, request.terms);
  const worth = request.terms.map(({ weight }) => weight);
  while (hits.length > 0) {
    const best = bestOf(hits, worth);
    const [hit] = hits.splice(best, 1);
    if (hit === undefined || taken.has(hit.line)) continue;
    if (!taken.take(blockAround(lines, definitions, hit.line), hit.line)) break;
    for (const term of hit.terms) worth[term] = (worth[term] ?? 0) * SEEN;
  }
  return taken.ranges();
}

interface Hit {
  readonly line: number;
  readonly terms: readonly number[];
  readonly defines: boolean;
}

function hitsOf(lines: readonly string[], definitions: readonly Definition[], terms: readonly Term[]): Hit[] {
  const defined = new Set(definitions.map(({ line }) => line));
  const hits: Hit[] = [];
  for (const [at, line] of lines.entries()) {
    const found = termsIn(line, terms);
    if (found.length > 0) hits.push({ line: at + 1, terms: found, defines: defined.has(at + 1) });
  }
  return hits;
}

/** Which terms a text holds, by their place in the list. */
export function termsIn(text: string, terms: readonly Term[]): number[] {
  const lower = text.toLowerCase();
  const found: number[] = [];
  for (const [index, { kind, spellings }] of terms.entries())
    if (spellings.some((one) => (kind === "word" ? lower : text).includes(one))) found.push(index);
  return found;
}

function bestOf(hits: readonly Hit[], worth: readonly number[]): number {
  let best = 0;
  let most = -1;
  for (const [at, { terms, defines }] of hits.entries()) {
    const sum = terms.reduce((all, term) => all + (worth[term] ?? 0), 0) * (defines ? 2 : 1);
    if (sum > most) [best, most] = [at, sum];
  }
  return best;
}

/** The innermost definition around a line that is not too long, else some lines around it. */
function blockAround(lines: readonly string[], definitions: readonly Definition[], line: number): LineRange {
  let best: LineRange | null = null;
  for (let at = definitions.length - 1; at >= 0; at--) {
    const definition = definitions[at] as Definition;
    if (definition.line > line) continue;
    const to = endOf(lines, definition);
    if (to < line) continue;
    if (to - definition.line + 1 > LONGEST_BLOCK) break;
    best = { from: definition.line, to };
    // A function around a short inner one says what that is for.
    if (to - definition.line >= AROUND_HIT.after) break;
  }
  if (best !== null) return { from: withComment(lines, best.from), to: best.to };
  return {
    from: Math.max(1, line - AROUND_HIT.before),
    to: Math.min(lines.length, line + AROUND_HIT.after),
  };
}

/** A definition's own comment stands above it. */
function withComment(lines: readonly string[], from: number): number {
  let at = from;
  while (at > 1 && from - at < 12 && /^\s*(?:\/\/|\/?\*|#(?!#* )|@|""")/.test(lines[at - 2] as string)) at--;
  return at;
}

function createExcerptBudget(lines: readonly string[], limit: number) {
  const shown = new Set<number>();
  let left = limit;
  const cost = (range: LineRange): number => {
    let chars = 0;
    for (let line = range.from; line <= range.to; line++)
      if (!shown.has(line)) chars += (lines[line - 1] as string).length + 1;
    return chars;
  };
  const mark = (range: LineRange): true => {
    left -= cost(range);
    for (let line = range.from; line <= range.to; line++) shown.add(line);
    return true;
  };
  return {
    has: (line: number) => shown.has(line),
    /** Takes the range, or what fits of it around `line`. False when not even that fits. */
    take(range: LineRange, line: number = range.from): boolean {
      if (cost(range) <= left) return mark(range);
      let near: LineRange = { from: line, to: line };
      if (cost(near) > left) return false;
      for (;;) {
        const wider: LineRange = {
          from: Math.max(range.from, near.from - 1),
          to: Math.min(range.to, near.to + 2),
        };
        if ((wider.from === near.from && wider.to === near.to) || cost(wider) > left) break;
        near = wider;
      }
      // A line alone tells nothing.
      return near.to - near.from >= SMALLEST && mark(near);
    },
    ranges(): LineRange[] {
      const ranges: { from: number; to: number }[] = [];
      for (const line of [...shown].sort((a, b) => a - b)) {
        const last = ranges.at(-1);
        if (last !== undefined && line - last.to <= SMALL_GAP + 1) last.to = line;
        else ranges.push({ from: line, to: line });
      }
      return ranges;
    },
  };
}
