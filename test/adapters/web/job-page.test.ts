import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toReason } from "../../../src/application/history/find-why.ts";
import { wordWork } from "../../../src/application/history/word-why.ts";
import type { JobEvent, JournalLine } from "../../../src/application/ports/jobs.ts";
import { historyMessagesFor } from "../../../src/domain/texts/history.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { storedJob } from "../../infrastructure/store/jobs-kit.ts";
import { openMessages } from "../../infrastructure/store/open-messages.ts";
import { createPages } from "./pages-kit.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-job-page-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const check = (attempt: number, command: string, exit_code: number, output: string): JobEvent => ({
  type: "check_finished",
  attempt,
  over: "draft",
  command,
  exit_code,
  output,
  duration: 10,
});
const tap = (pass: number, fail: number) =>
  [
    "TAP version 13",
    ...Array.from({ length: pass }, (_, n) => `ok ${n + 1} - good ${n}`),
    ...Array.from({ length: fail }, (_, n) => `not ok ${pass + n + 1} - bad ${n}`),
    `1..${pass + fail}`,
    `# tests ${pass + fail}`,
    `# pass ${pass}`,
    `# fail ${fail}`,
    "",
  ].join("\n");
const NARROW = 'export PATH="$PWD/node_modules/.bin:$PATH"; node --test a.test.js';
const command = { type: "file_edit", action: "update", target: "a.js", content: "" } as const;
const begun = {
  type: "job_started",
  workspace: "/w",
  commands: 0,
  file_edits: 0,
  shell_commands: 0,
  git_operations: 0,
} as const;
const EVENTS: readonly JobEvent[] = [
  { ...begun, kind: "direct" },
  { type: "doing", attempt: 1, doing: "asking", detail: "Gin (demo/gin-1)", tokens: 0, cost_usd: 0 },
  { ...begun, kind: "overlay" },
  { type: "command_started", attempt: 1, index: 0, command },
  {
    type: "command_finished",
    attempt: 1,
    index: 0,
    success: true,
    output: "",
    error: "",
    duration: 3,
    changes: [],
    notes: [],
  },
  { ...check(1, "npm test", 1, tap(1, 2)), over: "baseline" } as JobEvent,
  check(1, "npm test", 1, tap(1, 2)),
  check(1, NARROW, 1, tap(0, 2)),
  { ...check(1, NARROW, 1, tap(0, 2)), altered: true } as JobEvent,
  { type: "planned", attempt: 2, plan: "Count **each** item <script>alert(1)</script>" },
  { type: "doing", attempt: 2, doing: "checking", detail: "npm test", tokens: 2345, cost_usd: 0.0125 },
  check(2, "npm test", 0, tap(3, 0)),
  { type: "committed", changes: 1 },
];
const journal: readonly JournalLine[] = EVENTS.map((event) => ({ at: "2026-11-15T00:00:00.000Z", event }));

test("a job's page has its plan, model, attempts, tests and cost, and folds the runs around a check", async () => {
  const db = openSqlite(join(folder, "store.db"));
  const { store } = await openMessages({ db, now: () => new Date() });
  const viewed = { job: storedJob(1), alive: false };
  const { ask } = await createPages(
    db,
    store,
    async () => ({ status: "duplicate" }) as never,
    {},
    undefined,
    {
      read: async () => viewed,
      journal: async () => journal,
    },
  );
  const page = await (await ask(`/jobs/${viewed.job.jobId}`)).text();
  expect(page).toContain('<div class="text plan"><p>Count <strong>each</strong> item &lt;script&gt;');
  expect(page).toContain("<dd>Gin (demo/gin-1)</dd>");
  expect(page).toContain("<div>✓ npm test: 3 passed</div>");
  expect(page).toContain("<dd>2,345 tokens, $0.0125</dd>");
  const timeline = /<ol class="timeline">([\s\S]*?)<\/ol>/.exec(page)?.[1] ?? "";
  expect(timeline).not.toContain("export PATH");
  const entries = timeline.split("<li ").map((one) => one.replaceAll(/<[^>]*>/g, " "));
  expect(entries.filter((one) => one.includes("npm test: 2 failed, 1 passed"))).toHaveLength(1);
  expect(timeline).toContain("<summary>3 more runs");
  expect(entries.filter((one) => one.includes("Started"))).toHaveLength(1);
  // A command and its end are one line.
  expect(entries.filter((one) => one.includes("a.js"))).toHaveLength(1);
  expect(entries.map((one) => /Attempt \d/.exec(one)?.[0]).filter(Boolean)).toEqual([
    "Attempt 1",
    "Attempt 2",
  ]);
  expect(timeline).toContain("Applied, 1 change");
  await db.destroy();
});

