import { cutMiddle } from "../texts/cut-middle.ts";
import { NO_USAGE, type TaskEvent, type TaskUsage } from "./events.ts";
import type { StepFacts, TaskStep } from "./step.ts";

const OUTPUT_CHARS = 4000;

/** What an event in the journal of a task file is as steps, in which tasks of every kind are told. */
export function stepsOfEvent(event: TaskEvent, worker: string): readonly TaskStep[] {
  return toStepFacts(event, worker).map((facts) => ({ ...facts, at: event.at }));
}

function toStepFacts(event: TaskEvent, worker: string): readonly StepFacts[] {
  switch (event.type) {
    case "created":
    case "resumed":
      return [{ kind: "taken-up", again: event.type === "resumed" }];
    case "prepared":
      return [{ kind: "prepared", environment: event.image, troubles: event.notes }];
    case "planning":
    case "validating":
      return [{ kind: "phase", phase: event.type }];
    case "planned":
      return [
        saidStep("", event.usage),
        { kind: "planned", plan: event.criteria.map(({ description }) => description), environment: null },
      ];
    case "decided":
      return [saidStep(`${event.action}: ${event.reason}`, event.usage)];
    case "worker-started":
      return [{ kind: "phase", phase: "running" }];
    case "worker-finished": {
      const { run } = event;
      const { exitCode, startedAt, finishedAt, summary, rawOutput, usage, job } = run;
      return [
        saidStep(summary, usage),
        {
          kind: "command",
          command: worker,
          exitCode: exitCode ?? -1,
          durationMs: Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)) || 0,
          output: cutMiddle(rawOutput, OUTPUT_CHARS),
        },
        ...(job?.changes ?? []).map(({ path }) => ({ kind: "edited", path, ok: true }) as const),
      ];
    }
    case "tested": {
      const { command, exitCode, durationMs } = event.test;
      return [{ kind: "checked", command, exitCode, durationMs, counts: null }];
    }
    case "refused":
      return [];
    case "assessed":
      return [saidStep(event.summary, event.usage)];
    case "interrupted":
      return [{ kind: "ended", state: "interrupted", code: null, message: "" }];
    case "completed":
      return [{ kind: "ended", state: "COMPLETE", code: null, message: event.summary }];
    case "failed":
      return [{ kind: "ended", state: "FAILED", code: event.code, message: event.reason }];
  }
}

function saidStep(text: string, { inputTokens, outputTokens, costUsd }: TaskUsage = NO_USAGE): StepFacts {
  return { kind: "said", text: cutMiddle(text, OUTPUT_CHARS), inputTokens, outputTokens, costUsd };
}
