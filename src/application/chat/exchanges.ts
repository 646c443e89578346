import { agentOf } from "../../domain/chat/agents.ts";
import { requestTerms, termsIn } from "../../domain/platform/request-terms.ts";
import { oneLine } from "../../domain/texts/format-text.ts";
import { paragraphs } from "../../domain/texts/jobs-report.ts";
import type { Turn } from "../ports/chat.ts";
import type { ModelImage, ModelMessage, Models } from "../ports/models.ts";
import type { JobHistory } from "./job-history.ts";

/** Images of earlier messages, by the group of their message. */
export type RecalledImages = ReadonlyMap<string, readonly ModelImage[]>;

export const NOTHING_RECALLED: RecalledImages = new Map();

export interface Exchange {
  readonly user: string;
  /** An agent's own text: its answer, or the plan of its work. */
  readonly words: string;
  readonly facts: () => string;
  /** The group of the message's jobs; null if it had none. */
  readonly groupId: string | null;
  /** The agent that answered: `Mio`, `Gin`; `Worker` for the executor's work on a command. */
  readonly agent: string;
}

/** Turns of the store as exchanges; one without an answer is left out. */
export function toExchanges(turns: readonly Turn[], jobs: Pick<JobHistory, "tell">): Exchange[] {
  const exchanges: Exchange[] = [];
  let user: string | null = null;
  for (const { role, text, agent, groupId } of turns) {
    if (role === "user") user = text;
    else if (user !== null) {
      const facts = () => (groupId === null ? "" : jobs.tell(groupId));
      exchanges.push({ user, words: text, facts, groupId, agent });
      user = null;
    }
  }
  return exchanges;
}

const CODER_AGENTS = new Set(["Aka", "Ao", "Gin", "Worker"]);

/** Whether a cloud coder may be shown the answers of an agent. */
export function isCoderAgent(agent: string): boolean {
  return CODER_AGENTS.has(agent);
}

export interface HistoryReader {
  readonly local: boolean;
  /** Agents that are themselves in the cloud: a cloud model may read their exchanges. */
  readonly cloudAgents: ReadonlySet<string>;
}

/** Mio and Shiro are in the cloud only where the user's own file allows it (`security.local_only: false`). */
export function createHistoryReader(
  { local }: { readonly local: boolean },
  models: Pick<Models, "forRole">,
): HistoryReader {
  const talks = (["chat", "worker"] as const).filter((role) => {
    const model = models.forRole(role);
    return "generate" in model && !model.local;
  });
  return { local, cloudAgents: new Set(talks.map(agentOf)) };
}

interface ExchangeLimit {
  readonly exchanges: number;
  readonly chars: number;
}

/** Earlier exchanges as a model may see them: a cloud model gets only those of coders and of agents in the cloud. */
export function historyFor(
  model: HistoryReader,
  history: readonly Exchange[],
  limit: ExchangeLimit,
  recalled: RecalledImages = NOTHING_RECALLED,
): ModelMessage[] {
  return visibleExchanges(model, history)
    .slice(-limit.exchanges)
    .flatMap((exchange): ModelMessage[] => {
      const images = recalled.get(exchange.groupId ?? "");
      return [
        { role: "user", text: cutExchange(exchange.user, limit.chars), ...(images && { images }) },
        { role: "assistant", text: cutExchange(exchangeOutcome(exchange) || UNANSWERED, limit.chars) },
      ];
    });
}

/** A part of the conversation as given to a coder. */
export interface EarlierRequest {
  readonly request: string;
  /** The newest, oldest first. */
  readonly history: readonly Exchange[];
  /** Those before them. */
  readonly older: readonly Exchange[];
  readonly limit: ExchangeLimit & {
    /** Characters of everything that was said before those. */
    readonly folded: number;
    /** Characters of the differences that jobs made. */
    readonly difference: number;
  };
  readonly differenceOf: (groupId: string) => string;
}

/** The conversation as a list, since a model copies the form of messages given as its own; only the newest exchanges are in full. */
export function earlierExchangesFor(
  model: HistoryReader,
  { request, history, older, limit, differenceOf }: EarlierRequest,
): string {
  const visible = visibleExchanges(model, history);
  const newest = visible.slice(-limit.exchanges);
  const before = [
    ...visibleExchanges(model, older),
    ...visible.slice(0, Math.max(0, visible.length - limit.exchanges)),
  ];
  if (newest.length === 0 && before.length === 0) return "";
  const folded = foldExchanges(before, request, { chars: limit.folded, onlyAbout: false });
  let left = limit.difference;
  const lines = newest.toReversed().map((exchange, at) => {
    const outcome = cutExchange(exchangeOutcome(exchange) || NO_OUTCOME, (at === 0 ? 4 : 2) * limit.chars);
    const changed = exchange.groupId === null || left <= 0 ? "" : differenceOf(exchange.groupId);
    const shown = cutDifference(changed, at === 0 ? left : Math.min(left, limit.difference / 3));
    left -= shown.length;
    return [
      `- ${cutExchange(exchange.user, limit.chars)}`,
      `  → ${outcome.replaceAll("\n", "\n    ")}`,
      ...(shown === "" ? [] : [`  What it changed:\n${shown}`]),
    ].join("\n");
  });
  return [
    "# Earlier in this conversation, in this workspace",
    ...(folded === "" ? [] : [`Before, in short:\n${folded}`]),
    ...lines.reverse(),
  ].join("\n");
}

