import { isCoderRole, roleOf } from "../../domain/chat/roster.ts";
import { isCoder } from "../../domain/config/route.ts";
import { readExplicitRoute, readSlashCommand } from "../../domain/chat/slash-command.ts";
import { readTraceparent } from "../../domain/platform/traceparent.ts";
import { messagesFor } from "../../domain/texts/messages.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import { missingPiece } from "../../domain/jobs/missing-piece.ts";
import type { ChatEvent, Conversation, HandleOptions, Reply, Route } from "../ports/conversation.ts";
import { actionsFor } from "../jobs/present-actions.ts";
import { type NamedText, type ReplyPiece, say, wordPieces } from "./reply-words.ts";
import { answerPieces, createAnswer, createLabelledAction, rememberedWords } from "./answering.ts";
import { commandNames } from "./built-in.ts";
import { readOwnRequest } from "./own-request.ts";
import { findCommand, findLook, isLook } from "./registry.ts";
import { isDiskFull } from "./disk-full.ts";
import { limitReply } from "./limit-reply.ts";
import { mergeAnswers } from "./merge-answers.ts";
import { cleanMessage, LONGEST_MESSAGE, splitMessage } from "./message-text.ts";
import { createNotice } from "./notice.ts";
import { openTurn } from "./open-turn.ts";
import type { ChatDeps } from "./chat-turn.ts";
import { readCoderTask, routeGoToPlanner } from "./plan-first.ts";
import type { Answer, ChatTurn, RoutedText } from "./turn.ts";

/** Commands that may ask a model: `/route` asks again what was asked before, `/new` has the session summarised. */
const ASKS_A_MODEL: ReadonlySet<string> = new Set(["preview", "route", "new"]);

/**
 * The way of a message:
 *   clean → a command that only looks, or: its turn in the chat → session → a command, or: decide → answer (→ once to another route) → remember
 */
export function createConversation(parts: ChatDeps): Conversation {
  return {
    interrupts({ channel, chatId, text }) {
      const command = readSlashCommand(text);
      if (command !== undefined) return command.name === "stop" || isLook(parts, command.name);
      return parts.steering.isOpen(`${channel}:${chatId}`);
    },
    needsNoModel(text) {
      const name = readSlashCommand(text)?.name;
      return name !== undefined && !ASKS_A_MODEL.has(name) && commandNames(parts).includes(name);
    },
    async handle(message, options) {
      const sessionKey = `${message.channel}:${message.chatId}`;
      const emit = withoutThrowing(options.onEvent);
      const sentAt = message.sentAt ?? parts.now().toISOString();
      const state = { begun: false };
      try {
        const text = cleanMessage(message.text);
        if (text.trim() === "") return plainReply(parts, say("emptyMessage"));
        if (text.length > LONGEST_MESSAGE) return plainReply(parts, say("messageTooLong", "1 MB"));
        const command = readSlashCommand(text);
        if (command?.name === "stop") return await stopTurn(parts, sessionKey);
        const look = command === undefined ? undefined : await findLook(parts, command.name);
        if (look !== undefined)
          return lookReply(
            await look(parts, { message: { ...message, text }, sessionKey }, command?.rest ?? ""),
          );
        const joins = command === undefined ? parts.steering.offer(sessionKey, text) : null;
        if (joins !== null) emit(createNotice(parts, (chat) => chat.joins));
        if (joins !== null && (await joins)) return { ...plainReply(parts, say("steered")), ok: true };
        const queued = await parts.queue.run(
          sessionKey,
          async (signal) => {
            const turn = await openTurn(parts, { ...message, text, sentAt }, { sessionKey, signal, emit });
            state.begun = true;
            return inTurn(parts, turn);
          },
          { signal: options.signal, onQueued: (ahead) => emit({ type: "queued", ahead }) },
        );
        if (!queued.ran) return plainReply(parts, say("aborted"));
        return queued.stopped === "lost" ? { ...queued.value, lost: true } : queued.value;
      } catch (error) {
        if (options.signal.aborted) return plainReply(parts, say("aborted"));
        const detail = error instanceof Error ? error.message : String(error);
        parts.logger.error("chat", "chat.failed", "chat.failed", {
          session_key: sessionKey,
          message_id: message.id,
          trace_id: readTraceparent(message.traceparent)?.traceId,
          error: detail,
        });
        if (isDiskFull(error)) return plainReply(parts, say("diskFull"));
        const limited = limitReply(parts, error);
        if (limited !== null) return limited;
        const gone = missingPiece(error);
        const failed = plainReply(
          parts,
          gone === null ? say("unexpected", parts.workspace.mask(detail)) : installationGone(gone),
        );
        return state.begun ? failed : { ...failed, lost: true };
      }
    },
  };
}

