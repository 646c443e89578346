import { expect, test } from "bun:test";
import { listRunningJobs, liveRows } from "../../../src/adapters/cli/live-jobs.ts";
import type { JobEvent, StoredJob } from "../../../src/application/ports/jobs.ts";
import { inRunningOrder } from "../../../src/application/sandbox/process-report.ts";
import { runningMessagesFor } from "../../../src/domain/texts/jobs-running.ts";

const AT = "2026-03-01T09:30:00.000Z";
const command = { type: "shell_command", action: "run", target: "npm run build\nnpm test", content: "" };
const job: StoredJob = {
  jobId: "job_1_aaaaaaaa",
  groupId: "group_1_aaaaaaaa",
  workspace: "/ws",
  source: "chat:line",
  title: "faster",
  createdAt: AT,
  finishedAt: AT,
  kind: "overlay",
  outcome: "running",
  pid: 7,
  success: false,
  totalCmds: 0,
  executedCmds: 0,
  failedCmds: 0,
  changes: [],
  notes: [],
  state: "running",
  stateAt: AT,
  bytes: 0,
};

function running(events: readonly JobEvent[], jobs: readonly StoredJob[] = [job]) {
  const archive = { list: () => [...jobs], events: () => events.map((event) => ({ at: AT, event })) };
  const now = new Date("2026-03-01T09:31:05.900Z");
  return inRunningOrder(listRunningJobs({ archive, isAlive: ({ pid }) => pid === 7 }, now));
}

const started = (attempt: number): JobEvent => ({ type: "command_started", attempt, index: 0, command });
const finished = (attempt: number, success: boolean): JobEvent => ({
  type: "command_finished",
  attempt,
  index: 0,
  success,
  output: "",
  error: success ? "" : "exit status 2\nmore",
  duration: 5,
  changes: [],
  notes: [],
});
const checked = (over: "draft" | "baseline", attempt: number, exitCode: number | null): JobEvent => ({
  type: "check_finished",
  attempt,
  over,
  command: "npm test",
  exit_code: exitCode,
  output: "",
  duration: 5,
});

test.each<[string, JobEvent[], string, string]>([
  ["a command", [started(1)], "attempt 1", "$ npm run build …"],
  ["a command beside checks", [started(1), checked("baseline", 0, 0)], "attempt 1", "$ npm run build …"],
  ["a failure", [started(1), finished(1, false)], "attempt 1", "✗ $ npm run build … exit status 2 …"],
  [
    "a red check",
    [started(1), finished(1, true), checked("draft", 1, 1)],
    "attempt 1",
    "check: npm test → exit 1",
  ],
  [
    "the next attempt",
    [started(1), finished(1, true), checked("draft", 1, 1), started(2), finished(2, true)],
    "attempt 2",
    "✓ $ npm run build …",
  ],
  [
    "a check that never ended",
    [checked("baseline", 0, null)],
    "",
    "check of the state before: npm test → did not end by itself",
  ],
  ["a merge", [{ type: "merged", path: "a.ts", by: "job_2_b" }], "", "merged with job_2_b: a.ts"],
  ["a note", [{ type: "note", text: "one\u001b[2J\ntwo" }], "", "one[2J …"],
  ["no event yet", [], "", ""],
])("a draft is told by its attempt and its latest event: %s", (_, events, step, latest) => {
  const [, , line, below] = liveRows(running(events), runningMessagesFor("en"), { columns: 100, rows: 24 });
  expect(line).toBe(`job_1_aaaaaaaa  65 s  chat in LINE  faster  ${step}`.trimEnd());
  expect(below?.trim()).toBe(latest);
});

test("a job runs while its process does: one that ended, died or waits is left out", () => {
  const others: StoredJob[] = [
    { ...job, jobId: "job_2_dead", pid: 8 },
    { ...job, jobId: "job_3_done", state: "committed", outcome: "committed" },
    { ...job, jobId: "job_4_waits", state: "staged", outcome: "staged" },
    { ...job, jobId: "job_5_lands", state: "staged", outcome: "committed", unsettled: "due" },
  ];
  expect(running([], [job, ...others]).map(({ id }) => id)).toEqual([job.jobId, "job_5_lands"]);
});

test.each([
  [200, 24],
  [80, 24],
  [80, 8],
  [20, 3],
  [1, 1],
])("fifty jobs never take more than the window, and are all counted (%d×%d)", (columns, rows) => {
  const many = Array.from({ length: 50 }, (_, at) => ({ ...job, jobId: `job_${at}` }));
  const lines = liveRows(running([started(1)], many), runningMessagesFor("en"), { columns, rows });
  expect(lines.length).toBeLessThanOrEqual(rows);
  expect(lines[0]).toBe("Running now: 50");
  const named = lines.filter((line) => /^job_\d/.test(line)).length;
  if (rows === 24) expect(lines).toContain(`… and ${50 - named} more`);
});

test("the sub-agents of a draft are lines below it, as long as they run", () => {
  const agent = (number: number): JobEvent => ({
    type: "agent_started",
    agent: number,
    task: `part ${number}`,
    writes: number === 1,
  });
  const events: JobEvent[] = [
    started(1),
    finished(1, true),
    agent(1),
    agent(2),
    agent(3),
    { type: "agent_step", agent: 2, doing: "read_file a.ts" },
    { type: "agent_ended", agent: 3, end: "done", files: 1, tokens: 10, cost_usd: 0 },
  ];
  const [, , ...lines] = liveRows(running(events), runningMessagesFor("en"), { columns: 200, rows: 24 });
  expect(lines.slice(0, 3).map((line) => line.replace(/ {2,}/g, " · "))).toEqual([
    "job_1_aaaaaaaa · 65 s · chat in LINE · faster · attempt 1 · sub-agent 3 is done",
    " · job_1_aaaaaaaa/1 · 65 s · sub-agent 1 · part 1",
    " · job_1_aaaaaaaa/2 · 65 s · sub-agent 2, reads only · part 2 · read_file a.ts",
  ]);
});

test("a draft of a sub-agent is not a line of its own: the sub-agent is", () => {
  const draft = { ...job, jobId: "job_2_bbbbbbbb", source: "agent:job_1_aaaaaaaa/1" };
  expect(running([], [job, draft]).map(({ id }) => id)).toEqual([job.jobId]);
});
