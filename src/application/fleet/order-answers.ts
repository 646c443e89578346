import type { RestFacts, ViewedJob } from "./viewer-jobs.ts";
import type { FileDifference } from "../ports/jobs.ts";
import type { JournalLine } from "../ports/journal.ts";
import type { PreviewDiscard } from "../jobs/discard-preview.ts";
import type { ActionFacts } from "../jobs/action-report.ts";

/** What is answered to each kind of order, as JSON. */
export interface OrderAnswers {
  readonly undo: ActionFacts;
  readonly redo: ActionFacts;
  readonly apply: ActionFacts;
  readonly stop: ActionFacts;
  readonly rest: ActionFacts | RestFacts;
  readonly discard: PreviewDiscard["status"];
  readonly show: { readonly viewed: ViewedJob; readonly journal: readonly JournalLine[] } | null;
  readonly diff: readonly EncodedDifference[];
  readonly output: string;
}

/** Absent is unknown, null is absence, as in a `FileDifference`. */
export interface EncodedDifference {
  readonly path: string;
  readonly before?: string | null;
  readonly after?: string | null;
  readonly base?: string;
}

/** Of all files of a job together. What is more is not sent, and shown as unknown. */
const MOST_BYTES = 8 * 1024 ** 2;

export function encodeDifferences(files: readonly FileDifference[]): EncodedDifference[] {
  let room = MOST_BYTES;
  return files.map(({ path, before, after, base }) => {
    room -= (before?.length ?? 0) + (after?.length ?? 0) + (base?.length ?? 0);
    if (room < 0) return { path };
    return {
      path,
      ...(before !== undefined && { before: before === null ? null : encode(before) }),
      ...(after !== undefined && { after: after === null ? null : encode(after) }),
      ...(base !== undefined && { base: encode(base) }),
    };
  });
}

export function decodeDifferences(files: readonly EncodedDifference[]): FileDifference[] {
  const decode = (text: string | null | undefined) =>
    typeof text === "string" ? new Uint8Array(Buffer.from(text, "base64")) : text;
  return files.map(({ path, before, after, base }) => ({
    path,
    before: decode(before),
    after: decode(after),
    ...(base !== undefined && { base: decode(base) as Uint8Array }),
  }));
}

const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
