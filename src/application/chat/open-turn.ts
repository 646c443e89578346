import { readSlashCommand } from "../../domain/chat/slash-command.ts";
import { wordMemory } from "../../domain/chat/session-memory.ts";
import { createJobHistory } from "../coder/job-history.ts";
import type { ChatEvent, IncomingMessage } from "../ports/conversation.ts";
import { say } from "./reply-words.ts";
import { toExchanges } from "./history.ts";
import type { ChatDeps } from "./chat-turn.ts";
import { type ChatTurn, groupPrefix } from "./turn.ts";

interface TurnOptions {
  readonly sessionKey: string;
  readonly signal: AbortSignal;
  readonly emit: (event: ChatEvent) => void;
}

/** Everything a message needs before it is answered: its session, what the chat remembers, its models. */
export async function openTurn(
  parts: ChatDeps,
  message: IncomingMessage,
  run: TurnOptions,
): Promise<ChatTurn> {
  const { sessions, meter, settings, clock, logger } = parts;
  const { sessionKey, signal, emit } = run;
  const { channel, chatId } = message;
  logger.info("chat", "chat.message_received", "chat.message_received", {
    session_key: sessionKey,
    characters: message.text.length,
  });
  const { session, cutOver } = await sessions.open({ channel, chatId }, signal);
  if (cutOver !== null) emit({ type: "cut-over", sessionId: session.id });
  const groupId =
    message.id === undefined ? newGroupId(parts, sessionKey) : `${groupPrefix(sessionKey)}${message.id}`;
  const [{ memory, turns }, { dry, memory: kept }, models] = await Promise.all([
    sessions.context(session),
    sessions.settings({ channel, chatId }),
    meter.open({ chatKey: sessionKey, sessionId: session.id, groupId }),
  ]);
  const jobs = createJobHistory(parts.workspace.archive, groupPrefix(sessionKey));
  return {
    message,
    sessionKey,
    session,
    memory: [memory, wordMemory(kept[session.id] ?? {})].filter((text) => text !== "").join("\n\n"),
    history: toExchanges(turns, jobs),
    jobs,
    dry,
    models,
    groupId,
    signal,
    deadline: clock() + settings.maxMillis,
    emit,
    dryRun: dry || settings.dryRun,
    preview: readSlashCommand(message.text)?.name === "preview",
    rounds: { count: 0 },
    notes: cutOver === null ? [] : [say("cutOver", session.id)],
  };
}

/** Sorts by time, and is found by its chat. */
function newGroupId({ now, random }: ChatDeps, sessionKey: string): string {
  const tail = [...random(4)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${groupPrefix(sessionKey)}${now().getTime().toString(36)}-${tail}`;
}
