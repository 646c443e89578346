/**
 * The one door to pi-tui (MIT, pinned exactly): its line editor, its keyboard and its widths. Its screens are not used: they
 * rewrite what was printed, and so wipe or flood the scrollback. A part that has to be vendored is replaced here.
 */

import { Editor } from "@earendil-works/pi-tui/dist/components/editor.js";
import { type KeyId, matchesKey } from "@earendil-works/pi-tui/dist/keys.js";
import { ProcessTerminal } from "@earendil-works/pi-tui/dist/terminal.js";
import { parseOsc11BackgroundColor } from "@earendil-works/pi-tui/dist/terminal-colors.js";
import { CURSOR_MARKER, type TUI } from "@earendil-works/pi-tui/dist/tui.js";
import {
  truncateToWidth,
  visibleWidth as widthOf,
  wrapTextWithAnsi,
} from "@earendil-works/pi-tui/dist/utils.js";

import type { EditedText } from "./vim-keys.ts";

export type KeyName = KeyId;

/** Whether these bytes of the keyboard are that key, in whichever protocol the terminal speaks. */
export function isKey(bytes: string, ...keys: readonly KeyName[]): boolean {
  return keys.some((key) => matchesKey(bytes, key));
}

/** One keyboard protocol reports released keys, which are ignored. */
export function isKeyUp(bytes: string): boolean {
  return /^\x1b\[[\d:;]*:3[u~A-HF]$/.test(bytes);
}

/** The letter that a key types, Enter and backspace among them; null for every other key. */
export function readLetter(bytes: string): string | null {
  if (isKey(bytes, "enter")) return "\r";
  if (isKey(bytes, "backspace")) return "\x7f";
  const coded = /^\x1b\[(\d+)(?::(\d+))?(?:;([12])(?::1)?)?u$/.exec(bytes);
  if (coded !== null)
    return String.fromCodePoint(Number(coded[3] === "2" ? (coded[2] ?? coded[1]) : coded[1]));
  return /^[^\x00-\x1f\x7f]$/u.test(bytes) ? bytes : null;
}

export const visibleWidth = (text: string): number => widthOf(text);

/** Cut at so many columns, with an ellipsis where something is gone; colours stay whole. */
export function cutToColumns(text: string, columns: number): string {
  return visibleWidth(text) <= columns ? text : truncateToWidth(text, columns, "…");
}

export function wrapColumns(text: string, columns: number): string[] {
  return wrapTextWithAnsi(text, Math.max(1, columns));
}

/** Whether a terminal's answer says that its ground is light; null for other bytes. */
export function readGround(bytes: string): "dark" | "light" | null {
  const colour = parseOsc11BackgroundColor(bytes);
  if (colour === undefined) return null;
  return 0.299 * colour.r + 0.587 * colour.g + 0.114 * colour.b > 128 ? "light" : "dark";
}

/** Asks the terminal for its background colour; the answer arrives as a key. */
export const ASK_GROUND = "\x1b]11;?\x07";

/** Everything that a screen turned on, turned off: pastes, keys, focus, and the cursor back. */
export const RESTORE_TERMINAL =
  "\x1b[?2026l\x1b[?1047l\x1b[?2004l\x1b[<u\x1b[>4;0m\x1b[?1004l\x1b[0m\x1b[?25h\r\n";

/** A terminal that pastes an image sends an empty paste. */
const EMPTY_PASTE = "\x1b[200~\x1b[201~";
const CTRL_V = "\x16";

export type Keyboard = ReturnType<typeof openKeyboard>;

export function openKeyboard(onKey: (bytes: string) => void, onResize: () => void) {
  const terminal = new ProcessTerminal();
  return {
    write: (text: string) => terminal.write(text),
    columns: () => terminal.columns,
    rows: () => terminal.rows,
    /** Raw mode, marked pastes, and the best protocol of keys that the terminal has. */
    start: () => terminal.start((bytes) => onKey(bytes === EMPTY_PASTE ? CTRL_V : bytes), onResize),
    /** Everything as it was. */
    stop: () => terminal.stop(),
  };
}

const same = (text: string) => text;
const PLAIN = {
  selectedPrefix: same,
  selectedText: same,
  description: same,
  scrollInfo: same,
  noMatch: same,
};

/** Several lines, undo, kill ring, history, pastes folded to a mark. It draws no cursor of its own. */
export function createLineEditor(screen: {
  readonly rows: () => number;
  readonly redraw: () => void;
  readonly submit: (text: string) => void;
}) {
  const host = {
    terminal: {
      get rows() {
        return screen.rows();
      },
    },
    requestRender: () => screen.redraw(),
  } as unknown as TUI;
  const editor = new Editor(host, { borderColor: same, selectList: PLAIN });
  editor.focused = true;
  // The editor has no door for a cursor that is set, and a new text through its own door forgets the pastes.
  const inner = editor as unknown as {
    state: { lines: string[]; cursorLine: number; cursorCol: number };
    lastAction: unknown;
    pushUndoSnapshot(): void;
  };
  const held = { whole: "" };
  editor.onSubmit = () => screen.submit(held.whole);
  return {
    key(bytes: string): void {
      // Submitting empties the editor, marks of pastes included, before its callback runs.
      held.whole = editor.getExpandedText();
      editor.handleInput(bytes);
    },
    text: () => editor.getText(),
    /** With pastes in place of their marks. */
    whole: () => editor.getExpandedText(),
    /** Up to the cursor, within its line. */
    beforeCursor(): { readonly text: string; readonly line: number } {
      const { line, col } = editor.getCursor();
      return { text: (editor.getLines()[line] ?? "").slice(0, col), line };
    },
    set: (text: string) => editor.setText(text),
    insert: (text: string) => editor.insertTextAtCursor(text),
    /** Takes away so many characters before the cursor. */
    erase(characters: number): void {
      for (let left = characters; left > 0; left--) editor.handleInput("\x7f");
    },
    remember: (text: string) => editor.addToHistory(text),
    /** The lines with their paste marks, and the cursor. */
    state(): EditedText {
      const { line, col } = editor.getCursor();
      return { lines: editor.getLines(), line, column: col };
    },
    /** Replaces text and cursor; one undo restores the former text. */
    change({ lines, line, column }: EditedText, isChanged: boolean): void {
      if (isChanged) inner.pushUndoSnapshot();
      inner.lastAction = null;
      inner.state = { lines: [...lines], cursorLine: line, cursorCol: column };
    },
    undo: () => editor.handleInput("\x1f"),
    render(columns: number) {
      const drawn = editor.render(columns).slice(1);
      const end = drawn.findIndex((row) => /^─/.test(row));
      const rows = end < 0 ? drawn : drawn.slice(0, end);
      const at = rows.findIndex((row) => row.includes(CURSOR_MARKER));
      const [before = ""] = (rows[at] ?? "").split(CURSOR_MARKER);
      return {
        rows: rows.map((row) =>
          row
            .replace(CURSOR_MARKER, "")
            .replace(/\x1b\[(?:7|0)m/g, "")
            .trimEnd(),
        ),
        cursor: { row: Math.max(0, at), column: visibleWidth(before) },
      };
    },
  };
}
