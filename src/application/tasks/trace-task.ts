import { traceparentOfTask } from "../../domain/platform/traceparent.ts";
import type { TaskStep } from "../../domain/tasks/task-steps.ts";
import type { Span, Tracing } from "../ports/platform.ts";
import type { SolveTask } from "../ports/tasks.ts";

export interface TraceTaskDeps {
  readonly tracing: Tracing;
  /** Model calls of a task belong to this span, until a later call changes that. */
  readonly tracer: { follow(taskId: string, span: Span | null): void };
  readonly steps: (taskId: string) => Promise<readonly TaskStep[]>;
  readonly now: () => Date;
}

/**
 * Runs a task and traces it: how long it waited, the run with its phases, commands, checks and model calls. All runs of a
 * task, on whichever machine, are one trace.
 */
export async function traceTask<Ended extends Pick<SolveTask, "state" | "phase"> | null>(
  { tracing, tracer, steps, now }: TraceTaskDeps,
  task: Pick<SolveTask, "id" | "item" | "createdAt" | "trigger">,
  run: () => Promise<Ended>,
): Promise<Ended> {
  const begun = now();
  const root = traceparentOfTask(task.id);
  const facts = { "picoclaw.task_id": task.id, forge: task.item.forge, trigger: task.trigger };
  const known = await steps(task.id).catch(() => []);
  if (root !== null && known.length === 0)
    tracing.begin("queue wait", { as: root, at: new Date(task.createdAt), facts }).end();
  const span = tracing.begin("task", { parent: root ?? undefined, at: begun, kind: "consumer", facts });
  tracer.follow(task.id, span);
  try {
    const ended = await run();
    span.end({
      facts: { state: ended?.state, phase: ended?.phase },
      error: ended?.state === "failed" ? "failed" : undefined,
    });
    return ended;
  } catch (error) {
    span.end({ error: "broken" });
    throw error;
  } finally {
    tracer.follow(task.id, null);
    const all = await steps(task.id).catch(() => []);
    traceSteps(tracing, span, all.slice(known.length), now());
  }
}

function traceSteps(tracing: Tracing, parent: Span, steps: readonly TaskStep[], ended: Date): void {
  const { traceparent } = parent;
  const phases = steps.filter((step) => step.kind === "phase");
  for (const [n, { phase, at }] of phases.entries()) {
    const until = phases[n + 1]?.at;
    tracing
      .begin(`phase ${phase}`, { parent: traceparent, at: new Date(at) })
      .end({ at: until === undefined ? ended : new Date(until) });
  }
  for (const step of steps) {
    if (step.kind !== "command" && step.kind !== "checked") continue;
    const { at, durationMs, exitCode, candidate } = step;
    const end = new Date(at);
    const facts = { exit_code: exitCode, candidate };
    tracing
      .begin(step.kind === "command" ? "task command" : "check", {
        parent: traceparent,
        at: new Date(end.getTime() - durationMs),
        facts,
      })
      .end({ at: end, error: exitCode === 0 ? undefined : "failed" });
  }
}
