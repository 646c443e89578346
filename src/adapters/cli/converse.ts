import type { Reply, Route } from "../../application/ports/chat.ts";
import { readAsideQuestion } from "../../domain/chat/sentence-commands.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import { createCardDeck } from "./card-deck.ts";
import { printable } from "./command.ts";
import { messageBlock, noticeBlock, titleLine } from "./conversation-blocks.ts";
import type { Card, CardMaker } from "./conversation-cards.ts";
import { readHistory, saveHistory, slashCommands } from "./conversation-input.ts";
import { createPicker, type Picker, readPick } from "./conversation-pickers.ts";
import type * as Work from "./conversation-work.ts";
import { type Block, createLiveScreen, type LiveRows } from "./live-screen.ts";
import type { PastingHost } from "./message-files.ts";
import type { CliProgram, OpenedChat } from "./program.ts";
import { createWordQueue } from "./queued-words.ts";
import { ruleRow, statusRow } from "./status-row.ts";
import { createComposer, type SlashCommand } from "./terminal-input.ts";
import type { Pager } from "./terminal-pager.ts";
import {
  ASK_GROUND,
  cutToColumns,
  isKey,
  isKeyUp,
  type KeyName,
  openKeyboard,
  RESTORE_TERMINAL,
  readGround,
  wrapColumns,
} from "./terminal-pi.ts";
import { createStyle, groundOf, wantsColour } from "./terminal-style.ts";
import type { TurnView } from "./turn-view.ts";

export type OpenConversation = Extract<OpenedChat, { ok: true }>;

interface ConverseOptions {
  readonly texts: TerminalMessages;
  /** Opens the conversation: the line is there before it. Null: it cannot be opened, and that was said. */
  readonly open: (
    say: (text: string) => void,
  ) => Promise<{ readonly opened: OpenConversation; readonly chatId: string } | number>;
  readonly route: Route | undefined;
  /** Sent as soon as the conversation is open. */
  readonly first: string | null;
}

/** Words that users type who do not know Ctrl-D. */
const LEAVING = new Set(["/exit", "/quit", "exit", "quit"]);
const ENDING = { SIGTERM: 143, SIGHUP: 129 } as const;
const TWICE_MS = 2_000;
const SPIN_MS = 125;
/** Work that takes longer than this is announced to a window that is not looked at. */
const ANNOUNCED_MS = 10_000;

interface KeyBinding {
  readonly keys: readonly KeyName[];
  readonly when?: () => boolean;
  readonly run: () => void;
}

interface RunningTurn {
  readonly view: TurnView;
  readonly abort: AbortController;
}

