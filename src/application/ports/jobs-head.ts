import type { HeadSurroundings } from "./jobs-transaction.ts";
import type { OutputStream, ProcessInput, ProcessResult } from "./platform-processes.ts";

/** One turn of an agent that works in a draft by itself, as commands of a patch do. */
export interface HeadProcess {
  /** Its name in the job's list of commands, without prompt and secrets. */
  readonly title: string;
  readonly surroundings: HeadSurroundings;
  /** How it is called. `port` leads to the socket; null where there is none. */
  command(port: number | null): {
    readonly argv: readonly [string, ...string[]];
    readonly env: Readonly<Record<string, string>>;
  };
  readonly timeoutMs: number;
  /** Ends it, as the signal of the attempt does. */
  readonly signal: AbortSignal;
  readonly onStart: (input: ProcessInput) => void;
  readonly onOutput: (stream: OutputStream, text: string) => void;
  /** Called once. Returns the agent's own reason for a failure; empty if it did not fail. */
  readonly onEnd: (result: ProcessResult) => string;
}
