import type { ActionFacts } from "../../application/work/report/action-facts.ts";
import { wordAction } from "../../application/work/report/word-action.ts";
import type { Messages } from "../../domain/texts/messages.ts";

/** What came of an action on a job, for a person and for a program. */
export interface Outcome {
  readonly ok: boolean;
  /** 200, or why not: 404 unknown, 409 in the way. */
  readonly status: 200 | 404 | 409;
  readonly code: string;
  readonly text: string;
  readonly offerForce: boolean;
}

export function outcomeOf(words: Messages, facts: ActionFacts): Outcome {
  const { code, action } = facts;
  return {
    ok: code === "done",
    status: code === "done" ? 200 : code === "unknown-job" ? 404 : 409,
    code,
    text: wordAction(words, facts, "terminal"),
    offerForce: code === "conflict" && action === "undo",
  };
}
