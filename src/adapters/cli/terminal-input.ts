import { matchFiles } from "../../domain/platform/match-files.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { printable } from "./command.ts";
import type { LiveRows } from "./live-screen.ts";
import { createLineEditor, cutToColumns, isKey, readLetter, visibleWidth } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";
import { padText } from "./terminal-text.ts";
import { createVimKeys, type VimKeys } from "./vim-keys.ts";

/** Something that can be chosen below the line. */
export interface MenuItem {
  readonly label: string;
  readonly description: string;
  /** The text that the line contains once it is chosen. */
  readonly insert: string;
  /** Whether Enter sends it at once; a command that needs arguments is put on the input line. */
  readonly runs: boolean;
  /** Whether what was typed is its name or the beginning of its name. */
  readonly isNamed: boolean;
}

export interface SlashCommand {
  /** Without the slash. */
  readonly name: string;
  readonly description: string;
  readonly takesWords: boolean;
}

/** The line with everything that helps to write it: a menu of commands or files, the search of what was typed before. */
export type Composer = ReturnType<typeof createComposer>;

interface ComposerDeps {
  readonly texts: TerminalMessages;
  readonly style: () => Style;
  readonly rows: () => number;
  readonly redraw: () => void;
  /** Oldest first. */
  readonly history: string[];
  readonly commands: () => readonly SlashCommand[];
  /** The files of the project as they are now; null before the conversation is open. */
  readonly listFiles: () => Promise<readonly string[]> | null;
  readonly submit: (text: string) => void;
}

const MENU_ROWS = 8;
const MOST_ITEMS = 50;

