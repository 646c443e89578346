import { wordPieces } from "../../application/chat/reply-words.ts";
import { resolveJobName } from "../../application/jobs/job-facts.ts";
import type { ChatEvent, Reply, Route } from "../../application/ports/chat.ts";
import { readAsideQuestion } from "../../domain/chat/message-commands.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { hasMoved } from "./card-deck.ts";
import { printable } from "./command.ts";
import { type Card, type CardMaker, createCardMaker } from "./conversation-cards.ts";
import { createPicker, readPick } from "./conversation-pickers.ts";
import { type ConversationScreen, messageBlock } from "./conversation-screen.ts";
import type { Block } from "./live-screen.ts";
import { markdownBlocks } from "./markdown-stream.ts";
import { keepNamedImages, type PastingHost } from "./message-files.ts";
import type { OpenChatFolder } from "./program.ts";
import { diffRows } from "./terminal-card.ts";
import { openPager } from "./terminal-pager.ts";
import { visibleWidth, wrapColumns } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";
import { createTurnView, type TurnView } from "./turn-view.ts";

// Loaded behind the first prompt, together with the turns.
export { withPastedImages } from "./message-files.ts";

/** An open conversation at a terminal, with the parts that its first prompt does not need. */
interface TurnsDeps {
  readonly screen: ConversationScreen;
  readonly texts: TerminalMessages;
  readonly opened: OpenChatFolder;
  readonly chatId: string;
  readonly host: PastingHost;
  readonly route: Route | undefined;
  readonly cwd: string;
  /** Asks for a key at this terminal and opens the chat again. */
  readonly logIn: (provider: string | undefined) => Promise<void>;
}

/** At most with a provider's name: a line that contains a key is not run as a command. */
const LOGIN = /^\/login(?:\s+([a-z]+))?$/i;
const SPIN_MS = 125;
/** Work that takes longer than this is announced to a window without the focus. */
const ANNOUNCED_MS = 10_000;

/** The messages of an open conversation, one after another: each is sent, shown while it is answered, and replied to. */
export class ConversationTurns {
  /** A message that was not answered, to be sent again. */
  failed: string | null = null;
  /** The message that `y` sends: an offer of the last reply. */
  offered: string | null = null;
  readonly #maker: CardMaker;
  #abort = new AbortController();
  #spinner: ReturnType<typeof setInterval> | null = null;
  #lastSteps: readonly string[] = [];

  constructor(readonly deps: TurnsDeps) {
    const { workspace, messages } = deps.opened;
    this.#maker = createCardMaker({ workspace, messages, texts: deps.texts });
    deps.screen.maker = this.#maker;
  }

  /** A message from the line: sent now, or queued while another one is answered. */
  take(text: string): void {
    const { screen } = this.deps;
    if (screen.view === null) {
      void this.send(text);
      return;
    }
    const words = text.trim();
    if (/^\/stop\b/.test(words)) this.stop();
    else if (!this.looks(words)) screen.queue.add(text, /^[!/]/.test(words) ? "waits" : "joins");
    this.#offerQueued();
    screen.redraw();
  }

  forgetOffer(): void {
    this.offered = null;
  }

  sendAgain(): void {
    const { failed } = this;
    const { screen } = this.deps;
    if (failed === null || screen.view !== null) return;
    screen.composer.set("");
    void this.send(failed);
  }

  sendNext(): void {
    const next = this.deps.screen.queue.next();
    if (next !== undefined) void this.send(next);
  }

