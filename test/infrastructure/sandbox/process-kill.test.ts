import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRequest } from "../../../src/application/ports/platform-processes.ts";
import { attemptOr } from "../../../src/domain/platform/error-text.ts";
import {
  createProcessRunner,
  killStrays,
  newRunTag,
} from "../../../src/infrastructure/platform/process-runner.ts";
import { endAllJobs, folder, isRunning, request, until } from "./process-kit.ts";

const { runProcess, killJobProcesses, listJobProcesses } = createProcessRunner();

afterEach(endAllJobs);

/** Runs until the script's processes have written `count` pids to the file, then aborts. */
async function abortAfterPids(script: string, count: number, change: Partial<ProcessRequest> = {}) {
  const file = join(folder, crypto.randomUUID());
  writeFileSync(file, "");
  const pids = () => readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number);
  const abort = new AbortController();
  const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", PIDS: file };
  const running = runProcess(request(script, { signal: abort.signal, env, ...change }));
  await until(() => pids().length >= count, `${count} pids`);
  expect(pids().every(isRunning)).toBe(true);
  abort.abort();
  return { result: await running, alive: pids().filter(isRunning) };
}

describe("a timeout", () => {
  test("returns the output so far, and what still ran", async () => {
    const result = await runProcess(request("echo so far; sleep 1000", { timeoutMs: 2_000 }));
    expect(result).toMatchObject({ outcome: "timed-out", output: "so far\n", signal: "SIGTERM" });
    expect(result.running).toContain("sleep 1000");
    expect(result.durationMs).toBeLessThan(120_000);
  });

  test("does not count what begins after it as what still ran", async () => {
    const script = "trap : TERM; for file in hangs next; do bash -c 'sleep 1000 & wait' $file; done";
    const result = await runProcess(request(script, { timeoutMs: 2_000, graceMs: 2_000 }));
    const files = result.running?.map((command) => / (hangs|next)$/.exec(command)?.[1]).filter(Boolean);
    expect([result.outcome, new Set(files)]).toEqual(["timed-out", new Set(["hangs"])]);
  });

  test("gives a process the time to end in its own way", async () => {
    const script = "trap 'echo cleaned; exit 3' TERM; echo up; while :; do sleep 0.01; done";
    const result = await runProcess(request(script, { timeoutMs: 2_000, graceMs: 10_000 }));
    expect(result).toMatchObject({ outcome: "timed-out", exitCode: 3, stdout: "up\ncleaned\n" });
  });

  test("ends a process that is stopped", async () => {
    const result = await runProcess(request("kill -STOP $$", { timeoutMs: 100 }));
    expect(result).toMatchObject({ outcome: "timed-out", signal: "SIGTERM" });
  });
});

describe("an abort ends the whole tree", () => {
  const trees: readonly [string, number, string][] = [
    ["a child in its own session", 1, "setsid sh -c 'echo $$ >> $PIDS; exec sleep 1000'; wait"],
    ["a double-forked daemon", 1, "(setsid sh -c 'echo $$ >> $PIDS; exec sleep 1000' &) ; sleep 1000"],
    [
      "a daemon with an empty environment",
      1,
      "p=$PIDS; (env -i /bin/sh -c \"setsid /bin/sh -c 'echo \\$\\$ >> $p; exec /bin/sleep 1000' &\") ; sleep 1000",
    ],
    [
      "children that ignore TERM",
      2,
      "trap '' TERM; echo $$ >> $PIDS; sh -c 'echo $$ >> $PIDS; while :; do sleep 1; done'",
    ],
    [
      "a hundred children",
      100,
      "i=0; while [ $i -lt 100 ]; do setsid sh -c 'echo $$ >> $PIDS; exec sleep 1000' & i=$((i+1)); done; wait",
    ],
    [
      "a child that forks a new one whenever one dies",
      1,
      "trap '' TERM; while :; do setsid sh -c 'trap \"\" TERM; echo $$ >> $PIDS; sleep 0.02'; done",
    ],
  ];
  test.each(trees)("%s", async (_name, count, script) => {
    const { result, alive } =
      count === 1 && script.includes("0.02")
        ? await abortFlappers(script)
        : await abortAfterPids(script, count);
    expect(result.outcome).toBe("aborted");
    expect(alive).toEqual([]);
  });

  async function abortFlappers(script: string) {
    const marker = `job_test_${crypto.randomUUID()}`;
    const abort = new AbortController();
    const env = { PATH: process.env.PATH ?? "/usr/bin:/bin", PIDS: "/dev/null" };
    const running = runProcess(request(script, { signal: abort.signal, env, jobMarker: marker }));
    await until(async () => (await listJobProcesses(marker)).length > 1, "children");
    abort.abort();
    return { result: await running, alive: await listJobProcesses(marker) };
  }
});

