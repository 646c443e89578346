/** Models that answer what a test tells them and keep what they were asked. */
import type {
  Model,
  ModelAnswer,
  ModelEvent,
  ModelFailure,
  ModelFamily,
  ModelRequest,
  ModelRole,
  Models,
} from "../../src/application/ports/models.ts";

export interface AskedRequest extends ModelRequest {
  readonly role: ModelRole;
}

export type FakeAnswer =
  | string
  | {
      readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
      readonly text?: string;
      readonly finish?: ModelAnswer["finish"];
    }
  | { readonly fails: ModelFailure["code"]; readonly message?: string }
  | { readonly text: string; readonly finish: ModelAnswer["finish"] }
  /** Answers nothing until it is aborted. */
  | "hangs-until-aborted";

export interface FakeOptions {
  readonly local?: boolean | ((role: ModelRole) => boolean);
  readonly family?: ModelFamily;
  readonly seesImages?: boolean;
  readonly window?: number;
  /** Whether it is tried again as a small model is. Default: as a script, in one conversation. */
  readonly small?: boolean;
  /** What a look at the model finds instead of it. */
  readonly trouble?: ModelFailure["code"];
}

/** `answer` is asked in order; `at` counts the calls of that role from 0. */
export function createFakeModels(
  answer: (asked: AskedRequest, at: number) => FakeAnswer | Promise<FakeAnswer>,
  options: FakeOptions = {},
) {
  const asked: AskedRequest[] = [];
  const counts = new Map<ModelRole, number>();
  const models: Models = {
    forRole(role): Model {
      const local = typeof options.local === "function" ? options.local(role) : (options.local ?? true);
      return {
        provider: "fake",
        model: role,
        local,
        isScripted: options.small !== true,
        family: options.family ?? "claude",
        seesImages: options.seesImages,
        window: options.window,
        check: async () =>
          options.trouble === undefined
            ? { ok: true, detail: "" }
            : { ok: false, failure: { code: options.trouble, message: "", retryable: false } },
        async *generate(request): AsyncGenerator<ModelEvent> {
          const at = counts.get(role) ?? 0;
          counts.set(role, at + 1);
          const entry = { ...request, role };
          asked.push(entry);
          yield* play(await answer(entry, at), request.signal);
        },
      };
    },
  };
  return { models, asked, of: (role: ModelRole) => asked.filter((one) => one.role === role) };
}

async function* play(answer: FakeAnswer, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  if (answer === "hangs-until-aborted") {
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    yield { type: "failed", failure: { code: "aborted", message: "aborted", retryable: false } };
    return;
  }
  if (typeof answer === "object" && "fails" in answer) {
    const { fails: code, message = code } = answer;
    yield { type: "failed", failure: { code, message, retryable: false } };
    return;
  }
  const text = typeof answer === "string" ? answer : (answer.text ?? "");
  for (const piece of text.match(/\S*\s*/g) ?? []) if (piece !== "") yield { type: "text", text: piece };
  const toolCalls =
    typeof answer === "object" && "calls" in answer
      ? answer.calls.map((call, index) => ({ id: `call_${index}`, ...call }))
      : [];
  for (const call of toolCalls) yield { type: "tool-call", call };
  const finish =
    typeof answer === "object" && "finish" in answer && answer.finish !== undefined
      ? answer.finish
      : toolCalls.length > 0
        ? "tool-calls"
        : "stop";
  const usage = { inputTokens: 100, outputTokens: 10, cachedTokens: 0 };
  yield { type: "finished", answer: { text, toolCalls, finish, usage } };
}
