import type { Conversation } from "../../application/ports/chat.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { createCardDeck } from "./card-deck.ts";
import { printable } from "./command.ts";
import type { CardMaker } from "./conversation-cards.ts";
import type { Picker } from "./conversation-pickers.ts";
import { type Block, createLiveScreen, type LiveRows, type LiveScreen } from "./live-screen.ts";
import type { CliProgram } from "./program.ts";
import { type Composer, createComposer, type SlashCommand } from "./terminal-input.ts";
import type { openPager, Pager } from "./terminal-pager.ts";
import {
  ASK_GROUND,
  cutToColumns,
  isKeyUp,
  type Keyboard,
  openKeyboard,
  readGround,
  visibleWidth,
  wrapColumns,
} from "./terminal-pi.ts";
import { createStyle, groundOf, type Style, wantsColour } from "./terminal-style.ts";
import type { TurnView } from "./turn-view.ts";

interface ScreenDeps {
  readonly env: CliProgram["env"];
  readonly texts: TerminalMessages;
  readonly history: string[];
  /** A key that is neither a report of the terminal nor for the pager. */
  readonly onKey: (bytes: string) => void;
  readonly submit: (text: string) => void;
}

/** The terminal reports whether its window has the focus. */
const [WATCH_FOCUS, UNWATCH_FOCUS] = ["\x1b[?1004h", "\x1b[?1004l"];

