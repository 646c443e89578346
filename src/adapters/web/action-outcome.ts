import type { ActionFacts } from "../../application/jobs/action-report.ts";
import { wordAction } from "../../application/jobs/word-action.ts";
import type { Messages } from "../../domain/texts/messages.ts";

/** What came of an action on a job, for a person and for a program. */
export interface ActionOutcome {
  readonly ok: boolean;
  /** 200, or why not: 404 unknown, 409 in the way, 503 another machine does not answer. */
  readonly status: 200 | 404 | 409 | 503;
  readonly code: string;
  readonly text: string;
  readonly offerForce: boolean;
}

export function toActionOutcome(words: Messages, facts: ActionFacts): ActionOutcome {
  const { code, action } = facts;
  return {
    ok: code === "done",
    status: httpStatusOf(code),
    code,
    text: wordAction(words, facts, "terminal"),
    offerForce: code === "conflict" && action === "undo",
  };
}

function httpStatusOf(code: ActionFacts["code"]): ActionOutcome["status"] {
  switch (code) {
    case "done":
      return 200;
    case "unknown-job":
      return 404;
    case "machine-away":
    case "machine-gone":
    case "unsettled":
      return 503;
    default:
      return 409;
  }
}
