import type {
  Model,
  ModelAnswer,
  ModelFailure,
  ModelRequest,
  ToolCall,
} from "../../src/application/ports/models.ts";

export type Said =
  | string
  | { readonly text?: string; readonly calls?: readonly Omit<ToolCall, "id">[] }
  | ModelFailure;

/** A model whose answers a function gives, turn by turn. Keeps what it was asked. */
export function createCoderModel(
  answer: (request: ModelRequest, turn: number) => Said | Promise<Said>,
): Model & {
  readonly asked: ModelRequest[];
} {
  const asked: ModelRequest[] = [];
  return {
    asked,
    provider: "fake",
    model: "coder",
    local: true,
    family: "other",
    check: async () => ({ ok: true, detail: "" }),
    async *generate(request) {
      asked.push(request);
      const said = await answer(request, asked.length - 1);
      if (request.signal.aborted)
        yield { type: "failed", failure: { code: "aborted", message: "aborted", retryable: false } };
      else if (typeof said === "object" && "code" in said) yield { type: "failed", failure: said };
      else yield { type: "finished", answer: answerOf(said, asked.length) };
    },
  };
}

function answerOf(said: Exclude<Said, ModelFailure>, turn: number): ModelAnswer {
  const { text = "", calls = [] } = typeof said === "string" ? { text: said } : said;
  return {
    text,
    toolCalls: calls.map((call, i) => ({ ...call, id: `call_${turn}_${i}` })),
    finish: calls.length > 0 ? "tool-calls" : "stop",
    usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0 },
  };
}
