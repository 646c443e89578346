import type { Route } from "../../application/ports/chat.ts";
import { maskSecrets } from "../../domain/platform/mask.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import { onEnding, printable } from "./command.ts";
import type { Card } from "./conversation-cards.ts";
import { ConversationScreen, titleLine } from "./conversation-screen.ts";
import type { ConversationTurns } from "./conversation-turns.ts";
import { type CliProgram, EXIT, type OpenChatFolder } from "./program.ts";
import type { SlashCommand } from "./terminal-input.ts";
import { isKey, type KeyName, RESTORE_TERMINAL } from "./terminal-pi.ts";

interface ConverseOptions {
  readonly texts: TerminalMessages;
  /** Opens the conversation behind the first prompt. A number is the exit code of one that cannot be opened. */
  readonly open: (
    say: (text: string) => void,
  ) => Promise<{ readonly opened: OpenChatFolder; readonly chatId: string } | number>;
  readonly route: Route | undefined;
  /** Sent as soon as the conversation is open. */
  readonly first: string | null;
}

/** Words that users type who do not know Ctrl-D. */
const LEAVING = new Set(["/exit", "/quit", "exit", "quit"]);
const TWICE_MS = 2_000;

type KeyBinding = readonly [keys: readonly KeyName[], run: () => void, when?: () => boolean];

/** The conversation at a terminal. Returns the exit code. */
export async function converse(program: CliProgram, options: ConverseOptions): Promise<number> {
  return new TerminalConversation(program, options).run();
}

/** Opens a conversation behind its prompt, reads its keys, and closes it. */
class TerminalConversation {
  readonly #history: string[];
  readonly #screen: ConversationScreen;
  readonly #bindings: readonly KeyBinding[];
  readonly #left = Promise.withResolvers<number>();
  /** Null until the conversation is open. */
  #turns: ConversationTurns | null = null;
  #pressed = { key: "", at: Number.NEGATIVE_INFINITY };
  #unguard = () => {};
  #close = async (_exitCode: number) => {};

