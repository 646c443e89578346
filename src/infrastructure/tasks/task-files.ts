import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { TaskFiles } from "../../application/ports/task-files.ts";
import type { TaskEvent } from "../../domain/tasks/events.ts";
import { tryFlock } from "../platform/file-lock.ts";

export interface TaskFilesDeps {
  /** Where the workspace's jobs are kept. */
  readonly storage: string;
  readonly workspace: string;
  readonly id: string;
  readonly mask: (text: string) => string;
}

/** The journal lies with the jobs; the note in the workspace, where people look, hidden from git. */
export function createTaskFiles({ storage, workspace, id, mask }: TaskFilesDeps): TaskFiles & {
  /** Of this task alone. */
  readonly folder: string;
  saveSource(text: string): void;
  readSource(): string | null;
  forgetJournal(): void;
} {
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
      const descriptor = openSync(journal, "a", 0o600);
      try {
        writeSync(descriptor, `${mask(JSON.stringify(event))}\n`);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
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
      const descriptor = openSync(join(folder, "lock"), "a", 0o600);
      if (tryFlock(descriptor, "exclusive").ok) return { release: () => closeSync(descriptor) };
      closeSync(descriptor);
      return null;
    },
    saveSource(text) {
      makeFolder();
      writeFileSync(source, text, { mode: 0o600 });
    },
    forgetJournal: () => rmSync(journal, { force: true }),
    readSource: () => (existsSync(source) ? readFileSync(source, "utf8") : null),
  };
}

/** Layers of tasks whose process died; those of live tasks are held by their lock. Returns the folders. */
export function deadViews(storage: string): readonly string[] {
  const tasks = join(storage, "tasks");
  if (!existsSync(tasks)) return [];
  return readdirSync(tasks).flatMap((id) => {
    const view = join(tasks, id, "view");
    if (!existsSync(view)) return [];
    const descriptor = openSync(join(tasks, id, "lock"), "a", 0o600);
    const isDead = tryFlock(descriptor, "exclusive").ok;
    closeSync(descriptor);
    return isDead ? [view] : [];
  });
}

/** The last line may have been cut by a crash. */
function readEvent(line: string): TaskEvent[] {
  if (line === "") return [];
  try {
    return [JSON.parse(line) as TaskEvent];
  } catch {
    return [];
  }
}

function replaceTaskFile(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}
