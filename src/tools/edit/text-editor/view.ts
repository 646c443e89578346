import type { Place } from "../../place.ts";
import { numbered } from "../../read/numbered.ts";
import { readLines } from "../../read/read-lines.ts";
import { shown } from "../../read/shown.ts";
import { walkTree } from "../../read/tree/walk-tree.ts";

const LEVELS = 2;
const MOST_ENTRIES = 2000;

/** A file with line numbers, or a folder two levels deep. */
export function view(place: Place, range: readonly [number, number] | undefined, limitChars: number) {
  const { path } = place;
  if (place.entry.kind === "directory") {
    const { lines, more } = walkTree(place, {
      levels: LEVELS,
      mostEntries: MOST_ENTRIES,
      includeIgnored: false,
    });
    const rest = more ? `output capped at ${MOST_ENTRIES} entries; view a folder below` : "";
    return { data: { path, content: lines.join("\n"), total_lines: lines.length }, notes: [rest] };
  }
  const [from, to] = range ?? [1, -1];
  const read = readLines(place, { from, to: to === -1 ? Infinity : to }, { asked: "auto", limitChars });
  const { text, notes } = shown(place, read.text);
  const data = {
    path,
    content: numbered(text, read.from),
    start_line: read.from,
    end_line: read.to,
    total_lines: read.total,
  };
  const rest = read.cut ? `output capped; continue with view_range [${read.to + 1}, -1]` : "";
  return { data, notes: [...notes, rest] };
}