  async send(text: string): Promise<void> {
    const { screen, texts, opened, chatId, host, route, cwd, logIn } = this.deps;
    const login = LOGIN.exec(text.trim());
    if (login !== null) {
      screen.print(...screen.deck.settle(), messageBlock(text, screen.style));
      await logIn(login[1]);
      return;
    }
    if (this.opensPicker(text) || this.#showsJob(text)) {
      this.sendNext();
      return;
    }
    // The verdict stays with its card: later messages are printed below both.
    screen.print(...screen.deck.settle(), messageBlock(text, screen.style));
    if (text.trim().startsWith("!")) {
      await this.#runShell(text.trim().slice(1).trim());
      return;
    }
    const view = this.#start();
    const { signal } = this.#abort;
    screen.redraw();
    const kept = await keepNamedImages({
      store: opened.images,
      chatKey: `cli:${chatId}`,
      text,
      readFile: (path) => host.readFile(path, [opened.workspace.root, cwd]),
    });
    if (!kept.ok) {
      this.#end(view);
      screen.printNotice(`✗ ${opened.chat.imageTrouble(kept.trouble)}`);
      screen.composer.set(text);
      screen.redraw();
      return;
    }
    const forced = route === undefined ? {} : { forcedRoute: route };
    const reply = await opened.conversation.handle(
      { channel: "cli", chatId, userId: "cli", text, images: kept.images, ...forced },
      { signal, tellsDrafts: true, onEvent: (event) => this.#show(view, event) },
    );
    this.#end(view);
    screen.status.tokens += (reply.usage?.inputTokens ?? 0) + (reply.usage?.outputTokens ?? 0);
    screen.status.costUsd += reply.usage?.costUsd ?? 0;
    screen.print(...view.end(), ...this.#replyBlocks(reply, view));
    const unanswered =
      !reply.ok && reply.jobs.length === 0 && !signal.aborted && !text.trim().startsWith("/");
    if (unanswered) this.failed = text;
    if (!this.#offerOnly(reply) && unanswered) screen.printNotice(texts.retryHint);
    this.#goOn(signal.aborted);
  }

  /** If a reply did nothing and offers a single action, one key triggers it. */
  #offerOnly({ ok, jobs, actions }: Reply): boolean {
    const { screen, texts } = this.deps;
    const [offer, ...others] = ok || jobs.length > 0 ? [] : actions;
    if (offer === undefined || others.length > 0) return false;
    this.offered = offer.message;
    screen.printNotice(texts.askOffer(offer.label));
    return true;
  }

  async act(kind: "undo" | "redo" | "apply", name: string): Promise<void> {
    const { screen, texts } = this.deps;
    const { deck } = screen;
    if (screen.view !== null) {
      screen.status.hint = texts.notWhileWorking;
      return;
    }
    const before = deck.focused();
    const view = this.#start();
    screen.redraw();
    const reply = await this.#ask(`/${kind} ${name}`.trim(), this.#abort.signal);
    this.#end(view);
    if (before !== null) deck.focusOn(before);
    const moved = (reply.said ?? []).find((piece) => piece.kind === "action");
    if (moved?.kind === "action" && hasMoved(moved.facts)) screen.print(...deck.moveLine(moved.facts));
    else {
      screen.printNotice(reply.text);
      this.#offerOnly(reply);
    }
    this.#goOn(false);
  }

  stop(): void {
    this.#abort.abort();
    this.deps.screen.view?.stop();
  }

  /** Called when the program ends: stops the running turns without a message. */
  close(): void {
    if (this.#spinner !== null) clearInterval(this.#spinner);
    if (this.deps.screen.view !== null) this.#abort.abort();
  }

  /** Whether a text is a command that shows a list to choose from. */
  opensPicker(text: string): boolean {
    const { screen, texts } = this.deps;
    const pick = readPick(text.trim());
    if (pick === null) return false;
    void this.#ask(pick.asks).then((reply) => {
      const { choices = [] } = reply;
      if (choices.length > 0)
        screen.picker = createPicker(texts.picks[pick.name], choices, texts, screen.style);
      else this.#printAnswer(text, reply);
      screen.redraw();
    });
    return true;
  }

  /** Whether a text is a command that is answered at once, beside the message that is being answered. */
  looks(text: string): boolean {
    const { opened, chatId } = this.deps;
    if (!(/^\//.test(text) || readAsideQuestion(text) !== null)) return false;
    if (!opened.conversation.interrupts({ channel: "cli", chatId, text })) return false;
    if (!this.opensPicker(text) && !this.#showsJob(text))
      void this.#ask(text).then((reply) => this.#printAnswer(text, reply));
    return true;
  }

  /** The last job of the workspace, whichever channel made it, with the keys on its card. */
  showLastJob(): void {
    const { screen, texts, opened } = this.deps;
    const job = opened.workspace.archive.list().findLast(({ changes }) => changes.length > 0);
    if (job === undefined) screen.status.hint = texts.noCard;
    else screen.print(screen.deck.show(job));
  }

  showDiff(card: Card): void {
    const lines = this.#maker.lines(card);
    this.#openPage(`${card.label} ${printable(card.title)}`, (columns) =>
      diffRows(lines, columns, this.deps.screen.style()),
    );
  }

  showSteps(): void {
    const { screen, texts } = this.deps;
    const steps = screen.view?.allSteps() ?? this.#lastSteps;
    this.#openPage(texts.allSteps, (columns) =>
      steps.length === 0 ? [texts.noSteps] : steps.flatMap((step) => wrapColumns(step, columns)),
    );
  }

  showKeys(): void {
    const { screen, texts } = this.deps;
    this.#openPage(texts.keysHint, (columns) => keyRows(texts.keys, columns, screen.style()));
  }

  /** Opens the first file of a card in the user's editor. */
  openFile(card: Card): void {
    const { screen, texts, opened, host } = this.deps;
    const file = this.#maker.lines(card).find((line) => line.kind === "file");
    if (file?.kind !== "file") return;
    screen.leaveFor(() => {
      if (!host.openFile(`${opened.workspace.root}/${file.path}`)) screen.status.hint = texts.noEditor;
    });
    screen.resume();
  }

  /** Opens the line in the user's editor. */
  editLine(): void {
    const { screen, texts, host } = this.deps;
    let written: string | null = null;
    screen.leaveFor(() => {
      written = host.edit(screen.composer.whole());
    });
    screen.resume();
    if (written === null) screen.status.hint = texts.noEditor;
    else screen.composer.set(written);
  }

  async pasteImage(): Promise<void> {
    const { screen, texts, host } = this.deps;
    const pasted = await host.pasteImage();
    if (screen.ended) return;
    if (pasted.ok) screen.composer.insert(`@${pasted.name} `);
    else screen.status.hint = texts.noPastedImage[pasted.reason];
    screen.redraw();
  }

  suspend(): void {
    const { screen, host } = this.deps;
    screen.leaveFor(() => host.suspend(() => screen.resume()));
  }

  async showBranch(): Promise<void> {
    const { screen, host, opened } = this.deps;
    screen.status.branch = await host.branch(opened.workspace.root);
    screen.redraw(true);
  }

  #start(): TurnView {
    const { screen, texts, opened } = this.deps;
    const view = createTurnView({
      texts,
      chat: opened.chat,
      style: screen.style,
      now: () => performance.now(),
    });
    this.#abort = new AbortController();
    screen.view = view;
    screen.deck.unfocus();
    this.failed = null;
    this.#spinner ??= setInterval(() => screen.redraw(true), SPIN_MS);
    return view;
  }

  #end(view: TurnView): void {
    const { screen, texts, opened } = this.deps;
    screen.view = null;
    if (view.allSteps().length > 0) this.#lastSteps = view.allSteps();
    if (this.#spinner !== null) clearInterval(this.#spinner);
    this.#spinner = null;
    if (view.elapsedMs() >= ANNOUNCED_MS && !screen.focused) {
      const bell = opened.config.terminal.bell ? "\x07" : "";
      screen.write(`\x1b]9;picoclaw: ${texts.summary(view.elapsed())}\x07${bell}`);
    }
    screen.queue.ended();
    void this.showBranch();
  }

  #goOn(wasStopped: boolean): void {
    const { screen, opened } = this.deps;
    const { composer, deck, queue } = screen;
    deck.refresh();
    screen.status.drafts = opened.workspace.archive
      .list()
      .filter(({ state, unsettled }) => state === "staged" && unsettled === undefined).length;
    // The queued messages were written for work that no longer exists: the user decides whether to send them.
    if (wasStopped && queue.list().length > 0)
      composer.set([...queue.clear(), composer.text()].filter((one) => one !== "").join("\n"));
    screen.redraw();
    this.sendNext();
  }

