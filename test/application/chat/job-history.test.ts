import { expect, test } from "bun:test";
import { createJobHistory } from "../../../src/application/chat/job-history.ts";
import type { FileDifference, JobEvent, StoredJob } from "../../../src/application/ports/jobs.ts";
import type { PatchCommand } from "../../../src/domain/patch/patch-command.ts";

const job = (more: Partial<StoredJob>): StoredJob => ({
  jobId: "job_1",
  groupId: "cli:default#1",
  workspace: "/ws",
  source: "chat:cli",
  title: "",
  createdAt: "",
  finishedAt: "",
  kind: "overlay",
  outcome: "committed",
  success: true,
  totalCmds: 1,
  executedCmds: 1,
  failedCmds: 0,
  changes: [{ path: "src/a.ts", kind: "modified" }],
  notes: [],
  state: "committed",
  stateAt: "",
  bytes: 0,
  ...more,
});

const history = (
  jobs: readonly StoredJob[],
  events: Readonly<Record<string, readonly JobEvent[]>> = {},
  differences: Readonly<Record<string, readonly FileDifference[]>> = {},
) =>
  createJobHistory(
    {
      list: (_states, isOfGroup) => jobs.filter(({ groupId }) => isOfGroup?.(groupId) ?? true),
      events: (jobId) => (events[jobId] ?? []).map((event) => ({ at: "", event })),
      differences: (jobId) => [...(differences[jobId] ?? [])],
    },
    "cli:default#",
    "2026-01-01",
  );

const shell = (target: string): PatchCommand => ({
  type: "shell_command",
  action: "run",
  target,
  content: "",
});

const finished = (index: number, success: boolean, output: string, attempt?: number): JobEvent => ({
  type: "command_finished",
  index,
  success,
  output,
  error: success ? "" : "exit status 1",
  duration: 1,
  changes: [],
  notes: [],
  ...(attempt !== undefined && { attempt }),
});

test("files, and the failing command with the end of its output", () => {
  const told = history([job({ success: false })], {
    job_1: [
      { type: "command_started", index: 0, command: shell("npm test") },
      finished(0, false, `${"noise\n".repeat(500)}1 failing: adds two numbers`),
    ],
  }).tell("cli:default#1");
  expect(told).toStartWith("Done: modified src/a.ts.\nfailed: command npm test\n  | …");
  expect(told).toContain("  | 1 failing: adds two numbers\n  | exit status 1");
  expect(told.length).toBeLessThan(1_200);
});

test.each<[StoredJob["state"], StoredJob["outcome"], string]>([
  [
    "undone",
    "committed",
    "Done, then UNDONE by the user; the files are as before. It had modified src/a.ts.",
  ],
  ["staged", "staged", "Kept as a preview, not applied. It would have modified src/a.ts."],
  ["evicted", "committed", "Done: modified src/a.ts."],
])("a job that is %s", (state, outcome, expected) => {
  expect(history([job({ state, outcome })]).tell("cli:default#1")).toBe(expected);
});

test("of a draft only the last attempt counts, its checks too", () => {
  const told = history([job({ state: "staged", outcome: "staged" })], {
    job_1: [
      { type: "command_started", index: 0, attempt: 1, command: shell("make old") },
      finished(0, false, "old trouble", 1),
      { type: "command_started", index: 0, attempt: 2, command: shell("make") },
      finished(0, true, "", 2),
      {
        type: "check_finished",
        attempt: 2,
        over: "draft",
        command: "npm test",
        exit_code: 1,
        output: "2 of 9 fail",
        duration: 1,
      },
    ],
  }).tell("cli:default#1");
  expect(told).not.toContain("old trouble");
  expect(told).toContain("failed: check npm test (exit code 1)\n  | 2 of 9 fail");
});

test("a draft that was opened for words alone is not listed", () => {
  const dropped = job({ state: "discarded", outcome: "rolled-back", changes: [] });
  expect(history([dropped]).tell("cli:default#1")).toBe("");
});

