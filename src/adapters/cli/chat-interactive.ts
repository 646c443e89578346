import { describeEvent } from "../../application/chat/describe-event.ts";
import type { ChatEvent, Reply, Route } from "../../application/ports/chat.ts";
import type { ChatMessages } from "../../domain/texts/chat.ts";
import { printable } from "./command.ts";
import { type CliProgram, EXIT, type OpenedChat, type Terminal } from "./program.ts";
import {
  applyKey,
  createKeyReader,
  createPromptView,
  type EditorState,
  EMPTY_EDITOR,
  editorText,
  type Key,
} from "./terminal-editor.ts";
import { createMarkdownPrinter, type MarkdownPrinter, renderMarkdown } from "./terminal-markdown.ts";
import { graphemesOf, graphemeWidth, wrapWords } from "./terminal-text.ts";

const KEPT_LINES = 500;

/** What was typed before, oldest first; a file that cannot be read is an empty one. */
function readChatHistory(program: CliProgram): readonly string[] {
  try {
    const text = new TextDecoder().decode(program.readFile(program.chatHistory.file));
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown)
      .filter((line) => typeof line === "string")
      .slice(-KEPT_LINES);
  } catch {
    return [];
  }
}

/** Kept for the user alone; not being able to is no reason to stop. */
function saveChatHistory(program: CliProgram, history: readonly string[]): void {
  const lines = history.slice(-KEPT_LINES).map((text) => JSON.stringify(text));
  program.chatHistory.save(`${lines.join("\n")}\n`);
}

