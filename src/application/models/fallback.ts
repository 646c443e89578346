import type { Model, ModelEvent, ModelFailure, ModelRequest, ModelRole } from "../ports/models.ts";

/** Another coder's model answered in the place of the one that was asked. */
export interface StandIn {
  readonly asked: ModelRole;
  readonly answered: ModelRole;
  readonly model: string;
  /** Why the one that was asked could not. */
  readonly code: ModelFailure["code"];
}

export interface Candidate {
  readonly role: ModelRole;
  readonly model: Model | ModelFailure;
}

/** What another model may be able to do. Who was stopped, refused or over the budget stays so. */
const CANNOT_ANSWER: ReadonlySet<ModelFailure["code"]> = new Set([
  "unreachable",
  "timeout",
  "rate-limited",
  "server-error",
  "unauthorized",
  "unknown-model",
  "no-key",
  "not-configured",
]);

/**
 * A model that is followed by the next one where it cannot answer, as long as nothing of an answer was given. It has the name
 * of the one that was asked last. `note` is told when another one answered.
 */
export function withFallback(
  first: Candidate,
  others: readonly Candidate[],
  note: (standIn: StandIn) => void,
): Model | ModelFailure {
  const usable = [first, ...others].flatMap(({ role, model }) =>
    "generate" in model ? [{ role, model }] : [],
  );
  const [best] = usable;
  if (best === undefined || others.length === 0) return first.model;
  let current = best.model;
  async function* generate(request: ModelRequest): AsyncGenerator<ModelEvent, void> {
    let code = "generate" in first.model ? undefined : first.model.code;
    for (const [place, { role, model }] of usable.entries()) {
      current = model;
      const isLast = place === usable.length - 1;
      let given = false;
      for await (const event of model.generate(request)) {
        if (event.type === "failed" && !given && !isLast && CANNOT_ANSWER.has(event.failure.code)) {
          code ??= event.failure.code;
          break;
        }
        given ||= event.type === "text" || event.type === "reasoning" || event.type === "tool-call";
        if (event.type === "finished" && code !== undefined && role !== first.role)
          note({ asked: first.role, answered: role, model: model.model, code });
        yield event;
        if (event.type === "finished" || event.type === "failed") return;
      }
    }
  }
  return {
    get provider() {
      return current.provider;
    },
    get model() {
      return current.model;
    },
    get local() {
      return current.local;
    },
    get family() {
      return current.family;
    },
    generate,
    check: (signal) => best.model.check(signal),
  };
}
