import type { CliProgram } from "./program.ts";

const CLEAR = "\r\x1b[K";
const MOST_COLUMNS = 100;
/** Work that takes longer is announced. */
const PATIENCE_MS = 2_000;
const TICK_MS = 1_000;

type LineProgram = Pick<CliProgram, "err"> & Partial<Pick<CliProgram, "errColumns">>;

/** One line on standard error that is redrawn each second and at each event; other text is printed above it. */
export function createLiveLine(
  program: LineProgram,
  {
    enabled,
    render,
    afterMs = 0,
  }: {
    readonly enabled: boolean;
    /** Empty: there is nothing to show. */
    readonly render: () => string;
    /** Nothing is drawn before. Default: at once. */
    readonly afterMs?: number;
  },
) {
  const begun = performance.now();
  let ended = false;
  let isDrawn = false;
  const draw = () => {
    if (!enabled || ended || performance.now() - begun < afterMs) return;
    const text = harmless(render()).replaceAll("\n", " ");
    if (text === "") return;
    const columns = Math.min(MOST_COLUMNS, (program.errColumns?.() ?? MOST_COLUMNS + 1) - 1);
    program.err(`${CLEAR}${cutLine(text, columns)}`);
    isDrawn = true;
  };
  const timer = enabled ? setInterval(draw, TICK_MS) : undefined;
  // The timer alone does not keep the process alive.
  timer?.unref?.();
  return {
    draw,
    print(text: string) {
      const width = enabled ? (program.errColumns?.() ?? 0) : 0;
      program.err(`${isDrawn ? CLEAR : ""}${breakAtBlanks(harmless(text), width)}\n`);
      draw();
    },
    end() {
      clearInterval(timer);
      if (isDrawn && !ended) program.err(CLEAR);
      ended = true;
    },
  };
}

/** Lines of at most so many columns where there is a blank to break at; 0 is any number. */
function breakAtBlanks(text: string, columns: number): string {
  if (columns <= 1) return text;
  return text.replace(new RegExp(`(?=[^\\n]{${columns + 1}})([^\\n]{1,${columns}}) `, "g"), "$1\n");
}

/** Wide letters take two columns; a line that is too long would leave a piece of itself behind. One message loads no `terminal-text.ts`. */
function cutLine(text: string, columns: number): string {
  let [cut, used] = ["", 0];
  for (const letter of text) {
    used += /[\u1100-\u115f\u2e80-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(letter) ? 2 : 1;
    if (used > columns) break;
    cut += letter;
  }
  return cut;
}

/** A model's or a worker's words must not steer the terminal. */
export function harmless(text: string): string {
  return text.replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, " ");
}

/** ` · 3 s`, once the wait is long enough to notice. */
export function waitedWords(begun: number): string {
  const waited = performance.now() - begun;
  return waited < PATIENCE_MS ? "" : ` · ${Math.floor(waited / 1000)} s`;
}

export interface Waiting {
  /** The current part of the work. */
  now(words: string): void;
  print(text: string): void;
}

/** Work that a person waits for: after two seconds one line shows the activity and its duration. At a terminal only. */
export async function whileWaiting<T>(
  program: LineProgram & Pick<CliProgram, "errIsTerminal" | "json">,
  words: string,
  work: (waiting: Waiting) => Promise<T>,
): Promise<T> {
  const begun = performance.now();
  let doing = words;
  const line = createLiveLine(program, {
    enabled: program.errIsTerminal && !program.json,
    afterMs: PATIENCE_MS,
    render: () => `… ${doing}${waitedWords(begun)}`,
  });
  try {
    return await work({
      now(next) {
        doing = next;
        line.draw();
      },
      print: line.print,
    });
  } finally {
    line.end();
  }
}
