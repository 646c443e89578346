import { type EmbeddedFormat, nextLine } from "./embedded-format.ts";
import { searchReplaceFormat } from "./search-replace.ts";
import { diffFormat } from "./unified-diff/unified-diff.ts";
import { v4aFormat } from "./v4a.ts";

/** One line a format. Where a line could open two of them, the earlier one is asked first. */
const FORMATS: readonly EmbeddedFormat[] = [v4aFormat, searchReplaceFormat, diffFormat];

const BY_INITIAL = new Map<string, readonly EmbeddedFormat[]>();
for (const format of FORMATS)
  for (const initial of format.initials)
    BY_INITIAL.set(initial, [...(BY_INITIAL.get(initial) ?? []), format]);

/** The format that starts at `at`, the first character of a line that is not white space. */
export function markAt(text: string, at: number, lineEnd: number): EmbeddedFormat | undefined {
  return BY_INITIAL.get(text.charAt(at))?.find((format) => format.isMark(text, at, lineEnd));
}

/** The format that a fenced body holds: its first line tells, or the line after one that leads in. */
export function embeddedFormat(text: string, from: number): EmbeddedFormat | undefined {
  const first = nextLine(text, from);
  if (first === undefined) return undefined;
  const own = markAt(text, first.at, first.end);
  if (own !== undefined) return own;
  const second = nextLine(text, first.end + 1);
  if (second === undefined) return undefined;
  const below = markAt(text, second.at, second.end);
  return below?.isLeadIn(text, first.at, first.end) ? below : undefined;
}

/** Answers how far a patch reaches, each format measured once a text. */
export function createExtents(
  text: string,
): (format: EmbeddedFormat | undefined, from: number) => number | undefined {
  const measures = new Map<EmbeddedFormat, (from: number) => number | undefined>();
  return (format, from) => {
    if (format === undefined) return undefined;
    const measure = measures.get(format) ?? format.measure(text);
    measures.set(format, measure);
    return measure(from);
  };
}
