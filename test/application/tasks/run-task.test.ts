import { describe, expect, test } from "bun:test";
import { createPatience } from "../../../src/application/models/complete.ts";
import type { ModelFailure } from "../../../src/application/ports/models.ts";
import type { TaskFiles, WorkerExecutor } from "../../../src/application/ports/tasks.ts";
import { type RunTaskDeps, runTask } from "../../../src/application/tasks/run-task.ts";
import { NO_USAGE } from "../../../src/domain/models/model-facts.ts";
import type {
  RunJob,
  TaskEvent,
  TaskFacts,
  TestRun,
  WorkerRun,
} from "../../../src/domain/tasks/task-record.ts";
import { taskMessagesFor } from "../../../src/domain/texts/tasks.ts";
import { fakeModel } from "../../fakes/model.ts";

const facts: TaskFacts = {
  id: "t1",
  title: "Greet",
  repo: "/repo",
  description: "",
  prd: "Say hello",
  test: { command: "make test", cwd: "" },
  kind: "codex-cli",
  image: "agent-runner-codex:latest",
  maxLoops: 4,
  maxRunTimeSec: 60,
  maxTotalTimeSec: 600,
  envNames: [],
  meta: "fake",
};
const goodRun: WorkerRun = {
  id: "r",
  startedAt: "",
  finishedAt: "",
  exitCode: 0,
  rawOutput: "",
  summary: "did it",
  error: null,
  usage: NO_USAGE,
  saidChanged: [],
  job: {
    id: "job_1_a",
    outcome: "staged",
    changes: [{ path: "a", kind: "modified" }],
    diff: "",
    notes: [],
    conflicts: [],
  },
};
const passed: TestRun = { command: "make test", exitCode: 0, output: "ok", durationMs: 1, error: null };

const PLAN = '{"acceptance_criteria":[{"id":"AC-1","description":"greets"}]}';
const RUN = '{"decision":{"action":"run_worker","reason":"go"},"worker_call":{"prompt":"do it"}}';
const DONE = '{"decision":{"action":"mark_complete","reason":"done"}}';
const GOOD = '{"criteria":[{"id":"AC-1","status":"passed","reason":"seen"}],"summary":"all good"}';
const BAD = '{"criteria":[{"id":"AC-1","status":"failed","reason":"not yet"}],"summary":"more"}';

function memoryFiles(events: TaskEvent[] = []): TaskFiles & { readonly kept: TaskEvent[]; note: string } {
  return {
    kept: events,
    note: "",
    notePath: "note.md",
    append: (event) => void events.push(structuredClone(event)),
    events: () => events,
    writeNote(markdown) {
      this.note = markdown;
    },
    claim: () => ({ release() {} }),
  };
}

interface Script {
  readonly runs?: readonly Partial<WorkerRun>[];
  readonly tests?: readonly Partial<TestRun>[];
  readonly start?: Awaited<ReturnType<WorkerExecutor["start"]>>;
  readonly onRun?: () => void;
  /** The result of landing the staged job. Default: it is in. */
  readonly landing?: Partial<RunJob>;
}

function fakeExecutor({ runs = [], tests = [], start, onRun, landing }: Script = {}) {
  const calls: string[] = [];
  let staged: RunJob | null = null;
  const leftRuns = [...runs];
  const leftTests = [...tests];
  const executor: WorkerExecutor = {
    async start() {
      calls.push("start");
      return start ?? { ok: true, container: "c", image: "i", staging: "overlay", notes: [] };
    },
    async runWorker(prompt) {
      calls.push(`run ${prompt}`);
      onRun?.();
      const run = { ...goodRun, ...leftRuns.shift() };
      staged = run.job;
      return run;
    },
    async land() {
      calls.push("land");
      return staged === null ? null : { ...staged, outcome: "committed", ...landing };
    },
    async runTest() {
      calls.push("test");
      return { ...passed, ...leftTests.shift() };
    },
    async stop() {
      calls.push("stop");
    },
  };
  return { executor, calls };
}

