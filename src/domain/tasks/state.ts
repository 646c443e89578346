import type { TaskEvent } from "./events.ts";

export type TaskState = "PENDING" | "PLANNING" | "RUNNING" | "VALIDATING" | "COMPLETE" | "FAILED";

type EventType = TaskEvent["type"];

/** PENDING → PLANNING → RUNNING → VALIDATING → COMPLETE | FAILED, and from a verdict that is not enough back to RUNNING. */
const MOVES: Readonly<Record<TaskState, Partial<Record<EventType, TaskState>>>> = {
  PENDING: {
    prepared: "PENDING",
    planning: "PLANNING",
    failed: "FAILED",
    interrupted: "PENDING",
    resumed: "PENDING",
  },
  PLANNING: {
    prepared: "PLANNING",
    planned: "RUNNING",
    failed: "FAILED",
    interrupted: "PLANNING",
    resumed: "PENDING",
  },
  RUNNING: {
    prepared: "RUNNING",
    decided: "RUNNING",
    "worker-started": "RUNNING",
    "worker-finished": "RUNNING",
    tested: "RUNNING",
    refused: "RUNNING",
    validating: "VALIDATING",
    failed: "FAILED",
    interrupted: "RUNNING",
    resumed: "RUNNING",
  },
  VALIDATING: {
    assessed: "VALIDATING",
    decided: "RUNNING",
    completed: "COMPLETE",
    failed: "FAILED",
    interrupted: "VALIDATING",
    resumed: "RUNNING",
  },
  COMPLETE: {},
  FAILED: { resumed: "RUNNING" },
};

/** The state after an event; null when the event cannot happen in this state. */
export function nextState(state: TaskState, event: EventType): TaskState | null {
  return MOVES[state][event] ?? null;
}

export function isEnded(state: TaskState): boolean {
  return state === "COMPLETE" || state === "FAILED";
}
