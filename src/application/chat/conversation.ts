import { isCoderRole, roleOf } from "../../domain/chat/agents.ts";
import {
  readAsideQuestion,
  readExplicitRoute,
  readSentenceCommand,
  readShellLine,
  readSlashCommand,
  type SlashCommand,
} from "../../domain/chat/message-commands.ts";
import { wordMemory } from "../../domain/chat/session.ts";
import { isCoder, ROUTES } from "../../domain/config/configured-kinds.ts";
import type { NoteFact } from "../../domain/jobs/result.ts";
import { toFaultText } from "../../domain/platform/error-text.ts";
import { imageMark } from "../../domain/platform/image.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import { missingPiece } from "../../domain/platform/machine-trouble.ts";
import { readTraceparent } from "../../domain/platform/traceparent.ts";
import { isStoreClosed } from "../../domain/store/store-trouble.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { wordNote } from "../../domain/texts/jobs-notes.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import { actionsFor, wordUsedUp } from "../jobs/action-report.ts";
import type { ChatEvent, Conversation, HandleOptions, IncomingMessage, Reply, Route } from "../ports/chat.ts";
import { JobBroken } from "../ports/jobs-workspace.ts";
import type { Logger } from "../ports/platform.ts";
import {
  commandNames,
  isNamedCoder,
  isReplaced,
  readCoderTask,
  readOwnRequest,
  routeGoToPlanner,
} from "./chat-commands.ts";
import {
  type AgentDeps,
  type Answer,
  answerInEveryLanguage,
  type ChatBase,
  type ChatCommands,
  type ChatDeps,
  type ChatTurn,
  type CoderDeps,
  createAnswer,
  createLabelledAction,
  createNotice,
  groupPrefix,
  type JobDeps,
  mergeAnswers,
  type RoutedText,
  rememberedWords,
  type StateDeps,
  toReplyUsage,
} from "./chat-turn.ts";
import { toExchanges } from "./exchanges.ts";
import { createJobHistory } from "./job-history.ts";
import { type NamedText, type ReplyPiece, say, wordPieces } from "./reply-words.ts";
import { createWorkBoard, type WorkBoard } from "./work-board.ts";

/** Work that continues after a reply; closing waits for it. */
export function createBackground(logger: Logger) {
  const running = new Set<Promise<void>>();
  return {
    start(work: () => Promise<void>) {
      const one = work().catch((cause: unknown) =>
        logger.warn("chat", "chat.after_reply_failed", "chat.after_reply_failed", { error: String(cause) }),
      );
      running.add(one);
      void one.finally(() => running.delete(one));
    },
    settled: () => Promise.allSettled(running),
  };
}

/** Characters; more is a file, not a message. */
const LONGEST_MESSAGE = 1_000_000;

/** Normalises line ends and removes other control characters and lone surrogates: they control terminals and break requests. */
function cleanMessage(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]/g, "")
    .toWellFormed();
}

const MOST_MESSAGE_PIECES = 5;

/** After a route's command, each line that begins with another one (`/code3 …`) is a separate part; parts are answered in order. */
function splitMessage(message: string): string[] {
  if (readExplicitRoute(message) === undefined) return [message];
  const parts: string[][] = [];
  let fenced = false;
  for (const line of message.split("\n")) {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    const begins = !fenced && /^[/／]/.test(line) && readExplicitRoute(line) !== undefined;
    if (parts.length === 0 || (begins && parts.length < MOST_MESSAGE_PIECES)) parts.push([line]);
    else parts.at(-1)?.push(line);
  }
  return parts.map((lines) => lines.join("\n").trim()).filter((part) => part !== "");
}

/** As the system and PostgreSQL say it. */
const DISK_FULL_CODES: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "53100"]);
const SQLITE_FULL = 13;

function isDiskFull(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, errcode } = at as { code?: unknown; errcode?: unknown };
    if (DISK_FULL_CODES.has(code) || errcode === SQLITE_FULL) return true;
  }
  return false;
}

