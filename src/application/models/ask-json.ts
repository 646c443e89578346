import type { Model, ModelMessage, ModelRequest, ModelUsage } from "../ports/models.ts";
import { type CompleteOptions, complete, type UnfinishedCompletion } from "./complete.ts";

/** What a reader makes of an answer; `problem` is said to the model. */
export type JsonReading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

export type JsonAnswer<T> = (
  | { readonly kind: "read"; readonly value: T }
  /** Twice not what was asked for. */
  | { readonly kind: "malformed"; readonly problem: string }
  | Exclude<UnfinishedCompletion, { readonly kind: "cut" }>
) & { readonly usage: ModelUsage };

export interface JsonQuestion<T> extends CompleteOptions {
  readonly request: Omit<ModelRequest, "json" | "tools">;
  readonly read: (text: string) => JsonReading<T>;
  /** Words the complaint to the model; default: in English, without the form. */
  readonly again?: (problem: string) => string;
}

/** Characters of a wrong answer that go back with what is wrong. */
const WRONG_CHARS = 4_000;

/**
 * Asks for one JSON document. An answer that is not what was asked for goes back once, with what was wrong. The usage is
 * that of all answers.
 */
export async function askJson<T>(model: Model, question: JsonQuestion<T>): Promise<JsonAnswer<T>> {
  const { request, read, again = wrongAnswerText } = question;
  const messages: ModelMessage[] = [...request.messages];
  const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0 };
  let problem = "";
  for (const _ of ["asked", "asked again"]) {
    const completion = await complete(model, { ...request, messages, json: true }, question);
    if (completion.kind !== "finished" && completion.kind !== "cut") return { ...completion, usage };
    const { text, usage: used } = completion.answer;
    usage.inputTokens += used.inputTokens;
    usage.outputTokens += used.outputTokens;
    usage.cachedTokens += used.cachedTokens;
    const reading = read(text);
    if (reading.ok) return { kind: "read", value: reading.value, usage };
    problem = completion.kind === "cut" ? `${ANSWER_WAS_CUT}; ${reading.problem}` : reading.problem;
    messages.push(
      { role: "assistant", text: shortenWrongAnswer(text) },
      { role: "user", text: again(problem) },
    );
  }
  return { kind: "malformed", problem, usage };
}

const ANSWER_WAS_CUT = "the answer was cut because it was too long, so write less";

function wrongAnswerText(problem: string): string {
  return `That answer cannot be used: ${problem}. Answer again with one JSON object of the form asked for.`;
}

/** A provider refuses a message without words. */
function shortenWrongAnswer(text: string): string {
  if (text.trim() === "") return "(nothing)";
  return text.length > WRONG_CHARS ? `${text.slice(0, WRONG_CHARS)}…` : text;
}
