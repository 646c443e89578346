/** One process at one moment. `pid` and `startedAt` together never name two processes. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parentPid: number;
  readonly group: number;
  readonly session: number;
  /** Comparable within one machine: ticks since boot (Linux), seconds since 1970 (macOS). */
  readonly startedAt: number;
  /** Dead, waiting to be buried by its parent. */
  readonly zombie: boolean;
  /** The inherited job tag, if any. */
  readonly tag: () => bigint | undefined;
  readonly hasVariable: (name: string, value: string) => boolean;
  readonly command: () => string;
}
