import { wordMemory } from "../../domain/chat/session.ts";
import type { ChatEvent, IncomingMessage, Reply } from "../ports/chat.ts";
import { askMio } from "./answer-by-talking.ts";
import { FROM_FILES } from "./ask-agent.ts";
import {
  type AgentDeps,
  type Answer,
  cloudNote,
  createAnswer,
  groupPrefix,
  type StateDeps,
  toReplyModel,
  toReplyUsage,
} from "./chat-turn.ts";
import { toExchanges } from "./exchanges.ts";
import { createJobHistory } from "./job-history.ts";
import { say } from "./reply-words.ts";

export interface AsideQuestion {
  readonly question: string;
  /** The work in the chat; empty where there is none. */
  readonly work: string;
  readonly emit: (event: ChatEvent) => void;
  readonly signal: AbortSignal;
}

const DUTY = `You answer a short side question while other work continues in this conversation. ${FROM_FILES} Promise nothing about that work: you know only what is shown below.`;

const LIMITS = { full: { exchanges: 8, chars: 2_000 }, small: { exchanges: 1, chars: 500 } } as const;

/** A side question takes no turn, joins no round and is not remembered, so the chat's running work is not affected. */
export async function answerAside(
  deps: AgentDeps & StateDeps,
  message: IncomingMessage,
  { question, work, emit, signal }: AsideQuestion,
): Promise<Answer & Pick<Reply, "usage">> {
  if (question.trim() === "") return createAnswer([say("asideUsage")], false);
  const { channel, chatId } = message;
  const chatKey = `${channel}:${chatId}`;
  const session = await deps.sessions.current({ channel, chatId });
  const { memory: kept, models: chosen } = await deps.sessions.settings({ channel, chatId });
  const jobs = createJobHistory(deps.workspace.archive, groupPrefix(chatKey), session?.openedAt);
  const context =
    session === null ? { memory: "", turns: [], older: [] } : await deps.sessions.context(session);
  const sessionId = session?.id ?? "";
  const models = await deps.meter.open({ chatKey, sessionId, groupId: "" }, chosen, "chat");
  const deadline = deps.clock() + deps.settings.maxMillis;
  const named = wordMemory(kept[sessionId] ?? {});
  const { answered } = await askMio(
    deps,
    { models, emit, signal, deadline },
    {
      text: question,
      duty: DUTY,
      history: toExchanges(context.turns, jobs),
      older: toExchanges(context.older, jobs),
      memory: [context.memory, named].filter((text) => text !== "").join("\n\n"),
      limits: LIMITS,
      work,
    },
  );
  const notice = work === "" ? [] : [say("workGoesOn")];
  if (!answered.ok) return createAnswer([{ kind: "worded", texts: answered.trouble }, ...notice], false);
  const words = { kind: "text", text: deps.workspace.mask(answered.answer.text.trim()) } as const;
  return {
    ...createAnswer([words, ...cloudNote(answered.model), ...notice], true),
    model: toReplyModel(answered.model),
    usage: toReplyUsage(models.used()),
  };
}