/** The reply for a job that exceeded its disk, processes or memory, worded as in `picoclaw apply`; null for other errors. */
function limitReply(deps: ChatBase, error: unknown): Reply | null {
  const broken = error instanceof JobBroken ? error : null;
  const reached = broken === null ? error : broken.cause;
  if (wordUsedUp("en", reached) === null) return null;
  const answer = answerInEveryLanguage(
    (locale) =>
      [
        wordUsedUp(locale, reached) ?? "",
        ...(broken === null ? [] : [messagesFor(locale).nothingApplied(broken.jobName)]),
      ].join("\n"),
    false,
  );
  return { ...toPassingReply(deps, answer), ...(broken !== null && { brokenJob: broken.jobId }) };
}

type TurnOptions = Pick<ChatTurn, "sessionKey" | "signal" | "emit" | "tellsDrafts">;

/** Everything a message needs before it is answered: its session, what the chat remembers, its models. */
async function openTurn(
  deps: AgentDeps & StateDeps,
  message: IncomingMessage,
  run: TurnOptions,
): Promise<ChatTurn> {
  const { sessions, meter, settings, clock, logger } = deps;
  const { sessionKey, signal, emit, tellsDrafts } = run;
  const { channel, chatId } = message;
  logger.info("chat", "chat.message_received", "chat.message_received", {
    session_key: sessionKey,
    characters: message.text.length,
  });
  const { session, cutOver } = await sessions.open({ channel, chatId }, signal);
  if (cutOver !== null) emit({ type: "cut-over", sessionId: session.id });
  const groupId =
    message.id === undefined ? newGroupId(deps, sessionKey) : `${groupPrefix(sessionKey)}${message.id}`;
  const { dry, memory: kept, models: chosen } = await sessions.settings({ channel, chatId });
  const imageIds = (message.images ?? []).map(({ id }) => id);
  await deps.images.attach(sessionKey, imageIds, groupId);
  const [images, { memory, turns, older }, models] = await Promise.all([
    deps.images.load(sessionKey, imageIds),
    sessions.context(session),
    meter.open({ chatKey: sessionKey, sessionId: session.id, groupId }, chosen),
  ]);
  const jobs = createJobHistory(deps.workspace.archive, groupPrefix(sessionKey), session.openedAt);
  const memos = wordMemory(kept[session.id] ?? {});
  return {
    message,
    images,
    sessionKey,
    session,
    memory: [memory, memos].filter((text) => text !== "").join("\n\n"),
    memos,
    history: toExchanges(turns, jobs),
    older: toExchanges(older, jobs),
    jobs,
    dry,
    models,
    groupId,
    signal,
    deadline: clock() + settings.maxMillis,
    emit,
    tellsDrafts,
    dryRun: dry || settings.dryRun,
    preview: readSlashCommand(message.text)?.name === "preview",
    rounds: { count: 0 },
    notes: cutOver === null ? [] : [say("cutOver", session.id)],
  };
}