test("another chat's jobs are not listed, and not even read", async () => {
  const jobs = history([job({ groupId: "line:u#1" })]);
  expect(jobs.tell("line:u#1")).toBe("");
  expect(await jobs.recentFiles()).toEqual([]);
  expect(await jobs.difference("line:u#1")).toBe("");
});

test("recent files are those of the last message, and those that a failed edit was meant for", async () => {
  const edit: PatchCommand = { type: "file_edit", action: "update", target: "src/b.ts", content: "" };
  const jobs = history(
    [
      job({ jobId: "job_0", groupId: "cli:default#0", changes: [{ path: "old.ts", kind: "added" }] }),
      job({ jobId: "job_1" }),
      job({ jobId: "job_2", changes: [{ path: "gone.ts", kind: "deleted" }] }),
    ],
    { job_2: [{ type: "command_started", index: 0, command: edit }, finished(0, false, "")] },
  );
  expect(await jobs.recentFiles()).toEqual([
    { path: "src/a.ts", lines: [] },
    { path: "src/b.ts", lines: [] },
  ]);
});

const bytes = (text: string) => new TextEncoder().encode(text);
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}`);

test("a check that passed is given with the line that counts its tests", () => {
  const check = (attempt: number, exit_code: number, output: string): JobEvent => ({
    type: "check_finished",
    attempt,
    over: "draft",
    command: "npm test",
    exit_code,
    output,
    duration: 1,
  });
  const told = history([job({})], {
    job_1: [check(1, 1, "1 failing"), check(2, 0, "ok\n  12 passing (3s)\n")],
  }).tell("cli:default#1");
  expect(told).toBe("Done: modified src/a.ts.\npassed: check npm test (12 passing (3s))");
  const tap = history([job({})], {
    job_1: [
      {
        ...check(1, 0, "ok 768 a\nok 769 test case: b\n\n1..769\n# tests 769\n# pass  769\n"),
        command: `export PATH="$PWD/node_modules/.bin:$PATH"; tape 'test/*.js'`,
      } as JobEvent,
    ],
  }).tell("cli:default#1");
  expect(tap).toBe("Done: modified src/a.ts.\npassed: check tape 'test/*.js' (# pass  769)");
});

test("tests that were tried on the old code say nothing of the job; a last answer without a patch hides no failure", () => {
  const check = (exit_code: number, output: string, altered?: true): JobEvent => ({
    type: "check_finished",
    attempt: 1,
    over: "draft",
    ...(altered && { altered }),
    command: "npm test",
    exit_code,
    output,
    duration: 1,
  });
  const edit: PatchCommand = { type: "file_edit", action: "update", target: "src/b.ts", content: "" };
  const told = history([job({})], {
    job_1: [
      { type: "command_started", index: 0, attempt: 1, command: edit },
      finished(0, false, "not found", 1),
      { type: "doing", attempt: 2, doing: "asking", detail: "" },
      check(0, "9 passing"),
      check(0, "7 passing", true),
      check(1, "2 failing", true),
    ],
  }).tell("cli:default#1");
  expect(told).toBe(
    "Done: modified src/a.ts.\npassed: check npm test (9 passing)\nfailed: file_edit update src/b.ts\n  | not found\n  | exit status 1",
  );
});

test("the difference of a message, with the changed lines of its files; earlier messages of the conversation come after", async () => {
  const after = numbered(40);
  after[29] = "changed";
  const jobs = history(
    [
      job({
        jobId: "job_old",
        groupId: "cli:default#0",
        createdAt: "2025-01-01",
        changes: [{ path: "old.ts", kind: "added" }],
      }),
      job({
        jobId: "job_0",
        groupId: "cli:default#0b",
        createdAt: "2026-01-02",
        changes: [{ path: "new.ts", kind: "added" }],
      }),
      job({ jobId: "job_1", createdAt: "2026-01-03" }),
    ],
    {},
    {
      job_0: [{ path: "new.ts", before: null, after: bytes("made\n") }],
      job_1: [{ path: "src/a.ts", before: bytes(numbered(40).join("\n")), after: bytes(after.join("\n")) }],
    },
  );
  expect(await jobs.difference("cli:default#1")).toContain("-line 30\n+changed\n");
  // It is shown as a file already.
  expect(await jobs.difference("cli:default#0b")).toBe("");
  expect(await jobs.recentFiles()).toEqual([
    { path: "src/a.ts", lines: [30] },
    { path: "new.ts", lines: [1] },
  ]);
});

test("an undone job has no difference", async () => {
  const jobs = history(
    [job({ state: "undone" })],
    {},
    { job_1: [{ path: "src/a.ts", before: bytes("a\n"), after: bytes("b\n") }] },
  );
  expect(await jobs.difference("cli:default#1")).toBe("");
  expect(await jobs.recentFiles()).toEqual([]);
});

test("the discarded draft of a sub-agent is not a job of the message", () => {
  const draft = job({ jobId: "job_2", source: "agent:job_1/1", state: "discarded", outcome: "rolled-back" });
  expect(history([job({}), draft]).tell("cli:default#1")).toBe(history([job({})]).tell("cli:default#1"));
});

test("the changes of a message are its files and places by job, without their contents", async () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const before = bytes("a\nb\nc\nsecret\n");
  const after = bytes("a\nb\nc\n***\n");
  const told = history(
    [
      job({
        changes: [
          { path: "src/a.ts", kind: "modified" },
          { path: "b.ts", kind: "added" },
        ],
      }),
      job({ jobId: "job_2", state: "undone" }),
      job({ jobId: "job_3", changes: [] }),
      job({ jobId: "job_4", groupId: "cli:default#2" }),
    ],
    {},
    { job_1: [{ path: "src/a.ts", kind: "modified", before, after } as FileDifference] },
  );
  expect(await told.changes("cli:default#1")).toEqual([
    "job_1: Done: modified src/a.ts (at line 4), added b.ts.",
    "job_2: Done, then UNDONE by the user; the files are as before. It had modified src/a.ts.",
  ]);
  expect(await told.changes("cli:default#9")).toEqual([]);
  const names = ["src/a.ts", 'say "hi"\n.md', "日本 2026-01-02 .md", "gone.ts"];
  const kinds = { "gone.ts": "deleted" } as Record<string, "deleted">;
  const quoted = history(
    [job({ changes: names.map((path) => ({ path, kind: kinds[path] ?? "modified" })) })],
    {},
    {
      job_1: names.map((path) => {
        const kind = kinds[path] ?? "modified";
        return { path, kind, before, after: kind === "deleted" ? null : after } as FileDifference;
      }),
    },
  );
  const recent = names.slice(0, 3).map((path) => ({ path, lines: [4] }));
  expect(await quoted.recentFiles()).toEqual(recent);
});

test("what a job changed is read once, however often a message asks for it", async () => {
  const reads: string[] = [];
  const jobs = [job({ jobId: "job_1" }), job({ jobId: "job_2", groupId: "cli:default#2" })];
  const told = createJobHistory(
    {
      list: () => [...jobs],
      events: () => [],
      differences: (jobId) => {
        reads.push(jobId);
        return [{ path: "src/a.ts", before: Buffer.from("a\n"), after: Buffer.from("b\n") }];
      },
    },
    "cli:default#",
    "",
  );
  for (const groupId of ["cli:default#1", "cli:default#2"]) {
    expect(await told.difference(groupId)).toContain("+b");
    expect(await told.changes(groupId)).toHaveLength(1);
  }
  expect(await told.recentFiles()).toEqual([{ path: "src/a.ts", lines: [1] }]);
  expect(reads).toEqual(["job_1", "job_2"]);
});