interface Spinner {
  say(text: string): void;
  /** Wipes the line; the next `say` draws it again. */
  pause(): void;
  stop(): void;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;

/** One line that says what happens now. */
function createSpinner(screen: { write(text: string): void; columns(): number }): Spinner {
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

const PROMPT = "> ";
/** What people type who do not know Ctrl-D. */
const LEAVING = new Set(["/exit", "/quit", "exit", "quit"]);
/** From outside: what runs is stopped and taken back, the terminal set back, the program ends. */
const ENDING = ["SIGTERM", "SIGHUP"] as const;

/**
 * The conversation at a terminal. While a message runs, Ctrl-C stops it and nothing else; what is typed meanwhile
 * waits for the prompt.
 */
export async function converse(
  program: CliProgram,
  opened: Extract<OpenedChat, { ok: true }>,
  { chatId, route }: { readonly chatId: string; readonly route: Route | undefined },
): Promise<number> {
  const { chat, conversation, commands } = opened;
  const history = [...readChatHistory(program)];
  const keys = createKeyQueue();
  const reader = createKeyReader(keys.push);
  const terminal = await program.openTerminal(
    (bytes) => reader.add(bytes),
    () => keys.push({ kind: "eof" }),
  );
  const prompt = createPromptView(terminal, PROMPT);
  const outside = new AbortController();
  const end = () => {
    outside.abort();
    keys.push({ kind: "interrupt" });
    keys.push({ kind: "eof" });
  };
  for (const signal of ENDING) process.once(signal, end);
  const { chat: talks, coder } = await opened.who();
  const banner = [
    ...chat.banner(opened.workspace.root, talks, coder, chatId === "default" ? "" : chatId),
    chat.welcome,
  ];
  terminal.write(
    `${terminalLines(printable(banner.map((line) => wrapWords(line, terminal.columns())).join("\n")))}\r\n`,
  );
  try {
    for (;;) {
      const text = await readMessage();
      if (text === null || LEAVING.has(text.trim().toLowerCase())) {
        terminal.write(`${chat.goodbye}\r\n`);
        return EXIT.done;
      }
      if (text.trim() === "") continue;
      if (history.at(-1) !== text) history.push(text);
      saveChatHistory(program, history.map(opened.workspace.mask));
      const ended = await send(text);
      if (ended === "quit") return 130;
    }
  } finally {
    for (const signal of ENDING) process.off(signal, end);
    terminal.close();
  }

  async function readMessage(): Promise<string | null> {
    let state: EditorState = EMPTY_EDITOR;
    prompt.draw(state.before, state.after);
    for (;;) {
      const edited = applyKey(state, await keys.next(), { history, commands: [...commands, "exit"] });
      state = edited.state;
      switch (edited.done) {
        case "submit":
          prompt.draw(state.before, state.after);
          prompt.leave();
          return editorText(state);
        case "interrupt":
          prompt.leave();
          break;
        case "eof":
          prompt.leave();
          return null;
        case "clear":
          terminal.write("\x1b[2J\x1b[H");
          break;
        case "choices":
          prompt.leave();
          terminal.write(`${edited.choices.join("  ")}\r\n`);
          break;
        case "no":
          break;
      }
      prompt.draw(state.before, state.after);
    }
  }

  async function send(text: string): Promise<"done" | "quit"> {
    const abort = new AbortController();
    const spinner = createSpinner(terminal);
    const shown = { streamed: "", printer: createMarkdownPrinter(terminal.columns()) };
    const handled = conversation.handle(
      {
        channel: "cli",
        chatId,
        userId: "cli",
        text,
        ...(route !== undefined && { forcedRoute: route }),
      },
      {
        signal: AbortSignal.any([abort.signal, outside.signal]),
        onEvent: (event) => showEvent(event, chat, { spinner, shown, write: terminal.write }),
      },
    );
    const force = Promise.withResolvers<"quit">();
    const release = keys.intercept((key) => {
      if (key.kind !== "interrupt") return false;
      if (abort.signal.aborted) force.resolve("quit");
      abort.abort();
      spinner.say(chat.stopHint);
      return true;
    });
    try {
      const end = await Promise.race([handled, force.promise]);
      spinner.stop();
      if (end === "quit") return "quit";
      showReply(end, chat, shown, terminal);
      return "done";
    } finally {
      spinner.stop();
      release();
    }
  }
}

interface ConverseView {
  readonly spinner: { say(text: string): void; pause(): void };
  readonly shown: { streamed: string; readonly printer: MarkdownPrinter };
  readonly write: (text: string) => void;
}

function showEvent(event: ChatEvent, chat: ChatMessages, { spinner, shown, write }: ConverseView): void {
  switch (event.type) {
    case "notice":
      spinner.pause();
      write(`\x1b[2m${terminalLines(printable(event.text))}\x1b[0m\r\n`);
      break;
    case "text":
      if (shown.streamed === "") spinner.pause();
      shown.streamed += event.text;
      write(terminalLines(shown.printer.add(printable(event.text))));
      break;
    default: {
      const doing = describeEvent(event, chat);
      if (doing !== "") spinner.say(doing);
    }
  }
}

function showReply(
  reply: Reply,
  chat: ChatMessages,
  { streamed, printer }: ConverseView["shown"],
  { write, columns }: Pick<Terminal, "write" | "columns">,
): void {
  write(terminalLines(printer.end()));
  const said = printable(streamed).trim();
  const text = printable(reply.text);
  const rest = said !== "" && text.startsWith(said) ? text.slice(said.length) : text;
  if (said !== "" && rest === text) write("\r\n");
  write(`${terminalLines(renderMarkdown(rest, columns()))}\r\n`);
  if (reply.model !== undefined && reply.usage !== undefined) {
    const { provider, model, local } = reply.model;
    const { inputTokens, outputTokens, cachedTokens, costUsd } = reply.usage;
    const footer = {
      model: `${provider}/${model}`,
      local,
      tokens: inputTokens + outputTokens,
      cachedTokens,
      costUsd,
    };
    write(`\x1b[2m${chat.footer(footer)}\x1b[0m\r\n`);
  }
  write("\r\n");
}

/** Raw mode does not return the carriage. Colours of our own stay; others' were taken out before. */
function terminalLines(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

/** Keys in order; one reader at a time, and somebody who may take a key before it. */
function createKeyQueue() {
  const waiting: Key[] = [];
  let reader: ((key: Key) => void) | null = null;
  let interceptor: ((key: Key) => boolean) | null = null;
  return {
    push(key: Key): void {
      if (interceptor?.(key) === true) return;
      if (reader === null) {
        waiting.push(key);
        return;
      }
      const give = reader;
      reader = null;
      give(key);
    },
    next(): Promise<Key> {
      const key = waiting.shift();
      if (key !== undefined) return Promise.resolve(key);
      return new Promise((resolve) => {
        reader = resolve;
      });
    },
    intercept(take: (key: Key) => boolean): () => void {
      interceptor = take;
      return () => {
        interceptor = null;
      };
    },
  };
}
