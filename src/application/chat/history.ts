import type { JobHistory } from "../coder/job-history.ts";
import type { ModelMessage } from "../ports/models.ts";
import type { Turn } from "../ports/chat.ts";
import type { Exchange } from "./turn.ts";

const CODER_AGENTS = new Set(["Aka", "Ao", "Gin", "Worker"]);

/** Whose answers a cloud coder may be shown. */
export function isCoderAgent(agent: string): boolean {
  return CODER_AGENTS.has(agent);
}

/**
 * Earlier exchanges as a model may see them. What was said on local routes stays local: a cloud model
 * is shown only what coders answered before.
 */
export function historyFor(
  model: { readonly local: boolean },
  history: readonly Exchange[],
  limit: { readonly exchanges: number; readonly chars: number },
): ModelMessage[] {
  return visibleExchanges(model, history)
    .slice(-limit.exchanges)
    .flatMap((exchange): ModelMessage[] => [
      { role: "user", text: cutExchange(exchange.user, limit.chars) },
      { role: "assistant", text: cutExchange(exchangeOutcome(exchange), limit.chars) },
    ]);
}

/** The same for a coder, as a list: answers given as a model's own would be taken for the form to answer in. */
export function earlierExchangesFor(
  model: { readonly local: boolean },
  history: readonly Exchange[],
  limit: { readonly exchanges: number; readonly chars: number },
): string {
  const visible = visibleExchanges(model, history).slice(-limit.exchanges);
  if (visible.length === 0) return "";
  const lines = visible.map(
    (exchange) =>
      `- ${cutExchange(exchange.user, limit.chars)}\n  → ${cutExchange(exchangeOutcome(exchange), 2 * limit.chars).replaceAll("\n", "\n    ")}`,
  );
  return `# Earlier in this conversation, in this workspace\n${lines.join("\n")}`;
}

function visibleExchanges(
  model: { readonly local: boolean },
  history: readonly Exchange[],
): readonly Exchange[] {
  return model.local ? history : history.filter(({ agent }) => isCoderAgent(agent));
}

function cutExchange(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

/** What came of a message: the journals' facts, and the words of whoever answered. Our own wording is neither. */
function exchangeOutcome({ words, facts }: Exchange): string {
  return [words, facts()].filter((text) => text !== "").join("\n") || "(nothing came of it)";
}

/** Turns of the store as exchanges; one without an answer is left out. */
export function toExchanges(turns: readonly Turn[], jobs: Pick<JobHistory, "tell">): Exchange[] {
  const exchanges: Exchange[] = [];
  let user: string | null = null;
  for (const { role, text, agent, groupId } of turns) {
    if (role === "user") user = text;
    else if (user !== null) {
      exchanges.push({ user, words: text, facts: () => (groupId === null ? "" : jobs.tell(groupId)), agent });
      user = null;
    }
  }
  return exchanges;
}
