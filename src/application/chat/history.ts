import type { ModelMessage } from "../ports/model.ts";
import type { Turn } from "../ports/sessions.ts";
import type { Exchange } from "./turn.ts";

const CODERS = new Set(["Aka", "Ao", "Gin", "Worker"]);

/**
 * Earlier exchanges as a model may see them. What was said on local routes stays local (DESIGN §5.10): a cloud model
 * is shown only what coders answered before.
 */
export function historyFor(
  model: { readonly local: boolean },
  history: readonly Exchange[],
  limit: { readonly exchanges: number; readonly chars: number },
): ModelMessage[] {
  const visible = model.local ? history : history.filter(({ agent }) => CODERS.has(agent));
  return visible.slice(-limit.exchanges).flatMap(({ user, assistant }): ModelMessage[] => [
    { role: "user", text: cut(user, limit.chars) },
    { role: "assistant", text: cut(assistant, limit.chars) },
  ]);
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
