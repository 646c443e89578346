import { expect, test } from "bun:test";
import { type StepFacts, type TaskStep, toPriorProgress } from "../../../src/domain/tasks/task-steps.ts";

const steps = (...facts: (StepFacts & { candidate?: number })[]): TaskStep[] =>
  facts.map((fact) => ({ ...fact, at: "2026-01-01T00:00:00.000Z" }));
const up: StepFacts = { kind: "taken-up", again: false };
const said: StepFacts = { kind: "said", text: "", inputTokens: 1, outputTokens: 1, costUsd: 0 };
const ran = (command: string): StepFacts => ({
  kind: "command",
  command,
  exitCode: 0,
  durationMs: 1,
  output: "",
});
const ended = (state: string): StepFacts => ({ kind: "ended", state, code: null, message: state });
const checked: StepFacts = { kind: "checked", command: "npm test", exitCode: 1, durationMs: 1, counts: null };

test("a task without steps has nothing to tell", () => expect(toPriorProgress([])).toBeNull());

test("answers before a final end do not count against the limit, before a pause they do", () => {
  expect(toPriorProgress(steps(up, said, said, ended("failed"), up, said))).toMatchObject({
    answers: 3,
    answersBefore: 2,
    ended: null,
  });
  expect(toPriorProgress(steps(up, said, said, ended("paused"), up, said))).toMatchObject({
    answers: 3,
    answersBefore: 0,
  });
  expect(toPriorProgress(steps(up, said, ended("failed")))?.ended).toMatchObject({ state: "failed" });
  expect(toPriorProgress(steps(up, said, ended("paused")))?.ended).toBeNull();
});

test("of candidates only what the kept one did is the task's own", () => {
  const first = { candidate: 1, ...said };
  const tried = steps(up, first, { ...said, candidate: 2 }, { ...ran("a"), candidate: 1 });
  const chosen: StepFacts = { kind: "chosen", candidate: 2, discarded: [1] };
  const kept = steps({ ...ran("b"), candidate: 2 }, chosen, ran("c"));
  const { answers, answersBefore, commands } = toPriorProgress([...tried, ...kept]) ?? {};
  expect({ answers, answersBefore }).toEqual({ answers: 2, answersBefore: 1 });
  expect(commands?.map(({ command }) => command)).toEqual(["b", "c"]);
  // None was kept before the process died: they start over.
  expect(toPriorProgress([...tried, ...steps(up)])).toMatchObject({
    answers: 2,
    answersBefore: 2,
    commands: [],
  });
});

test("checks count until something is done after them; a file is named once, and only where its edit went well", () => {
  const edit = (path: string, ok = true): StepFacts => ({ kind: "edited", path, ok });
  const record = steps(up, edit("a"), edit("a"), edit("b", false), checked);
  expect(toPriorProgress(record)).toMatchObject({
    edited: ["a"],
    checks: [{ command: "npm test", exitCode: 1 }],
  });
  expect(toPriorProgress([...record, ...steps(said)])?.checks).toEqual([]);
});
