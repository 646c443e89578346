import type { TaskFacts } from "../../../src/domain/tasks/task-record.ts";

/** A task file's task of which a test says what matters to it. */
export function taskFacts(said: Partial<TaskFacts> = {}): TaskFacts {
  return {
    id: "t1",
    title: "Greet",
    repo: "/r",
    description: "",
    prd: "p",
    test: null,
    kind: "codex-cli",
    image: "i",
    maxLoops: 10,
    maxRunTimeSec: 1,
    maxTotalTimeSec: 1,
    envNames: [],
    meta: null,
    ...said,
  };
}
