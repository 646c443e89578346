import { cutToColumns, visibleWidth } from "./terminal-pi.ts";

/** A piece of the conversation that is final. It is drawn again only when the window gets another width. */
export interface Block {
  render(columns: number): readonly string[];
}

/** The rows that can still change, with the place of the cursor; null hides it. */
export interface LiveRows {
  readonly rows: readonly string[];
  readonly cursor: { readonly row: number; readonly column: number } | null;
}

export type LiveScreen = ReturnType<typeof createLiveScreen>;

interface ScreenDeps {
  readonly write: (text: string) => void;
  readonly columns: () => number;
  readonly rows: () => number;
  readonly live: (columns: number, rows: number) => LiveRows;
  /** Returns how to give it up. */
  readonly after: (ms: number, run: () => void) => () => void;
  readonly now: () => number;
  /** The line may be slower than the model: the next frame waits until the last one was shown. */
  readonly slowLine: boolean;
}

/** At most 30 frames a second for what a model writes. */
const FRAME_MS = 33;
const RESIZE_MS = 50;
/** A terminal that does not answer is not waited for any longer. */
const ANSWER_MS = 2_000;
/** Blocks that are kept for redrawing the window. */
const KEPT_BLOCKS = 400;

const BEGIN = "\x1b[?2026h\x1b[?25l";
const END = "\x1b[?2026l";
const ASK = "\x1b[5n";

/**
 * An inline screen: final blocks are printed once, live rows are at the bottom and only differences are drawn. It
 * never clears the scrollback, clears the whole screen only after a resize, and sends nothing while nothing changes.
 */
