import type { ModelAnswer, ModelMessage, ModelTool } from "../ports/model.ts";
import { type SolveParts, SolveStop } from "./solve-parts.ts";

export interface CoderQuestion {
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools?: readonly ModelTool[];
  readonly json?: boolean;
  readonly signal: AbortSignal;
}

/** Asks the coder; a conversation that grew too long is asked once more without the old tool results. */
export async function askCoder(
  { model: chooseModel, mask }: Pick<SolveParts, "model" | "mask">,
  question: CoderQuestion,
): Promise<ModelAnswer> {
  const model = chooseModel();
  if (!("generate" in model)) throw new SolveStop("model", mask(model.message));
  const { signal, ...request } = question;
  for (const messages of [question.messages, shortened(question.messages)]) {
    for await (const event of model.generate({ ...request, messages, signal })) {
      if (event.type === "finished") return event.answer;
      if (event.type !== "failed") continue;
      if (event.failure.code === "aborted") throw new SolveStop("stopped");
      if (event.failure.code === "context-too-long" && messages === question.messages) break;
      throw new SolveStop("model", mask(event.failure.message));
    }
  }
  throw new SolveStop("model", "the stream ended without an answer");
}

const KEPT_WHOLE = 12;
const OLD_RESULT_CHARS = 300;

/** Old tool results shrink to their beginning; the task itself and the latest exchanges stay. */
export function shortened(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message, i) =>
    message.role === "tool" && i < messages.length - KEPT_WHOLE && message.text.length > OLD_RESULT_CHARS
      ? { ...message, text: `${message.text.slice(0, OLD_RESULT_CHARS)}…` }
      : message,
  );
}
