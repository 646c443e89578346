import type { Model, ModelEvent, ModelFailure, ModelRequest } from "../../src/application/ports/models.ts";

/** Answers in order; a failure replaces an answer. The requests are kept. */
export function fakeModel(
  answers: readonly (string | ModelFailure)[],
): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const left = [...answers];
  return {
    provider: "fake",
    model: "fake-1",
    local: true,
    family: "other",
    requests,
    async *generate(request): AsyncGenerator<ModelEvent> {
      requests.push({ ...request, messages: [...request.messages] });
      const answer = left.shift() ?? { code: "empty", message: "no answer is left", retryable: false };
      if (typeof answer !== "string") {
        yield { type: "failed", failure: answer };
        return;
      }
      yield { type: "text", text: answer };
      const usage = { inputTokens: 10, outputTokens: 2, cachedTokens: 0 };
      yield { type: "finished", answer: { text: answer, toolCalls: [], finish: "stop", usage } };
    },
    check: async () => ({ ok: true, detail: "fake" }),
  };
}
