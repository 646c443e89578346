import type { ReplyChoice } from "../../application/ports/chat.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import type { LiveRows } from "./live-screen.ts";
import { listRows } from "./terminal-input.ts";
import { cutToColumns, isKey, visibleWidth } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";

/** A list to choose from, with a search. */
export type Picker = ReturnType<typeof createPicker>;

type PickName = keyof TerminalMessages["picks"];

/** Commands that are a list at a terminal and a text everywhere else; `asks` is the message that requests the list. */
export function readPick(text: string): { readonly name: PickName; readonly asks: string } | null {
  const found = /^\/(model|effort|cost|context|jobs|resume|rewind|diff|status)(?:\s+(\w+))?\s*$/.exec(text);
  if (found === null) return null;
  const name = found[1] as PickName;
  const agent = found[2];
  if (agent === undefined) return { name, asks: name === "resume" ? "/resume list" : `/${name}` };
  const isAgent = /^(?:mio|shiro|aka|ao|gin|chat|worker|coder[123])$/i.test(agent);
  return (name === "model" || name === "effort") && isAgent ? { name, asks: text } : null;
}

const MOST_ROWS = 10;
/** Rows around the list: the line above, the title, the count, the keys. */
const AROUND = 6;

export function createPicker(
  title: string,
  choices: readonly ReplyChoice[],
  texts: TerminalMessages,
  style: () => Style,
) {
  let wanted = "";
  let selected = 0;
  const found = () => {
    const words = wanted.toLowerCase().split(/\s+/);
    return choices.filter(({ label, description }) => {
      const text = `${label} ${description}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  };
  const search = (text: string) => {
    wanted = text;
    selected = 0;
  };
  return {
    /** The message that was chosen; null: none; undefined: still choosing. */
    key(bytes: string): string | null | undefined {
      const items = found();
      const last = Math.max(0, items.length - 1);
      const go = (place: number) => {
        selected = Math.max(0, Math.min(last, place));
      };
      if (isKey(bytes, "escape", "ctrl+c")) return null;
      if (isKey(bytes, "enter")) return items[selected]?.message;
      if (isKey(bytes, "up", "ctrl+p")) go(selected - 1);
      else if (isKey(bytes, "down", "ctrl+n")) go(selected + 1);
      else if (isKey(bytes, "pageDown")) go(selected + MOST_ROWS);
      else if (isKey(bytes, "pageUp")) go(selected - MOST_ROWS);
      else if (isKey(bytes, "home")) go(0);
      else if (isKey(bytes, "end")) go(last);
      else if (isKey(bytes, "ctrl+u")) search("");
      else if (isKey(bytes, "backspace")) search([...wanted].slice(0, -1).join(""));
      else if (/^[^\x00-\x1f\x7f]+$/.test(bytes)) search(wanted + bytes);
      return undefined;
    },
    rows(columns: number, rows: number): LiveRows {
      const look = style();
      const items = found();
      const head = `${look.cyan("›")} ${look.bold(title)}  ${wanted}`;
      const list =
        items.length === 0
          ? [look.dim(`    ${texts.noneSuch}`)]
          : listRows(items, selected, columns, look, Math.max(3, Math.min(MOST_ROWS, rows - AROUND)));
      return {
        rows: [cutToColumns(head, columns), ...list, look.dim(cutToColumns(`  ${texts.pickKeys}`, columns))],
        cursor: { row: 0, column: Math.min(columns - 1, visibleWidth(head)) },
      };
    },
  };
}
