import { describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import {
  isOfJob,
  isTag,
  newRunTag,
  selectProcesses,
} from "../../../src/infrastructure/platform/process-runner.ts";
import {
  isAlive,
  isZombie,
  type ProcessEntry,
  parseDarwinProcesses,
  parseStat,
  parseTag,
  processBirth,
  processLife,
  signalProcess,
} from "../../../src/infrastructure/platform/process-table.ts";

function entry(pid: number, parentPid: number, change: Partial<ProcessEntry> = {}): ProcessEntry {
  return {
    pid,
    parentPid,
    group: pid,
    session: pid,
    startedAt: 1000,
    zombie: false,
    tag: () => undefined,
    hasVariable: () => false,
    command: () => `command ${pid}`,
    ...change,
  };
}

const pids = (entries: readonly ProcessEntry[]) => entries.map((e) => e.pid).sort((a, b) => a - b);

describe("/proc", () => {
  test("a command name with blanks and parentheses does not shift the fields", () => {
    const line = `42 (a) Z 1 (b) S 7 42 43 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 98765 1 2 3\n`;
    expect(parseStat(line)).toEqual({
      pid: 42,
      parentPid: 7,
      group: 42,
      session: 43,
      startedAt: 98765,
      zombie: false,
    });
  });

  test("a dead first thread with living siblings is not a zombie", () => {
    const line = (threads: number) =>
      `42 (x) Z 7 42 43 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 ${threads} 0 98765 1\n`;
    expect([parseStat(line(2)).zombie, parseStat(line(1)).zombie]).toEqual([false, true]);
  });

  test("the tag is the soft limit of real-time CPU", () => {
    const limits = (soft: string) =>
      `Max realtime priority     0    0\nMax realtime timeout      ${soft}   unlimited   us\n`;
    expect(parseTag(limits("1657324662872342528"))).toBe(1657324662872342528n);
    expect(parseTag(limits("unlimited"))).toBeUndefined();
  });

  test("a recycled pid is not signaled", async () => {
    const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
    const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    signalProcess({ ...entry(child.pid as number, 1), startedAt: 1 }, "SIGKILL");
    child.stdin.end();
    expect(await ended).toEqual({ code: 0, signal: null });
  });
});

describe("ps on macOS", () => {
  test("tree and environment are read, other lines are passed over", () => {
    const tree = `  501     1   500 S    Mon Nov  3 09:12:44 2025     /bin/sh -c sleep 9\n  502   501   500 Z+   Mon Nov 13 09:12:45 2025     (sleep)\ngarbage\n`;
    const environments = `  501 /bin/sh -c sleep 9 PATH=/bin PICOCLAW_JOB=job_1\n  502 (sleep)\n`;
    const [shell, dead] = parseDarwinProcesses(tree, environments);
    expect(shell).toMatchObject({ pid: 501, parentPid: 1, group: 500, session: 500, zombie: false });
    expect(shell?.command()).toBe("/bin/sh -c sleep 9");
    expect(shell?.hasVariable("PICOCLAW_JOB", "job_1")).toBe(true);
    expect(shell?.hasVariable("PICOCLAW_JOB", "job_")).toBe(false);
    expect(dead).toMatchObject({ pid: 502, parentPid: 501, zombie: true });
    expect(dead?.hasVariable("PICOCLAW_JOB", "job_1")).toBe(false);
  });
});

describe("which processes belong to a job", () => {
  // Beyond what a kernel gives: in a container this process itself may be 20.
  const P = 5_000_000;
  const marked = { hasVariable: (_: string, value: string) => value === "job_a" };
  const table = [
    entry(P + 10, 1, marked),
    entry(P + 11, P + 10),
    entry(P + 12, P + 11),
    entry(P + 20, 1, { tag: () => newRunTag("job_a") }),
    entry(P + 30, 1, { tag: () => newRunTag("job_b"), ...marked }),
    entry(process.pid, P + 10),
    entry(P + 40, process.pid),
    entry(P + 50, 1),
  ];

  test("the marked and their descendants; a tag outweighs the variable; never this process and its own", () => {
    expect(pids(selectProcesses(table, { jobMarker: "job_a" }))).toEqual(
      [10, 11, 12, 20].map((pid) => P + pid),
    );
  });

  test("of one run: its tag, its leader's session, its variable without a tag, and nothing older", () => {
    const runTag = newRunTag("job_a");
    const leader = { pid: P + 60, startedAt: 500, runTag };
    const run = [
      entry(P + 60, process.pid, { startedAt: 500 }),
      entry(P + 61, process.pid, { session: P + 60 }),
      entry(P + 62, 1, { tag: () => runTag }),
      entry(P + 63, 1, { tag: () => runTag ^ 1n, ...marked }),
      entry(P + 64, 1, marked),
      entry(P + 65, 1, { ...marked, startedAt: 499 }),
      entry(P + 66, 1, { session: P + 60, startedAt: 499 }),
    ];
    expect(pids(selectProcesses(run, { jobMarker: "job_a", leader }))).toEqual(
      [60, 61, 62, 64].map((pid) => P + pid),
    );
  });

  test("a known process stays known after it lost every mark", () => {
    expect(
      pids(selectProcesses(table, { jobMarker: "none" }, new Set([`${P + 50}:1000`, `${P + 11}:999`]))),
    ).toEqual([P + 50]);
  });
});

describe("a tag", () => {
  test("names its job, fits a signed 64-bit limit, and is unique to the job", () => {
    const tag = newRunTag("job_1_abc");
    expect(isTag(tag) && tag < 2n ** 63n).toBe(true);
    expect([isOfJob(tag, "job_1_abc"), isOfJob(tag, "job_1_abd"), isTag(2n ** 64n - 1n), isTag(0n)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

test.if(process.platform === "linux")("a killed process that its parent does not reap is gone", async () => {
  // The child of a shell that becomes another program, as below the first process of many containers.
  const parent = Bun.spawn(["sh", "-c", "sleep 60 & echo $!; exec sleep 60"], { stdout: "pipe" });
  const { value } = await parent.stdout.getReader().read();
  const pid = Number(new TextDecoder().decode(value));
  const birth = processBirth(pid);
  expect(processLife(pid, birth)).toBe("lives");
  process.kill(pid, "SIGKILL");
  while (!isZombie(pid)) await Bun.sleep(1);
  expect([processLife(pid, birth), processLife(pid, undefined), isAlive(pid)]).toEqual([
    "gone",
    "gone",
    false,
  ]);
  parent.kill("SIGKILL");
  await parent.exited;
});
