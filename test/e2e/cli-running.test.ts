import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../require.ts";
import { type Cli, create, createCli, shell, until } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const ended = (job: ChildProcess) => new Promise<number | null>((resolve) => job.on("close", resolve));
const listed = () => cli.json(cli.run(["jobs", "--json"])).jobs as { job_id: string; state: string }[];
const runningJob = () => listed().find(({ state }) => state === "running")?.job_id;

function startJob(
  name: string,
  commands: unknown,
): { job: ChildProcess; end: Promise<number | null>; said: () => string } {
  writeFileSync(join(cli.folder, name), JSON.stringify(commands));
  const job = cli.start(["apply", join(cli.folder, name)]);
  let said = "";
  for (const stream of [job.stdout, job.stderr]) stream?.on("data", (data) => (said += data));
  return { job, end: ended(job), said: () => said };
}

/** Processes that name the folder of this test. */
const processes = () => processesWith((line) => line.includes(cli.folder));

function processesWith(isMeant: (commandLine: string) => boolean): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && isMeant(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    } catch {
      return false;
    }
  });
}

describe.if(process.platform === "linux" && requirePart("bwrap"))("a job that runs", () => {
  const stubborn = shell("echo half > half; trap '' TERM; touch begun; sleep 300 & wait; sleep 300");

  test.each(["overlay", "copy"] as const)(
    "is shown, and stopped by name without a trace (%s)",
    async (kind) => {
      cli.write("kept", "kept");
      writeFileSync(join(cli.folder, "p.json"), JSON.stringify([stubborn]));
      const job = cli.start(["apply", join(cli.folder, "p.json")], { PICOCLAW_WORKER_TRANSACTION: kind });
      const end = ended(job);
      const id = await until(runningJob);
      expect(cli.run(["jobs"]).out).toContain("Running");
      expect(cli.run(["stop", id])).toEqual({
        code: 0,
        out: `Stopped, nothing changed\n#1 was stopped.\n`,
        err: "",
      });
      expect(await end).toBe(1);
      await until(() => processes().length === 0);
      expect(cli.tree()).toEqual({ kept: "kept" });
      expect(listed()).toMatchObject([{ job_id: id, state: "discarded" }]);
      expect(cli.run(["stop", id])).toMatchObject({
        code: 3,
        err: `Refused\n#1 is not running. See: picoclaw jobs\n`,
      });
      expect(cli.run(["stop", "job_1_nobody"]).code).toBe(2);
      expect(cli.run(["stop"]).code).toBe(2);
    },
  );

  test("is buried by stop when its program was killed, and no stranger with its number is hurt", async () => {
    const { job, end } = startJob("p.json", [stubborn]);
    const id = await until(runningJob);
    job.kill("SIGKILL");
    await end;
    const stranger = Bun.spawn(["sleep", "60"]);
    try {
      const record = join(cli.home, "workspaces");
      const file = join(record, readdirSync(record)[0] as string, "jobs", id, "job.json");
      const stored = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
      writeFileSync(file, JSON.stringify({ ...stored, pid: stranger.pid }));
      expect(cli.run(["stop", id]).code).not.toBe(2);
      expect(stranger.exitCode).toBeNull();
    } finally {
      stranger.kill();
    }
    await until(() => processes().length === 0);
    expect(cli.tree()).toEqual({});
  });

  test("does not hold up a short one", async () => {
    // It sleeps until it is woken, so that no clock decides.
    const mark = `7${process.pid}.5`;
    const long = startJob("long.json", [shell(`sleep ${mark}; echo long > long`)]);
    const sleeping = await until(() => processesWith((line) => line === `sleep\0${mark}\0`)[0]);
    expect(runningJob()).toBeDefined();
    expect(cli.apply([shell("echo short > short"), create("edited", "x")]).code).toBe(0);
    expect(cli.tree()).toEqual({ short: "short\n", edited: "x" });
    process.kill(Number(sleeping), "SIGTERM");
    expect(await long.end).toBe(0);
    expect(cli.tree()).toEqual({ short: "short\n", edited: "x", long: "long\n" });
  });

  test("lands beside seven others, each with its own change; those that met in one file are named", async () => {
    mkdirSync(join(cli.workspace, "d"));
    cli.write("d/shared", "0\n");
    const jobs = [1, 2, 3, 4, 5, 6, 7, 8].map((i) =>
      startJob(`j${i}.json`, [
        shell(`echo ${i} > d/own${i}; echo home > ~/cache${i}; ${i > 6 ? `echo ${i} >> d/shared` : ":"}`),
      ]),
    );
    const codes = await Promise.all(jobs.map(({ end }) => end));
    expect(codes.slice(0, 6)).toEqual([0, 0, 0, 0, 0, 0]);
    const tree = cli.tree();
    for (const i of [1, 2, 3, 4, 5, 6]) expect(tree[`d/own${i}`]).toBe(`${i}\n`);
    const lines = (tree["d/shared"] ?? "").trim().split("\n");
    expect(lines.length).toBe(1 + codes.slice(6).filter((code) => code === 0).length);
    expect(existsSync(join(cli.folder, "user", "cache1"))).toBe(false);
    await until(() => processes().length === 0);
  });

  test("says that a server which it started ended with it, and how to keep one", () => {
    const { out } = cli.apply([shell("sleep 300 & echo started")]);
    expect(out).toContain("Still running at the end of the job, and ended with it");
    expect(out).toContain("start it yourself in a terminal");
  });
});
