import { jsonInAnswer } from "../chat/json-in-answer.ts";

/** What the model answers in the phase `plan`. */
export interface SolvePlan {
  readonly steps: readonly string[];
  readonly risk: "low" | "medium" | "high";
  /** A name of `getAvailableEnvironments()`; null leaves the choice to the project's files. */
  readonly environment: string | null;
}

const MAX_STEPS = 20;
const STEP_CHARS = 400;

/** `problem` is for the model to mend. */
export type PlanReading =
  | { readonly ok: true; readonly value: SolvePlan }
  | { readonly ok: false; readonly problem: string };

/** Reads a plan out of a model's answer. */
export function readSolvePlan(answer: string, environments: readonly string[]): PlanReading {
  const json = jsonInAnswer(answer, (value) => "steps" in value);
  if (json === undefined) {
    const listed = stepsInProse(answer);
    if (listed.length < 2) return unusablePlan("the answer holds no JSON object with `steps`");
    return { ok: true, value: { steps: listed, risk: "medium", environment: null } };
  }
  const { steps, risk, environment } = json;
  if (!Array.isArray(steps) || !steps.every((step) => typeof step === "string"))
    return unusablePlan("`steps` must be a list of texts");
  const said = (steps as string[])
    .map((step) => step.trim().slice(0, STEP_CHARS))
    .filter((step) => step !== "");
  if (said.length === 0) return unusablePlan("`steps` must not be empty");
  const known =
    typeof environment === "string"
      ? environments.find((name) => name.toLowerCase() === environment.trim().toLowerCase())
      : undefined;
  return {
    ok: true,
    value: {
      steps: said.slice(0, MAX_STEPS),
      risk: risk === "low" || risk === "high" ? risk : "medium",
      environment: known ?? null,
    },
  };
}

const ITEM = /^ {0,3}(?:[-*•・]|\d{1,2}[.)、．])\s*(\S.*)$/;

/** A list in a plan that was written for people: as good as the JSON that was asked for, but for the environment. */
function stepsInProse(answer: string): readonly string[] {
  const prose = answer.replace(/^(`{3,}|~{3,}).*?^\1/gms, "");
  const items = prose.split("\n").flatMap((line) => ITEM.exec(line)?.[1]?.trim().slice(0, STEP_CHARS) ?? []);
  return items.slice(0, MAX_STEPS);
}

function unusablePlan(problem: string): PlanReading {
  return { ok: false, problem };
}

/** What the model answers when it thinks it is done. */
export interface DoneAnswer {
  readonly done: boolean;
  readonly summary: string;
  /** What it says to review comments, by their ids. */
  readonly answers: Readonly<Record<string, string>>;
}

const ANSWER_CHARS = 2000;

/** `{"done": true, "summary": "…"}` anywhere in an answer; null when it says no such thing. */
export function readDoneAnswer(answer: string): DoneAnswer | null {
  const json = jsonInAnswer(answer, ({ done }) => typeof done === "boolean");
  if (json === undefined) return null;
  const { done, summary, answers } = json;
  return {
    done: done === true,
    summary: typeof summary === "string" ? summary.trim() : "",
    answers: answersIn(answers),
  };
}

function answersIn(given: unknown): Readonly<Record<string, string>> {
  if (typeof given !== "object" || given === null) return {};
  const texts = Object.entries(given).flatMap(([id, text]) =>
    typeof text === "string" && text.trim() !== "" ? [[id, text.trim().slice(0, ANSWER_CHARS)]] : [],
  );
  return Object.fromEntries(texts);
}