function partsWith(more: Partial<RunTaskDeps>): RunTaskDeps {
  return {
    files: memoryFiles(),
    executor: fakeExecutor().executor,
    meta: null,
    messages: taskMessagesFor("en"),
    now: () => new Date("2026-11-15T00:00:00Z"),
    signal: new AbortController().signal,
    ...more,
  };
}

test("plans, lets the worker run, tests, judges, and is done", async () => {
  const { executor, calls } = fakeExecutor();
  const meta = fakeModel([PLAN, RUN, DONE, GOOD]);
  const files = memoryFiles();
  const { record, interrupted } = await runTask(
    partsWith({ executor, meta, files, metaSystemPrompt: "Be brief." }),
    facts,
  );
  expect([record.state, record.end, interrupted]).toEqual(["COMPLETE", { summary: "all good" }, false]);
  // Judged before it lands.
  expect(calls).toEqual(["start", "run do it", "test", "land", "stop"]);
  expect(files.kept.map(({ type }) => type)).toEqual([
    "created",
    "prepared",
    "planning",
    "planned",
    "decided",
    "worker-started",
    "worker-finished",
    "tested",
    "landed",
    "decided",
    "validating",
    "assessed",
    "completed",
  ]);
  expect(files.note).toContain("- [x] AC-1: greets");
  expect(meta.requests[0]?.system).toStartWith("Be brief.\n\n");
  expect(meta.requests[2]?.messages[0]).toMatchObject({ text: expect.stringContaining("did it") });
});

test("a verdict that is not enough, or a failing test, sends the task back to the worker", async () => {
  const { executor, calls } = fakeExecutor({ tests: [{ exitCode: 1, output: "1 failed" }] });
  // Called done on red: no model is asked whether that is so.
  const meta = fakeModel([PLAN, RUN, DONE, RUN, DONE, GOOD]);
  const { record } = await runTask(partsWith({ executor, meta }), facts);
  expect(record.state).toBe("COMPLETE");
  expect(record.loops[1]).toMatchObject({ action: "mark_complete", refused: true });
  expect(meta.requests[3]?.messages[0]).toMatchObject({
    text: expect.stringContaining("while the tests fail"),
  });
  // The red run stayed a preview; what landed is the second, which holds it.
  expect(calls).toEqual(["start", "run do it", "test", "run do it", "test", "land", "stop"]);
  const again = await runTask(partsWith({ meta: fakeModel([PLAN, RUN, DONE, BAD, RUN, DONE, GOOD]) }), facts);
  expect(again.record.loops).toHaveLength(4);
});

test("an answer that breaks the form is requested again once, with the mistake", async () => {
  const meta = fakeModel(["no", PLAN, RUN, DONE, GOOD]);
  expect((await runTask(partsWith({ meta }), facts)).record.state).toBe("COMPLETE");
  expect(meta.requests[1]?.messages.filter(({ role }) => role === "user")).toHaveLength(2);
  const stubborn = await runTask(partsWith({ meta: fakeModel(["no", "no", PLAN]) }), facts);
  expect(stubborn.record.end).toMatchObject({
    code: "meta",
    summary: expect.stringContaining("two answers that could not be used"),
  });
});

