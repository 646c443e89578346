import { describe, expect, test } from "bun:test";
import { NO_USAGE } from "../../../src/domain/models/model-facts.ts";
import { renderNote, taskJson } from "../../../src/domain/tasks/task-note.ts";
import {
  criteriaWithVerdicts,
  nextState,
  recordOf,
  type TaskEvent,
  type TaskFacts,
  type TaskState,
  testOfNow,
  type WorkerRun,
  withEvent,
} from "../../../src/domain/tasks/task-record.ts";
import { taskMessagesFor } from "../../../src/domain/texts/tasks.ts";

const at = "2026-11-15T00:00:00.000Z";
const facts: TaskFacts = {
  id: "t1",
  title: "Greet",
  repo: "/repo",
  description: "why",
  prd: "Say hello\n```\nfence\n```",
  test: { command: "make test", cwd: "" },
  kind: "codex-cli",
  image: "agent-runner-codex:latest",
  maxLoops: 3,
  maxRunTimeSec: 60,
  maxTotalTimeSec: 600,
  envNames: ["KEY"],
  meta: "fake",
};
const run: WorkerRun = {
  id: "r1",
  startedAt: at,
  finishedAt: at,
  exitCode: 0,
  rawOutput: "raw",
  summary: "did it",
  error: null,
  usage: { inputTokens: 5, outputTokens: 1, costUsd: 0.25 },
  saidChanged: ["a"],
  job: {
    id: "job_1_a",
    outcome: "committed",
    changes: [{ path: "a", kind: "modified" }],
    diff: "",
    notes: ["n"],
    conflicts: [],
  },
};
const STORY: readonly TaskEvent[] = [
  { type: "created", at, task: facts },
  { type: "planning", at },
  {
    type: "planned",
    at,
    criteria: [{ id: "AC-1", description: "greets" }],
    usage: { inputTokens: 1, outputTokens: 1, costUsd: 0 },
  },
  { type: "decided", at, loop: 1, action: "run_worker", reason: "start", prompt: "do it", usage: NO_USAGE },
  { type: "worker-started", at, loop: 1 },
  { type: "worker-finished", at, loop: 1, run },
  {
    type: "tested",
    at,
    loop: 1,
    test: { command: "make test", exitCode: 0, output: "ok", durationMs: 3, error: null },
  },
  { type: "decided", at, loop: 2, action: "mark_complete", reason: "", prompt: "", usage: NO_USAGE },
  { type: "validating", at, loop: 2 },
  {
    type: "assessed",
    at,
    loop: 2,
    verdicts: [{ id: "AC-1", passed: true, reason: "seen" }],
    summary: "good",
    usage: NO_USAGE,
  },
  { type: "completed", at, summary: "good" },
];

const STATES: readonly TaskState[] = [
  "PENDING",
  "PLANNING",
  "RUNNING",
  "RUNNING",
  "RUNNING",
  "RUNNING",
  "RUNNING",
  "RUNNING",
  "VALIDATING",
  "VALIDATING",
  "COMPLETE",
];

test("the events lead through the states in order", () => {
  expect(STORY.map((_, index) => recordOf(STORY.slice(0, index + 1))?.state)).toEqual([...STATES]);
});

test("what cannot happen in a state is refused", () => {
  const done = recordOf(STORY);
  expect(() => done && withEvent(done, { type: "planning", at })).toThrow(
    "planning cannot follow in state COMPLETE",
  );
  expect(nextState("COMPLETE", "resumed")).toBeNull();
  expect(nextState("PENDING", "completed")).toBeNull();
  expect(nextState("FAILED", "resumed")).toBe("RUNNING");
  expect(recordOf([])).toBeNull();
  expect(recordOf(STORY.slice(1))).toBeNull();
});

test("costs add up, verdicts stand by their criteria, and tests have a say", () => {
  const record = recordOf(STORY);
  if (record === null) throw new Error("no record");
  expect(record.usage).toEqual({ inputTokens: 6, outputTokens: 2, costUsd: 0.25 });
  expect(criteriaWithVerdicts(record)).toEqual([
    { id: "AC-1", description: "greets", verdict: { id: "AC-1", passed: true, reason: "seen" } },
  ]);
  expect(testOfNow(record)).toMatchObject({ exitCode: 0 });
  const untested = recordOf(STORY.slice(0, 6));
  expect(untested && testOfNow(untested)).toBeNull();
});

test("a failed task that is taken up again has no end any more", () => {
  const failed = recordOf([...STORY.slice(0, 7), { type: "failed", at, code: "max-loops", reason: "r" }]);
  expect(failed?.end).toEqual({ summary: "r", code: "max-loops" });
  const again = failed && withEvent(failed, { type: "resumed", at });
  expect(again).toMatchObject({ state: "RUNNING", end: null });
});

describe("the note", () => {
  test.each(["ja", "en"] as const)("tells everything in %s", (locale) => {
    const record = recordOf(STORY);
    const note = record ? renderNote(record, taskMessagesFor(locale)) : "";
    for (const piece of [
      "# Greet",
      "COMPLETE",
      "- [x] AC-1: greets — seen",
      "do it",
      "job_1_a",
      "- modified `a`",
      "make test",
      "$0.2500",
      "picoclaw undo t1",
      "````text\nSay hello",
    ])
      expect(note).toContain(piece);
    expect(note).not.toContain("undefined");
  });
  test("is JSON as well, in the form of the other documents", () => {
    const record = recordOf(STORY);
    const document = JSON.parse(record ? taskJson(record) : "") as Record<string, unknown>;
    expect(document).toMatchObject({
      id: "t1",
      state: "COMPLETE",
      created_at: at,
      facts: { max_loops: 3 },
      criteria: [{ id: "AC-1", verdict: { passed: true } }],
      turns: [
        { loop: 1, run: { exit_code: 0, said_changed: ["a"], usage: { cost_usd: 0.25 } } },
        { loop: 2 },
      ],
      record: expect.arrayContaining([
        expect.objectContaining({ kind: "command", exit_code: 0 }),
        expect.objectContaining({ kind: "checked", command: "make test" }),
        expect.objectContaining({ kind: "ended", state: "COMPLETE", message: "good" }),
      ]),
      result: "good",
    });
  });
});
