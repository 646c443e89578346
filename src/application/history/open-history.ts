import type { JobStack } from "../ports/history.ts";
import type { CompareDeps } from "./compare.ts";
import type { ContestantDeps } from "./contestants.ts";
import type { CaseDeps } from "./find-cases.ts";
import type { WhyDeps } from "./find-why.ts";

/** The history of one workspace, as commands, chats and tools ask it. Each call reads the jobs as they are by then. */
export interface WorkspaceHistory {
  stack(): JobStack;
  why(): WhyDeps;
}

export interface OpenedHistory {
  readonly history: WorkspaceHistory;
}

/** The cases of a workspace, and what plays contestants on them. */
export interface OpenedCompare {
  readonly cases: () => CaseDeps;
  readonly compare: CompareDeps;
  readonly contestants: () => Promise<ContestantDeps>;
  /** Why nothing can be played here: commands could not be kept from the answers. */
  readonly trouble: "not-confined" | "own-checkout" | null;
  /** The user's own file, which `--adopt` writes. */
  readonly configFile: string;
  /** Null, or why nothing was written. */
  changeConfig(
    edits: readonly { readonly path: readonly string[]; readonly value: unknown }[],
  ): Promise<string | null>;
}
