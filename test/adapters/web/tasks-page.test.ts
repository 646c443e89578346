import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NO_USAGE } from "../../../src/domain/models/model-facts.ts";
import type { TaskEvent } from "../../../src/domain/tasks/task-record.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { createSolveReader } from "../../../src/infrastructure/tasks/solve-store.ts";
import {
  allTasks,
  createTaskFileReader,
  createTaskFiles,
} from "../../../src/infrastructure/tasks/task-files.ts";
import { createTaskReader } from "../../../src/infrastructure/web/console-readers.ts";
import { taskFacts } from "../../domain/tasks/task-facts.ts";
import { openMessages } from "../../infrastructure/store/open-messages.ts";
import { createPages } from "./pages-kit.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-tasks-page-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = "2026-11-15T00:00:00.000Z";
const facts = taskFacts({ id: "greet", title: "Greet <b>", test: { command: "npm test", cwd: "" } });
const usage = { inputTokens: 1200, outputTokens: 30, costUsd: 0.125 };
const EVENTS: readonly TaskEvent[] = [
  { type: "created", at, task: facts },
  { type: "planning", at },
  { type: "planned", at: "2026-11-15T00:01:05.000Z", criteria: [], usage },
  { type: "decided", at, loop: 1, action: "run_worker", reason: "go", prompt: "p", usage: NO_USAGE },
];

test("the page shows tasks of `run`, how far they are, what they used, and reads itself again", async () => {
  const storage = join(folder, "storage");
  const files = createTaskFiles({ storage, workspace: folder, id: "greet", mask: (text) => text });
  for (const event of EVENTS) files.append(event);
  const db = openSqlite(join(folder, "store.db"));
  const { store } = await openMessages({ db, now: () => new Date() });
  const tasks = allTasks([
    createTaskReader(async () => createSolveReader(db), 60),
    createTaskFileReader(storage),
  ]);
  const { ask } = await createPages(db, store, async () => ({ status: "duplicate" }) as never, { tasks });
  const held = files.claim();
  const page = await (await ask("/tasks")).text();
  expect(page).toContain("Greet &lt;b&gt;");
  expect(page).toContain("step 1/10 · ");
  expect(page).toContain("1200 → 30 tokens · $0.1250");
  expect(page).toContain("run_worker: go");
  expect(page).toContain('data-every="2"');
  held?.release();
  const idle = await (await ask("/tasks")).text();
  expect(idle).toContain("running ⏸");
  expect(idle).toContain('data-every="20"');
  await db.destroy();
});
