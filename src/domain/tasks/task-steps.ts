import type { ChecksFacts } from "../checks/findings.ts";

/** One event of a task, only ever added. Progress, the text for a resumed coder and the report are made of them. */
export type TaskStep = StepFacts & {
  readonly at: string;
  readonly candidate?: number;
};

export type StepFacts =
  /** `again`: it continues from what was kept. `head`: the user's own agent works (`roles.coder.head`). */
  | { readonly kind: "taken-up"; readonly again: boolean; readonly head?: string }
  | { readonly kind: "phase"; readonly phase: string }
  | { readonly kind: "planned"; readonly plan: readonly string[]; readonly environment: string | null }
  /** `troubles`: what did not go well, such as an installation that failed. */
  | { readonly kind: "prepared"; readonly environment: string; readonly troubles: readonly string[] }
  | {
      readonly kind: "said";
      readonly text: string;
      readonly inputTokens: number;
      readonly outputTokens: number;
      readonly costUsd: number;
    }
  | {
      readonly kind: "command";
      readonly command: string;
      readonly exitCode: number;
      readonly durationMs: number;
      readonly output: string;
    }
  | { readonly kind: "edited"; readonly path: string; readonly ok: boolean }
  | {
      readonly kind: "checked";
      readonly command: string;
      readonly exitCode: number | null;
      readonly durationMs: number;
      readonly counts: ChecksFacts["counts"];
    }
  /** The model's server could not answer for a while. */
  | { readonly kind: "waited"; readonly code: string; readonly waitMs: number }
  /** The conversation was too long for the model and was cut. */
  | { readonly kind: "compacted"; readonly messages: number }
  /** The change so far, kept for the next attempt. */
  | { readonly kind: "kept"; readonly bytes: number }
  /** The job of a task file's work was applied or not, as its outcome says. */
  | { readonly kind: "landed"; readonly job: string; readonly outcome: string }
  | {
      readonly kind: "chosen";
      readonly candidate: number;
      readonly discarded: readonly number[];
      /** By what it was better than the next; tasks of an older version do not say. */
      readonly by?: string;
    }
  | { readonly kind: "sent-back"; readonly attempt: number; readonly of: number; readonly brief: string }
  /** How the coder's attempts ended: the verdict, why it did not continue if that is red, and the plans that were replaced. */
  | {
      readonly kind: "judged";
      readonly attempts: number;
      readonly verdict: string | null;
      readonly stopped: string | null;
      readonly tried: readonly string[];
    }
  | {
      readonly kind: "published";
      readonly branch: string;
      readonly commit: string;
      readonly url: string | null;
    }
  | {
      readonly kind: "ended";
      readonly state: string;
      readonly code: string | null;
      readonly message: string;
    };

type Step<Kind extends TaskStep["kind"]> = Extract<TaskStep, { readonly kind: Kind }>;

export interface PriorProgress {
  /** Answers of the model, and how many of them do not count against the limit any more. */
  readonly answers: number;
  readonly answersBefore: number;
  readonly commands: readonly Pick<Step<"command">, "command" | "exitCode" | "durationMs">[];
  readonly edited: readonly string[];
  readonly checks: readonly Step<"checked">[];
  /** How it ended the last time; null where a pause or a crash is what ended it, or nothing yet. */
  readonly ended: Step<"ended"> | null;
}

/** Ends after which a person must ask for it again; it then has all its steps again. */
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

/** The steps of a candidate are the task's own only when that candidate was kept. */
function isKeptStep(all: readonly TaskStep[], { candidate }: TaskStep, place: number): boolean {
  if (candidate === undefined) return true;
  const chosen = all.slice(place).find((step) => step.kind === "chosen" || step.kind === "taken-up");
  return chosen?.kind === "chosen" && chosen.candidate === candidate;
}

function stepsOfKind<Kind extends TaskStep["kind"]>(steps: readonly TaskStep[], kind: Kind): Step<Kind>[] {
  return steps.filter((step): step is Step<Kind> => step.kind === kind);
}

/** How far a task is and what it used, as its steps tell. */
export type TaskFigures = ReturnType<typeof figuresOf>;

/** `elapsedMs`: while a coder worked on it. `said`, `last`: the last text of a model and the last action, on one line. */
export function figuresOf(steps: readonly TaskStep[], now?: string) {
  let [answers, inputTokens, outputTokens, costUsd, elapsedMs] = [0, 0, 0, 0, 0];
  let [said, last] = ["", ""];
  const edited = new Set<string>();
  let since: number | null = null;
  let before = 0;
  const pass = (at: number) => {
    if (since !== null) elapsedMs += Math.max(0, at - since);
  };
  for (const step of steps) {
    const at = Date.parse(step.at);
    if (step.kind === "taken-up") {
      // No process worked on it after the last step of a process that died.
      pass(before);
      since = at;
    }
    if (step.kind === "ended") {
      pass(at);
      since = null;
    }
    before = at;
    if (step.kind === "said") {
      answers++;
      inputTokens += step.inputTokens;
      outputTokens += step.outputTokens;
      costUsd += step.costUsd;
      said = wordsOfStep(step) || said;
    }
    if (step.kind === "edited" && step.ok) edited.add(step.path);
    last = wordsOfStep(step) || last;
  }
  pass(now === undefined ? before : Date.parse(now));
  return { answers, inputTokens, outputTokens, costUsd, elapsedMs, edited: [...edited], said, last };
}

const WORDS = 300;

/** The text of a step for the user while it happens, on one line; empty for a step that is not an action. */
export function wordsOfStep(step: TaskStep): string {
  switch (step.kind) {
    case "said":
      return shortText(closingWords(step.text));
    case "edited":
      return `${step.ok ? "✎" : "✗"} ${step.path}`;
    case "command":
      return `$ ${shortText(step.command)} → ${step.exitCode}`;
    case "checked":
      return `${step.exitCode === 0 ? "✓" : "✗"} ${shortText(step.command)}`;
    default:
      return "";
  }
}

/** The summary of the JSON that ends a coder's work; any other text as it is. */
function closingWords(text: string): string {
  if (!text.startsWith("{")) return text;
  try {
    const { summary } = JSON.parse(text) as { summary?: unknown };
    return typeof summary === "string" ? summary : "";
  } catch {
    return text;
  }
}

function shortText(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > WORDS ? `${line.slice(0, WORDS)}…` : line;
}

export type ShownFigures = Pick<TaskFigures, "elapsedMs" | "inputTokens" | "outputTokens" | "costUsd">;

/** Time, tokens and cost, for every place that shows a task. */
export function figuresText(figures: ShownFigures, tokens: string): string {
  const { elapsedMs, inputTokens, outputTokens, costUsd } = figures;
  return `${clockText(elapsedMs)} · ${inputTokens} → ${outputTokens} ${tokens} · $${costUsd.toFixed(4)}`;
}

/** 3:07, 1:02:07 */
function clockText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = two(seconds % 60);
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${two(minutes)}:${rest}`;
}
