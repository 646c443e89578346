import { graphemesOf, graphemeWidth } from "./text-width.ts";

export interface Spinner {
  say(text: string): void;
  /** Wipes the line; the next `say` draws it again. */
  pause(): void;
  stop(): void;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;

/** One line that says what happens now. */
export function createSpinner(screen: { write(text: string): void; columns(): number }): Spinner {
  let text = "";
  let frame = 0;
  let drawn = false;
  const draw = () => {
    if (text === "") return;
    frame = (frame + 1) % FRAMES.length;
    screen.write(`\r\x1b[2m${FRAMES[frame]} ${cutToWidth(text, screen.columns() - 3)}\x1b[0m\x1b[K`);
    drawn = true;
  };
  const wipe = () => {
    if (drawn) screen.write("\r\x1b[K");
    drawn = false;
  };
  const timer = setInterval(draw, FRAME_MS);
  return {
    say(next) {
      text = next.replace(/[\x00-\x1f\x7f-\x9f]/g, " ");
      draw();
    },
    pause() {
      text = "";
      wipe();
    },
    stop() {
      clearInterval(timer);
      wipe();
    },
  };
}

/** As much of a text as fits into so many columns. */
function cutToWidth(text: string, columns: number): string {
  let width = 0;
  let shown = "";
  for (const grapheme of graphemesOf(text)) {
    width += graphemeWidth(grapheme);
    if (width > columns) return `${shown}…`;
    shown += grapheme;
  }
  return shown;
}