  constructor(
    private readonly program: CliProgram,
    private readonly options: ConverseOptions,
  ) {
    this.#history = readHistory(program);
    this.#screen = new ConversationScreen({
      env: program.env,
      texts: options.texts,
      history: this.#history,
      onKey: (bytes) => this.#pressKey(bytes),
      submit: (text) => this.#submit(text),
    });
    this.#bindings = this.#bindKeys();
  }

  async run(): Promise<number> {
    const screen = this.#screen;
    const endings = onEnding((code) => this.#leave(code));
    // The shell gets its terminal back however this process ends.
    const restore = () => screen.restore();
    process.on("exit", restore);
    screen.start();
    screen.printNotice(titleLine(this.program, this.options.texts));
    screen.redraw();
    void this.#begin(this.options.first);
    const code = await this.#left.promise;
    endings[Symbol.dispose]();
    this.#turns?.close();
    screen.deck.unfocus();
    screen.print(...screen.deck.settle());
    screen.leaveFor(this.#unguard);
    process.off("exit", restore);
    await this.#close(code);
    return code;
  }

  async #begin(first: string | null): Promise<void> {
    const { texts, route, open } = this.options;
    const { program } = this;
    const screen = this.#screen;
    // The line is on the screen before anything else is loaded.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const [found, { ConversationTurns, withPastedImages }] = await Promise.all([
      program.terminalHost(),
      import("./conversation-turns.ts"),
    ]);
    const host = withPastedImages(found);
    this.#unguard = host.guardTerminal(RESTORE_TERMINAL);
    const folder = await open((text) => screen.printNotice(text));
    if (typeof folder === "number") {
      this.#leave(folder);
      return;
    }
    const { opened, chatId } = folder;
    const name = chatId === "default" ? "" : chatId;
    this.#close = async (code) => {
      if (code === 0)
        program.out(`${texts.goodbye(`picoclaw chat${name === "" ? "" : ` --name ${name}`}`)}\n`);
      await opened.close();
    };
    const logIn = (provider: string | undefined) => this.#logIn(opened, provider);
    const turns = new ConversationTurns({ ...folder, screen, texts, host, route, cwd: program.cwd, logIn });
    screen.commands = slashCommands(opened, readHistory(program));
    if (opened.config.terminal.keys === "vim") screen.composer.useVim();
    const chats = await opened.chats.list();
    const here = chats.find((one) => one.here && one.name === chatId);
    screen.printNotice(
      here === undefined || here.messages === 0
        ? texts.newChat(name)
        : texts.resumed(name, here.messages, localTime(here.lastAt).slice(5, 16), here.lastText.slice(0, 40)),
    );
    // A line that is entered before now waits behind those that were entered earlier.
    this.#turns = turns;
    if (first !== null && first.trim() !== "") this.#submit(first);
    else screen.redraw();
    // A `/login` has ended this opening, and the next one continues with the queue and the notices.
    const isOver = () => this.#turns !== turns;
    if (!isOver() && screen.view === null && !screen.ended) turns.sendNext();
    if (isOver()) return;
    void turns.showBranch();
    screen.listFiles = () => host.listFiles(opened.workspace.root);
    screen.composer.readFiles();
    const { chat, coder } = await opened.who();
    if (isOver()) return;
    screen.status.model = coder ?? chat ?? "";
    // A message that was sent meanwhile is not interrupted.
    if (!screen.ended && screen.view === null) screen.printNotice(texts.who(chat, coder));
    screen.redraw(true);
  }

  /** The terminal belongs to the questions; then the same chat opens again, because its models hold the keys they opened with. */
  async #logIn({ messages, close }: OpenChatFolder, provider: string | undefined): Promise<void> {
    const screen = this.#screen;
    this.#turns = null;
    screen.leaveFor(this.#unguard);
    const [{ askForKey }, { setupMessagesFor }] = await Promise.all([
      import("./login.ts"),
      import("../../domain/texts/setup.ts"),
    ]);
    try {
      await askForKey(this.program, setupMessagesFor(messages.locale), { provider });
    } catch (error) {
      const { describeCrash } = await import("./crash.ts");
      this.program.out(`${printable((await describeCrash(this.program, error, messages)).text)}\n\n`);
    }
    this.#close = async () => {};
    await close();
    if (screen.ended) return;
    screen.resume();
    await this.#begin(null);
  }

  #leave(code: number): void {
    this.#screen.ended = true;
    this.#left.resolve(code);
  }

  #submit(text: string): void {
    const { composer, queue, status } = this.#screen;
    const turns = this.#turns;
    status.hint = "";
    turns?.forgetOffer();
    const words = text.trim();
    if (words === "") {
      turns?.sendAgain();
      return;
    }
    if (LEAVING.has(words.toLowerCase())) {
      this.#leave(0);
      return;
    }
    if (this.#history.at(-1) !== text) composer.remember(text);
    saveHistory(this.program, this.#history, turns?.deps.opened.workspace.mask);
    composer.set("");
    if (turns !== null) {
      turns.take(text);
      return;
    }
    if (!/^\/stop\b/.test(words)) queue.add(text, "waits");
    this.#screen.redraw();
  }

  #bindKeys(): readonly KeyBinding[] {
    const screen = this.#screen;
    const { composer, queue } = screen;
    const isQueued = () => composer.isEmpty() && queue.list().length > 0;
    const isOffered = () => composer.isEmpty() && (this.#turns?.offered ?? null) !== null;
    const isFailed = () => composer.isEmpty() && (this.#turns?.failed ?? null) !== null;
    const isInsert = () => composer.isEmpty() && composer.normalMode() === null;
    return [
      [["ctrl+c"], () => this.#interrupt()],
      [["ctrl+d"], () => this.#leave(0), composer.isEmpty],
      [["alt+u"], () => void this.#turns?.act("undo", "")],
      [["alt+r"], () => void this.#turns?.act("redo", "")],
      [["ctrl+r"], composer.startSearch],
      [["ctrl+l"], () => screen.resized()],
      [["ctrl+o"], () => this.#turns?.showSteps()],
      [["ctrl+g"], () => this.#turns?.editLine()],
      [["ctrl+v"], () => void this.#turns?.pasteImage()],
      [["tab"], () => this.#pressTab(), () => !composer.isMenuOpen()],
      [["up"], () => composer.set(queue.takeBack() ?? ""), isQueued],
      [["?"], () => this.#turns?.showKeys(), isInsert],
      [["y"], () => this.#submit(this.#turns?.offered ?? ""), isOffered],
      [["n"], () => this.#turns?.forgetOffer(), isOffered],
      [["enter"], () => this.#submit(""), isFailed],
    ];
  }

  #pressKey(bytes: string): void {
    const { composer, picker, status } = this.#screen;
    if (isKey(bytes, "ctrl+z")) this.#turns?.suspend();
    else if (picker !== null) {
      const chosen = picker.key(bytes);
      if (chosen === undefined) return;
      this.#screen.picker = null;
      if (chosen !== null && !(this.#screen.view !== null && this.#turns?.looks(chosen)))
        this.#submit(chosen);
    } else if (composer.isSearching()) composer.key(bytes);
    else {
      const { hint } = status;
      status.hint = "";
      if (isKey(bytes, "escape")) this.#pressEscape(hint);
      else if (isKey(bytes, "ctrl+c") || !this.#pressCardKey(bytes)) {
        const bound = this.#bindings.find(([keys, , when]) => isKey(bytes, ...keys) && when?.() !== false);
        if (bound === undefined) composer.key(bytes);
        else bound[1]();
      }
    }
  }

  /** Whether the same key was pressed within two seconds. */
  #isTwice(key: string): boolean {
    const now = performance.now();
    const again = this.#pressed.key === key && now - this.#pressed.at < TWICE_MS;
    this.#pressed = { key: again ? "" : key, at: now };
    return again;
  }

  #interrupt(): void {
    const { composer, deck, status, view } = this.#screen;
    const { clearedHint, leaveHint } = this.options.texts;
    if (composer.isMenuOpen()) composer.closeMenu();
    if (!composer.isEmpty()) {
      composer.remember(composer.whole());
      composer.set("");
      status.hint = clearedHint;
      this.#pressed = { key: "", at: 0 };
    } else if (view !== null && !view.isStopping()) {
      this.#turns?.stop();
      this.#isTwice("ctrl+c");
    } else if (this.#isTwice("ctrl+c")) this.#leave(view === null ? EXIT.done : EXIT.interrupted);
    else status.hint = leaveHint;
    deck.unfocus();
  }

  #pressEscape(hinted: string): void {
    const { composer, deck, status, view } = this.#screen;
    const { rewindHint } = this.options.texts;
    if (composer.isMenuOpen()) composer.closeMenu();
    else if (deck.focused() !== null) deck.unfocus();
    else if ((!composer.isEmpty() || view === null) && composer.leaveInsert()) return;
    else if (view !== null) this.#turns?.stop();
    else if (!composer.isEmpty()) return;
    else if (this.#isTwice("escape") && hinted === rewindHint) this.#turns?.opensPicker("/rewind");
    else status.hint = rewindHint;
  }

  #pressTab(): void {
    const { composer, deck, queue, status, view } = this.#screen;
    if (view !== null && !composer.isEmpty()) {
      const text = composer.whole();
      composer.remember(text);
      composer.set("");
      queue.add(text, "waits");
    } else if (!composer.isEmpty() || view !== null) composer.key("\t");
    else if (!deck.focusLast()) {
      if (this.#turns === null) status.hint = this.options.texts.noCard;
      else this.#turns.showLastJob();
    }
  }

  /** Whether a card has the keys and knows this one. */
  #pressCardKey(bytes: string): boolean {
    const { deck } = this.#screen;
    const turns = this.#turns;
    const card = deck.focused();
    if (card === null || turns === null) return false;
    const [, run] = CARD_KEYS.find(([keys]) => isKey(bytes, ...keys)) ?? [];
    if (run === undefined) deck.unfocus();
    else run(card, turns, deck);
    return run !== undefined;
  }
}

type PressedKey = (card: Card, turns: ConversationTurns, deck: ConversationScreen["deck"]) => void;

const CARD_KEYS: readonly (readonly [keys: readonly KeyName[], run: PressedKey])[] = [
  [["up"], (_card, _turns, deck) => deck.step(-1)],
  [["down"], (_card, _turns, deck) => deck.step(1)],
  [["tab"], (_card, _turns, deck) => deck.unfocus()],
  [["u"], (card, turns, deck) => void (deck.offers(card, "undo") && turns.act("undo", card.name))],
  [["r"], (card, turns, deck) => void (deck.offers(card, "redo") && turns.act("redo", card.name))],
  [["p"], (card, turns, deck) => void (deck.offers(card, "apply") && turns.act("apply", card.name))],
  [["d", "enter"], (card, turns) => turns.showDiff(card)],
  [["o"], (card, turns) => turns.openFile(card)],
];

const KEPT_LINES = 500;

/** The help's commands, the routes and the user's own: those typed most come first, then the order of the help. */
export function slashCommands(
  { chat, commands, ownCommands }: OpenChatFolder,
  history: readonly string[],
): SlashCommand[] {
  const described = new Map<string, { description: string; takesWords: boolean }>();
  for (const [usage, description] of [...chat.help, ...chat.helpMore]) {
    const takesWords =
      /\S/.test(usage.replace(/\[.*?\]|\/[\w-]+/g, "")) || /^\/(?:code|analyze|chat)/.test(usage);
    for (const name of usage.match(/(?<=\/)[a-z]\w*/g) ?? [])
      if (!described.has(name)) described.set(name, { description, takesWords });
  }
  for (const { name, description } of ownCommands.list())
    described.set(name, { description, takesWords: false });
  const used = new Map<string, number>();
  for (const line of history) {
    const name = /^\/([\w-]+)/.exec(line)?.[1] ?? "";
    used.set(name, (used.get(name) ?? 0) + 1);
  }
  const order = [...described.keys()];
  const placeOf = (name: string) => (described.has(name) ? order.indexOf(name) : order.length);
  return commands
    .toSorted((a, b) => (used.get(b) ?? 0) - (used.get(a) ?? 0) || placeOf(a) - placeOf(b))
    .map((name) => ({ name, description: "", takesWords: false, ...described.get(name) }));
}

/** The input history, oldest first; a file that cannot be read counts as empty. */
function readHistory(program: CliProgram): string[] {
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

/** A key that follows may have any shape. */
const LOGIN_WITH_WORDS = /^\s*\/login\s+\S/i;

/** Saved with access for the user only, and without keys; a failure to save is ignored. */
export function saveHistory(
  program: CliProgram,
  history: readonly string[],
  mask: (text: string) => string = maskSecrets,
): void {
  const kept = history.filter((text) => !LOGIN_WITH_WORDS.test(text)).slice(-KEPT_LINES);
  const lines = kept.map((text) => JSON.stringify(mask(text)));
  program.chatHistory.save(`${lines.join("\n")}\n`);
}
