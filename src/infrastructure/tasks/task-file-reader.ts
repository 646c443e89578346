import { closeSync, existsSync, openSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { TaskReader, TaskSummary } from "../../application/ports/web.ts";
import { isEnded } from "../../domain/tasks/state.ts";
import { figuresOf } from "../../domain/tasks/task-steps.ts";
import { recordOf, type TaskRecord } from "../../domain/tasks/task-record.ts";
import { tryFlock } from "../platform/file-lock.ts";
import { createTaskFiles } from "./task-files.ts";

/** The tasks of `picoclaw run` on one workspace, from their journals. */
export function createTaskFileReader(storage: string): TaskReader {
  const folder = join(storage, "tasks");
  return {
    async list(limit) {
      if (!existsSync(folder)) return [];
      return readdirSync(folder)
        .map((id) => ({ id, journal: join(folder, id, "journal.ndjson") }))
        .flatMap(({ id, journal }) => {
          const stats = statSync(journal, { throwIfNoEntry: false });
          return stats === undefined ? [] : [{ id, at: stats.mtimeMs }];
        })
        .sort((x, y) => y.at - x.at)
        .slice(0, limit)
        .flatMap(({ id }) => {
          const record = readRecord(storage, id);
          return record === null ? [] : [summaryOf(record, () => isHeld(join(folder, id, "lock")))];
        });
    },
  };
}

function summaryOf(record: TaskRecord, isWorkedOn: () => boolean): TaskSummary {
  const { facts, state, updatedAt, loops, steps } = record;
  const ended = isEnded(state);
  const running = !ended && isWorkedOn();
  return {
    id: facts.id,
    title: facts.title,
    state: ended || running ? state : `${state} ⏸`,
    tone: state === "COMPLETE" ? "good" : state === "FAILED" ? "bad" : running ? "running" : "waiting",
    source: `run · ${facts.kind}`,
    updatedAt,
    step: `${loops.length}/${facts.maxLoops}`,
    figures: figuresOf(steps),
  };
}

/** A task that is worked on holds its lock. */
function isHeld(path: string): boolean {
  if (!existsSync(path)) return false;
  const descriptor = openSync(path, "r");
  const held = !tryFlock(descriptor, "exclusive").ok;
  closeSync(descriptor);
  return held;
}

/** Null for what no version of ours can read. */
function readRecord(storage: string, id: string): TaskRecord | null {
  try {
    return recordOf(createTaskFiles({ storage, workspace: storage, id, mask: (text) => text }).events());
  } catch {
    return null;
  }
}