describe("ends as failed, with the reason, and the container gone", () => {
  const failure: ModelFailure = { code: "unreachable", message: "nobody there", retryable: true };
  const CASES: readonly (readonly [string, Partial<RunTaskDeps> & { readonly script?: Script }, string])[] = [
    ["the loops are used up", { meta: fakeModel([PLAN, RUN, RUN, RUN, RUN, RUN]) }, "max-loops"],
    ["the planning model does not answer", { meta: fakeModel([failure]) }, "meta"],
    ["the engine is down", { script: { start: { ok: false, code: "engine", message: "down" } } }, "engine"],
    ["the image is missing", { script: { start: { ok: false, code: "image", message: "none" } } }, "image"],
    [
      "the worker fails without a planner",
      { script: { runs: [{ exitCode: 1, error: "exit status 1" }] } },
      "worker",
    ],
    ["the tests fail without a planner", { script: { tests: [{ exitCode: 2 }] } }, "test"],
    [
      "a hook does not let it land",
      { script: { landing: { outcome: "staged", notes: ["./ask → 1"] } } },
      "hook",
    ],
    [
      "the host's files changed before it landed",
      { script: { landing: { outcome: "conflict", conflicts: ["a"] } } },
      "conflict",
    ],
    [
      "the host's files changed meanwhile",
      {
        script: {
          runs: [
            {
              job: {
                id: "job_1_b",
                outcome: "conflict",
                changes: [],
                diff: "",
                notes: [],
                conflicts: ["a"],
              },
            },
          ],
        },
      },
      "conflict",
    ],
  ];
  test.each(CASES)("when %s", async (_, { script, ...more }, code) => {
    const { executor, calls } = fakeExecutor(script);
    const { record } = await runTask(partsWith({ executor, ...more }), facts);
    expect([record.state, record.end?.code as string]).toEqual(["FAILED", code]);
    expect(calls.at(-1)).toBe("stop");
  });
  test("when the total time is used up", async () => {
    let ms = 0;
    const { executor } = fakeExecutor({
      onRun: () => {
        ms += 700_000;
      },
    });
    const meta = fakeModel([PLAN, RUN, RUN]);
    const { record } = await runTask(partsWith({ executor, meta, now: () => new Date(ms) }), facts);
    expect(record.end?.code).toBe("total-time");
  });
});

test("a failed worker run is recorded and reported to the planner", async () => {
  const { executor } = fakeExecutor({ runs: [{ exitCode: null, error: "ended after 60 seconds" }] });
  const meta = fakeModel([PLAN, RUN, RUN, DONE, GOOD]);
  const { record } = await runTask(partsWith({ executor, meta }), facts);
  expect(record.state).toBe("COMPLETE");
  expect(meta.requests[2]?.messages[0]).toMatchObject({
    text: expect.stringContaining("The worker failed: ended after 60 seconds"),
  });
});

test("without a planner the requirements are the prompt, and exit code and tests judge", async () => {
  const { executor, calls } = fakeExecutor();
  const { record } = await runTask(partsWith({ executor }), facts);
  expect([record.state, record.end?.summary]).toEqual(["COMPLETE", "did it"]);
  expect(calls).toEqual(["start", "run Say hello", "test", "land", "stop"]);
});

test("red never lands: it is returned to the worker, ends as a preview, and the reply says so", async () => {
  const red = { exitCode: 1, output: "1 failed" };
  const { executor, calls } = fakeExecutor({ tests: [red, { ...red, output: "2 failed" }, red] });
  const { record } = await runTask(partsWith({ executor, attempts: 3 }), facts);
  expect(calls.filter((call) => call === "land")).toEqual([]);
  expect(calls.filter((call) => call.startsWith("run"))).toHaveLength(3);
  expect(calls[3]).toContain("1 failed");
  expect(record.end).toMatchObject({
    code: "test",
    summary: expect.stringContaining("picoclaw apply --job job_1_a"),
  });
  const mended = fakeExecutor({ tests: [red] });
  const after = await runTask(partsWith({ executor: mended.executor, attempts: 3 }), facts);
  expect([after.record.state, mended.calls.at(-2)]).toEqual(["COMPLETE", "land"]);
  expect(after.record.loops.map(({ run }) => run?.job?.outcome).at(-1)).toBe("committed");
});

