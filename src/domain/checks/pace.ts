import { ENDED_FILE } from "./narrow-check.ts";

/** How far pytest is: `[ 12%]` at the end of a line, or before the test where several processes run them. */
const PERCENT = /^(?:\[gw\d+\] |.* )\[ *(\d+)%\](?=$| [A-Z]+ )/gm;
/** A pace over less than this says nothing: the first tests may be the slow ones. */
const LEAST_MS = 10_000;
const LEAST_FILES = 5;

/** Reads how fast a suite gets on. `files`: how many test files there are; asked once, where its output names files and no share. */
export function createPace(limitMs: number, files: () => number) {
  let open = "";
  let share = 0;
  let from = 0;
  let ended = 0;
  let of: number | null = null;
  return {
    add(text: string, ms: number): void {
      const lines = `${open}${text}`.split("\n");
      open = lines.pop() ?? "";
      const whole = lines.join("\n");
      const percent = [...whole.matchAll(PERCENT)].at(-1)?.[1];
      ended += [...whole.matchAll(ENDED_FILE)].length;
      if (from === 0 && (percent !== undefined || ended > 0)) from = ms;
      if (percent !== undefined) share = Number(percent) / 100;
      else if (ended > 0 && share === 0 && ms - from > LEAST_MS) of ??= files();
    },
    /** The milliseconds of the whole, if it will not end in time at this pace, or at twice this pace while nothing waits for it; else null. */
    findHopeless(ms: number, isAwaited = false): number | null {
      const done = of === null ? share : ended < LEAST_FILES ? 0 : ended / Math.max(of, 1);
      const took = ms - from;
      if (done <= 0 || done >= 1 || took < LEAST_MS) return null;
      const rest = (took * (1 - done)) / done;
      return ms + (isAwaited ? rest : rest / 2) > limitMs ? Math.round(ms + rest) : null;
    },
  };
}
