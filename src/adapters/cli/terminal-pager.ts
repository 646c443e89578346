import { cutToColumns, isKey, type Keyboard } from "./terminal-pi.ts";

export type Pager = ReturnType<typeof openPager>;

interface PagerDeps {
  readonly keyboard: Pick<Keyboard, "write" | "columns" | "rows">;
  readonly title: string;
  readonly keys: string;
  readonly lines: (columns: number) => readonly string[];
  /** Whether a line begins a file; `n` and `p` go there. */
  readonly isMark: (line: string) => boolean;
  readonly closed: () => void;
}

/** A long text on the terminal's other screen: it leaves nothing behind. */
export function openPager({ keyboard, title, keys, lines, isMark, closed }: PagerDeps) {
  let top = 0;
  const height = () => Math.max(1, keyboard.rows() - 2);
  keyboard.write("\x1b[?1049h\x1b[?25l");

  const draw = (): void => {
    const columns = keyboard.columns();
    const all = lines(columns);
    const most = Math.max(0, all.length - height());
    top = Math.max(0, Math.min(top, most));
    const shown = all.slice(top, top + height());
    const place = most === 0 ? "" : `  ${Math.round((100 * top) / most)} %`;
    const foot = cutToColumns(`\x1b[2m${keys}${place}\x1b[0m`, columns);
    const rows = [cutToColumns(`\x1b[1m${title}\x1b[0m`, columns), ...shown];
    while (rows.length <= height()) rows.push("");
    const text = [...rows, foot].map((row, at) => `\x1b[${at + 1};1H\x1b[0m\x1b[2K${row}`).join("");
    keyboard.write(`\x1b[?2026h${text}\x1b[?2026l`);
  };

  const toMark = (step: 1 | -1) => {
    const all = lines(keyboard.columns());
    for (let at = top + step; at >= 0 && at < all.length; at += step)
      if (isMark(all[at] ?? "")) {
        top = at;
        return;
      }
  };

  draw();
  return {
    draw,
    key(bytes: string): void {
      if (isKey(bytes, "q", "escape", "ctrl+c", "d")) {
        keyboard.write("\x1b[?1049l");
        closed();
        return;
      }
      if (isKey(bytes, "down", "j", "enter")) top += 1;
      else if (isKey(bytes, "up", "k")) top -= 1;
      else if (isKey(bytes, "space", "pageDown", "f")) top += height();
      else if (isKey(bytes, "b", "pageUp")) top -= height();
      else if (isKey(bytes, "g", "home")) top = 0;
      else if (isKey(bytes, "shift+g", "end") || bytes === "G") top = Number.MAX_SAFE_INTEGER;
      else if (isKey(bytes, "n")) toMark(1);
      else if (isKey(bytes, "p")) toMark(-1);
      else return;
      draw();
    },
  };
}
