import type { SettingEdit } from "../../config/config.ts";
import type { TokenCounts } from "../../domain/models/model-facts.ts";
import type { CompareDeps, ContestantDeps } from "../history/compare.ts";
import type { CaseDeps } from "../history/find-cases.ts";
import type { WhyDeps } from "../history/find-why.ts";
import type { JobStack, ReadIssue } from "./history.ts";
import type { StoredJob } from "./jobs.ts";
import type { UsageFilter } from "./models.ts";

/** The history of one workspace, as commands, chats and tools ask it. Each call reads the jobs as they are by then. */
export interface WorkspaceHistory {
  stack(): JobStack;
  why(): WhyDeps;
}

export interface FigureRow extends TokenCounts {
  /** Empty in a sum of several days. */
  readonly day: string;
  /** `provider/model`; empty in a sum of several, and of jobs that no model wrote. */
  readonly model: string;
  readonly requests: number;
  /** Of the requests whose price is known. */
  readonly costUsd: number;
  readonly unpriced: number;
  readonly jobs: number;
  /** Jobs of coders that checks judged. */
  readonly checked: number;
  /** Of these, the ones that landed with their first attempt. */
  readonly firstTry: number;
  readonly undone: number;
}

export interface WorkFigures {
  /** Oldest first; only where there is something. */
  readonly rows: readonly FigureRow[];
  /** Every day of the span, oldest first. */
  readonly days: readonly FigureRow[];
  /** Costliest first. */
  readonly models: readonly FigureRow[];
  readonly total: FigureRow;
}

/** Whose usage, all without a chat, and which jobs, in any order. */
export interface FigureScope extends Pick<UsageFilter, "chatKey" | "withChatsBelow"> {
  readonly jobs: readonly StoredJob[];
}

export interface OpenedFigures {
  readFigures(days: number): Promise<WorkFigures>;
  close(): Promise<void>;
}

export interface OpenedCompare {
  readonly cases: () => CaseDeps;
  readonly compare: CompareDeps;
  readonly contestants: () => Promise<ContestantDeps>;
  readonly readIssue: ReadIssue;
  /** Why nothing can be played here: commands could not be kept from the answers. */
  readonly trouble: "not-confined" | "own-checkout" | null;
  /** The user's own file, which `--adopt` writes. */
  readonly configFile: string;
  /** Null, or why nothing was written. */
  changeConfig(edits: readonly SettingEdit[]): Promise<string | null>;
}
