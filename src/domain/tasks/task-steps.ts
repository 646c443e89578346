import type { TaskStep } from "./step.ts";

/** How far a task is and what it used, as its steps tell. */
export interface TaskFigures {
  /** Answers of models. */
  readonly answers: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number;
  /** While somebody worked on it. */
  readonly elapsedMs: number;
  /** Files that were edited, in the order of their first edit. */
  readonly edited: readonly string[];
  /** What a model said last, on one line. */
  readonly said: string;
  /** The last action, on one line. */
  readonly last: string;
}

export function figuresOf(steps: readonly TaskStep[], now?: string): TaskFigures {
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
      // Nobody worked on it after the last step of a process that died.
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

/** What a person sees of a step while it happens, on one line; empty for what is no action. */
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
