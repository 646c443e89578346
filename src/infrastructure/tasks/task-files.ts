import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { TaskReader, TaskSummary } from "../../application/ports/tasks.ts";
import type { StoredTaskFiles } from "../../application/tasks/run-task-file.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isEnded, recordOf, type TaskEvent, type TaskRecord } from "../../domain/tasks/task-record.ts";
import { figuresOf } from "../../domain/tasks/task-steps.ts";
import { appendDurably } from "../jobs/job-folder.ts";
import { isFileLocked, takeLock } from "../platform/folder-lock.ts";

export interface TaskFilesDeps {
  readonly storage: string;
  readonly workspace: string;
  readonly id: string;
  readonly mask: (text: string) => string;
}

/** The journal is stored with the jobs; the note is in the workspace, where people look, hidden from git. */
export function createTaskFiles({ storage, workspace, id, mask }: TaskFilesDeps): StoredTaskFiles {
  const folder = join(storage, "tasks", id);
  const journal = join(folder, "journal.ndjson");
  const source = join(folder, "task.yaml");
  const notes = join(workspace, ".picoclaw");
  const notePath = join(notes, `task-${id}.md`);
  const makeFolder = () => mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    folder,
    notePath,
    append(event) {
      makeFolder();
      appendDurably(journal, mask(JSON.stringify(event)));
    },
    events() {
      if (!existsSync(journal)) return [];
      const lines = readFileSync(journal, "utf8").split("\n");
      return lines.flatMap((line) => readEvent(line));
    },
    writeNote(markdown, json) {
      mkdirSync(notes, { recursive: true });
      if (!existsSync(join(notes, ".gitignore"))) writeFileSync(join(notes, ".gitignore"), "*\n");
      replaceTaskFile(notePath, mask(markdown));
      replaceTaskFile(join(notes, `task-${id}.json`), mask(json));
    },
    claim() {
      makeFolder();
      return takeLock(join(folder, "lock"), "file");
    },
    saveSource(text) {
      makeFolder();
      writeFileSync(source, text, { mode: 0o600 });
    },
    forgetJournal: () => rmSync(journal, { force: true }),
    readSource: () => (existsSync(source) ? readFileSync(source, "utf8") : null),
  };
}

/** The task file that a task was made of; null when there is no such task here. */
export function readTaskSource(deps: Omit<TaskFilesDeps, "mask">): string | null {
  if (!/^[\w.-]+$/.test(deps.id)) return null;
  return createTaskFiles({ ...deps, mask: (text) => text }).readSource();
}

/** Layers of tasks whose process died; those of live tasks are held by their lock. Returns the folders. */
export function deadViews(storage: string): readonly string[] {
  const tasks = join(storage, "tasks");
  if (!existsSync(tasks)) return [];
  return readdirSync(tasks).flatMap((id) => {
    const view = join(tasks, id, "view");
    return existsSync(view) && !isFileLocked(join(tasks, id, "lock")) ? [view] : [];
  });
}

/** The last line may have been cut by a crash. */
function readEvent(line: string): TaskEvent[] {
  if (line === "") return [];
  return attemptOr([], () => [JSON.parse(line) as TaskEvent]);
}

function replaceTaskFile(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}

export function createTaskFileReader(storage: string): TaskReader {
  const folder = join(storage, "tasks");
  return {
    async list(limit) {
      if (!existsSync(folder)) return [];
      return readdirSync(folder)
        .flatMap((id) => {
          const stats = statSync(join(folder, id, "journal.ndjson"), { throwIfNoEntry: false });
          return stats === undefined ? [] : [{ id, at: stats.mtimeMs }];
        })
        .sort((x, y) => y.at - x.at)
        .slice(0, limit)
        .flatMap(({ id }) => {
          const record = readRecord(storage, id);
          return record === null ? [] : [summaryOf(record, () => isFileLocked(join(folder, id, "lock")))];
        });
    },
  };
}

/** A task that is worked on holds its lock. */
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

/** Null for what no version of ours can read. */
function readRecord(storage: string, id: string): TaskRecord | null {
  return attemptOr(null, () =>
    recordOf(createTaskFiles({ storage, workspace: storage, id, mask: (text) => text }).events()),
  );
}

export function allTasks(readers: readonly TaskReader[]): TaskReader {
  return {
    async list(limit) {
      const lists = await Promise.all(readers.map((reader) => reader.list(limit)));
      return lists
        .flat()
        .sort((x, y) => (x.updatedAt < y.updatedAt ? 1 : -1))
        .slice(0, limit);
    },
  };
}
