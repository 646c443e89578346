import { afterEach, expect, test } from "bun:test";
import { createMessageTracer } from "../../../src/application/serve/message-tracer.ts";
import { traceTask } from "../../../src/application/tasks/forge-service.ts";
import type { TaskStep } from "../../../src/domain/tasks/task-steps.ts";
import { createOtlpTracing } from "../../../src/infrastructure/platform/otlp-tracing.ts";
import { startCollector } from "../../fakes/collector/collector.ts";
import { createManualTimers } from "../../fakes/timers.ts";

const collector = startCollector();
afterEach(collector.stop);

const ID = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736";
const item = { forge: "github", owner: "o", repository: "r", kind: "issue", number: 7 } as never;

test("all runs of a task are one trace: how long it waited, its phases, commands, checks and model calls", async () => {
  const timers = createManualTimers();
  const tracing = createOtlpTracing({
    endpoint: collector.url,
    headers: "",
    resource: { "service.name": "picoclaw" },
    mask: (text) => text,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    timers,
    fetch: (url, init) => fetch(url, init),
    onTrouble: (error) => {
      throw error;
    },
  });
  const tracer = createMessageTracer(tracing, timers.now);
  const createdAt = timers.now().toISOString();
  await timers.advance(5_000);
  const steps: TaskStep[] = [];
  const note = (step: object) => void steps.push({ at: timers.now().toISOString(), ...step } as TaskStep);
  const run = (state: "failed" | "done") => async () => {
    note({ kind: "phase", phase: "work" });
    const begun = timers.now();
    await timers.advance(1_000);
    tracer.asked({
      chatKey: `task:${ID}`,
      sessionId: ID,
      groupId: ID,
      role: "coder3",
      provider: "p",
      model: "m",
      local: false,
      begun,
      ended: timers.now(),
      usage: { inputTokens: 3, outputTokens: 2, cachedTokens: 0 },
      costUsd: 0.5,
      failure: null,
    });
    note({ kind: "command", command: "cat secret", exitCode: 0, durationMs: 200, output: "secret" });
    note({ kind: "phase", phase: "verify" });
    await timers.advance(500);
    note({ kind: "checked", command: "npm test", exitCode: 1, durationMs: 300, counts: null });
    return { state, phase: "verify" } as const;
  };
  const parts = { tracing, tracer, steps: async () => [...steps], now: timers.now };
  const task = { id: ID, item, createdAt, trigger: "label" } as const;
  await traceTask(parts, task, run("failed"));
  await traceTask(parts, task, run("done"));
  await tracing.close();
  const spans = collector.spans.toSorted((one, other) => one.name.localeCompare(other.name));
  expect(collector.seen.problems).toEqual([]);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([ID.replaceAll("-", "")]));
  const [wait] = spans.filter(({ name }) => name === "queue wait");
  expect(wait).toMatchObject({ ms: 5_000, parentSpanId: null });
  const tasks = spans.filter(({ name }) => name === "task");
  expect(tasks.map(({ failed, parentSpanId }) => [failed, parentSpanId === wait?.spanId]).sort()).toEqual([
    [false, true],
    [true, true],
  ]);
  for (const one of tasks)
    expect(
      spans
        .filter(({ parentSpanId }) => parentSpanId === one.spanId)
        .map(({ name, ms, failed }) => [name, ms, failed]),
    ).toEqual([
      ["check", 300, true],
      ["model call", 1_000, false],
      ["phase verify", 500, false],
      ["phase work", 1_000, false],
      ["task command", 200, false],
    ]);
  expect(collector.seen.bodies).not.toContain("secret");
});