test("a job that changed nothing ends without a change, and its page says once why it failed", async () => {
  const db = openSqlite(join(folder, "store.db"));
  const { store } = await openMessages({ db, now: () => new Date() });
  const job = { ...storedJob(1), changes: [], failedCmds: 1, title: "Write it", request: "Write it" };
  const story: readonly JobEvent[] = [
    { type: "command_started", index: 0, command: { ...command, type: "shell_command", target: "false" } },
    {
      type: "command_finished",
      index: 0,
      success: false,
      output: "printed",
      error: "command failed: exit status 1 (output: printed)",
      duration: 3,
      changes: [],
      notes: [],
    },
    { type: "command_started", index: 1, command },
    {
      type: "command_finished",
      index: 1,
      success: false,
      output: "does not match\nNothing of this edit was written.",
      error: "does not match",
      duration: 3,
      changes: [],
      notes: [],
    },
    { type: "committed", changes: 0 },
    { type: "undone", changes: 0 },
    { type: "redone", changes: 0 },
  ];
  const { ask } = await createPages(
    db,
    store,
    async () => ({ status: "duplicate" }) as never,
    {},
    undefined,
    {
      read: async () => ({ job, alive: false }),
      journal: async () => story.map((event) => ({ at: "2026-11-15T00:00:00.000Z", event })),
    },
  );
  const page = await (await ask(`/jobs/${job.jobId}`)).text();
  expect(page).toContain("Ended, nothing changed");
  expect(page).not.toContain("0 changes");
  expect(page).toContain('<p class="error">command failed: exit status 1</p>');
  expect(page).not.toContain("blockquote");
  // The report of an edit is for its model: folded, unlike a program's output.
  expect(page).toMatch(/<details open>.*\n?.*printed/);
  expect(page).toMatch(/<details ><summary>[^<]*<\/summary><pre[^>]*>does not match/);
  await db.destroy();
});

test("several jobs are undone together only while they are still the ones that the button named", async () => {
  const db = openSqlite(join(folder, "store.db"));
  const { store } = await openMessages({ db, now: () => new Date() });
  const { jobId } = storedJob(1);
  const undone: string[] = [];
  const facts = {
    about: "action",
    action: "undo",
    code: "conflict",
    status: "applied",
    name: jobId,
    workspace: folder,
    done: [],
    failedCmds: 0,
    conflicts: [],
  } as const;
  const { press } = await createPages(
    db,
    store,
    async () => ({ status: "duplicate" }) as never,
    {},
    undefined,
    {
      read: async () => ({ job: storedJob(1), alive: false }),
      act: async (_, __, name) => {
        undone.push(name);
        return { ...facts, ...(name === jobId && { together: [4, 1] }) };
      },
    },
  );
  await press(`/jobs/${jobId}/undo`, { together: "5 4 1" });
  await press(`/jobs/${jobId}/undo`, { jobs: "4 1" });
  expect(undone).toEqual([jobId, jobId]);
  await press(`/jobs/${jobId}/undo`, { together: "4 1" });
  expect(undone.slice(2)).toEqual([jobId, "4 1"]);
  await db.destroy();
});

test("the work of a job is its last attempt, by the plans of all", () => {
  const texts = historyMessagesFor("en");
  expect(wordWork(texts, toReason(storedJob(1), "job", journal))).toEqual([
    "By: Gin (demo/gin-1), command line",
    "Plan:",
    "  Count **each** item <script>alert(1)</script>",
    "Checks: npm test: 3 passed",
    "Attempts: 2, 2,345 tokens, $0.0125",
  ]);
  const first: JobEvent = { type: "planned", attempt: 1, plan: "Read the items" };
  const whole = toReason(null, "job", [{ at: "", event: first }, ...journal]);
  expect(whole.plan).toBe("Read the items\n→ Count **each** item <script>alert(1)</script>");
  const asked: JobEvent = { type: "doing", attempt: 3, doing: "asking", detail: "Gin (demo/gin-1)" };
  const askedAgain = [...journal, { at: "", event: asked }];
  expect(toReason(storedJob(1), "job", askedAgain).attempts).toBe(2);
  expect(toReason(storedJob(1, { state: "staged" }), "job", askedAgain).attempts).toBe(3);
  expect(toReason(null, "job", [])).toMatchObject({ attempts: 0, costUsd: null, checks: [] });
});
