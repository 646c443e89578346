import { completionFailure, type UnfinishedCompletion } from "../models/complete.ts";
import type { ForgeAnswer } from "../ports/forges.ts";

/** Why a task ended before its end. */
export class SolveStop extends Error {
  constructor(
    readonly kind: SolveStopKind,
    readonly detail: string = "",
  ) {
    super(`${kind}: ${detail}`);
    this.name = "SolveStop";
  }
}

export type SolveStopKind =
  | "stopped"
  | "paused"
  /** Another process has it by now. */
  | "lost"
  /** Too many processes ended over it. */
  | "given-up"
  | "forge"
  | "forge-token"
  | "forge-missing"
  | "container"
  | "clone"
  | "wrong-base"
  | "model"
  | "budget"
  | "too-many-steps"
  | "gave-up"
  /** The same failing call, again and again. */
  | "stuck"
  /** Answers that were cut by their length, again and again. */
  | "cut"
  | "nothing-changed"
  | "nothing-changed-red"
  | "checks-red"
  | "checks-not-run"
  | "protected-paths"
  | "secret-in-change"
  | "protected-branch"
  | "no-permission"
  | "declined"
  | "push-failed"
  | "archived"
  | "closed";

/** The value, or the end of the task: what the forge refuses here the task cannot do without. */
export async function orStop<T>(answer: Promise<ForgeAnswer<T>>): Promise<T> {
  const got = await answer;
  if (got.ok) return got.value;
  const { code, message, scope } = got.failure;
  if (code === "aborted") throw new SolveStop("stopped");
  const kind =
    code === "unauthorized" ? "forge-token" : code === "not-found" ? "forge-missing" : ("forge" as const);
  throw new SolveStop(kind, scope === undefined ? message : `${message} (${scope})`);
}

/** The end of a task whose model gave no answer. */
export function stopWithoutAnswer(unanswered: UnfinishedCompletion): SolveStop {
  if (unanswered.kind === "aborted") return new SolveStop("stopped");
  if (unanswered.kind === "cut") return new SolveStop("cut");
  const { code, message } = completionFailure(unanswered);
  return new SolveStop(code === "over-budget" ? "budget" : "model", message);
}