/** The terminal of a conversation: the printed blocks, the live rows below them, and the pager in front of both. */
export class ConversationScreen {
  /** `hint` is said once in place of everything else; `model` is `provider/model`; `drafts` are previews that wait. */
  readonly status = { hint: "", model: "", branch: "", drafts: 0, tokens: 0, costUsd: 0 };
  readonly composer: Composer;
  readonly style = () => this.#style;
  readonly print = (...blocks: readonly Block[]) => this.#live.print(...blocks);
  readonly printNotice = (text: string) => this.print(noticeBlock(text, this.style));
  readonly redraw = (soon?: boolean) => (this.ended ? undefined : this.#live.redraw(soon));
  readonly resized = () => this.#live.resized();
  readonly write = (text: string) => this.#keyboard.write(text);
  /** Gives the terminal back to the shell. */
  readonly restore = () => this.#keyboard.stop();
  readonly deck: ReturnType<typeof createCardDeck>;
  readonly queue = createWordQueue((text) => {
    const line = `${this.#style.cyan("↳")} ${printable(text)} ${this.#style.dim(this.#texts.joined)}`;
    this.print({ render: (columns) => line.split("\n").flatMap((row) => wrapColumns(row, columns)) });
  });
  /** Null until the conversation is open. */
  maker: CardMaker | null = null;
  commands: readonly SlashCommand[] = [];
  /** Null until the conversation is open. */
  listFiles: (() => Promise<readonly string[]>) | null = null;
  /** The message that is being answered. */
  view: TurnView | null = null;
  picker: Picker | null = null;
  focused = true;
  ended = false;
  readonly #texts: TerminalMessages;
  readonly #colour: boolean;
  readonly #keyboard: Keyboard;
  readonly #live: LiveScreen;
  #style: ReturnType<typeof createStyle>;
  #pager: Pager | null = null;
  #isAway = false;

  constructor({ env, texts, history, onKey, submit }: ScreenDeps) {
    this.#texts = texts;
    this.#colour = wantsColour(env, true);
    this.#style = createStyle({ colour: this.#colour, ground: groundOf(env) });
    this.deck = createCardDeck({ maker: () => this.maker, texts, style: this.style });
    this.#keyboard = openKeyboard(
      (bytes) => this.#takeBytes(bytes, onKey),
      () => {
        this.resized();
        this.#pager?.draw();
      },
    );
    const { write, columns, rows } = this.#keyboard;
    this.#live = createLiveScreen({
      write,
      columns,
      rows,
      live: (width, height) => this.#rows(width, height),
      after(ms, run) {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      now: () => performance.now(),
      slowLine: (env.SSH_CONNECTION ?? env.SSH_TTY ?? "") !== "",
    });
    this.composer = createComposer({
      texts,
      style: this.style,
      rows,
      redraw: this.redraw,
      history,
      commands: () => this.commands,
      listFiles: () => this.listFiles?.() ?? null,
      submit,
    });
  }

  start(): void {
    this.#keyboard.start();
    this.write(`${ASK_GROUND}${WATCH_FOCUS}`);
  }

  /** Gives the terminal to another program while `run` runs, or for good. */
  leaveFor(run: () => void): void {
    this.#isAway = true;
    this.#live.leave();
    this.write(UNWATCH_FOCUS);
    this.restore();
    run();
  }

  resume(): void {
    this.#isAway = false;
    this.#keyboard.start();
    this.write(WATCH_FOCUS);
    this.#live.resume({ below: true });
  }

  openPage(open: typeof openPager, title: string, lines: (columns: number) => readonly string[]): void {
    this.#live.pause();
    this.#pager = open({
      keyboard: this.#keyboard,
      title,
      keys: this.#texts.pagerKeys,
      lines,
      isMark: (line) => /^\s{2}\x1b\[1m|^\s{2}\S/.test(line),
      closed: () => {
        this.#pager = null;
        this.#live.resume({ below: false });
      },
    });
  }

  #takeBytes(bytes: string, onKey: (bytes: string) => void): void {
    if (isKeyUp(bytes) || this.#readReport(bytes) || bytes.startsWith("\x1b]") || this.ended) return;
    if (this.#pager !== null) {
      this.#pager.key(bytes);
      return;
    }
    onKey(bytes);
    if (!this.ended && this.#pager === null) this.redraw();
  }

  /** Whether the terminal reported a shown frame, its focus or its background. */
  #readReport(bytes: string): boolean {
    const ground = readGround(bytes);
    if (bytes === "\x1b[0n") this.#live.acknowledged();
    else if (bytes === "\x1b[I" || bytes === "\x1b[O") this.focused = bytes === "\x1b[I";
    else if (ground !== null) this.#style = createStyle({ colour: this.#colour, ground });
    else return false;
    return true;
  }

  #rows(columns: number, rows: number): LiveRows {
    if (this.ended || this.#isAway) return { rows: [], cursor: null };
    const above = this.#rowsAbove(columns);
    const rule = this.#style.dim("─".repeat(Math.min(columns, 60)));
    if (this.picker !== null) {
      const drawn = this.picker.rows(columns, rows);
      return {
        rows: [...above, rule, ...drawn.rows],
        cursor: drawn.cursor === null ? null : { ...drawn.cursor, row: drawn.cursor.row + above.length + 1 },
      };
    }
    const { starting, placeholder, placeholderBusy } = this.#texts;
    const idle = this.maker === null ? starting : placeholder;
    const line = this.composer.line(columns, this.view === null ? idle : placeholderBusy);
    const mode = this.composer.normalMode();
    const below = this.composer.below(columns) ?? [
      statusRow(this.status, mode, columns, this.#texts, this.#style),
    ];
    const most = Math.max(1, rows - 2 - line.rows.length - below.length);
    const kept = above.slice(-most);
    const isHidden = this.deck.focused() !== null || line.cursor === null;
    return {
      rows: [...kept, rule, ...line.rows, ...below],
      cursor: isHidden ? null : { ...line.cursor, row: kept.length + 1 + line.cursor.row },
    };
  }

  /** The message that is answered or the last card, and the queued messages. */
  #rowsAbove(columns: number): string[] {
    const { joins, waits, editsQueued } = this.#texts;
    const open = this.view?.live(columns) ?? [];
    const gap = open.length > 0 ? [""] : [];
    return [
      ...(this.view === null
        ? this.deck.rows(columns)
        : [...open, ...gap, cutToColumns(this.view.working(), columns)]),
      ...this.queue.list().map(({ text, mode }) => {
        const how = this.#style.dim(`· ${mode === "joins" ? joins : waits} · ${editsQueued}`);
        return cutToColumns(`  ↳ ${printable(text).replaceAll("\n", " ")} ${how}`, columns);
      }),
    ];
  }
}

const NARROW = 80;