describe("jobs", () => {
  test("killing one leaves the other, whose daemon hides alike", async () => {
    const script = "(env -i setsid sleep 1000 >/dev/null 2>&1 &); true";
    const [a, b] = [request(script), request(script)];
    await Promise.all([runProcess(a), runProcess(b)]);
    await until(async () => {
      const lists = await Promise.all([listJobProcesses(a.jobMarker), listJobProcesses(b.jobMarker)]);
      return lists.every((list) => list.length === 1 && list[0]?.command === "sleep 1000");
    }, "both daemons");
    const [daemonOfB] = await listJobProcesses(b.jobMarker);
    expect(await killJobProcesses(a.jobMarker)).toMatchObject([{ command: "sleep 1000", survived: false }]);
    expect(await listJobProcesses(a.jobMarker)).toEqual([]);
    expect(await listJobProcesses(b.jobMarker)).toEqual(daemonOfB ? [daemonOfB] : []);
    expect(isRunning(daemonOfB?.pid ?? 0)).toBe(true);
  });

  test("a command's timeout spares what an earlier command of the job left running", async () => {
    const server = request("sleep 1001 >/dev/null 2>&1 & true");
    await runProcess(server);
    const late = await runProcess(request("sleep 1002", { jobMarker: server.jobMarker, timeoutMs: 100 }));
    expect(late.outcome).toBe("timed-out");
    expect((await listJobProcesses(server.jobMarker)).map((p) => p.command)).toEqual(["sleep 1001"]);
  });

  test("killing a job without processes finds none, twice", async () => {
    expect(await killJobProcesses("job_never_was")).toEqual([]);
    expect(await killJobProcesses("job_never_was")).toEqual([]);
  });

  test("orphans of a job are buried, not left as zombies of ours", async () => {
    const one = request("(sleep 1003 & sleep 1003 &) >/dev/null 2>&1; true");
    await runProcess(one);
    const pids = (await listJobProcesses(one.jobMarker)).map((p) => p.pid);
    expect(pids.length).toBe(2);
    await killJobProcesses(one.jobMarker);
    const states = pids.map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/stat`, "utf8");
      } catch {
        return "gone";
      }
    });
    expect(states).toEqual(["gone", "gone"]);
  });

  test("where the machine leaves no room for a tag, a daemon with an empty environment ends all the same", () => {
    const runner = join(import.meta.dir, "../../../src/infrastructure/platform/process-runner.ts");
    const script = `
      const { createProcessRunner } = await import(${JSON.stringify(runner)});
      const { runProcess, killJobProcesses } = createProcessRunner();
      await runProcess({
        argv: ["sh", "-c", "(env -i setsid sleep 1004 >/dev/null 2>&1 &); true"],
        cwd: "/", env: { PATH: process.env.PATH }, timeoutMs: 120_000, outputLimitBytes: 100, jobMarker: "job_untagged",
      });
      console.log((await killJobProcesses("job_untagged")).map((each) => each.command + " " + each.survived).join());
    `;
    const { stdout } = Bun.spawnSync(["prlimit", "--rttime=200000:200000", process.execPath, "-e", script]);
    expect(stdout.toString()).toMatch(/^[^,]*sleep 1004 false\n$/);
  });
});

/** A dead sandbox that its parent has not buried, in the group of the script that started it. */
test.skipIf(process.platform !== "linux")(
  "what a sandbox left behind is ended without the script around it",
  async () => {
    const file = join(folder, crypto.randomUUID());
    const sandbox = join(folder, "job_1_stray");
    // It ends after bash has become `sleep`, which reaps nothing.
    const once = 'until read -r name < /proc/$$/comm; [ "$name" = sleep ]; do :; done';
    const dead = `( ulimit -S -R ${newRunTag(sandbox)}; ${once}; exec true ) & echo $! > ${file}; exec sleep 1000`;
    const script = Bun.spawn(["setsid", "bash", "-c", dead], { stdio: ["ignore", "ignore", "ignore"] });
    const isDead = () => / Z /.test(readFileSync(`/proc/${readFileSync(file, "utf8").trim()}/stat`, "utf8"));
    await until(() => attemptOr(false, isDead), "a zombie");
    await killStrays(sandbox);
    expect(isRunning(script.pid)).toBe(true);
    script.kill("SIGKILL");
    await script.exited;
  },
);
