import { graphemesOf, graphemeWidth, textWidth } from "./terminal-text.ts";

/** What a person did at the keyboard. */
export type Key =
  | { readonly kind: "text"; readonly text: string }
  /** A paste, its line ends made one. */
  | { readonly kind: "paste"; readonly text: string }
  | { readonly kind: KeyName };

type KeyName =
  | "enter"
  | "newline"
  | "tab"
  | "backspace"
  | "delete"
  | "left"
  | "right"
  | "up"
  | "down"
  | "home"
  | "end"
  | "word-left"
  | "word-right"
  | "kill-end"
  | "kill-start"
  | "kill-word"
  | "clear"
  | "interrupt"
  | "eof"
  | "escape";

const CONTROLS: Readonly<Record<string, KeyName>> = {
  "\r": "enter",
  "\n": "newline",
  "\t": "tab",
  "\x7f": "backspace",
  "\b": "backspace",
  "\x01": "home",
  "\x02": "left",
  "\x03": "interrupt",
  "\x04": "eof",
  "\x05": "end",
  "\x06": "right",
  "\x0b": "kill-end",
  "\x0c": "clear",
  "\x0e": "down",
  "\x10": "up",
  "\x15": "kill-start",
  "\x17": "kill-word",
};

const SEQUENCES: Readonly<Record<string, KeyName>> = {
  "[A": "up",
  "[B": "down",
  "[C": "right",
  "[D": "left",
  OA: "up",
  OB: "down",
  OC: "right",
  OD: "left",
  "[H": "home",
  "[F": "end",
  OH: "home",
  OF: "end",
  "[1~": "home",
  "[4~": "end",
  "[7~": "home",
  "[8~": "end",
  "[3~": "delete",
  "[1;5D": "word-left",
  "[1;5C": "word-right",
  "[1;3D": "word-left",
  "[1;3C": "word-right",
  b: "word-left",
  f: "word-right",
  "\x7f": "kill-word",
  "\r": "newline",
  "\n": "newline",
};

const PASTE_BEGINS = "\x1b[200~";
const PASTE_ENDS = "\x1b[201~";