/** Ids sort by time and contain the chat. */
function newGroupId({ now, random }: ChatBase, sessionKey: string): string {
  const tail = [...random(4)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${groupPrefix(sessionKey)}${now().getTime().toString(36)}-${tail}`;
}

/** One line a command; each is imported when it is sent. */
const LOOKS: ChatCommands["looks"] = {
  jobs: async (...sent) => (await import("./look-commands.ts")).jobs(...sent),
  ps: async (...sent) => (await import("./process-commands.ts")).ps(...sent),
  diff: async (...sent) => (await import("./look-commands.ts")).diff(...sent),
  help: async (...sent) => (await import("./look-commands.ts")).help(...sent),
};
const COMMANDS: ChatCommands["commands"] = {
  undo: async (...sent) => (await import("./job-commands.ts")).undo(...sent),
  redo: async (...sent) => (await import("./job-commands.ts")).redo(...sent),
  rewind: async (...sent) => (await import("./job-commands.ts")).rewind(...sent),
  apply: async (...sent) => (await import("./job-commands.ts")).apply(...sent),
  discard: async (...sent) => (await import("./job-commands.ts")).discard(...sent),
  dry: async (...sent) => (await import("./job-commands.ts")).dry(...sent),
  head: async (...sent) => (await import("./answer-with-head.ts")).head(...sent),
  review: async (...sent) => (await import("./talk-commands.ts")).review(...sent),
  pr: async (...sent) => (await import("./pull-commands.ts")).pr(...sent),
  commit: async (...sent) => (await import("./pull-commands.ts")).commit(...sent),
  init: async (...sent) => (await import("./talk-commands.ts")).init(...sent),
  config: async (...sent) => (await import("./talk-commands.ts")).config(...sent),
  cloud: async (...sent) => (await import("./model-commands.ts")).cloud(...sent),
  login: async (...sent) => (await import("./talk-commands.ts")).login(...sent),
  schedule: async (...sent) => (await import("./schedule-commands.ts")).schedule(...sent),
  allow: async (...sent) => (await import("./talk-commands.ts")).allow(...sent),
  export: async (...sent) => (await import("./talk-commands.ts")).exportTalk(...sent),
};

const ROUTE_NAMES = ROUTES.map((route) => route.toLowerCase());

/** Joins the commands of every feature; `commands` are the names that can follow a slash, routes and the user's own too. */
export function openConversation(given: ChatDeps) {
  const looks = { ...LOOKS, ...given.looks };
  const deps = { ...given, looks, commands: { ...looks, ...COMMANDS, ...given.commands } };
  const own = deps.ownCommands.list().map(({ name }) => name);
  const commands = [...new Set([...commandNames(deps), ...ROUTE_NAMES, ...own])];
  return { conversation: createConversation(deps), commands };
}

/** Commands that do not wait for running work: they leave it alone, or end it. */
const ASIDE_NAMES: ReadonlySet<string> = new Set(["stop", "btw"]);

/** Commands that may ask a model: `/route` repeats the last request, `/new` summarises the session. */
const ASKS_A_MODEL: ReadonlySet<string> = new Set(
  "preview route new head review pr commit init cloud clear compact schedule".split(" "),
);

/** The command of a message: written as one, typed as for a shell, or asked for in a plain sentence. */
function readCommand(
  deps: ChatCommands,
  { text, strict }: Pick<IncomingMessage, "text" | "strict">,
): SlashCommand | undefined {
  const written = readSlashCommand(text);
  if (written !== undefined || strict === true) return written;
  const line = readShellLine(text);
  if (line !== undefined && commandNames(deps).includes(line.name)) return line;
  return readSentenceCommand(text) ?? undefined;
}

interface ReceivedMessage {
  readonly deps: ChatDeps;
  readonly works: WorkBoard;
  /** Its text is clean. */
  readonly message: IncomingMessage;
  readonly command: SlashCommand | undefined;
  readonly sessionKey: string;
  readonly options: HandleOptions;
  readonly emit: (event: ChatEvent) => void;
  readonly state: { begun: boolean };
}

interface TurnMessage {
  readonly deps: ChatDeps;
  command: SlashCommand | undefined;
  turn: ChatTurn;
  /** The message, or the text of the user's own command that it names. */
  request: string;
}

/** Null: this step does not answer the message, and the next one reads it. */
type MessageStep<Message> = (message: Message) => Promise<Reply | null> | Reply | null;

/** The answers that need no turn in the chat; a message that none of these steps answers waits for its turn. */
const RECEIVED_STEPS: readonly MessageStep<ReceivedMessage>[] = [
  stopRunning,
  answerBeside,
  answerLook,
  joinRunning,
];

/** The answers that need no route; a message that none of these steps answers is routed. */
const TURN_STEPS: readonly MessageStep<TurnMessage>[] = [
  refuseLostImages,
  runCommand,
  fillOwnCommand,
  refuseUnknownCommand,
  refuseEmptyPreview,
];

async function takeSteps<Message>(steps: readonly MessageStep<Message>[], message: Message) {
  for (const step of steps) {
    const reply = await step(message);
    if (reply !== null) return reply;
  }
  return null;
}

function createConversation(deps: ChatDeps): Conversation {
  const works = createWorkBoard();
  return {
    interrupts({ channel, chatId, text, images = [] }) {
      const command = readCommand(deps, { text });
      if (command !== undefined)
        return ASIDE_NAMES.has(command.name) || Object.hasOwn(deps.looks, command.name);
      const chatKey = `${channel}:${chatId}`;
      if (works.isBusy(chatKey) && readAsideQuestion(text) !== null) return true;
      return images.length === 0 && deps.steering.isOpen(chatKey);
    },
    steer({ channel, chatId, text, images = [] }, signal) {
      const words = cleanMessage(text);
      if (readAsideQuestion(words) !== null) return null;
      if (words.trim() === "" || images.length > 0 || readCommand(deps, { text: words }) !== undefined)
        return null;
      return deps.steering.offer(`${channel}:${chatId}`, words, signal);
    },
    needsNoModel(text) {
      const name = readCommand(deps, { text })?.name;
      return name !== undefined && !ASKS_A_MODEL.has(name) && commandNames(deps).includes(name);
    },
    async handle(message, options) {
      const sessionKey = `${message.channel}:${message.chatId}`;
      const { images = [], sentAt = deps.now().toISOString() } = message;
      const state = { begun: false };
      try {
        const words = cleanMessage(message.text);
        // A message of images alone is routed and remembered by their names.
        const text = words.trim() === "" ? images.map(({ name }) => imageMark(name)).join("\n") : words;
        if (text === "") return plainReply(deps, say("emptyMessage"));
        if (text.length > LONGEST_MESSAGE) return plainReply(deps, say("messageTooLong", "1 MB"));
        const clean = { ...message, text, sentAt };
        const emit = withoutThrowing(options.onEvent);
        const command = readCommand(deps, clean);
        const received = { deps, works, message: clean, command, sessionKey, options, emit, state };
        return (await takeSteps(RECEIVED_STEPS, received)) ?? (await answerInTurn(received));
      } catch (error) {
        if (options.signal.aborted) return plainReply(deps, say("aborted"));
        deps.logger.error("chat", "chat.failed", "chat.failed", {
          session_key: sessionKey,
          message_id: message.id,
          trace_id: readTraceparent(message.traceparent)?.traceId,
          error,
        });
        return replyToFault(deps, error, state.begun);
      }
    },
  };
}

/** The message may run in another process, which then undoes its job. */
async function stopRunning({ deps, command, sessionKey }: ReceivedMessage): Promise<Reply | null> {
  if (command?.name !== "stop") return null;
  const stopped = await deps.queue.stop(sessionKey);
  return { ...plainReply(deps, stopped ? say("stopped") : say("nothingRuns")), ok: true };
}

async function answerBeside(received: ReceivedMessage): Promise<Reply | null> {
  const { deps, works, message, command, sessionKey, options, emit } = received;
  const question = command === undefined && works.isBusy(sessionKey) ? readAsideQuestion(message.text) : null;
  if (command?.name !== "btw" && question === null) return null;
  const { answerAside } = await import("./answer-aside.ts");
  const asked = { question: question ?? command?.rest ?? "", work: works.tell(sessionKey) };
  const { usage, ...answer } = await answerAside(deps, message, { ...asked, emit, signal: options.signal });
  return { ...toPassingReply(deps, answer), ...(usage !== undefined && { usage }) };
}

async function answerLook({ deps, message, command, sessionKey }: ReceivedMessage): Promise<Reply | null> {
  const look = command === undefined ? undefined : ownMember(deps.looks, command.name);
  if (look === undefined) return null;
  return toPassingReply(deps, await look(deps, { message, sessionKey }, command?.rest ?? ""));
}

/** A coder that works in the chat takes the message into its next round. */
async function joinRunning(received: ReceivedMessage): Promise<Reply | null> {
  const { deps, message, command, sessionKey, options, emit } = received;
  if (command !== undefined || (message.images ?? []).length > 0) return null;
  const joins = deps.steering.offer(sessionKey, message.text, options.signal);
  if (joins === null) return null;
  emit(createNotice(deps, (chat) => chat.joins));
  return (await joins) ? { ...plainReply(deps, say("steered")), ok: true } : null;
}

async function answerInTurn(received: ReceivedMessage): Promise<Reply> {
  const { deps, works, message, sessionKey, options, emit, state } = received;
  const { signal, claim, tellsDrafts = false } = options;
  const queued = await deps.queue.run(
    sessionKey,
    async (signal) => {
      using work = works.begin(sessionKey, message.text);
      const tell = (event: ChatEvent) => {
        work.note(event);
        emit(event);
      };
      const turn = await openTurn(deps, message, { sessionKey, signal, emit: tell, tellsDrafts });
      state.begun = true;
      return await answerTurn(deps, turn);
    },
    { signal, claim, onQueued: (ahead) => emit({ type: "queued", ahead }) },
  );
  if (!queued.ran) return plainReply(deps, say("aborted"));
  const { ok } = queued.value;
  deps.afterReply(async () => {
    const hooked = { PICOCLAW_CHAT: sessionKey, PICOCLAW_OK: String(ok) };
    for (const note of await deps.workspace.afterMessage(hooked)) emit(hookNotice(deps, note));
  });
  return queued.stopped === "lost" ? { ...queued.value, lost: true } : queued.value;
}

function replyToFault(deps: JobDeps, error: unknown, isBegun: boolean): Reply {
  if (isDiskFull(error)) return plainReply(deps, say("diskFull"));
  const limited = limitReply(deps, error);
  if (limited !== null) return limited;
  const gone = missingPiece(error);
  const trouble = isStoreClosed(error) ? "storeAway" : "unexpected";
  const failed =
    gone === null
      ? plainReply(deps, say(trouble, deps.workspace.mask(toFaultText(error))))
      : toPassingReply(
          deps,
          answerInEveryLanguage((locale) => messagesFor(locale).installationIncomplete(gone), false),
        );
  return isBegun ? failed : { ...failed, lost: true };
}

function hookNotice({ messages }: ChatBase, note: NoteFact): ChatEvent {
  const texts = inEveryLanguage((locale) => wordNote(messagesFor(locale), note));
  return { type: "notice", text: wordNote(messages, note), texts };
}

async function answerTurn(deps: ChatDeps, turn: ChatTurn): Promise<Reply> {
  const { text } = turn.message;
  const command = readCommand(deps, turn.message);
  const message = { deps, turn, command, request: turn.preview ? (command?.rest ?? "") : text };
  return (await takeSteps(TURN_STEPS, message)) ?? (await answerByRoutes(message));
}

function refuseLostImages({ deps, turn }: TurnMessage): Reply | null {
  const { images = [] } = turn.message;
  const gone = images.filter(({ id }) => !turn.images.some((image) => image.id === id));
  const names = gone.map(({ name }) => name);
  return gone.length === 0 ? null : plainReply(deps, say("imageGone", names));
}

async function runCommand(asked: TurnMessage): Promise<Reply | null> {
  const { deps, turn, command } = asked;
  const { message, preview } = turn;
  // An agent of the user's own may be asked for a preview, too.
  const inner = preview ? readSlashCommand(command?.rest ?? "") : undefined;
  const given = inner?.name === "head" ? inner : preview ? undefined : command;
  if (given === undefined || isReplaced(deps, given.name)) return null;
  const known = ownMember(deps.commands, given.name);
  if (known === undefined) return null;
  // A command may name or ask any of the models.
  await turn.models.models.look?.(turn.signal);
  const answer = await known(deps, turn, given.rest);
  if (answer === null) {
    asked.command = undefined;
    return null;
  }
  const { instead } = answer;
  if (instead !== undefined)
    return answerTurn(deps, {
      ...turn,
      message: { ...message, text: instead },
      preview: readSlashCommand(instead)?.name === "preview",
    });
  if (answer.again !== undefined) return answerAgain(deps, turn, answer, answer.again);
  if (answer.agent !== "") await rememberTurn(deps, turn, message.text, answer);
  return toReply(deps, turn, answer);
}

function fillOwnCommand(message: TurnMessage): Reply | null {
  const { deps, turn } = message;
  const own = readOwnRequest(deps, message.request);
  if ("untrusted" in own) return refuseTurn(message, say("commandUntrusted", own.untrusted));
  message.request = own.text;
  message.turn = { ...turn, notes: [...turn.notes, ...own.notes] };
  return null;
}

async function refuseUnknownCommand({ deps, turn, command, request }: TurnMessage): Promise<Reply | null> {
  const isOwn = request !== turn.message.text || readExplicitRoute(request) !== undefined;
  if (command === undefined || turn.preview || isOwn) return null;
  const { nearestCommand } = await import("./look-commands.ts");
  const own = deps.ownCommands.list().map((one) => one.name);
  const nearest = nearestCommand(command.name, [...ROUTE_NAMES, ...commandNames(deps), ...own]);
  return refuseTurn({ deps, turn }, say("unknownCommand", command.name, nearest ?? null));
}

function refuseEmptyPreview(message: TurnMessage): Reply | null {
  const isEmpty = message.turn.preview && message.request.trim() === "";
  return isEmpty ? refuseTurn(message, say("previewUsage")) : null;
}

function refuseTurn({ deps, turn }: Pick<TurnMessage, "deps" | "turn">, saying: ReplyPiece): Reply {
  return toReply(deps, turn, createAnswer([saying], false));
}

async function answerByRoutes({ deps, turn, request }: TurnMessage): Promise<Reply> {
  const { message, emit, sessionKey, session, signal, groupId, preview } = turn;
  const asked: RoutedText[] = [];
  const answers: Answer[] = [];
  for (const part of splitMessage(routeGoToPlanner(turn, request))) {
    if (signal.aborted) break;
    const { decision, text } = await deps.router.decide({
      chatKey: sessionKey,
      sessionId: session.id,
      groupId,
      text: preview && readExplicitRoute(part) === undefined ? `/code ${part}` : part,
      models: turn.models.models,
      ...(message.forcedRoute !== undefined && { forcedRoute: message.forcedRoute }),
      strict: message.strict === true,
      signal,
    });
    emit({ type: "decided", decision });
    asked.push({ text, decision });
    const nothing = (saying: NamedText): Answer => createAnswer([saying], false);
    if (text.trim() === "") answers.push(nothing(say("emptyMessage")));
    else if (preview && !isCoder(decision.route)) answers.push(nothing(say("previewUsage")));
    else answers.push(...(await answerAll(deps, turn, { text, decision })));
  }
  const merged = mergeAnswers(asked, answers, () => groupActions(deps, turn));
  await rememberTurn(deps, turn, asked.map(({ text }) => text).join("\n"), merged);
  return toReply(deps, turn, merged, asked[0]?.decision);
}

/** `/route X`: repeats the last request on the right route. */
async function answerAgain(
  deps: CoderDeps & StateDeps,
  begun: ChatTurn,
  command: Answer,
  { route, text, preview = begun.preview, isNoticeOnly, after, ...words }: NonNullable<Answer["again"]>,
): Promise<Reply> {
  const turn = { ...begun, preview, ...words };
  const decision = { route, source: "explicit", confidence: 1, reason: "/route" } as const;
  const notice = wordPieces(deps.messages.locale, command.said);
  if (notice !== "") turn.emit({ type: "notice", text: notice });
  turn.emit({ type: "decided", decision });
  const asked = { text, decision };
  const answers = await answerAll(deps, turn, asked);
  const merged = mergeAnswers([asked], answers, () => groupActions(deps, turn));
  await rememberTurn(deps, turn, text, merged);
  const actions = [...(merged.actions ?? []), ...(command.actions ?? [])];
  const added = (await after?.(merged)) ?? [];
  const said = [...(isNoticeOnly ? [] : command.said), ...merged.said, ...added];
  return toReply(deps, turn, { ...merged, said, actions }, decision);
}

function groupActions({ workspace, chat }: JobDeps, { groupId }: ChatTurn): Reply["actions"] {
  return actionsFor(workspace.archive, groupId, chat.actions);
}

async function rememberTurn(
  deps: AgentDeps & StateDeps,
  turn: ChatTurn,
  said: string,
  answer: Answer,
): Promise<void> {
  const { sessions } = deps;
  const { session, groupId } = turn;
  const at = deps.now().toISOString();
  try {
    await sessions.append(session, [
      { at, role: "user", text: withImageMarks(said, turn), agent: "", groupId },
      { at, role: "assistant", text: rememberedWords(answer), agent: answer.agent, groupId },
    ]);
  } catch (cause) {
    deps.logger.error("chat", "chat.not_remembered", "chat.not_remembered", { error: String(cause) });
    return;
  }
  deps.afterReply(async () => void (await sessions.compact(session, AbortSignal.timeout(60_000))));
}

function withImageMarks(said: string, { images }: Pick<ChatTurn, "images">): string {
  const marks = images.map(({ name }) => imageMark(name)).filter((mark) => !said.includes(mark));
  return [said, ...marks].join("\n");
}

/** One route's answer, and at most one more if Shiro says that another route fits. */
async function answerAll(
  deps: CoderDeps & StateDeps,
  turn: ChatTurn,
  { text, decision }: RoutedText,
): Promise<Answer[]> {
  const first = await answerPart(deps, turn, { text, decision });
  const advice = first.reroute;
  const reroutes =
    advice !== undefined &&
    advice.route !== decision.route &&
    advice.confidence >= 0.8 &&
    advice.fit < 0.3 &&
    turn.message.strict !== true;
  if (!reroutes || turn.signal.aborted) return [first];
  // A user who named a route chose the destination; another one is only offered.
  if (decision.source === "explicit") return [withOffer(deps, first, advice.route, text)];
  const rerouted = createNotice(deps, (chat) => chat.rerouted(decision.route, advice.route));
  const next = {
    route: advice.route,
    source: "classifier",
    confidence: advice.confidence,
    reason: rerouted.text,
  } as const;
  turn.emit(rerouted);
  turn.emit({ type: "decided", decision: next });
  const { sessionKey: chatKey, session, groupId } = turn;
  await deps.router.record({ chatKey, sessionId: session.id, groupId, text }, next);
  // The archive is read again: the first answer may have changed it.
  const jobs = createJobHistory(deps.workspace.archive, groupPrefix(chatKey), session.openedAt);
  return [first, await answerPart(deps, { ...turn, jobs }, { text, decision: next })];
}

/** Characters of a message that a button can send again. */
const OFFERED_ROUTES = 300;

function withOffer(deps: ChatBase, first: Answer, route: Route, text: string): Answer {
  if (text.length > OFFERED_ROUTES) return first;
  const message = `/${route.toLowerCase()} ${text}`;
  const action = createLabelledAction(deps, (chat) => chat.askRoute(route), message);
  return { ...first, actions: [...(first.actions ?? []), action] };
}

async function answerPart(deps: CoderDeps, begun: ChatTurn, asked: RoutedText): Promise<Answer> {
  const { text } = asked;
  const { route } = asked.decision;
  const role = roleOf(route, deps.settings.defaultCoder);
  const { look } = begun.models.models;
  if (isCoderRole(role)) {
    const { tellSteps } = await import("./describe-event.ts");
    const turn = { ...begun, emit: tellSteps(begun.emit) };
    const wish = { role, ...readCoderTask(turn, asked, deps.settings.coder) };
    await look?.(begun.signal, wish.mode === "one" ? role : undefined);
    const name = deps.heads?.standing ?? null;
    if (name !== null && !isNamedCoder(asked.decision) && wish.mode !== "all")
      return (await import("./answer-with-head.ts")).answerWithHead(deps, turn, { name, ...wish });
    return wish.mode === "one"
      ? (await import("./answer-with-code.ts")).answerWithCode(deps, turn, wish)
      : (await import("./answer-with-candidates.ts")).answerWithCandidates(deps, turn, wish);
  }
  await look?.(begun.signal, role);
  switch (route) {
    case "ANALYZE":
    case "OPS":
    case "RESEARCH":
      return (await import("./answer-with-tools.ts")).answerWithTools(deps, begun, route, text);
    default:
      return (await import("./answer-by-talking.ts")).answerByTalking(
        deps,
        begun,
        route === "PLAN" ? "PLAN" : "CHAT",
        text,
      );
  }
}

function toReply(deps: ChatBase, turn: ChatTurn, answer: Answer, decision?: Reply["decision"]): Reply {
  const usage = toReplyUsage(turn.models.used());
  const notices = turn.models.notices().map((notice) => say("budget", notice));
  const standIns = turn.models.standIns().map((standIn) => say("stoodIn", standIn));
  return {
    ...toPassingReply(deps, { ...answer, said: [...turn.notes, ...answer.said, ...standIns, ...notices] }),
    sessionId: turn.session.id,
    groupId: turn.groupId,
    ...(decision !== undefined && { decision }),
    ...(usage.inputTokens + usage.outputTokens > 0 && { usage }),
  };
}

/** A reply that belongs to no session: nothing of it is remembered. */
function toPassingReply({ messages }: ChatBase, answer: Answer): Reply {
  const { said, ok, jobs, model, choices, actions = [] } = answer;
  return {
    text: wordPieces(messages.locale, said),
    ...{ said, ok, sessionId: "", jobs, actions },
    ...(model !== undefined && { model }),
    ...(choices !== undefined && { choices }),
  };
}

function plainReply(deps: ChatBase, saying: ReplyPiece): Reply {
  return toPassingReply(deps, createAnswer([saying], false));
}

/** A listener that fails does not affect the message. */
function withoutThrowing(listener: HandleOptions["onEvent"]): (event: ChatEvent) => void {
  return (event) => {
    try {
      listener?.(event);
    } catch {
      // The message is answered nevertheless.
    }
  };
}
