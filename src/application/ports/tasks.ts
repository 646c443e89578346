import type { ItemRef } from "../../domain/forges/forge-items.ts";
import type { Phase, SolveState } from "../../domain/tasks/phase.ts";
import type { SolvePlan } from "../../domain/tasks/solve-decisions.ts";
import type { TaskStep } from "../../domain/tasks/step.ts";
import type { Verdict } from "../../domain/checks/verdict.ts";
import type { TestCounts } from "../../domain/checks/test-results.ts";
import type { ModelMessage } from "./models.ts";
import type { Work } from "./work-queue.ts";

/**
 * Tasks from forges: one live task per issue, PR or MR. One that waits or runs is work of the queue, where its item is
 * worked on one at a time and goes on elsewhere after its process died. Several processes may use this at once.
 */
export interface SolveStore extends SolveReader {
  /**
   * Takes in a task, unless a live one of the same item is there, which is then given back. It waits for whoever claims
   * it; one that was asked for by hand waits for `claimOwn`.
   */
  open(task: SolveTask): Promise<{ readonly task: SolveTask; readonly fresh: boolean }>;
  /** Makes a task that had ended a waiting one, as given. False when a live one of the same item is there. */
  reopen(task: SolveTask): Promise<boolean>;
  /** The newest task of an item, live or ended. */
  findLast(item: ItemRef): Promise<SolveTask | null>;
  /** The task of an item that is waiting, running or paused. */
  findLive(item: ItemRef): Promise<SolveTask | null>;
  /** The oldest task that needs no more than the process has: labels, and `forge:` with the forges it may ask. */
  claim(has: readonly string[]): Promise<ClaimedTask | null>;
  /** This very task, also a paused one; null when somebody else works on it. */
  claimOwn(id: string): Promise<ClaimedTask | null>;
  /** Ends the claim of a task whose state is saved. With `dead` it is kept among what was given up. */
  finish(claim: Work, dead?: string): Promise<"done" | "lost">;
  /** Gives the claim of a task back that is to go on. Unless it had `begun`, the attempt does not count. */
  handBack(claim: Work, options: { readonly begun: boolean }): Promise<"done" | "lost">;
  /**
   * Of a task in hand: false when it is another's by now, and nothing was written. Without a claim: one that waits gets
   * its work.
   */
  save(task: SolveTask, claim?: Work): Promise<boolean>;
  /** Pauses or stops what nobody works on; false when somebody does. */
  halt(task: SolveTask, state: "paused" | "stopped"): Promise<boolean>;
  /** Adds what happened to a task in hand; nothing is ever changed or removed. */
  note(id: string, step: TaskStep, claim: Work): Promise<void>;
  /** Asks whoever works on it to stop or to pause. */
  order(id: string, order: Order | null): Promise<void>;
  /** What was asked of the task. */
  orderOf(id: string): Promise<Order | null>;
  /** Gives work to those that wait and have none: they came with a copy, or from an older version. */
  adopt(): Promise<void>;
  /** True the first time this delivery is seen. */
  firstSight(deliveryId: string, at: Date): Promise<boolean>;
}

export interface SolveReader {
  find(id: string): Promise<SolveTask | null>;
  /** Newest first. */
  list(limit: number): Promise<SolveTask[]>;
  /** In the order in which they happened. */
  steps(id: string): Promise<readonly TaskStep[]>;
}

/** A task and the claim on it. */
export interface ClaimedTask {
  readonly task: SolveTask;
  readonly work: Work;
}

export type Order = "stop" | "pause";

export interface SolveTask {
  /** A UUID: the environment is named by it. */
  readonly id: string;
  readonly item: ItemRef;
  readonly state: SolveState;
  readonly phase: Phase;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Who asked for it, by the forge's word. */
  readonly askedBy: string;
  /** When it was asked for the last time: requests from before that are served by it. Tasks of an older version have none. */
  readonly askedAt?: string;
  /** How it began; a task that began by a label ends when the label goes. */
  readonly trigger: "hand" | "label" | "assignment" | "mention" | "review";
  /** A worker CLI instead of our own loop. */
  readonly worker: string | null;
  /** How many coders work on it at once, each in a container of its own. Default: 1. */
  readonly candidates?: number;
  /** Labels that a machine must have to carry it out. Default: none. */
  readonly needs?: readonly string[];
  readonly title: string;
  /** What is pushed to, once known; `attempt` counts names that were taken. */
  readonly branch: string | null;
  readonly attempt: number;
  readonly base: { readonly branch: string; readonly commit: string | null } | null;
  /** The commit this task pushed last. */
  readonly pushed: string | null;
  readonly pull: { readonly ref: ItemRef; readonly url: string } | null;
  readonly commentId: string | null;
  readonly plan: SolvePlan | null;
  readonly environment: string | null;
  readonly transcript: readonly ModelMessage[];
  readonly steps: number;
  /** How many of them were made before it was taken up again; they do not count against the limit. */
  readonly stepsBefore?: number;
  readonly commands: readonly CommandFact[];
  readonly checks: readonly CheckFact[];
  readonly summary: string;
  /** The project's own command for its tests, as it stood when it was cloned. */
  readonly checkCommand?: string | null;
  /** The change so far, base64 of `git diff --binary`, for a container that must be made anew. */
  readonly patch: string;
  /** The tree of the base with that change, as the container named it; tasks of an older version have none. */
  readonly tree?: string;
  /** Comments that were taken into account. */
  readonly seen: readonly string[];
  /** What the coder says to review comments, by their ids. */
  readonly answers?: Readonly<Record<string, string>>;
  /** Review comments that were answered. */
  readonly answered?: readonly string[];
  readonly failure: { readonly kind: string; readonly message: string } | null;
  readonly notes: readonly string[];
  /** Milliseconds by phase. */
  readonly spent: Readonly<Partial<Record<Phase, number>>>;
}

export interface CommandFact {
  readonly command: string;
  readonly exitCode: number;
  readonly durationMs: number;
}

export interface CheckFact extends CommandFact {
  readonly kind: "test" | "lint";
  /** It could not be run there; where this is absent, the exit code says so. */
  readonly absent?: boolean;
  /** What it printed, without the tests that passed; head and tail where that is long. Tasks of an older version have none. */
  readonly output?: string;
  /** Of a red one: how that compares with the project as it was cloned, and the tests that did not fail there. */
  readonly since?: { readonly verdict: Verdict; readonly worse: readonly string[] };
  /** What it said about its tests; null where that could not be read. Tasks of an older version have none. */
  readonly counts?: TestCounts | null;
}