/** Reads a terminal's bytes: characters, control keys, escape sequences and pastes, however they are cut into pieces. */
export function createKeyReader(onKey: (key: Key) => void) {
  const decoder = new TextDecoder();
  let pending = "";

  const step = (): boolean => {
    if (pending.startsWith(PASTE_BEGINS)) {
      const end = pending.indexOf(PASTE_ENDS);
      if (end === -1) return false;
      const text = pending.slice(PASTE_BEGINS.length, end).replace(/\r\n?/g, "\n");
      pending = pending.slice(end + PASTE_ENDS.length);
      onKey({ kind: "paste", text });
      return true;
    }
    if (pending.startsWith("\x1b")) return readEscape();
    const control = CONTROLS[pending.charAt(0)];
    if (control !== undefined) {
      pending = pending.slice(1);
      onKey({ kind: control });
      return true;
    }
    const plain = /^[^\x00-\x1f\x7f]+/.exec(pending)?.[0];
    pending = pending.slice(plain?.length ?? 1);
    if (plain !== undefined) onKey({ kind: "text", text: plain });
    return true;
  };

  const readEscape = (): boolean => {
    if (pending.length === 1) return false;
    const sequence = /^\x1b(\[[0-9;?]*[ -/]*[@-~]|O.|[^[O])/s.exec(pending);
    if (sequence === null) {
      if (/^\x1b\[[0-9;?]*$/.test(pending) || pending === "\x1bO") return false;
      pending = pending.slice(1);
      return true;
    }
    const [whole, name] = sequence;
    if (whole === PASTE_BEGINS) return false;
    pending = pending.slice(whole.length);
    const key = SEQUENCES[name as string];
    if (key !== undefined) onKey({ kind: key });
    return true;
  };

  return {
    add(bytes: Uint8Array): void {
      pending += decoder.decode(bytes, { stream: true });
      while (pending !== "" && step());
    },
    /** Nothing came for a moment: an escape that stands alone was the key itself. */
    flush(): void {
      if (pending === "\x1b") {
        pending = "";
        onKey({ kind: "escape" });
      }
    },
  };
}

/** What is being typed. Pure: each key gives the next state. `cursor` counts graphemes. */
export interface EditorState {
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Position in the history, from its newest; -1 is what is being typed. */
  readonly recalled: number;
  readonly draft: string;
}

export interface EditorWorld {
  /** Oldest first. */
  readonly history: readonly string[];
  /** What can follow a slash. */
  readonly commands: readonly string[];
}

export type EditResult =
  | { readonly state: EditorState; readonly done: "no" | "submit" | "interrupt" | "eof" | "clear" }
  /** Several commands begin like this. */
  | { readonly state: EditorState; readonly done: "choices"; readonly choices: readonly string[] };

export const EMPTY_EDITOR: EditorState = { before: [], after: [], recalled: -1, draft: "" };

export function editorText({ before, after }: Pick<EditorState, "before" | "after">): string {
  return before.join("") + after.join("");
}

export function applyKey(state: EditorState, key: Key, world: EditorWorld): EditResult {
  const { before, after } = state;
  const moved = (next: Partial<EditorState>): EditResult => ({ state: { ...state, ...next }, done: "no" });
  switch (key.kind) {
    case "text":
    case "paste":
      return moved({ before: graphemesOf(before.join("") + withoutControls(key.text)) });
    case "newline":
      return moved({ before: [...before, "\n"] });
    case "enter":
      // A backslash at the end of the line goes on below.
      if (after.length === 0 && before.at(-1) === "\\")
        return moved({ before: [...before.slice(0, -1), "\n"] });
      return { state, done: "submit" };
    case "tab":
      return complete(state, world);
    case "backspace":
      return moved({ before: before.slice(0, -1) });
    case "delete":
      return moved({ after: after.slice(1) });
    case "left":
      return moved(cursorAt(state, before.length - 1));
    case "right":
      return moved(cursorAt(state, before.length + 1));
    case "home":
      return moved(cursorAt(state, lineStart(before)));
    case "end":
      return moved(cursorAt(state, before.length + lineRest(after)));
    case "word-left":
      return moved(cursorAt(state, wordStart(before)));
    case "word-right":
      return moved(cursorAt(state, before.length + wordEnd(after)));
    case "kill-end":
      return moved({ after: after.slice(lineRest(after)) });
    case "kill-start":
      return moved({ before: before.slice(0, lineStart(before)) });
    case "kill-word":
      return moved({ before: before.slice(0, wordStart(before)) });
    case "up":
      return before.includes("\n") ? moved(vertical(state, -1)) : recall(state, world, 1);
    case "down":
      return after.includes("\n") ? moved(vertical(state, 1)) : recall(state, world, -1);
    case "escape":
      return moved({});
    case "clear":
      return { state, done: "clear" };
    case "interrupt":
      return { state: EMPTY_EDITOR, done: "interrupt" };
    case "eof":
      return before.length + after.length === 0 ? { state, done: "eof" } : moved({ after: after.slice(1) });
  }
}

/** Tabs become spaces; other controls are not for a message. */
function withoutControls(text: string): string {
  return text.replace(/\t/g, "  ").replace(/[\x00-\x09\x0b-\x1f\x7f]/g, "");
}

function cursorAt({ before, after }: EditorState, at: number): Pick<EditorState, "before" | "after"> {
  const all = [...before, ...after];
  const place = Math.max(0, Math.min(all.length, at));
  return { before: all.slice(0, place), after: all.slice(place) };
}

function lineStart(before: readonly string[]): number {
  return before.lastIndexOf("\n") + 1;
}

function lineRest(after: readonly string[]): number {
  const end = after.indexOf("\n");
  return end === -1 ? after.length : end;
}

function wordStart(before: readonly string[]): number {
  let at = before.length;
  while (at > 0 && /\s/.test(before[at - 1] as string)) at--;
  while (at > 0 && !/\s/.test(before[at - 1] as string)) at--;
  return at;
}

function wordEnd(after: readonly string[]): number {
  let at = 0;
  while (at < after.length && /\s/.test(after[at] as string)) at++;
  while (at < after.length && !/\s/.test(after[at] as string)) at++;
  return at;
}

/** The same column in the line above or below. */
function vertical(state: EditorState, by: 1 | -1): Pick<EditorState, "before" | "after"> {
  const { before, after } = state;
  const start = lineStart(before);
  const column = before.length - start;
  if (by < 0) {
    const above = before.slice(0, start - 1);
    return cursorAt(state, Math.min(lineStart(above) + column, start - 1));
  }
  const next = before.length + lineRest(after) + 1;
  const below = after.slice(lineRest(after) + 1);
  return cursorAt(state, next + Math.min(column, lineRest(below)));
}

function recall(state: EditorState, { history }: EditorWorld, by: 1 | -1): EditResult {
  const recalled = state.recalled + by;
  if (recalled < -1 || recalled >= history.length) return { state, done: "no" };
  const draft = state.recalled === -1 ? editorText(state) : state.draft;
  const text = recalled === -1 ? draft : (history[history.length - 1 - recalled] as string);
  return { state: { before: graphemesOf(text), after: [], recalled, draft }, done: "no" };
}

/** Completes the command that the line begins with, as far as it is clear. */
function complete(state: EditorState, { commands }: EditorWorld): EditResult {
  const typed = state.before.join("");
  const word = /^\/(\S*)$/.exec(typed)?.[1];
  if (word === undefined) return { state, done: "no" };
  const fitting = commands.filter((command) => command.startsWith(word)).sort();
  const [first] = fitting;
  if (first === undefined) return { state, done: "no" };
  if (fitting.length === 1) return { state: { ...state, before: graphemesOf(`/${first} `) }, done: "no" };
  let shared = first;
  while (!fitting.every((command) => command.startsWith(shared))) shared = shared.slice(0, -1);
  if (shared.length > word.length)
    return { state: { ...state, before: graphemesOf(`/${shared}`) }, done: "no" };
  return { state, done: "choices", choices: fitting.map((command) => `/${command}`) };
}

export interface PromptView {
  /** Draws the prompt and what is typed in the place of what was drawn before. */
  draw(before: readonly string[], after: readonly string[]): void;
  /** Puts the cursor below what was drawn and forgets it. */
  leave(): void;
  /** Wipes what was drawn. */
  erase(): void;
}

interface PromptScreen {
  write(text: string): void;
  columns(): number;
}

/** Lines that wrap, lines that were pasted, and characters of two columns: the cursor stands where it should. */
export function createPromptView(screen: PromptScreen, prompt: string): PromptView {
  const indent = " ".repeat(textWidth(prompt));
  let cursorRow = 0;
  let rows = 1;

  const home = () => `\r${cursorRow > 0 ? `\x1b[${cursorRow}A` : ""}\x1b[J`;

  return {
    draw(before, after) {
      const columns = Math.max(10, screen.columns());
      const head = layOut(
        [...before],
        columns,
        textWidth(prompt),
        { row: 0, column: textWidth(prompt) },
        indent,
      );
      const tail = layOut([...after], columns, textWidth(prompt), head.end, indent);
      let out = `${home()}\x1b[1m${prompt}\x1b[0m${head.text}${tail.text}`;
      // A terminal keeps the cursor on the last column until the next character: make it go on.
      if (tail.end.column === 0 && tail.end.row > 0 && tail.wrapped) out += " \r";
      const up = tail.end.row - head.end.row;
      out += up > 0 ? `\x1b[${up}A` : "";
      out += `\r${head.end.column > 0 ? `\x1b[${head.end.column}C` : ""}`;
      cursorRow = head.end.row;
      rows = tail.end.row + 1;
      screen.write(out);
    },
    leave() {
      const down = rows - 1 - cursorRow;
      screen.write(`${down > 0 ? `\x1b[${down}B` : ""}\r\n`);
      cursorRow = 0;
      rows = 1;
    },
    erase() {
      screen.write(home());
      cursorRow = 0;
      rows = 1;
    },
  };
}

interface CursorPosition {
  readonly row: number;
  readonly column: number;
}

function layOut(
  graphemes: readonly string[],
  columns: number,
  indentWidth: number,
  from: CursorPosition,
  indent: string,
) {
  let { row, column } = from;
  let text = "";
  let wrapped = false;
  for (const grapheme of graphemes) {
    if (grapheme === "\n") {
      text += `\r\n${indent}`;
      row++;
      column = indentWidth;
      wrapped = false;
      continue;
    }
    const width = graphemeWidth(grapheme);
    if (column + width > columns) {
      // A wide character does not fit in the last column; the terminal wraps before it.
      row++;
      column = 0;
    }
    text += grapheme;
    column += width;
    wrapped = false;
    if (column === columns) {
      row++;
      column = 0;
      wrapped = true;
    }
  }
  return { text, end: { row, column }, wrapped };
}