  #show(view: TurnView, event: ChatEvent): void {
    const { screen } = this.deps;
    const blocks = view.event(event);
    if (blocks.length > 0) screen.print(...blocks);
    else screen.redraw(true);
    this.#offerQueued();
  }

  #offerQueued(): void {
    const { screen, opened, chatId } = this.deps;
    if (screen.view !== null) screen.queue.offer(opened.conversation, chatId);
  }

  #replyBlocks(reply: Reply, view: TurnView): Block[] {
    const { screen, texts, opened } = this.deps;
    const card = this.#maker.fromReply(reply, view.elapsed());
    const moved = (reply.said ?? []).find((piece) => piece.kind === "action");
    if (moved?.kind === "action") {
      const { action, notes } = moved.facts;
      if ((action === "undo" || action === "redo") && hasMoved(moved.facts) && notes === undefined)
        return [...screen.deck.moveLine(moved.facts)];
      screen.deck.noteMove(moved.facts);
    }
    if (view.isStopping() && !reply.ok) {
      const line = `${screen.style().yellow("■")} ${texts.stopped(view.elapsed(), reply.jobs.length > 0)}`;
      return [{ render: (columns) => ["", ...wrapColumns(line, columns)] }];
    }
    const words = replyWords(reply, {
      locale: opened.messages.locale,
      hasCard: card !== null,
      streamed: view.streamed(),
      style: screen.style,
    });
    return card === null ? words : [...words, screen.deck.add(card)];
  }

  async #runShell(command: string): Promise<void> {
    const { screen, texts, opened, chatId } = this.deps;
    const { workspace } = opened;
    if (command === "") {
      screen.printNotice(texts.shellUsage);
      return;
    }
    const view = this.#start();
    const { signal } = this.#abort;
    const key = `cli:${chatId}`;
    view.event({ type: "job-command", jobId: "", index: 1, command: `shell_command run ${command}` });
    screen.redraw();
    const result = await workspace
      .execute({
        patch: JSON.stringify([{ type: "shell_command", action: "run", target: command }]),
        request: `! ${command}`,
        groupId: `${key}#${Date.now().toString(36)}-shell`,
        sessionKey: key,
        source: "chat:cli",
        startedBy: "user",
        signal,
        onOutput: (text) => {
          view.event({ type: "job-output", jobId: "", text: workspace.mask(text) });
          screen.redraw(true);
        },
      })
      .catch((error: unknown) => String(error));
    this.#end(view);
    view.end();
    const card =
      typeof result === "string" ? result : this.#maker.fromResult(result, `! ${command}`, view.elapsed());
    if (typeof card === "string") screen.printNotice(card);
    else screen.print(screen.deck.add(card));
    this.#goOn(signal.aborted);
  }

  #ask(text: string, signal = new AbortController().signal): Promise<Reply> {
    const { opened, chatId } = this.deps;
    return opened.conversation.handle({ channel: "cli", chatId, userId: "cli", text }, { signal });
  }

  #printAnswer(text: string, reply: Reply): void {
    const { screen } = this.deps;
    const words = markdownBlocks(printable(reply.text), screen.style);
    screen.print(messageBlock(text, screen.style), { render: () => [""] }, ...words);
  }

  /** `/diff JOB` shows the job's card, with the keys on it. */
  #showsJob(text: string): boolean {
    const { screen, opened } = this.deps;
    const { archive } = opened.workspace;
    const name = /^\/diff\s+(\S+)\s*$/.exec(text.trim())?.[1];
    if (name === undefined) return false;
    const job = archive.read(resolveJobName({ archive }, name));
    if (job === null) return false;
    screen.print(screen.deck.show(job));
    screen.redraw();
    return true;
  }

  #openPage(title: string, lines: (columns: number) => readonly string[]): void {
    this.deps.screen.openPage(openPager, title, lines);
  }
}

