import type { Explorer } from "../coder/explorer.ts";
import type { ModelAnswer, ModelMessage, ModelTool, ToolCall } from "../ports/models.ts";

/** What a coder looked up by tools in one message, kept where it was said: what was sent once is only added to. */
export interface CoderLooks {
  /** None once a server refused a request with tools. */
  tools(): readonly ModelTool[];
  /** The exchange with every look at its place. */
  woven(exchange: readonly ModelMessage[]): readonly ModelMessage[];
  /** Carries out the calls of an answer, side by side; false when it has none, or will not stop. */
  take(exchange: readonly ModelMessage[], answer: ModelAnswer): Promise<boolean>;
  withoutTools(): void;
}

export interface CoderLooksDeps {
  readonly explorer: Explorer;
  /** Rounds of calls (`coder.explore`). */
  readonly rounds: number;
  readonly tell: (calls: readonly ToolCall[]) => void;
}

const NO_ROUND = "refused: no round is left for looking. Write the proposal now, with what you have seen.";
/** Rounds that are refused before it is given up. */
const PATIENCE = 2;

export function createCoderLooks({ explorer, rounds, tell }: CoderLooksDeps): CoderLooks {
  const looks: { readonly after: number; readonly messages: readonly ModelMessage[] }[] = [];
  let used = 0;
  let offered = rounds > 0;
  return {
    tools: () => (offered ? explorer.tools : []),
    withoutTools() {
      offered = false;
    },
    woven(exchange) {
      const all: ModelMessage[] = [];
      for (let at = 0; at <= exchange.length; at++) {
        for (const { after, messages } of looks) if (after === at) all.push(...messages);
        const next = exchange[at];
        if (next !== undefined) all.push(next);
      }
      return all;
    },
    async take(exchange, { text, toolCalls, thoughts }) {
      if (toolCalls.length === 0 || used >= rounds + PATIENCE) return false;
      used++;
      const left = rounds - used;
      if (left >= 0) tell(toolCalls);
      const results = await Promise.all(
        toolCalls.map((call) => (left < 0 ? { text: NO_ROUND } : explorer.call(call))),
      );
      const count = left === 1 ? "1 round of calls is left" : `${Math.max(0, left)} rounds of calls are left`;
      const told = results.map((result, at): ModelMessage => {
        const { id: callId, name } = toolCalls[at] as ToolCall;
        const isLast = at === results.length - 1 && left >= 0;
        return { role: "tool", callId, name, text: isLast ? `${result.text}\n(${count})` : result.text };
      });
      const said: ModelMessage = {
        role: "assistant",
        text,
        toolCalls,
        ...(thoughts !== undefined && { thoughts }),
      };
      looks.push({ after: exchange.length, messages: [said, ...told] });
      return true;
    },
  };
}
