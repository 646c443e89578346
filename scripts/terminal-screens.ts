/**
 * Writes docs/images/terminal.txt: the conversation at a terminal as the real program draws it, in a pty, at three sizes, with a
 * scripted model. test/e2e/terminal-screens.test.ts compares it.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { TOUR_SIZES, takeTour, wordTour } from "../test/e2e/terminal-tour.ts";

const tours: string[] = [];
for (const [columns, rows] of TOUR_SIZES) tours.push(wordTour(columns, rows, await takeTour(columns, rows)));
writeFileSync(join(import.meta.dir, "../docs/images/terminal.txt"), tours.join("\n"));