export function createComposer(deps: ComposerDeps) {
  const { texts, style, history } = deps;
  let menu: { readonly items: readonly MenuItem[]; readonly prefix: string; selected: number } | null = null;
  let closedAt: string | null = null;
  let vim: VimKeys | null = null;
  let search: { wanted: string; skip: number; readonly before: string } | null = null;
  /** The files as they were last read; null before. While they are read again, the keys that choose one of them wait. */
  let files: readonly string[] | null = null;
  let reading: Promise<void> | null = null;
  let waitingKeys: string[] = [];
  /** Whether the cursor was behind an `@` at the last key. */
  let namesFile = false;
  const editor = createLineEditor(deps);
  for (const line of history) editor.remember(line);

  /** After each key: finds the choices for the text before the cursor. */
  function findMenu(): void {
    const { text, line } = editor.beforeCursor();
    if (closedAt !== null && closedAt === text) return;
    closedAt = null;
    const before = menu;
    const command = line === 0 ? /^\s*\/(\S*)$/.exec(text) : null;
    const file = /(?:^|[\s("'「（])@([^\s@]*)$/.exec(text);
    if (command !== null)
      menu = openMenu(matchCommands(deps.commands(), command[1] ?? ""), `/${command[1] ?? ""}`);
    else if (file !== null) {
      if (!namesFile) readFiles();
      const found = files === null ? [] : matchFiles(files, file[1] ?? "", MOST_ITEMS).map(toFileItem);
      menu = files === null || found.length > 0 ? openMenu(found, `@${file[1] ?? ""}`) : null;
    } else menu = null;
    namesFile = file !== null;
    if (menu !== null && before !== null && before.prefix === menu.prefix) menu.selected = before.selected;
  }

  /** A menu of files opens with those of now, which a job or another program may just have made. */
  function readFiles(): void {
    reading ??=
      deps
        .listFiles()
        ?.catch(() => files ?? [])
        .then((listed) => {
          [files, reading, menu] = [listed, null, null];
          findMenu();
          const keys = waitingKeys;
          waitingKeys = [];
          for (const bytes of keys) pressKey(bytes);
          deps.redraw();
        }) ?? null;
  }

  const isReading = () => reading !== null && namesFile && closedAt === null;

  function pressKey(bytes: string): void {
    if (search !== null) {
      searchKey(bytes, search);
      return;
    }
    if (vim?.isNormal() && vimKey(bytes, vim)) return;
    if (waitingKeys.length > 0 || (isReading() && isKey(bytes, "tab", "enter", "up", "down"))) {
      waitingKeys.push(bytes);
      return;
    }
    if (menu !== null && menuKey(bytes, menu)) return;
    editor.key(bytes);
    findMenu();
  }

  const openMenu = (items: readonly MenuItem[], prefix: string) =>
    items.length === 0 && !prefix.startsWith("@")
      ? null
      : { items, prefix, selected: preselect(items, prefix) };

  function choose(item: MenuItem, prefix: string): void {
    editor.erase([...prefix].length);
    editor.insert(item.insert);
    menu = null;
    closedAt = editor.beforeCursor().text;
  }

  function menuKey(bytes: string, open: NonNullable<typeof menu>): boolean {
    const { items, prefix } = open;
    const step = isKey(bytes, "up", "ctrl+p") ? -1 : isKey(bytes, "down", "ctrl+n") ? 1 : 0;
    if (step !== 0 && items.length > 0) {
      const from = open.selected === NOTHING_SELECTED && step < 0 ? 0 : open.selected;
      open.selected = (from + step + items.length) % items.length;
      return true;
    }
    if (isKey(bytes, "tab")) {
      const item = items[Math.max(0, open.selected)];
      if (item !== undefined) choose(item, prefix);
      return item !== undefined;
    }
    const item = items[open.selected];
    if (!isKey(bytes, "enter") || (item === undefined && prefix !== "/")) return false;
    if (item !== undefined) choose(item, prefix);
    if (item?.runs === true) editor.key("\r");
    return true;
  }

  /** Newest first, each once. */
  const found = (wanted: string) => {
    const low = wanted.toLowerCase();
    return [...new Set(history.toReversed())].filter((line) => line.toLowerCase().includes(low));
  };

  function searchKey(bytes: string, open: NonNullable<typeof search>): void {
    if (isKey(bytes, "escape", "ctrl+c", "ctrl+g")) {
      search = null;
      editor.set(open.before);
    } else if (isKey(bytes, "ctrl+r", "down"))
      open.skip = Math.min(open.skip + 1, Math.max(0, found(open.wanted).length - 1));
    else if (isKey(bytes, "up", "ctrl+s")) open.skip = Math.max(0, open.skip - 1);
    else if (isKey(bytes, "backspace"))
      Object.assign(open, { wanted: [...open.wanted].slice(0, -1).join(""), skip: 0 });
    else if (isKey(bytes, "enter", "tab")) {
      const line = found(open.wanted)[open.skip];
      search = null;
      editor.set(line ?? open.before);
    } else {
      const typed = bytes.replace(/^\x1b\[20[01]~/, "");
      if (!/^[\x20-\x7e\u00a0-\uffff]/u.test(typed)) return;
      Object.assign(open, { wanted: open.wanted + printable(typed).replaceAll("\n", " "), skip: 0 });
    }
  }

  /** True: the key was one of normal mode. */
  function vimKey(bytes: string, keys: VimKeys): boolean {
    const letter = readLetter(bytes);
    if (letter === null) return false;
    const step = keys.press(letter, editor.state());
    switch (step.kind) {
      case "text":
        editor.change(step.text, step.isChanged);
        break;
      case "undo":
        editor.undo();
        break;
      case "history":
        editor.key(step.by === "up" ? "\x1b[A" : "\x1b[B");
        break;
      case "send":
        keys.toInsert();
        editor.key("\r");
        break;
      case "waits":
        break;
    }
    return true;
  }

  return {
    key: pressKey,
    readFiles,
    text: editor.text,
    whole: editor.whole,
    isEmpty: () => editor.text() === "",
    isMenuOpen: () => menu !== null || isReading(),
    isSearching: () => search !== null,
    closeMenu(): void {
      menu = null;
      waitingKeys = [];
      closedAt = editor.beforeCursor().text;
    },
    useVim(): void {
      vim ??= createVimKeys();
    },
    /** Normal mode of vi, with what was typed of its command; null: keys are letters. */
    normalMode: () => (vim?.isNormal() ? vim.pending() : null),
    /** To normal mode; false where the keys are not vi's, or it is on already. */
    leaveInsert(): boolean {
      if (vim === null || vim.isNormal()) return false;
      editor.change(vim.toNormal(editor.state()), false);
      return true;
    },
    set(text: string): void {
      editor.set(text);
      menu = null;
      waitingKeys = [];
      closedAt = editor.beforeCursor().text;
    },
    insert: editor.insert,
    startSearch(): void {
      search = { wanted: "", skip: 0, before: editor.text() };
    },
    remember(text: string): void {
      history.push(text);
      editor.remember(text);
    },
    /** The rows of the line, with the cursor. */
    line(columns: number, placeholder: string): LiveRows {
      const look = style();
      if (search !== null) {
        const title = `  ${texts.history(printable(search.wanted))}`;
        return {
          rows: [cutToColumns(title, columns)],
          cursor: { row: 0, column: Math.min(columns - 1, visibleWidth(title)) },
        };
      }
      const { rows, cursor } = editor.render(Math.max(10, columns - 2));
      const sign = look.cyan("›");
      if (editor.text() === "")
        return {
          rows: [`${sign} ${look.dim(cutToColumns(placeholder, columns - 2))}`],
          cursor: { row: 0, column: 2 },
        };
      return {
        rows: rows.map((row, at) => `${at === 0 ? sign : " "} ${row}`),
        cursor: { row: cursor.row, column: Math.min(columns - 1, cursor.column + 2) },
      };
    },
    /** The lines below it that replace the status; null if there are none. */
    below(columns: number): readonly string[] | null {
      const look = style();
      if (search !== null) {
        const lines = found(search.wanted).slice(search.skip, search.skip + 5);
        const rows = lines.map((line, at) => {
          const text = cutToColumns(printable(line).replaceAll("\n", " ⏎ "), columns - 4);
          return at === 0 ? `${look.cyan("→")} ${look.bold(text)}` : `  ${text}`;
        });
        return [
          ...(rows.length === 0 ? [look.dim(`  ${texts.historyNone}`)] : rows),
          look.dim(`  ${texts.historyKeys}`),
        ];
      }
      if (menu === null) return null;
      if (menu.items.length === 0)
        return [look.dim(`    ${files === null ? texts.indexing : texts.noFiles}`)];
      return listRows(menu.items, menu.selected, columns, look);
    },
  };
}

const NOTHING_SELECTED = -1;

/** What Enter takes without an arrow key. Another command is never sent in place of what was typed. */
function preselect(items: readonly MenuItem[], prefix: string): number {
  if (prefix.startsWith("@") || items[0]?.label === prefix.toLowerCase()) return 0;
  return items.filter(({ isNamed }) => isNamed).length === 1 ? 0 : NOTHING_SELECTED;
}

/** Some rows around the chosen one, and how many there are. */
export function listRows(
  items: readonly Pick<MenuItem, "label" | "description">[],
  selected: number,
  columns: number,
  style: Style,
  most = MENU_ROWS,
): string[] {
  const first = Math.max(0, Math.min(selected - Math.floor(most / 2), items.length - most));
  const shown = items.slice(first, first + most);
  const width = Math.min(
    Math.max(8, Math.floor(columns / 2)),
    Math.max(...shown.map(({ label }) => visibleWidth(label))),
  );
  const rows = shown.map(({ label, description }, at) => {
    const name = padText(cutToColumns(printable(label), width), width);
    const chosen = first + at === selected;
    const words = printable(description);
    return cutToColumns(
      `  ${chosen ? style.cyan("→") : " "} ${chosen ? style.bold(name) : name}${words === "" ? "" : `  ${style.dim(words)}`}`,
      columns,
    );
  });
  return items.length > most
    ? [...rows, style.dim(`    (${Math.max(1, selected + 1)}/${items.length})`)]
    : rows;
}

function toFileItem(path: string): MenuItem {
  const cut = path.lastIndexOf("/");
  const insert = /\s/.test(path) ? `@"${path}" ` : `@${path} `;
  return {
    label: path.slice(cut + 1),
    description: path.slice(0, Math.max(0, cut)),
    insert,
    runs: false,
    isNamed: true,
  };
}

/** By name first, then by what they do. */
function matchCommands(commands: readonly SlashCommand[], wanted: string): MenuItem[] {
  const low = wanted.toLowerCase();
  const rank = ({ name, description }: SlashCommand) => {
    if (name === low) return 0;
    if (name.startsWith(low)) return 1;
    if (name.includes(low)) return 2;
    return low.length > 1 && description.toLowerCase().includes(low) ? 3 : -1;
  };
  return commands
    .map((command) => ({ command, rank: rank(command) }))
    .filter((one) => one.rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .map(({ command: { name, description, takesWords }, rank }) => ({
      label: `/${name}`,
      description,
      insert: takesWords ? `/${name} ` : `/${name}`,
      runs: !takesWords,
      isNamed: rank <= 1,
    }));
}