test("a worker that failed leaves a preview; it lands when tests and planner take it all the same", async () => {
  const failing = { runs: [{ exitCode: 1, error: "cut off" }] };
  const alone = fakeExecutor(failing);
  const { record } = await runTask(partsWith({ executor: alone.executor }), facts);
  expect([record.state, alone.calls]).toEqual(["FAILED", ["start", "run Say hello", "test", "stop"]]);
  const planned = fakeExecutor(failing);
  const meta = fakeModel([PLAN, RUN, DONE, GOOD]);
  const taken = await runTask(partsWith({ executor: planned.executor, meta }), facts);
  expect([taken.record.state, planned.calls.at(-2)]).toEqual(["COMPLETE", "land"]);
  expect(meta.requests[2]?.messages[0]).toMatchObject({
    text: expect.stringContaining("kept as the preview job_1_a"),
  });
});

test("work that was resumed without its preview is not called done", async () => {
  const files = memoryFiles();
  const first = fakeExecutor({ runs: [{ exitCode: 1, error: "cut off" }] });
  const failed = await runTask(partsWith({ files, executor: first.executor, meta: fakeModel([PLAN, RUN]) }), {
    ...facts,
    test: null,
    maxLoops: 1,
  });
  expect(failed.record.end?.summary).toContain("job_1_a");
  const again = await runTask(partsWith({ files, meta: fakeModel([DONE, GOOD]) }), "resume");
  expect([again.record.state, again.record.end?.code]).toEqual(["FAILED", "worker"]);
  // Applied by a person since, it is.
  const start = {
    ok: true,
    container: "c",
    image: "i",
    staging: "overlay",
    notes: [],
    hasKept: true,
  } as const;
  const applied = fakeExecutor({ start });
  const third = await runTask(partsWith({ files, ...applied, meta: fakeModel([DONE, GOOD]) }), "resume");
  expect([third.record.state, third.record.loops[0]?.run?.job?.outcome]).toEqual(["COMPLETE", "committed"]);
});

test("an interrupt stops cleanly, and a resume continues from the journal", async () => {
  const stop = new AbortController();
  const files = memoryFiles();
  const aborted = { ...(goodRun.job as RunJob), outcome: "aborted" };
  const first = fakeExecutor({ runs: [{ job: aborted }], onRun: () => stop.abort() });
  const before = await runTask(
    partsWith({ files, executor: first.executor, meta: fakeModel([PLAN, RUN]), signal: stop.signal }),
    facts,
  );
  expect([before.record.state, before.interrupted, first.calls.at(-1)]).toEqual(["RUNNING", true, "stop"]);
  expect(files.kept.at(-1)?.type).toBe("interrupted");
  const second = fakeExecutor();
  const meta = fakeModel([DONE, GOOD]);
  const after = await runTask(partsWith({ files, executor: second.executor, meta }), "resume");
  // The tests never ran after the interrupted run: they do before it is called done.
  expect(second.calls).toEqual(["start", "test", "stop"]);
  expect([after.record.state, after.record.loops.length]).toEqual(["COMPLETE", 2]);
});

test("an interrupt during planning plans again", async () => {
  const stop = new AbortController();
  const files = memoryFiles();
  const aborted: ModelFailure = { code: "aborted", message: "aborted", retryable: false };
  const meta = { ...fakeModel([aborted]), generate: fakeModel([aborted]).generate };
  stop.abort();
  const before = await runTask(partsWith({ files, meta, signal: stop.signal }), facts);
  expect([before.record.state, before.interrupted]).toEqual(["PENDING", true]);
  const after = await runTask(partsWith({ files, meta: fakeModel([PLAN, RUN, DONE, GOOD]) }), "resume");
  expect(after.record.state).toBe("COMPLETE");
});

test("a bug of ours is in the journal, and the container is gone", async () => {
  const files = memoryFiles();
  const { executor, calls } = fakeExecutor({
    onRun: () => {
      throw new Error("boom");
    },
  });
  await expect(runTask(partsWith({ files, executor }), facts)).rejects.toThrow("boom");
  expect(files.kept.at(-1)).toMatchObject({ type: "failed", code: "bug", reason: "boom" });
  expect(calls.at(-1)).toBe("stop");
});

