import { stitchAnswers } from "./stitch.ts";
import type { Model, ModelAnswer, ModelMessage, ModelRequest } from "../ports/models.ts";
import {
  type CompleteFittingOptions,
  type Completion,
  complete,
  completeFitting,
  type RequestSize,
} from "./complete.ts";

/** Pieces that one answer may come in. */
const MOST_PIECES = 6;

const GO_ON =
  "Your answer was cut because it reached its longest. Go on exactly where it stopped, in the middle of the line if need be. Repeat nothing and explain nothing.";

/**
 * Asks, and lets the model go on where its answer was cut by its length, until it is whole. `cut` means that it never
 * became so.
 */
export async function completeWhole(
  model: Model,
  request: (size: RequestSize) => ModelRequest,
  fitting: CompleteFittingOptions & { readonly onCut?: () => void } = {},
): Promise<{ readonly completion: Completion; readonly size: RequestSize }> {
  const first = await completeFitting(model, request, fitting);
  const { size } = first;
  let { completion } = first;
  for (let piece = 2; completion.kind === "cut" && piece <= MOST_PIECES; piece++) {
    const before = completion.answer;
    if (before.text.trim() === "" || before.toolCalls.length > 0) break;
    fitting.onCut?.();
    const asked = request(size);
    const messages: readonly ModelMessage[] = [
      ...asked.messages,
      { role: "assistant", text: before.text.trimEnd() },
      { role: "user", text: GO_ON },
    ];
    const next = await complete(model, { ...asked, messages }, fitting);
    if (next.kind === "empty") break;
    if (next.kind !== "finished" && next.kind !== "cut") return { completion: next, size };
    const answer = joinAnswers(before, next.answer);
    // It says the same again: it will not get further.
    if (next.kind === "cut" && answer.text.length <= before.text.length) break;
    completion = { kind: next.kind, answer };
  }
  return { completion, size };
}

function joinAnswers(before: ModelAnswer, after: ModelAnswer): ModelAnswer {
  return { ...after, text: stitchAnswers(before.text, after.text) };
}
