import type { FailureReason, ProcessEnd } from "../../domain/patch/result.ts";
import type { Note } from "../../domain/work/note.ts";

/** What one command said and did. Failures are `ok: false`, with a text for the user. */
export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
  readonly error: string;
  readonly reason?: FailureReason;
  readonly process?: ProcessEnd;
  readonly warnings: readonly Note[];
}

export function succeeded(output: string): Outcome {
  return { ok: true, output, error: "", warnings: [] };
}

export function failed(error: string, output = "", reason?: FailureReason): Outcome {
  return { ok: false, output, error, ...(reason !== undefined && { reason }), warnings: [] };
}