/** Without enough room, the cost is dropped first, then the branch, then the tokens; waiting previews and the model stay. */
function statusRow(
  { hint, model, branch, drafts, tokens, costUsd }: ConversationScreen["status"],
  mode: string | null,
  columns: number,
  texts: TerminalMessages,
  style: Style,
): string {
  if (hint !== "") return style.yellow(cutToColumns(`  ${hint}`, columns));
  const parts = [
    { text: mode === null ? "" : `${texts.normalMode}${mode === "" ? "" : ` ${mode}`}`, rank: 0 },
    { text: columns < NARROW ? model.replace(/^.*\//, "") : model, rank: 0 },
    { text: branch, rank: 2 },
    { text: tokens === 0 ? "" : texts.tokens(tokens), rank: 1 },
    { text: costUsd === 0 ? "" : costUsd < 0.01 ? "< $0.01" : `$${costUsd.toFixed(2)}`, rank: 3 },
    { text: drafts === 0 ? "" : texts.draftsWait(drafts), rank: 0 },
  ].filter(({ text }) => text !== "");
  const room = columns - 4 - visibleWidth(texts.keysHint);
  const joined = (some: typeof parts) => printable(some.map(({ text }) => text).join(" · "));
  let shown = parts;
  for (let rank = 3; rank > 0 && visibleWidth(joined(shown)) > room; rank--)
    shown = shown.filter((part) => part.rank !== rank);
  const left = cutToColumns(`  ${joined(shown)}`, room + 2);
  const gap = Math.max(1, columns - visibleWidth(left) - visibleWidth(texts.keysHint) - 1);
  return style.dim(`${left}${" ".repeat(gap)}${texts.keysHint}`);
}

/** Text that the user typed while something else ran. */
interface QueuedWords {
  readonly text: string;
  /** Whether the coder gets it in its next round, or it is a message of its own afterwards. */
  mode: "joins" | "waits";
}

function createWordQueue(taken: (text: string) => void) {
  let words: (QueuedWords & { offered: AbortController | null })[] = [];
  return {
    add(text: string, mode: QueuedWords["mode"]): void {
      words.push({ text, mode, offered: null });
    },
    list: (): readonly QueuedWords[] => words,
    /** Lays what joins on the desk of a coder that works; until the coder has it, it can be taken back. */
    offer({ steer }: Pick<Conversation, "steer">, chatId: string): void {
      for (const one of words) {
        if (one.mode !== "joins" || one.offered !== null) continue;
        const abort = new AbortController();
        const answer = steer({ channel: "cli", chatId, text: one.text }, abort.signal);
        if (answer === null) continue;
        one.offered = abort;
        void answer.then((isTaken) => {
          one.offered = null;
          if (!isTaken) return;
          words = words.filter((other) => other !== one);
          taken(one.text);
        });
      }
    },
    /** The last of them, for the line. */
    takeBack(): string | undefined {
      const one = words.pop();
      one?.offered?.abort();
      return one?.text;
    },
    /** The first of them, to be sent. */
    next: (): string | undefined => words.shift()?.text,
    /** The work has ended: what no round took is a message of its own. */
    ended(): void {
      for (const one of words) {
        one.offered?.abort();
        one.mode = "waits";
      }
    },
    /** Removes and returns all of them. */
    clear(): readonly string[] {
      const all = words.map(({ text }) => text);
      words = [];
      return all;
    },
  };
}

/** The version and the folder, the home as `~`; empty for a program without a version. */
export function titleLine(
  { cwd, env, version }: Pick<CliProgram, "cwd" | "env" | "version">,
  texts: TerminalMessages,
): string {
  if (version === "") return "";
  const home = env.HOME ?? "";
  const isBelow = home !== "" && `${cwd}/`.startsWith(`${home}/`);
  return texts.title(version, isBelow ? `~${cwd.slice(home.length)}` : cwd);
}

/** A notice from PicoClaw beside the conversation. */
function noticeBlock(text: string, style: () => Style): Block {
  const lines = printable(text).split("\n");
  return { render: (columns) => lines.flatMap((line) => wrapColumns(style().dim(line), columns)) };
}

/** Lines of a message that are shown again; a paste may have thousands. */
const MOST_LINES = 12;

/** The user's message. */
export function messageBlock(text: string, style: () => Style): Block {
  const lines = printable(text).split("\n");
  const more = lines.length - MOST_LINES;
  const shown = more > 0 ? [...lines.slice(0, MOST_LINES), `… +${more}`] : lines;
  return {
    render(columns) {
      const { bold, cyan } = style();
      const rows = shown.flatMap((line) => wrapColumns(line, columns - 2));
      return ["", ...rows.map((row, at) => `${at === 0 ? cyan("›") : " "} ${bold(row)}`)];
    },
  };
}
