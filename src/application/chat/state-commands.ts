import { agentOf } from "../../domain/chat/agents.ts";
import { nameJob } from "../../domain/jobs/result.ts";
import { findInCatalogue } from "../../domain/models/catalogue.ts";
import { estimateTokens } from "../../domain/models/model-facts.ts";
import { type ContextLine, type MemoryMessages, memoryMessagesFor } from "../../domain/texts/chat.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { jobsVisibleTo } from "./chat-commands.ts";
import {
  type AgentDeps,
  type Answer,
  answerInEveryLanguage,
  type ChatBase,
  type ChatTurn,
  type LookRequest,
  type StateDeps,
} from "./chat-turn.ts";
import { wordJobStatus } from "./look-commands.ts";
import type { UsageDeps } from "./memory-commands.ts";
import { findModel, type ModelCommandDeps } from "./model-commands.ts";

interface StateCommandDeps extends UsageDeps {
  readonly models: ModelCommandDeps;
  /** `session.history_tokens`, or what the models in use take. */
  readonly historyTokens: () => number;
}

/** Lines that are a list to choose from as well: each names the command that is about it. */
function answerLines(
  chat: ChatBase,
  word: (words: MemoryMessages, locale: Locale) => readonly ContextLine[],
): Answer {
  const { locale: ownLocale } = chat.messages;
  const own = word(memoryMessagesFor(ownLocale), ownLocale);
  return {
    ...answerInEveryLanguage((locale) =>
      word(memoryMessagesFor(locale), locale)
        .map(([about, words, message]) => `${about}: ${words} (${message})`)
        .join("\n"),
    ),
    choices: own.map(([label, description, message]) => ({ label, description, message })),
  };
}

const MOST_PREVIEWS = 5;

/** `/status`: where it works, who answers, what waits. It only looks. */
export async function tellStatus(
  deps: StateCommandDeps,
  chat: AgentDeps & StateDeps,
  look: LookRequest,
): Promise<Answer> {
  const { models: chosen, dry } = await chat.sessions.settings(look.message);
  const { models, defaultCoder } = deps.models;
  const [talks = null, codes = null] = await Promise.all(
    (["chat", defaultCoder] as const).map(async (role) => {
      const found = await findModel(models, role, chosen[role]);
      return found && { ...found, name: `${agentOf(role)} ${found.name}` };
    }),
  );
  const jobs = jobsVisibleTo(chat, look);
  const waiting = jobs.filter(({ state, unsettled }) => state === "staged" && unsettled === undefined);
  const last = jobs.filter(({ changes }) => changes.length > 0).slice(-1);
  const facts = {
    folder: chat.workspace.root,
    talks,
    codes,
    dry: dry || chat.settings.dryRun,
    isAtWork: chat.steering.isOpen(look.sessionKey),
    previews: waiting.slice(-MOST_PREVIEWS).map((job) => ({ name: nameJob(job), title: job.title })),
    spentUsd: await deps.usage.spent(deps.clock.startOfDay(chat.now())),
    dailyUsd: deps.daily,
  };
  return answerLines(chat, (words, locale) =>
    words.status({
      ...facts,
      lastJobs: last.map((job) => ({
        name: nameJob(job),
        words: `${wordJobStatus(chat, messagesFor(locale), job)}: ${job.title}`,
      })),
    }),
  );
}

/** `/context`: what the models are given of this conversation. */
export async function tellContext(
  deps: StateCommandDeps,
  chat: StateDeps,
  { session, history, memory }: ChatTurn,
): Promise<Answer> {
  const { models, defaultCoder, catalogue } = deps.models;
  const { models: chosen } = await chat.sessions.settings(session);
  await models.look?.(AbortSignal.timeout(1_000), "chat");
  const model = models.forRole(defaultCoder, chosen[defaultCoder]);
  const isThere = "generate" in model;
  const spoken = history.map(({ user, words }) => `${user}\n${words}`).join("\n");
  const memos = Object.keys(await chat.sessions.memory(session)).length;
  const turns = await chat.sessions.turns(session);
  return answerLines(chat, (words) =>
    words.context({
      sessionId: session.id,
      begunAt: localTime(session.openedAt).slice(5, 16),
      messages: turns.filter(({ role }) => role === "user").length,
      exchanges: history.length,
      exchangeTokens: estimateTokens(spoken),
      limitTokens: deps.historyTokens(),
      memoryTokens: estimateTokens(memory),
      memos,
      agent: agentOf(defaultCoder),
      model: isThere ? `${model.provider}/${model.model}` : null,
      window: isThere ? (model.window ?? findInCatalogue(catalogue, model.model)?.context ?? null) : null,
    }),
  );
}