describe("what the container cannot run", () => {
  test("is said at once, not tried again", async () => {
    const output = "sh: 1: pytest: not found\n";
    const { executor, calls } = fakeExecutor({ tests: [{ exitCode: 127, output }] });
    const { record } = await runTask(partsWith({ executor, meta: fakeModel([PLAN, RUN, RUN, RUN]) }), facts);
    expect(record.end).toMatchObject({
      code: "cannot-run",
      summary: expect.stringContaining("agent-runner-codex:latest has no pytest"),
    });
    expect(calls).toEqual(["start", "run do it", "test", "stop"]);
    const lacking = fakeExecutor({ runs: [{ exitCode: null, error: "gone", missing: "codex" }] });
    const other = await runTask(partsWith({ ...lacking, meta: fakeModel([PLAN, RUN, RUN]) }), facts);
    expect(other.record.end).toMatchObject({
      code: "cannot-run",
      summary: expect.stringContaining("no codex"),
    });
  });
  test("but a script that the worker has yet to write is", async () => {
    const output = "sh: 1: ./check.sh: not found\n";
    const { executor } = fakeExecutor({ tests: [{ exitCode: 127, output }] });
    const { record } = await runTask(
      partsWith({ executor, meta: fakeModel([PLAN, RUN, RUN, DONE, GOOD]) }),
      facts,
    );
    expect(record.state).toBe("COMPLETE");
  });
});

test("the planner is shown the difference and what the tests printed, and its cost is counted", async () => {
  const job = { ...(goodRun.job as RunJob), diff: "-bye\n+hello\n" };
  const { executor } = fakeExecutor({ runs: [{ job }], tests: [{ output: "1 passed" }] });
  const meta = fakeModel([PLAN, RUN, DONE, GOOD]);
  const { record } = await runTask(partsWith({ executor, meta, costOf: () => 0.5 }), facts);
  expect(meta.requests[2]?.messages[0]).toMatchObject({
    text: expect.stringMatching(/-bye\n\+hello[\s\S]*1 passed/),
  });
  expect(record.usage.costUsd).toBe(2);
});

test("a task that failed before its plan is planned when it is resumed", async () => {
  const files = memoryFiles();
  const down = fakeExecutor({ start: { ok: false, code: "engine", message: "down" } });
  await runTask(partsWith({ files, ...down, meta: fakeModel([]) }), facts);
  const { record } = await runTask(partsWith({ files, meta: fakeModel([PLAN, RUN, DONE, GOOD]) }), "resume");
  expect([record.state, record.criteria.length]).toEqual(["COMPLETE", 1]);
});

test("after the loops were used up, a resume continues with the same number again", async () => {
  const files = memoryFiles();
  const first = await runTask(partsWith({ files, meta: fakeModel([PLAN, RUN, RUN, RUN, RUN]) }), facts);
  expect(first.record.end?.code).toBe("max-loops");
  const second = await runTask(partsWith({ files, meta: fakeModel([RUN, DONE, GOOD]) }), "resume");
  expect([second.record.state, second.record.loops.length]).toEqual(["COMPLETE", 6]);
});

test("a planning model whose server is overloaded is waited for", async () => {
  const busy: ModelFailure = { code: "server-error", message: "overloaded", retryable: true, status: 529 };
  const waits: number[] = [];
  const patience = createPatience({
    limitMs: 60_000,
    clock: () => 0,
    pause: async (ms) => void waits.push(ms),
  });
  const meta = fakeModel([busy, PLAN, RUN, busy, busy, DONE, GOOD]);
  const { record } = await runTask(partsWith({ meta, patience }), facts);
  expect([record.state, waits]).toEqual(["COMPLETE", [5000, 5000, 10_000]]);
});