/** The conversation at a terminal. Returns the exit code. */
export async function converse(
  program: CliProgram,
  { texts, open, route, first }: ConverseOptions,
): Promise<number> {
  const history = readHistory(program);
  const left = Promise.withResolvers<number>();
  const colour = wantsColour(program.env, true);
  let style = createStyle({ colour, ground: groundOf(program.env) });
  const state: { session: Session | null; turn: RunningTurn | null } = { session: null, turn: null };
  const deck = createCardDeck({ maker: () => state.session?.maker ?? null, texts, style: () => style });
  const queue = createWordQueue((text) => {
    const line = `${style.cyan("↳")} ${printable(text)} ${style.dim(texts.joined)}`;
    screen.print({ render: (columns) => line.split("\n").flatMap((row) => wrapColumns(row, columns)) });
  });
  let hint = "";
  let status = "";
  let failed: string | null = null;
  /** The message that `y` sends: an offer of the last reply. */
  let offered: string | null = null;
  let lastSteps: readonly string[] = [];
  let pager: Pager | null = null;
  let picker: Picker | null = null;
  let files: readonly string[] | null = null;
  let spinner: ReturnType<typeof setInterval> | null = null;
  let pressed = { key: "", at: Number.NEGATIVE_INFINITY };
  let branch = "";
  let focused = true;
  let ended = false;
  let drafts = 0;
  let unguard = () => {};
  const used = { tokens: 0, costUsd: 0 };

  const keyboard = openKeyboard(onKey, () => {
    screen.resized();
    pager?.draw();
  });
  const screen = createLiveScreen({
    write: keyboard.write,
    columns: keyboard.columns,
    rows: keyboard.rows,
    live,
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    now: () => performance.now(),
    slowLine: (program.env.SSH_CONNECTION ?? program.env.SSH_TTY ?? "") !== "",
  });
  const composer = createComposer({
    texts,
    style: () => style,
    rows: keyboard.rows,
    redraw: () => screen.redraw(),
    history,
    commands: () => state.session?.commands ?? [],
    files: () => files,
    submit,
  });

  const bindings: readonly KeyBinding[] = [
    { keys: ["ctrl+c"], run: interrupt },
    { keys: ["ctrl+d"], when: composer.isEmpty, run: () => leave(0) },
    { keys: ["alt+u"], run: () => void act("undo", "") },
    { keys: ["alt+r"], run: () => void act("redo", "") },
    { keys: ["ctrl+r"], run: composer.startSearch },
    { keys: ["ctrl+l"], run: () => screen.resized() },
    { keys: ["ctrl+o"], run: showSteps },
    { keys: ["ctrl+g"], run: writeOutside },
    { keys: ["ctrl+v"], run: () => void pasteImage() },
    { keys: ["tab"], when: () => !composer.isMenuOpen(), run: tab },
    { keys: ["up"], when: () => queue.list().length > 0 && composer.isEmpty(), run: takeBackQueued },
    { keys: ["?"], when: () => composer.isEmpty() && composer.normalMode() === null, run: showKeys },
    { keys: ["y"], when: () => composer.isEmpty() && offered !== null, run: () => takeOffer(true) },
    { keys: ["n"], when: () => composer.isEmpty() && offered !== null, run: () => takeOffer(false) },
    { keys: ["enter"], when: () => composer.isEmpty() && failed !== null, run: () => submit("") },
  ];
  const endings = Object.entries(ENDING).map(([signal, code]) => {
    const end = () => leave(code);
    process.once(signal, end);
    return () => process.off(signal, end);
  });
  // The shell gets its terminal back however this process ends.
  const restore = () => keyboard.stop();
  process.on("exit", restore);
  keyboard.start();
  keyboard.write(`${ASK_GROUND}\x1b[?1004h`);
  screen.print(paragraph(titleLine(program, texts)));
  screen.redraw();
  void begin();
  const code = await left.promise;
  for (const off of endings) off();
  if (spinner !== null) clearInterval(spinner);
  state.turn?.abort.abort();
  deck.unfocus();
  screen.print(...deck.settle());
  screen.leave();
  keyboard.write("\x1b[?1004l");
  keyboard.stop();
  unguard();
  process.off("exit", restore);
  if (state.session !== null) {
    const name = state.session.chatId === "default" ? "" : ` --name ${state.session.chatId}`;
    if (code === 0) program.out(`${texts.goodbye(`picoclaw chat${name}`)}\n`);
    await state.session.opened.close();
  }
  return code;

  interface Session {
    readonly opened: OpenConversation;
    readonly chatId: string;
    readonly maker: CardMaker;
    readonly commands: readonly SlashCommand[];
    readonly host: PastingHost;
    readonly work: typeof Work;
  }

  async function begin(): Promise<void> {
    // The line is on the screen before anything else is loaded.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const [found, work] = await Promise.all([program.terminalHost(), import("./conversation-work.ts")]);
    const host = work.withPastedImages(found);
    unguard = host.guardTerminal(RESTORE_TERMINAL);
    const folder = await open((text) => screen.print(paragraph(text)));
    if (typeof folder === "number") {
      leave(folder);
      return;
    }
    const { opened, chatId } = folder;
    const { workspace, messages } = opened;
    state.session = {
      ...folder,
      host,
      work,
      maker: work.createCardMaker({ workspace, messages, texts }),
      commands: slashCommands(opened, readHistory(program)),
    };
    if (opened.config.terminal.keys === "vim") composer.useVim();
    const chats = await opened.chats.list();
    const here = chats.find((one) => one.here && one.name === chatId);
    const name = chatId === "default" ? "" : chatId;
    screen.print(
      paragraph(
        here === undefined || here.messages === 0
          ? texts.newChat(name)
          : texts.goesOn(
              name,
              here.messages,
              localTime(here.lastAt).slice(5, 16),
              here.lastText.slice(0, 40),
            ),
      ),
    );
    if (first !== null && first.trim() !== "") submit(first);
    else screen.redraw();
    void host.branch(workspace.root).then((found) => {
      branch = found;
      showStatus();
    });
    void host.listFiles(workspace.root).then((found) => {
      files = found;
      screen.redraw(true);
    });
    const { chat, coder } = await opened.who();
    status = coder ?? chat ?? "";
    if (!ended) screen.print(paragraph(texts.who(chat, coder)));
    showStatus();
  }

  function showStatus(): void {
    if (!ended) screen.redraw(true);
  }

  function paragraph(text: string): Block {
    return noticeBlock(text, () => style);
  }

  // Drawing

  function live(columns: number, rows: number): LiveRows {
    if (ended) return { rows: [], cursor: null };
    const above: string[] = [];
    if (state.turn !== null) {
      const open = state.turn.view.live(columns);
      above.push(...open, ...(open.length > 0 ? [""] : []), cutToColumns(state.turn.view.working(), columns));
    } else above.push(...deck.rows(columns));
    for (const { text, mode } of queue.list()) {
      const how = mode === "joins" ? texts.joins : texts.waits;
      above.push(
        cutToColumns(
          `  ↳ ${printable(text).replaceAll("\n", " ")} ${style.dim(`· ${how} · ${texts.editsQueued}`)}`,
          columns,
        ),
      );
    }
    if (picker !== null) {
      const drawn = picker.rows(columns, rows);
      return {
        rows: [...above, ruleRow(columns, style), ...drawn.rows],
        cursor: drawn.cursor === null ? null : { ...drawn.cursor, row: drawn.cursor.row + above.length + 1 },
      };
    }
    const placeholder =
      state.session === null
        ? texts.starting
        : state.turn === null
          ? texts.placeholder
          : texts.placeholderBusy;
    const line = composer.line(columns, placeholder);
    const below = composer.below(columns) ?? [
      statusRow(
        { hint, mode: composer.normalMode(), model: status, branch, drafts, ...used },
        columns,
        texts,
        style,
      ),
    ];
    const most = Math.max(1, rows - 2 - line.rows.length - below.length);
    const kept = above.slice(-most);
    const offset = kept.length + 1;
    return {
      rows: [...kept, ruleRow(columns, style), ...line.rows, ...below],
      cursor:
        deck.focused() !== null || line.cursor === null
          ? null
          : { row: offset + line.cursor.row, column: line.cursor.column },
    };
  }

  // Messages

  function takeOffer(isTaken: boolean): void {
    const message = offered;
    offered = null;
    if (isTaken && message !== null) submit(message);
  }

  function submit(text: string): void {
    hint = "";
    offered = null;
    const words = text.trim();
    if (words === "") {
      if (failed !== null && state.turn === null) {
        const again = failed;
        failed = null;
        composer.set("");
        void send(again);
      }
      return;
    }
    if (LEAVING.has(words.toLowerCase())) {
      leave(0);
      return;
    }
    if (history.at(-1) !== text) composer.remember(text);
    saveHistory(program, history, state.session?.opened.workspace.mask);
    composer.set("");
    if (state.session === null || state.turn !== null) {
      if (/^\/stop\b/.test(words)) stop();
      else if (!looks(words))
        queue.add(text, state.session === null || /^[!/]/.test(words) ? "waits" : "joins");
      offerQueued();
      if (state.session === null) void waitForSession();
      screen.redraw();
      return;
    }
    void send(text);
  }

  async function waitForSession(): Promise<void> {
    while (state.session === null && !ended) await new Promise((resolve) => setTimeout(resolve, 20));
    if (state.turn === null && !ended) sendNext();
  }

  function offerQueued(): void {
    if (state.session === null || state.turn === null) return;
    queue.offer(state.session.opened.conversation, state.session.chatId);
  }

  function startTurn(): RunningTurn {
    const { opened, work } = state.session as Session;
    const running = {
      view: work.createTurnView({
        texts,
        chat: opened.chat,
        style: () => style,
        now: () => performance.now(),
      }),
      abort: new AbortController(),
    };
    state.turn = running;
    deck.unfocus();
    failed = null;
    spinner ??= setInterval(() => screen.redraw(true), SPIN_MS);
    return running;
  }

  function endTurn({ view }: RunningTurn): void {
    state.turn = null;
    lastSteps = view.allSteps().length > 0 ? view.allSteps() : lastSteps;
    if (spinner !== null) clearInterval(spinner);
    spinner = null;
    if (view.elapsedMs() >= ANNOUNCED_MS && !focused) {
      const words = texts.summary(view.elapsed());
      keyboard.write(
        `\x1b]9;picoclaw: ${words}\x07${(state.session as Session).opened.config.terminal.bell ? "\x07" : ""}`,
      );
    }
    queue.ended();
    const { host, opened } = state.session as Session;
    void host.branch(opened.workspace.root).then((found) => {
      branch = found;
      showStatus();
    });
  }

  async function send(text: string): Promise<void> {
    const { opened, chatId, maker, host, work } = state.session as Session;
    if (picks(text) || showsJob(text)) return;
    // The verdict stays with its card: later output is printed below both.
    screen.print(...deck.settle());
    screen.print(messageBlock(text, () => style));
    if (text.trim().startsWith("!")) {
      await runShell(text.trim().slice(1).trim());
      return;
    }
    const running = startTurn();
    const { view, abort } = running;
    screen.redraw();
    const kept = await work.keepNamedImages({
      store: opened.images,
      chatKey: `cli:${chatId}`,
      text,
      readFile: (path) => host.readFile(path, [opened.workspace.root, program.cwd]),
    });
    if (!kept.ok) {
      endTurn(running);
      screen.print(paragraph(`✗ ${opened.chat.imageTrouble(kept.trouble)}`));
      composer.set(text);
      screen.redraw();
      return;
    }
    const forced = route === undefined ? {} : { forcedRoute: route };
    const reply = await opened.conversation.handle(
      { channel: "cli", chatId, userId: "cli", text, images: kept.images, ...forced },
      {
        signal: abort.signal,
        tellsDrafts: true,
        onEvent(event) {
          const blocks = view.event(event);
          if (blocks.length > 0) screen.print(...blocks);
          else screen.redraw(true);
          offerQueued();
        },
      },
    );
    endTurn(running);
    used.tokens += (reply.usage?.inputTokens ?? 0) + (reply.usage?.outputTokens ?? 0);
    used.costUsd += reply.usage?.costUsd ?? 0;
    screen.print(...view.end(), ...replyBlocks(reply, view, maker));
    const unanswered =
      !reply.ok && reply.jobs.length === 0 && !abort.signal.aborted && !text.trim().startsWith("/");
    if (unanswered) failed = text;
    const offer = reply.ok ? undefined : reply.actions.find(({ message }) => message.startsWith("/cloud on"));
    offered = offer?.message ?? null;
    if (offer !== undefined) screen.print(paragraph(texts.askOffer(offer.label)));
    else if (unanswered) screen.print(paragraph(texts.retryHint));
    afterTurn(abort.signal.aborted);
  }

  function afterTurn(wasStopped: boolean): void {
    const { opened } = state.session as Session;
    deck.refresh();
    drafts = opened.workspace.archive
      .list()
      .filter(({ state, unsettled }) => state === "staged" && unsettled === undefined).length;
    // The queued messages were written for work that no longer exists: the user decides whether to send them.
    if (wasStopped && queue.list().length > 0)
      composer.set([...queue.clear(), composer.text()].filter((one) => one !== "").join("\n"));
    screen.redraw();
    sendNext();
  }

  function sendNext(): void {
    const next = queue.next();
    if (next !== undefined) void send(next);
  }

  function replyBlocks(reply: Reply, view: TurnView, maker: CardMaker): Block[] {
    const { opened, work } = state.session as Session;
    const card = maker.fromReply(reply, view.elapsed());
    const moved = (reply.said ?? []).find((piece) => piece.kind === "action");
    if (moved?.kind === "action") deck.noteMove(moved.facts);
    if (view.isStopping() && !reply.ok) {
      const line = `${style.yellow("■")} ${texts.stopped(view.elapsed(), reply.jobs.length > 0)}`;
      return [{ render: (columns) => ["", ...wrapColumns(line, columns)] }];
    }
    const words = work.replyWords(reply, {
      locale: opened.messages.locale,
      hasCard: card !== null,
      streamed: view.streamed(),
      style: () => style,
    });
    return card === null ? words : [...words, deck.add(card)];
  }

  // Jobs

  async function act(kind: "undo" | "redo" | "apply", name: string): Promise<void> {
    if (state.session === null) return;
    if (state.turn !== null) {
      hint = texts.notWhileWorking;
      return;
    }
    const { opened, chatId } = state.session;
    const before = deck.focused();
    const running = startTurn();
    screen.redraw();
    const reply = await opened.conversation.handle(
      { channel: "cli", chatId, userId: "cli", text: `/${kind} ${name}`.trim() },
      { signal: running.abort.signal },
    );
    endTurn(running);
    if (before !== null) deck.focusOn(before);
    const moved = (reply.said ?? []).find((piece) => piece.kind === "action");
    const facts = moved?.kind === "action" && moved.facts.code === "done" ? moved.facts : null;
    screen.print(...(facts === null ? [paragraph(reply.text)] : deck.moveLine(kind, facts)));
    afterTurn(false);
  }

  async function runShell(command: string): Promise<void> {
    const { opened, chatId, maker } = state.session as Session;
    if (command === "") {
      screen.print(paragraph(texts.shellUsage));
      return;
    }
    const running = startTurn();
    const { view, abort } = running;
    const key = `cli:${chatId}`;
    view.event({ type: "job-command", jobId: "", index: 1, command: `shell_command run ${command}` });
    screen.redraw();
    const result = await opened.workspace
      .execute({
        patch: JSON.stringify([{ type: "shell_command", action: "run", target: command }]),
        request: `! ${command}`,
        groupId: `${key}#${Date.now().toString(36)}-shell`,
        sessionKey: key,
        source: "chat:cli",
        signal: abort.signal,
        onOutput: (text) => {
          view.event({ type: "job-output", jobId: "", text: opened.workspace.mask(text) });
          screen.redraw(true);
        },
      })
      .catch((error: unknown) => String(error));
    endTurn(running);
    view.end();
    const card =
      typeof result === "string" ? result : maker.fromResult(result, `! ${command}`, view.elapsed());
    screen.print(typeof card === "string" ? paragraph(card) : deck.add(card));
    afterTurn(abort.signal.aborted);
  }

  function stop(): void {
    if (state.turn === null) return;
    state.turn.abort.abort();
    state.turn.view.stop();
  }

  function leave(code: number): void {
    ended = true;
    left.resolve(code);
  }

  // Pickers and pager

  /** A command that is a list to choose from; false if the text is not one. */
  function picks(text: string): boolean {
    const pick = readPick(text.trim());
    if (pick === null || state.session === null) return false;
    void openPicker(pick, text);
    return true;
  }

  async function openPicker({ name, asks }: NonNullable<ReturnType<typeof readPick>>, text: string) {
    const reply = await ask(asks);
    const { choices = [] } = reply;
    if (choices.length > 0) picker = createPicker(texts.picks[name], choices, texts, () => style);
    else
      screen.print(
        messageBlock(text, () => style),
        ...answerBlocks(reply),
      );
    screen.redraw();
  }

  /** A command that is answered while other work continues. */
  function ask(text: string): Promise<Reply> {
    const { opened, chatId } = state.session as Session;
    return opened.conversation.handle(
      { channel: "cli", chatId, userId: "cli", text },
      { signal: new AbortController().signal },
    );
  }

  function answerBlocks(reply: Reply): Block[] {
    const { work } = state.session as Session;
    return [{ render: () => [""] }, ...work.markdownBlocks(printable(reply.text), () => style)];
  }

  /** A look at things while something runs: it does not wait. */
  function looks(text: string): boolean {
    const { session } = state;
    if (session === null || !(/^\//.test(text) || readAsideQuestion(text) !== null)) return false;
    if (!session.opened.conversation.interrupts({ channel: "cli", chatId: session.chatId, text }))
      return false;
    if (!picks(text) && !showsJob(text))
      void ask(text).then((reply) =>
        screen.print(
          messageBlock(text, () => style),
          ...answerBlocks(reply),
        ),
      );
    return true;
  }

  /** `/diff JOB` is the job's card, with the keys on it. */
  function showsJob(text: string): boolean {
    const name = /^\/diff\s+(\S+)\s*$/.exec(text.trim())?.[1];
    const archive = state.session?.opened.workspace.archive;
    if (name === undefined || archive === undefined) return false;
    const number = /^#?(\d+)$/.exec(name)?.[1];
    const job = number === undefined ? archive.read(name) : (archive.list()[Number(number) - 1] ?? null);
    if (job === null) return false;
    screen.print(deck.show(job));
    screen.redraw();
    return true;
  }

  function pickerKey(bytes: string, open: Picker): void {
    const chosen = open.key(bytes);
    if (chosen === undefined) return;
    picker = null;
    if (chosen !== null && !(state.turn !== null && looks(chosen))) submit(chosen);
  }

  function page(title: string, lines: (columns: number) => readonly string[]): void {
    if (state.session === null) return;
    screen.pause();
    pager = state.session.work.openPager({
      keyboard,
      title,
      keys: texts.pagerKeys,
      lines,
      isMark: (line) => /^\s{2}\x1b\[1m|^\s{2}\S/.test(line),
      closed() {
        pager = null;
        screen.resume({ below: false });
      },
    });
  }

  function showDiff(card: Card): void {
    const { maker, work } = state.session as Session;
    const lines = maker.lines(card);
    page(`${card.label} ${printable(card.title)}`, (columns) => work.diffRows(lines, columns, style));
  }

  function outside(run: () => void): void {
    screen.leave();
    keyboard.write("\x1b[?1004l");
    keyboard.stop();
    run();
  }

  function backInside(): void {
    keyboard.start();
    keyboard.write("\x1b[?1004h");
    screen.resume({ below: true });
  }

  // Keys

  function onKey(bytes: string): void {
    if (isKeyUp(bytes)) return;
    if (bytes === "\x1b[0n") {
      screen.acknowledged();
      return;
    }
    if (bytes === "\x1b[I" || bytes === "\x1b[O") {
      focused = bytes === "\x1b[I";
      return;
    }
    const ground = readGround(bytes);
    if (ground !== null) {
      style = createStyle({ colour, ground });
      return;
    }
    if (bytes.startsWith("\x1b]") || ended) return;
    if (pager !== null) {
      pager.key(bytes);
      return;
    }
    pressKey(bytes);
    if (!ended && pager === null) screen.redraw();
  }

  /** The same key twice within two seconds. */
  function twice(key: string): boolean {
    const now = performance.now();
    const again = pressed.key === key && now - pressed.at < TWICE_MS;
    pressed = { key: again ? "" : key, at: now };
    return again;
  }

  function pressKey(bytes: string): void {
    if (isKey(bytes, "ctrl+z")) {
      const host = state.session?.host;
      if (host !== undefined) outside(() => host.suspend(backInside));
      return;
    }
    if (picker !== null) {
      pickerKey(bytes, picker);
      return;
    }
    if (composer.isSearching()) {
      composer.key(bytes);
      return;
    }
    const hinted = hint;
    hint = "";
    if (isKey(bytes, "escape")) pressEscape(hinted);
    else if (isKey(bytes, "ctrl+c") || !cardKey(bytes)) {
      const bound = bindings.find(({ keys, when = () => true }) => isKey(bytes, ...keys) && when());
      if (bound === undefined) composer.key(bytes);
      else bound.run();
    }
  }

  function interrupt(): void {
    if (composer.isMenuOpen()) composer.closeMenu();
    if (!composer.isEmpty()) {
      composer.remember(composer.whole());
      composer.set("");
      hint = texts.clearedHint;
      pressed = { key: "", at: 0 };
    } else if (state.turn !== null && !state.turn.view.isStopping()) {
      stop();
      twice("ctrl+c");
    } else if (twice("ctrl+c")) leave(state.turn === null ? 0 : 130);
    else hint = texts.leaveHint;
    deck.unfocus();
  }

  function pressEscape(hinted: string): void {
    if (composer.isMenuOpen()) composer.closeMenu();
    else if (deck.focused() !== null) deck.unfocus();
    else if ((!composer.isEmpty() || state.turn === null) && composer.leaveInsert()) return;
    else if (state.turn !== null) stop();
    else if (!composer.isEmpty()) return;
    else if (twice("escape") && hinted === texts.rewindHint) picks("/rewind");
    else hint = texts.rewindHint;
  }

  function tab(): void {
    if (state.turn !== null && !composer.isEmpty()) {
      const text = composer.whole();
      composer.remember(text);
      composer.set("");
      queue.add(text, "waits");
    } else if (!composer.isEmpty() || state.turn !== null) composer.key("\t");
    else if (!deck.focusLast()) focusLastJob();
  }

  /** A job that came from somewhere else can be taken back here as well. */
  function focusLastJob(): void {
    const job = state.session?.opened.workspace.archive.list().findLast(({ changes }) => changes.length > 0);
    if (state.session === null || job === undefined) {
      hint = texts.noCard;
      return;
    }
    screen.print(deck.show(job));
  }

  function cardKey(bytes: string): boolean {
    const card = deck.focused();
    if (card === null) return false;
    const { maker, opened, host } = state.session as Session;
    if (isKey(bytes, "up")) deck.step(-1);
    else if (isKey(bytes, "down")) deck.step(1);
    else if (isKey(bytes, "tab")) deck.unfocus();
    else if (isKey(bytes, "u")) void act("undo", card.name);
    else if (isKey(bytes, "r")) void act("redo", card.name);
    else if (isKey(bytes, "p")) void act("apply", card.name);
    else if (isKey(bytes, "d", "enter")) showDiff(card);
    else if (isKey(bytes, "o")) {
      const file = maker.lines(card).find((line) => line.kind === "file");
      if (file?.kind !== "file") return true;
      outside(() => {
        if (!host.openFile(`${opened.workspace.root}/${file.path}`)) hint = texts.noEditor;
      });
      backInside();
    } else {
      deck.unfocus();
      return false;
    }
    return true;
  }

  function takeBackQueued(): void {
    const text = queue.takeBack();
    if (text !== undefined) composer.set(text);
  }

  function showSteps(): void {
    const steps = state.turn === null ? lastSteps : state.turn.view.allSteps();
    page(texts.allSteps, (columns) =>
      steps.length === 0 ? [texts.noSteps] : steps.flatMap((step) => wrapColumns(step, columns)),
    );
  }

  function showKeys(): void {
    const work = state.session?.work;
    if (work !== undefined) page(texts.keysHint, (columns) => work.keyRows(texts.keys, columns, style));
  }

  async function pasteImage(): Promise<void> {
    const pasted = await state.session?.host.pasteImage();
    if (pasted === undefined || ended) return;
    if (pasted.ok) composer.insert(`@${pasted.name} `);
    else hint = texts.noPastedImage[pasted.reason];
    screen.redraw();
  }

  function writeOutside(): void {
    const host = state.session?.host;
    if (host === undefined) return;
    let written: string | null = null;
    outside(() => {
      written = host.edit(composer.whole());
    });
    backInside();
    if (written === null) hint = texts.noEditor;
    else composer.set(written);
  }
}