async function inTurn(parts: ChatDeps, turn: ChatTurn): Promise<Reply> {
  const { message, emit, sessionKey, session, signal, groupId, preview } = turn;
  const command = readSlashCommand(message.text);
  if (command !== undefined && !preview) {
    const known = await findCommand(parts, command.name);
    if (known !== undefined) {
      const answer = await known(parts, turn, command.rest);
      if (answer.again !== undefined) return await answerAgain(parts, turn, answer, answer.again);
      if (answer.agent !== "") await rememberTurn(parts, turn, message.text, answer);
      return toReply(parts, turn, answer, undefined);
    }
  }
  const own = readOwnRequest(parts, preview ? (command?.rest ?? "") : message.text);
  if ("untrusted" in own)
    return toReply(
      parts,
      turn,
      createAnswer(parts, [say("commandUntrusted", own.untrusted)], false),
      undefined,
    );
  const request = own.text;
  const told = { ...turn, notes: [...turn.notes, ...own.notes] };
  if (
    command !== undefined &&
    !preview &&
    request === message.text &&
    readExplicitRoute(request) === undefined
  )
    return toReply(parts, turn, await answerUnknownCommand(parts, command.name), undefined);
  if (preview && request.trim() === "")
    return toReply(parts, turn, createAnswer(parts, [say("previewUsage")], false), undefined);
  const asked: RoutedText[] = [];
  const answers: Answer[] = [];
  for (const part of splitMessage(routeGoToPlanner(turn, request))) {
    if (signal.aborted) break;
    const { decision, text } = await parts.router.decide({
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
    const nothing = (saying: NamedText): Answer => createAnswer(parts, [saying], false);
    if (text.trim() === "") answers.push(nothing(say("emptyMessage")));
    else if (preview && !isCoder(decision.route)) answers.push(nothing(say("previewUsage")));
    else answers.push(...(await answerAll(parts, turn, { text, decision })));
  }
  const merged = mergeAnswers(parts, asked, answers, () => groupActions(parts, turn));
  await rememberTurn(parts, turn, asked.map(({ text }) => text).join("\n"), merged);
  return toReply(parts, told, merged, asked[0]?.decision);
}

/** `/route X`: what was asked before, by the route it should have gone to. */
async function answerAgain(
  parts: ChatDeps,
  turn: ChatTurn,
  command: Answer,
  { route, text }: NonNullable<Answer["again"]>,
): Promise<Reply> {
  const decision = { route, source: "explicit", confidence: 1, reason: "/route" } as const;
  turn.emit({ type: "notice", text: command.text });
  turn.emit({ type: "decided", decision });
  const asked = { text, decision };
  const answers = await answerAll(parts, turn, asked);
  const merged = mergeAnswers(parts, [asked], answers, () => groupActions(parts, turn));
  await rememberTurn(parts, turn, text, merged);
  const actions = [...(merged.actions ?? []), ...(command.actions ?? [])];
  const said = [...answerPieces(command), ...answerPieces(merged)];
  const whole = { ...merged, said, text: wordPieces(parts.messages.locale, said), actions };
  return toReply(parts, turn, whole, decision);
}

function groupActions({ workspace, chat }: ChatDeps, { groupId }: ChatTurn): Reply["actions"] {
  return actionsFor(workspace.archive, groupId, chat.actions);
}

async function rememberTurn(parts: ChatDeps, turn: ChatTurn, said: string, answer: Answer): Promise<void> {
  const { sessions } = parts;
  const { session, groupId } = turn;
  const at = parts.now().toISOString();
  try {
    await sessions.append(session, [
      { at, role: "user", text: said, agent: "", groupId },
      { at, role: "assistant", text: rememberedWords(answer), agent: answer.agent, groupId },
    ]);
  } catch (cause) {
    parts.logger.error("chat", "chat.not_remembered", "chat.not_remembered", { error: String(cause) });
    return;
  }
  parts.afterReply(() => sessions.compact(session, AbortSignal.timeout(60_000)));
}

async function answerUnknownCommand(parts: ChatDeps, name: string): Promise<Answer> {
  const { nearestCommand } = await import("./nearest-command.ts");
  const own = parts.ownCommands.list().map((one) => one.name);
  const nearest = nearestCommand(name, [...commandNames(parts), ...own]);
  return createAnswer(parts, [say("unknownCommand", name, nearest ?? null)], false);
}

/** One route's answer, and at most one more when Shiro says that it is not for it. */
async function answerAll(parts: ChatDeps, turn: ChatTurn, { text, decision }: RoutedText): Promise<Answer[]> {
  const first = await answerPart(parts, turn, { text, decision });
  const advice = first.reroute;
  const goesOn =
    advice !== undefined &&
    advice.route !== decision.route &&
    advice.confidence >= 0.8 &&
    advice.fit < 0.3 &&
    turn.message.strict !== true;
  if (!goesOn || turn.signal.aborted) return [first];
  // Whoever named a route has said where it goes; another one is only offered.
  if (decision.source === "explicit") return [withOffer(parts, first, advice.route, text)];
  const rerouted = createNotice(parts, (chat) => chat.rerouted(decision.route, advice.route));
  const next = {
    route: advice.route,
    source: "classifier",
    confidence: advice.confidence,
    reason: rerouted.text,
  } as const;
  turn.emit(rerouted);
  turn.emit({ type: "decided", decision: next });
  const { sessionKey: chatKey, session, groupId } = turn;
  await parts.router.record({ chatKey, sessionId: session.id, groupId, text }, next);
  return [first, await answerPart(parts, turn, { text, decision: next })];
}

/** Characters of a message that a button can send again. */
const OFFERED_ROUTES = 300;

function withOffer(parts: ChatDeps, first: Answer, route: Route, text: string): Answer {
  if (text.length > OFFERED_ROUTES) return first;
  const action = createLabelledAction(
    parts,
    (chat) => chat.askRoute(route),
    `/${route.toLowerCase()} ${text}`,
  );
  return { ...first, actions: [...(first.actions ?? []), action] };
}

async function answerPart(parts: ChatDeps, turn: ChatTurn, asked: RoutedText): Promise<Answer> {
  const { text } = asked;
  const { route } = asked.decision;
  const role = roleOf(route, parts.settings.defaultCoder);
  if (isCoderRole(role)) {
    const wish = { role, ...readCoderTask(turn, asked, parts.settings.coder) };
    return wish.heads === "one"
      ? (await import("./answer-with-code.ts")).answerWithCode(parts, turn, wish)
      : (await import("./answer-with-candidates.ts")).answerWithCandidates(parts, turn, wish);
  }
  switch (route) {
    case "ANALYZE":
    case "OPS":
    case "RESEARCH":
      return (await import("./answer-with-tools.ts")).answerWithTools(parts, turn, route, text);
    default:
      return (await import("./answer-by-talking.ts")).answerByTalking(
        parts,
        turn,
        route === "PLAN" ? "PLAN" : "CHAT",
        text,
      );
  }
}

/** In whichever process the chat's message runs; its job is taken back there. */
async function stopTurn(parts: ChatDeps, sessionKey: string): Promise<Reply> {
  const stopped = await parts.queue.stop(sessionKey);
  return { ...plainReply(parts, stopped ? say("stopped") : say("nothingRuns")), ok: true };
}

/** It belongs to no session: nothing of it is remembered. */
function lookReply({ text, said, ok, jobs, actions = [] }: Answer): Reply {
  return { text, ...(said !== undefined && { said }), ok, sessionId: "", jobs, actions };
}

function toReply({ messages }: ChatDeps, turn: ChatTurn, answer: Answer, decision: Reply["decision"]): Reply {
  const usage = turn.models.used();
  const notices = turn.models.notices().map((notice) => say("budget", notice));
  const standIns = turn.models.standIns().map((standIn) => say("stoodIn", standIn));
  const said = [...turn.notes, ...answerPieces(answer), ...standIns, ...notices];
  return {
    text: wordPieces(messages.locale, said),
    said,
    ok: answer.ok,
    sessionId: turn.session.id,
    groupId: turn.groupId,
    ...(decision !== undefined && { decision }),
    jobs: answer.jobs,
    ...(usage.inputTokens + usage.outputTokens > 0 && { usage }),
    ...(answer.model !== undefined && { model: answer.model }),
    actions: answer.actions ?? [],
  };
}

function plainReply({ messages }: ChatDeps, saying: ReplyPiece): Reply {
  const said = [saying];
  return { text: wordPieces(messages.locale, said), said, ok: false, sessionId: "", jobs: [], actions: [] };
}

function installationGone(path: string): ReplyPiece {
  return {
    kind: "worded",
    texts: inEveryLanguage((locale) => messagesFor(locale).installationIncomplete(path)),
  };
}

/** A listener that fails is the listener's trouble. */
function withoutThrowing(listener: HandleOptions["onEvent"]): (event: ChatEvent) => void {
  return (event) => {
    try {
      listener?.(event);
    } catch {
      // The message goes on.
    }
  };
}