const MOST_HANDED = 3;

/** The latest changes of other routes, by job, for a coder that does not see that conversation; this message's (`groupId`) too. */
export function handedOverFor(
  model: HistoryReader,
  { history, groupId }: { readonly history: readonly Exchange[]; readonly groupId: string },
  changes: ReadonlyMap<string, readonly string[]>,
  chars: number,
): string {
  const visible = new Set(visibleExchanges(model, history));
  const hidden = history
    .filter((exchange) => !visible.has(exchange))
    .flatMap((exchange) => (exchange.groupId === null ? [] : [exchange.groupId]));
  const lines = [...hidden, groupId].slice(-MOST_HANDED - 1).flatMap((group) => changes.get(group) ?? []);
  const list = lines.map((line) => `- ${line}`).join("\n");
  return list && cutExchange(`# Just changed in this conversation, by another route\n${list}`, chars);
}

/** Characters of an exchange that is about the request, and of any other. */
const FOLDED = { about: 900, other: 260 };
const SHORT_USER = 160;

/** Exchanges in short, oldest first. Where not all fit, those with telling words of the request are kept, then the newest. */
export function foldExchanges(
  exchanges: readonly Exchange[],
  request: string,
  { chars, onlyAbout }: { readonly chars: number; readonly onlyAbout: boolean },
): string {
  const terms = requestTerms(request);
  const rated = exchanges.map((exchange, at) => {
    const held = terms.length === 0 ? [] : termsIn(`${exchange.user}\n${exchange.words}`, terms);
    return { exchange, at, shared: held.reduce((sum, term) => sum + (terms[term]?.weight ?? 0), 0) };
  });
  const taken: { readonly at: number; readonly line: string }[] = [];
  let left = chars;
  for (const { exchange, at, shared } of rated.sort((a, b) => b.shared - a.shared || b.at - a.at)) {
    if (shared === 0 && onlyAbout) continue;
    const line = foldExchange(exchange, shared > 0 ? FOLDED.about : FOLDED.other);
    if (line.length + 1 > left) continue;
    left -= line.length + 1;
    taken.push({ at, line });
  }
  const lines = taken.sort((a, b) => a.at - b.at).map(({ line }) => line);
  const missing = exchanges.length - lines.length;
  if (missing > 0 && !onlyAbout) lines.unshift(`(${missing} more left out)`);
  return lines.join("\n");
}

const RECALLED = 2_400;

/** A talk's memory from before its history: the summary, and the older exchanges that the message is about. */
export function recalledMemory(
  model: HistoryReader,
  { memory, older }: { readonly memory: string; readonly older: readonly Exchange[] },
  request: string,
): string {
  const about = foldExchanges(visibleExchanges(model, older), request, { chars: RECALLED, onlyAbout: true });
  return paragraphs([memory, about === "" ? "" : `Said then, word for word:\n${about}`]);
}

/** A day's note sums up local routes too, so a cloud coder gets it only if those were in the cloud; every coder gets the user's memos. */
export function coderMemory(
  model: { readonly local: boolean },
  { memory, memos }: { readonly memory: string; readonly memos: string },
  talks: { readonly local: boolean } | null,
): string {
  return model.local || talks?.local === false ? memory : memos;
}

function foldExchange(exchange: Exchange, chars: number): string {
  const [state = ""] = exchange.facts().split("\n");
  const words = cutExchange(oneLine(exchange.words), chars);
  const outcome = [words, cutExchange(state, SHORT_USER)].filter((text) => text !== "").join(" · ");
  return `- ${cutExchange(oneLine(exchange.user), SHORT_USER)} → ${outcome || NO_OUTCOME}`;
}

/** Those that a model may see and that were answered. The newest is kept in any case: "try again" refers to it. */
function visibleExchanges(
  { local, cloudAgents }: HistoryReader,
  history: readonly Exchange[],
): readonly Exchange[] {
  const visible = history.filter(({ agent }) => local || isCoderAgent(agent) || cloudAgents.has(agent));
  return visible.filter((one, at) => at === visible.length - 1 || exchangeOutcome(one) !== "");
}

function cutExchange(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

function cutDifference(text: string, limit: number): string {
  const plain = text.trimEnd();
  if (plain.length <= limit) return plain;
  const end = plain.lastIndexOf("\n", Math.max(0, Math.floor(limit)));
  if (end <= 0) return "";
  const rest = plain.slice(end + 1).split("\n").length;
  return `${plain.slice(0, end)}\n… ${rest} more lines of the difference`;
}

const NO_OUTCOME = "(nothing came of it)";
/** Given as the model's own message. A small model may repeat it to the user, so it must make sense there. */
const UNANSWERED = "I could not answer that message.";

/** The outcome of a message: the agent's text and the journals' facts, without PicoClaw's own wording. */
function exchangeOutcome({ words, facts }: Exchange): string {
  return [words, facts()].filter((text) => text !== "").join("\n");
}
