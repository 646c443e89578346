/** Where a task from a forge stands. Phases run in this order; a task that is resumed begins a phase anew. */
export const PHASES = ["gather", "plan", "prepare", "work", "verify", "publish"] as const;

export type Phase = (typeof PHASES)[number];

/** `waiting`: taken in, not begun. The last three are ends; `paused` and a dead `running` go on when resumed. */
export type SolveState = "waiting" | "running" | "paused" | "done" | "failed" | "stopped";

/** `worked`: the work was finished before and came into the new environment whole. `judged`: it is checked as well. */
export function phaseAfter(phase: Phase, { worked = false, judged = false } = {}): Phase | null {
  if (phase === "prepare" && judged) return "publish";
  if (phase === "prepare" && worked) return "verify";
  return PHASES[PHASES.indexOf(phase) + 1] ?? null;
}

/** Whether the coder had finished: what is left is to check and to publish. */
export function hadWorked(phase: Phase): boolean {
  return phase === "verify" || phase === "publish";
}

/**
 * Where to begin again after a pause or a crash: what was learnt stays, but a container is gone with its files. The
 * change so far is kept as a patch and brought into the new one.
 */
export function phaseToResume(phase: Phase): Phase {
  return phase === "gather" || phase === "plan" ? phase : "prepare";
}
