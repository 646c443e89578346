import type { TaskStep } from "./step.ts";

type Step<Kind extends TaskStep["kind"]> = Extract<TaskStep, { readonly kind: Kind }>;

/** What a task did before it is taken up, as its steps tell it. */
export interface PriorProgress {
  /** Answers of the model, and how many of them do not count against the limit any more. */
  readonly answers: number;
  readonly answersBefore: number;
  readonly commands: readonly Pick<Step<"command">, "command" | "exitCode" | "durationMs">[];
  /** Files that were edited, each once. */
  readonly edited: readonly string[];
  /** The checks of the last round. */
  readonly checks: readonly Step<"checked">[];
  /** How it ended the last time; null where a pause or a crash is what ended it, or nothing yet. */
  readonly ended: Step<"ended"> | null;
}

/** Ends after which somebody has to ask for it again; it has all its steps anew then. */
const FINAL_STATES = new Set(["failed", "stopped", "done"]);

/** Null of a task that has no steps: one of an older version, or a new one. */
export function toPriorProgress(all: readonly TaskStep[]): PriorProgress | null {
  if (all.length === 0) return null;
  const steps = all.filter((step, i) => isKeptStep(all, step, i));
  const lastEnd = all.findLastIndex((step) => step.kind === "ended");
  const end = all[lastEnd] as Step<"ended"> | undefined;
  const final = all.findLastIndex((step) => step.kind === "ended" && FINAL_STATES.has(step.state));
  const counted = all.filter((step, i) => step.kind === "said" && i > final && isKeptStep(all, step, i));
  const answers = all.filter(({ kind }) => kind === "said").length;
  const takenUp = all.findLastIndex(({ kind }) => kind === "taken-up");
  const checkedFrom = steps.findLastIndex(({ kind }) => kind !== "checked" && CHANGING_STEPS.has(kind));
  return {
    answers,
    answersBefore: answers - counted.length,
    commands: stepsOfKind(steps, "command").map(({ command, exitCode, durationMs }) => ({
      command,
      exitCode,
      durationMs,
    })),
    edited: [...new Set(stepsOfKind(steps, "edited").flatMap(({ path, ok }) => (ok ? [path] : [])))],
    checks: stepsOfKind(steps.slice(checkedFrom + 1), "checked"),
    ended: end !== undefined && lastEnd > takenUp && FINAL_STATES.has(end.state) ? end : null,
  };
}

/** After these, what checks said before is old. */
const CHANGING_STEPS: ReadonlySet<TaskStep["kind"]> = new Set(["said", "command", "edited"]);

/** What a candidate did is the task's own only when that candidate was kept. */
function isKeptStep(all: readonly TaskStep[], { candidate }: TaskStep, place: number): boolean {
  if (candidate === undefined) return true;
  const chosen = all.slice(place).find((step) => step.kind === "chosen" || step.kind === "taken-up");
  return chosen?.kind === "chosen" && chosen.candidate === candidate;
}

function stepsOfKind<Kind extends TaskStep["kind"]>(steps: readonly TaskStep[], kind: Kind): Step<Kind>[] {
  return steps.filter((step): step is Step<Kind> => step.kind === kind);
}
