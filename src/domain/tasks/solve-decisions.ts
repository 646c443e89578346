import type { ChecksFacts } from "../checks/findings.ts";
import { jsonInAnswer } from "../platform/json-text.ts";
import { type MetaAnswer, unusableAnswer } from "./meta-protocol.ts";

/** The phase of a task from a forge. Phases run in this order; a resumed task begins its phase again. */
export const PHASES = ["gather", "plan", "prepare", "work", "verify", "publish"] as const;

export type Phase = (typeof PHASES)[number];

/** `waiting`: taken in, not begun. The last three are ends; `paused` and a dead `running` continue when resumed. */
export type SolveState = "waiting" | "running" | "paused" | "done" | "failed" | "stopped";

/** `worked`: the work was finished before and applied completely to the new environment. `judged`: it is checked as well. */
export function phaseAfter(phase: Phase, { worked = false, judged = false } = {}): Phase | null {
  if (phase === "prepare" && judged) return "publish";
  if (phase === "prepare" && worked) return "verify";
  return PHASES[PHASES.indexOf(phase) + 1] ?? null;
}

/** Whether the coder had finished: what is left is to check and to publish. */
export function hadWorked(phase: Phase): boolean {
  return phase === "verify" || phase === "publish";
}

/** Where a task begins again: its container is gone, and the change so far is applied to a new one. */
export function phaseToResume(phase: Phase): Phase {
  return phase === "gather" || phase === "plan" ? phase : "prepare";
}

export interface SolvePlan {
  readonly steps: readonly string[];
  readonly risk: "low" | "medium" | "high";
  /** A name of `getAvailableEnvironments()`; null leaves the choice to the project's files. */
  readonly environment: string | null;
}

const MAX_STEPS = 20;
const STEP_CHARS = 400;

export function readSolvePlan(answer: string, environments: readonly string[]): MetaAnswer<SolvePlan> {
  const json = jsonInAnswer(answer, (value) => "steps" in value);
  if (json === undefined) {
    const listed = stepsInProse(answer);
    if (listed.length < 2) return unusableAnswer("the answer contains no JSON object with `steps`");
    return { ok: true, value: { steps: listed, risk: "medium", environment: null } };
  }
  const { steps, risk, environment } = json;
  if (!Array.isArray(steps) || !steps.every((step) => typeof step === "string"))
    return unusableAnswer("`steps` must be a list of texts");
  const said = (steps as string[])
    .map((step) => step.trim().slice(0, STEP_CHARS))
    .filter((step) => step !== "");
  if (said.length === 0) return unusableAnswer("`steps` must not be empty");
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

export interface DoneAnswer {
  readonly done: boolean;
  readonly summary: string;
  /** Its answers to review comments, by their ids. */
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

/** The checks' verdict on a change. `not-run`: one could not run there. `unchecked`: there are none. Only `green` may close an issue. */
export type TaskVerdict = "green" | "red" | "not-run" | "unchecked";

/** `absent`: it said by its words, not by its exit code, that something it needs is not there. */
interface CheckExit {
  readonly exitCode: number;
  readonly absent?: boolean;
  readonly since?: { readonly verdict: ChecksFacts["verdict"] };
}

/** Whether a check speaks against the change: by its exit code, or because tests that passed are gone. */
export function isRedCheck({ exitCode, since }: Pick<CheckExit, "exitCode" | "since">): boolean {
  return exitCode !== 0 || since?.verdict === "worse";
}

/** By the judgement over the change; of a task that changed nothing, by how the checks ended. */
export function taskVerdict({
  checks,
  judged = null,
}: {
  readonly checks: readonly CheckExit[];
  readonly judged?: Pick<ChecksFacts, "verdict" | "notChecked"> | null | undefined;
}): TaskVerdict {
  if (judged !== null) return verdictOfFacts(judged);
  if (checks.length === 0) return "unchecked";
  const red = checks.filter(isRedCheck);
  // By these codes a shell says that a program is not there, or cannot be run.
  if (red.some(({ exitCode, absent = exitCode === 127 || exitCode === 126 }) => !absent)) return "red";
  return red.length > 0 ? "not-run" : "green";
}

function verdictOfFacts({ verdict, notChecked }: Pick<ChecksFacts, "verdict" | "notChecked">): TaskVerdict {
  switch (verdict) {
    case "same":
    case "better":
      return "green";
    case "not-checked":
      return notChecked === "no-checks" || notChecked === "never" ? "unchecked" : "not-run";
    case "unknown":
      return notChecked === "cannot-run" ? "not-run" : "red";
    case "worse":
    case "still-red":
    case "new-failing":
    case "red-before":
    case "doubtful":
      return "red";
  }
}

/** The result of one of several tries, for people. */
export interface CandidateFacts {
  /** Why it ended before its end; null when it did not. */
  readonly failure: string | null;
  readonly checks: readonly number[];
  readonly patchBytes: number;
}
