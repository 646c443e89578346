import { expect, test } from "bun:test";
import {
  figuresOf,
  figuresText,
  type StepFacts,
  type TaskStep,
  wordsOfStep,
} from "../../../src/domain/tasks/task-steps.ts";

const at = (second: number, facts: StepFacts): TaskStep => ({
  ...facts,
  at: new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString(),
});
const used = { inputTokens: 100, outputTokens: 10, costUsd: 0.25 };
const STORY: readonly TaskStep[] = [
  at(0, { kind: "taken-up", again: false }),
  at(5, { kind: "said", text: "I look\nfirst.", ...used }),
  at(9, { kind: "edited", path: "a.ts", ok: true }),
  at(10, { kind: "edited", path: "gone.ts", ok: false }),
  // The process died here, and another one took it up an hour later.
  at(3600, { kind: "taken-up", again: true }),
  at(3605, { kind: "edited", path: "a.ts", ok: true }),
  at(3610, { kind: "said", text: '{"done": true, "summary": "a greets"}', ...used }),
  at(3612, { kind: "checked", command: "npm test", exitCode: 0, durationMs: 1, counts: null }),
];

test("figures add up, and only working time counts", () => {
  expect(figuresOf(STORY)).toEqual({
    answers: 2,
    inputTokens: 200,
    outputTokens: 20,
    costUsd: 0.5,
    elapsedMs: 22_000,
    edited: ["a.ts"],
    said: "a greets",
    last: "✓ npm test",
  });
  const running = figuresOf(STORY, at(3672, { kind: "phase", phase: "x" }).at);
  expect(running.elapsedMs).toBe(82_000);
  const ended = [...STORY, at(3613, { kind: "ended", state: "done", code: null, message: "" })];
  expect(figuresOf(ended, "2027-01-01T00:00:00Z").elapsedMs).toBe(23_000);
  expect(figuresOf([]).elapsedMs).toBe(0);
});

test("steps are reported on one line", () => {
  expect(STORY.map(wordsOfStep)).toEqual([
    "",
    "I look first.",
    "✎ a.ts",
    "✗ gone.ts",
    "",
    "✎ a.ts",
    "a greets",
    "✓ npm test",
  ]);
  expect(figuresText({ ...used, elapsedMs: 3_727_000 }, "tokens")).toBe(
    "1:02:07 · 100 → 10 tokens · $0.2500",
  );
});
