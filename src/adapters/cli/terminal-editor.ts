import type { Key } from "./keys.ts";
import { graphemesOf } from "./text-width.ts";

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
