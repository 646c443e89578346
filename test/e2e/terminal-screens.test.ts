import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TOUR_SIZES, takeTour, wordTour } from "./terminal-tour.ts";

/** Written by `bun scripts/terminal-screens.ts`, and read by reviewers of a change of the screen. */
const STORED = readFileSync(join(import.meta.dir, "../../docs/images/terminal.txt"), "utf8");

test.each(TOUR_SIZES)(
  "the screens at %d columns and %d rows are those that are stored",
  async (columns, rows) => {
    const tour = wordTour(columns, rows, await takeTour(columns, rows));
    const first = STORED.indexOf(`== empty, ${columns}x${rows}`);
    const next = STORED.indexOf("== empty, ", first + 1);
    const stored = STORED.slice(first, next < 0 ? undefined : next);
    expect(tour.trimEnd()).toBe(stored.trimEnd());
  },
  300_000,
);
