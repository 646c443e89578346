import type { CliProgram } from "./program.ts";

const CLEAR = "\r\x1b[K";
const COLUMNS = 100;

/** One line on standard error that is drawn again each second and when something happens; other text stands above it. */
export interface LiveLine {
  draw(): void;
  print(text: string): void;
  end(): void;
}

export function createLiveLine(
  program: Pick<CliProgram, "err">,
  { enabled, render }: { readonly enabled: boolean; readonly render: () => string },
): LiveLine {
  let ended = false;
  const draw = () => {
    if (enabled && !ended) program.err(`${CLEAR}${[...oneLineOf(render())].slice(0, COLUMNS).join("")}`);
  };
  const timer = enabled ? setInterval(draw, 1000) : undefined;
  return {
    draw,
    print(text) {
      program.err(`${enabled ? CLEAR : ""}${harmless(text)}\n`);
      draw();
    },
    end() {
      clearInterval(timer);
      if (enabled && !ended) program.err(CLEAR);
      ended = true;
    },
  };
}

/** A model's or a worker's words must not steer the terminal. */
export function harmless(text: string): string {
  return text.replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, " ");
}

function oneLineOf(text: string): string {
  return harmless(text).replaceAll("\n", " ");
}
