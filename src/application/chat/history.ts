import type { ModelMessage } from "../ports/model.ts";
import type { Turn } from "../ports/sessions.ts";
import type { Exchange } from "./turn.ts";

const CODERS = new Set(["Aka", "Ao", "Gin", "Worker"]);

/** Whose answers a cloud coder may be shown. */
export function isCoderAgent(agent: string): boolean {
  return CODERS.has(agent);
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
  return visibleTo(model, history)
    .slice(-limit.exchanges)
    .flatMap(({ user, assistant }): ModelMessage[] => [
      { role: "user", text: cut(user, limit.chars) },
      { role: "assistant", text: cut(assistant, limit.chars) },
    ]);
}

/**
 * The same for a coder, told as facts: replies worded by template, given as a model's own, would be taken for the form
 * to answer in.
 */
export function earlierFor(
  model: { readonly local: boolean },
  history: readonly Exchange[],
  limit: { readonly exchanges: number; readonly chars: number },
): string {
  const visible = visibleTo(model, history).slice(-limit.exchanges);
  if (visible.length === 0) return "";
  const lines = visible.map(
    ({ user, assistant }) =>
      `- ${cut(user, limit.chars)}\n  → ${cut(assistant, limit.chars).replaceAll("\n", "\n    ")}`,
  );
  return `# Earlier in this conversation (done already)\n${lines.join("\n")}`;
}

function visibleTo(model: { readonly local: boolean }, history: readonly Exchange[]): readonly Exchange[] {
  return model.local ? history : history.filter(({ agent }) => isCoderAgent(agent));
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

/** Turns of the store as exchanges; one without an answer is left out. */
export function exchangesOf(turns: readonly Turn[]): Exchange[] {
  const exchanges: Exchange[] = [];
  let user: string | null = null;
  for (const { role, text, agent } of turns) {
    if (role === "user") user = text;
    else if (user !== null) {
      exchanges.push({ user, assistant: text, agent });
      user = null;
    }
  }
  return exchanges;
}
