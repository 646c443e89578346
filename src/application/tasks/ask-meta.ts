import type { TaskUsage } from "../../domain/tasks/events.ts";
import { repeatPrompt } from "../../domain/tasks/meta-prompts.ts";
import { MAX_REPEATS, type MetaAnswer } from "../../domain/tasks/meta-protocol.ts";
import type { Model, ModelFailure, ModelMessage } from "../ports/model.ts";

export type Asked<T> =
  | { readonly ok: true; readonly value: T; readonly usage: TaskUsage }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly failure?: ModelFailure;
      readonly usage: TaskUsage;
    };

export interface Question<T> {
  readonly system: string;
  readonly prompt: string;
  readonly read: (text: string) => MetaAnswer<T>;
  readonly signal: AbortSignal;
}

/** Asks the planning model; an answer that breaks the form is asked for again, with what is wrong, three times at most. */
export async function askMeta<T>(
  model: Model,
  { system, prompt, read, signal }: Question<T>,
): Promise<Asked<T>> {
  const messages: ModelMessage[] = [{ role: "user", text: prompt }];
  let usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  let problem = "";
  for (let repeat = 0; repeat <= MAX_REPEATS; repeat++) {
    const answered = await generate(model, { system, messages, json: true, signal });
    if ("code" in answered) return { ok: false, reason: answered.message, failure: answered, usage };
    usage = {
      ...usage,
      inputTokens: usage.inputTokens + answered.usage.inputTokens,
      outputTokens: usage.outputTokens + answered.usage.outputTokens,
    };
    const answer = read(answered.text);
    if (answer.ok) return { ok: true, value: answer.value, usage };
    problem = answer.problem;
    messages.push({ role: "assistant", text: answered.text }, { role: "user", text: repeatPrompt(problem) });
  }
  return { ok: false, reason: problem, usage };
}

async function generate(model: Model, request: Parameters<Model["generate"]>[0]) {
  for await (const event of model.generate(request)) {
    if (event.type === "finished") return event.answer;
    if (event.type === "failed") return event.failure;
  }
  throw new Error("a model's stream ended without a last event");
}