export function createLiveScreen(deps: ScreenDeps) {
  const { write, after, now } = deps;
  let drawn: readonly string[] = [""];
  let cursorRow = 0;
  let width = deps.columns();
  let shown: Block[] = [];
  let waiting: Block[] = [];
  let cancelFrame: (() => void) | null = null;
  let cancelResize: (() => void) | null = null;
  let lastFrame = Number.NEGATIVE_INFINITY;
  let paused = false;
  let ownsWindow = false;
  let unanswered: number | null = null;
  let asks = deps.slowLine;

  const liveRows = (): LiveRows => {
    const [columns, rows] = [deps.columns(), deps.rows()];
    const live = deps.live(columns, rows);
    const most = Math.max(1, rows - 1);
    const cut = Math.max(0, live.rows.length - most);
    const fits = live.rows.slice(cut).map((row) => cutToColumns(row, columns));
    const { cursor } = live;
    return {
      rows: fits.length === 0 ? [""] : fits,
      cursor: cursor === null ? null : { ...cursor, row: Math.max(0, cursor.row - cut) },
    };
  };

  function frame(): void {
    cancelFrame?.();
    cancelFrame = null;
    if (paused || cancelResize !== null) return;
    const columns = deps.columns();
    if (columns !== width) {
      resizedNow();
      return;
    }
    const next = liveRows();
    const blocks = waiting;
    waiting = [];
    const printed = blocks.flatMap((block) => block.render(columns));
    shown = [...shown, ...blocks].slice(-KEPT_BLOCKS);
    const body = printed.length > 0 ? printAbove(printed, next.rows) : redrawRows(next.rows);
    const place = placeCursor(next, body !== "");
    if (body === "" && place === "") return;
    lastFrame = now();
    send(body === "" ? place : `${BEGIN}${body}${place}${END}`);
  }

  function send(text: string): void {
    write(asks ? text + ASK : text);
    if (asks) unanswered = now();
  }

  /** Rewrites everything from the top of the live rows down. */
  function printAbove(printed: readonly string[], rows: readonly string[]): string {
    const shrinks = printed.length + rows.length < drawn.length;
    const text = [...printed, ...rows].map(toRow).join("\r\n");
    const start = `${up(cursorRow)}\r${shrinks ? "\x1b[J" : ""}`;
    drawn = rows;
    cursorRow = rows.length - 1;
    return start + text;
  }

  function redrawRows(rows: readonly string[]): string {
    let out = "";
    let at = cursorRow;
    const go = (row: number) => {
      out += row < at ? up(at - row) : down(row - at);
      at = row;
    };
    for (const [row, text] of rows.entries()) {
      if (row < drawn.length) {
        if (drawn[row] === text) continue;
        go(row);
        out += `\r${toRow(text)}`;
      } else {
        go(row - 1);
        out += `\r\n${toRow(text)}`;
        at = row;
      }
    }
    if (rows.length < drawn.length) {
      go(rows.length);
      out += "\r\x1b[J";
    }
    drawn = rows;
    cursorRow = at;
    return out;
  }

  const toRow = (text: string): string =>
    // To erase behind a full row would take its last cell; a coloured ground has erased already.
    visibleWidth(text) >= deps.columns() || text.endsWith("\x1b[K\x1b[0m") ? text : `${text}\x1b[0m\x1b[K`;

  let seen: { readonly row: number; readonly column: number } | null = null;
  /** A frame hides the cursor, so that one with anything in it has to show it again. */
  function placeCursor({ cursor }: LiveRows, isChanged: boolean): string {
    const before = seen;
    seen = cursor;
    if (cursor === null) return before === null || isChanged ? "" : "\x1b[?25l";
    if (!isChanged && before?.row === cursor.row && before.column === cursor.column) return "";
    const from = cursorRow;
    cursorRow = cursor.row;
    const moves = cursor.row < from ? up(from - cursor.row) : down(cursor.row - from);
    return `${moves}\x1b[${cursor.column + 1}G\x1b[?25h`;
  }

  function resizedNow(): void {
    cancelResize = null;
    if (paused) return;
    width = deps.columns();
    const rows = deps.rows();
    shown = [...shown, ...waiting].slice(-KEPT_BLOCKS);
    waiting = [];
    const live = liveRows();
    const space = Math.max(0, rows - live.rows.length);
    const above: string[] = [];
    for (let at = shown.length - 1; at >= 0 && above.length < space; at--)
      above.unshift(...(shown[at] as Block).render(width));
    const tail = space === 0 ? [] : above.slice(-space);
    const filled = tail.length + live.rows.length;
    // The shell's earlier output moves to the scrollback, once; then PicoClaw owns the window from its first
    // row.
    const lift = ownsWindow || filled >= rows ? "" : `\x1b[${rows};1H${"\n".repeat(rows - filled)}`;
    ownsWindow = true;
    drawn = live.rows;
    cursorRow = live.rows.length - 1;
    const text = [...tail, ...live.rows].map(toRow).join("\r\n");
    send(`${BEGIN}${lift}\x1b[H\x1b[J${text}${placeCursor(live, true)}${END}`);
  }

  function soon(): void {
    if (cancelFrame !== null || paused) return;
    const waits = unanswered !== null && now() - unanswered < ANSWER_MS;
    if (unanswered !== null && !waits) {
      asks = false;
      unanswered = null;
    }
    const inMs = waits ? ANSWER_MS : Math.max(0, FRAME_MS - (now() - lastFrame));
    cancelFrame = after(inMs, () => {
      cancelFrame = null;
      frame();
    });
  }

  return {
    /** Prints final blocks to the scrollback; they are never changed again. */
    print(...blocks: readonly Block[]): void {
      waiting.push(...blocks);
      soon();
    },
    /** The live rows are another. `soon`: within a frame; else at once, as for a key. */
    redraw(isSoon: boolean = false): void {
      if (isSoon) soon();
      else frame();
    },
    /** The window has another size: waits for the last of several changes, then redraws the visible part. */
    resized(): void {
      cancelResize?.();
      cancelResize = after(RESIZE_MS, resizedNow);
    },
    /** The terminal has shown the last frame. Only slow lines are asked. */
    acknowledged(): void {
      unanswered = null;
      if (cancelFrame === null) return;
      cancelFrame();
      cancelFrame = null;
      soon();
    },
    /** Nothing is drawn until `resume`: another screen or a shell has the terminal. */
    pause(): void {
      paused = true;
      cancelFrame?.();
      cancelFrame = null;
    },
    /** `below`: another program wrote to the terminal, so the live rows restart at the cursor. */
    resume({ below }: { readonly below: boolean }): void {
      paused = false;
      if (below) {
        drawn = [""];
        cursorRow = 0;
      }
      seen = null;
      if (deps.columns() === width) frame();
      else resizedNow();
    },
    /** Draws what is left and puts the cursor below it. */
    leave(): void {
      unanswered = null;
      asks = false;
      frame();
      const below = Math.max(0, drawn.length - 1 - cursorRow);
      const isBlank = drawn.every((row) => row === "");
      write(`${isBlank ? "\r" : `${down(below)}\r\n`}\x1b[?25h`);
      paused = true;
    },
  };
}

const up = (rows: number) => (rows > 0 ? `\x1b[${rows}A` : "");
const down = (rows: number) => (rows > 0 ? `\x1b[${rows}B` : "");
