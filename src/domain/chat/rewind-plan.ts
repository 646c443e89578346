export interface RewindMessage {
  /** Counts from 1 in the session. */
  readonly number: number;
  /** `17:42`. */
  readonly at: string;
  readonly text: string;
  readonly files?: number;
}

export interface RewindJob {
  readonly jobId: string;
  readonly paths: readonly string[];
}

export interface RewindPlan {
  /** The message that is gone back to; 0 is the beginning. */
  readonly number: number;
  readonly messages: readonly RewindMessage[];
  /** Those that are taken back. */
  readonly jobs: readonly RewindJob[];
  /** Those that were undone since, and are applied again. Older notes have none. */
  readonly again?: readonly RewindJob[] | null;
}

const SHOWN_PATHS = 8;

export function rewindMessages(messages: readonly RewindMessage[], files: (count: number) => string): string {
  return messages
    .map(
      (one) =>
        `${one.number}  ${one.at}  ${one.text}${(one.files ?? 0) > 0 ? `  (${files(one.files ?? 0)})` : ""}`,
    )
    .join("\n");
}

export function rewindJobs(jobs: readonly RewindJob[]): string {
  return jobs
    .map(({ jobId, paths }) => {
      const rest = paths.length - SHOWN_PATHS;
      return `${jobId}: ${paths.slice(0, SHOWN_PATHS).join(", ")}${rest > 0 ? ` … +${rest}` : ""}`;
    })
    .join("\n");
}
