import type { JobStack } from "../ports/history.ts";
import type { WhyDeps } from "./find-why.ts";

/** The history of one workspace, as commands, chats and tools ask it. Each call reads the jobs as they are by then. */
export interface WorkspaceHistory {
  stack(): JobStack;
  why(): WhyDeps;
}

export interface OpenedHistory {
  readonly history: WorkspaceHistory;
}
