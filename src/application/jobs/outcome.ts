import type { FailureReason, ProcessEnd } from "../../domain/jobs/result.ts";
import type { Note } from "../../domain/jobs/note.ts";

/** What one command said and did. Failures are `ok: false`, with a text for the user. */
export interface CommandOutcome {
  readonly ok: boolean;
  readonly output: string;
  readonly error: string;
  readonly reason?: FailureReason;
  readonly process?: ProcessEnd;
  readonly warnings: readonly Note[];
}

export function succeededOutcome(output: string): CommandOutcome {
  return { ok: true, output, error: "", warnings: [] };
}

export function failedOutcome(error: string, output = "", reason?: FailureReason): CommandOutcome {
  return { ok: false, output, error, ...(reason !== undefined && { reason }), warnings: [] };
}