/** Pieces of a reply that its card shows. */
const TOLD_BY_CARD: ReadonlySet<string> = new Set(["job", "coder", "loop", "loop-status"]);

interface ReplyLook {
  readonly locale: Locale;
  readonly hasCard: boolean;
  /** The part of its text that was shown while it was streamed. */
  readonly streamed: string;
  readonly style: () => Style;
}

/** The words of a reply that are not on the screen yet; a failure without a card has its sign. */
function replyWords(reply: Reply, { locale, hasCard, streamed, style }: ReplyLook): Block[] {
  const said = (reply.said ?? []).filter(({ kind }) => !hasCard || !TOLD_BY_CARD.has(kind));
  const whole = printable(reply.said === undefined ? reply.text : wordPieces(locale, said));
  const shown = printable(streamed).trim();
  const rest = shown !== "" && whole.startsWith(shown) ? whole.slice(shown.length).trim() : whole.trim();
  if (rest === "") return [];
  const text = !reply.ok && !hasCard ? `✗ ${rest}` : rest;
  return [{ render: () => [""] }, ...markdownBlocks(text, style)];
}

/** All keys below each other, with what they do. */
function keyRows(
  keys: readonly (readonly [key: string, words: string])[],
  columns: number,
  style: Style,
): string[] {
  // A long list of keys does not reduce the space for the text of other lines.
  const widths = keys.map(([key]) => visibleWidth(key));
  const width = Math.max(...widths.filter((each) => each <= columns / 4), 1);
  return keys.flatMap(([key, words], at) => {
    const gap = " ".repeat(Math.max(0, width - (widths[at] ?? 0)));
    const [first = "", ...more] = wrapColumns(words, columns - Math.max(width, widths[at] ?? 0) - 4);
    return [`  ${style.bold(key)}${gap}  ${first}`, ...more.map((row) => `${" ".repeat(width + 4)}${row}`)];
  });
}
