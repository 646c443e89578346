import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskEvent } from "../../../../src/domain/tasks/task-record.ts";
import { createTaskFiles, deadViews } from "../../../../src/infrastructure/tasks/task-files.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-task-files-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = "2026-11-15T00:00:00Z";
const open = (id = "t1") =>
  createTaskFiles({
    storage: join(folder, "storage"),
    workspace: folder,
    id,
    mask: (text) => text.replaceAll("secret", "****"),
  });

test("events come back in order, without a line that a crash cut and without secrets", () => {
  const files = open();
  const events: TaskEvent[] = [
    { type: "planning", at },
    { type: "failed", at, code: "worker", reason: "secret" },
  ];
  for (const event of events) files.append(event);
  appendFileSync(join(files.folder, "journal.ndjson"), '{"type":"comple');
  expect(open().events()).toEqual([{ type: "planning", at }, { ...events[1], reason: "****" } as TaskEvent]);
  expect(statSync(join(files.folder, "journal.ndjson")).mode & 0o077).toBe(0);
  files.forgetJournal();
  expect(files.events()).toEqual([]);
});

test("the note is replaced as a whole, hidden from git, and holds no secret", () => {
  const files = open();
  files.writeNote("first secret", "{}");
  files.writeNote("second secret", '{"a":"secret"}');
  expect(readFileSync(files.notePath, "utf8")).toBe("second ****");
  expect(readFileSync(join(folder, ".picoclaw/task-t1.json"), "utf8")).toBe('{"a":"****"}');
  expect(readFileSync(join(folder, ".picoclaw/.gitignore"), "utf8")).toBe("*\n");
  expect(existsSync(`${files.notePath}.tmp`)).toBe(false);
});

test("a task is held by one at a time", () => {
  const first = open().claim();
  expect(first).not.toBeNull();
  expect(open().claim()).toBeNull();
  first?.release();
  const second = open().claim();
  expect(second).not.toBeNull();
  second?.release();
});

test("layers of tasks without a holder are dead, those of a held task are not", () => {
  expect(deadViews(join(folder, "storage"))).toEqual([]);
  const [live, dead] = [open("live"), open("dead")];
  const held = live.claim();
  dead.claim()?.release();
  for (const { folder: own } of [live, dead]) mkdirSync(join(own, "view"));
  expect(deadViews(join(folder, "storage"))).toEqual([join(dead.folder, "view")]);
  held?.release();
});

test("the task file is kept for a resume", () => {
  const files = open();
  expect(files.readSource()).toBeNull();
  files.saveSource("version: 1");
  expect(open().readSource()).toBe("version: 1");
  expect(statSync(join(files.folder, "task.yaml")).mode & 0o077).toBe(0);
});
