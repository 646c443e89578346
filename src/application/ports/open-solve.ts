import type { TaskStep } from "../../domain/tasks/step.ts";
import type { SolveMessages } from "../../domain/texts/texts.ts";
import type { SolveTask } from "./tasks.ts";

/** Tasks from GitHub and GitLab, one by one. */
export interface OpenSolve {
  readonly texts: SolveMessages;
  /** Never rejects for what can be expected. A second call for the same item goes on where the first ended. */
  solve(request: SolveRequest): Promise<SolveOutcome>;
  close(): Promise<void>;
}

export interface SolveRequest {
  readonly url: string;
  /** The kind of worker CLI; null: our own loop. */
  readonly worker: string | null;
  /** Coders that work on it at once, each in a container of its own; the checks choose. */
  readonly candidates: number;
  /** Begins anew instead of going on from what an earlier task of the item kept. */
  readonly fresh: boolean;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** What happens, as it happens. */
  readonly onStep?: (step: TaskStep) => void;
}

export type SolveOutcome =
  | { readonly status: "ended"; readonly task: SolveTask; readonly steps: readonly TaskStep[] }
  | { readonly status: "refused"; readonly exitCode: 2 | 3; readonly message: string };
