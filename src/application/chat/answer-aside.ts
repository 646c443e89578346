import { systemPrompt } from "../../domain/chat/agents.ts";
import { wordMemory } from "../../domain/chat/session.ts";
import type { ChatEvent, IncomingMessage, Reply } from "../ports/chat.ts";
import { askAgent, createProjectLooks, FROM_FILES, fitMessage, projectInShort } from "./ask-agent.ts";
import { type AgentDeps, groupPrefix, type StateDeps } from "./chat-turn.ts";
import { createHistoryReader, historyFor, recalledMemory, toExchanges } from "./exchanges.ts";
import { createJobHistory } from "./job-history.ts";
import { type ReplyPiece, say, wordPieces } from "./reply-words.ts";

export interface AsideQuestion {
  readonly question: string;
  /** The work in the chat; empty where there is none. */
  readonly work: string;
  readonly emit: (event: ChatEvent) => void;
  readonly signal: AbortSignal;
}

const DUTY = `You answer a short side question while other work continues in this conversation. ${FROM_FILES} Promise nothing about that work: you know only what is shown below.`;

/**
 * A side question: it takes no turn, joins no round and is not remembered, so the chat's running work is not affected.
 */
export async function answerAside(
  deps: AgentDeps & StateDeps,
  message: IncomingMessage,
  { question, work, emit, signal }: AsideQuestion,
): Promise<Reply> {
  const replyOf = (said: readonly ReplyPiece[], ok: boolean): Reply => ({
    text: wordPieces(deps.messages.locale, said),
    said,
    ok,
    sessionId: "",
    jobs: [],
    actions: [],
  });
  if (question.trim() === "") return replyOf([say("asideUsage")], false);
  const { channel, chatId } = message;
  const chatKey = `${channel}:${chatId}`;
  const session = await deps.sessions.current({ channel, chatId });
  const { memory: kept, models: chosen } = await deps.sessions.settings({ channel, chatId });
  const jobs = createJobHistory(deps.workspace.archive, groupPrefix(chatKey), session?.openedAt);
  const context =
    session === null ? { memory: "", turns: [], older: [] } : await deps.sessions.context(session);
  const models = await deps.meter.open(
    { chatKey, sessionId: session?.id ?? "", groupId: "" },
    chosen,
    "chat",
  );
  const named = session === null ? "" : wordMemory(kept[session.id] ?? {});
  const history = toExchanges(context.turns, jobs);
  const older = toExchanges(context.older, jobs);
  const deadline = deps.clock() + deps.settings.maxMillis;
  const answered = await askAgent(
    deps,
    { models, emit, signal, deadline },
    {
      role: "chat",
      streams: true,
      whenCut: "shown",
      looks: createProjectLooks(deps, models.models.forRole("chat"), question),
      request: (model, size, tools) => {
        const reader = createHistoryReader(model, models.models);
        const memory = [context.memory, named].filter((text) => text !== "").join("\n\n");
        return {
          system: [
            systemPrompt({
              agent: "Mio",
              duty: DUTY,
              tools,
              project: projectInShort(deps, model, size),
              memory: size === "full" ? recalledMemory(reader, { memory, older }, question) : "",
              today: deps.today(),
              workspace: deps.workspace.root,
            }),
            ...(work === "" ? [] : [`# The work in progress\n${deps.workspace.mask(work)}`]),
          ].join("\n\n"),
          messages: [
            ...historyFor(
              reader,
              history,
              size === "full" ? { exchanges: 8, chars: 2_000 } : { exchanges: 1, chars: 500 },
            ),
            { role: "user", text: fitMessage(question, size) },
          ],
        };
      },
    },
  );
  const goesOn = work === "" ? [] : [say("workGoesOn")];
  if (!answered.ok) return replyOf([{ kind: "worded", texts: answered.trouble }, ...goesOn], false);
  const { provider, model, local } = answered.model;
  const { isUnpriced, costUsd, ...tokens } = models.used();
  return {
    ...replyOf(
      [
        { kind: "text", text: deps.workspace.mask(answered.answer.text.trim()) },
        ...(local ? [] : [say("cloudAnswered", `${provider}/${model}`)]),
        ...goesOn,
      ],
      true,
    ),
    model: { provider, model, local },
    usage: { ...tokens, costUsd: isUnpriced && costUsd === 0 ? null : costUsd },
  };
}
