import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ChildProcess } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli, shell, until } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

/** A job that has begun: its shell and a child that left its session have both said who they are. */
async function startLongJob(): Promise<{ job: ChildProcess; said: () => string; pids: number[] }> {
  const [one, two] = [join(cli.folder, "pid1"), join(cli.folder, "pid2")];
  const line = `echo $$ > ${one}; setsid sh -c 'echo $$ > ${two}; exec sleep 300' & touch made; sleep 300`;
  cli.write("p.json", JSON.stringify([create("first", "x"), shell(line)]));
  const job = cli.start(["apply", "p.json"]);
  let said = "";
  for (const stream of [job.stdout, job.stderr]) stream?.on("data", (data) => (said += data));
  const pidIn = (file: string) =>
    existsSync(file) ? Number(readFileSync(file, "utf8")) || undefined : undefined;
  const pids = [await until(() => pidIn(one)), await until(() => pidIn(two))];
  return { job, said: () => said, pids };
}

const isAlive = (pid: number) => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};
const ended = (job: ChildProcess) => new Promise<number | null>((resolve) => job.on("close", resolve));

describe.if(process.platform === "linux")("a job that is stopped", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "by %s ends its whole tree, applies nothing, says so, and the next one works",
    async (signal) => {
      const { job, said, pids } = await startLongJob();
      const end = ended(job);
      job.kill(signal);
      expect(await end).toBe(1);
      expect(said()).toStartWith(
        "Failed: stopped. Every change was taken back; the workspace is as it was before.",
      );
      await until(() => pids.every((pid) => !isAlive(pid)));
      expect(Object.keys(cli.tree())).toEqual(["p.json"]);
      expect(cli.apply([create("next", "1")]).code).toBe(0);
      expect(cli.run(["jobs"]).out).toContain("rolled back");
    },
  );

  test("is not taken back while it runs, and when its process was killed there is nothing to take back", async () => {
    const { job, pids } = await startLongJob();
    const id = String((cli.json(cli.run(["jobs", "--json"])).jobs as { job_id: string }[])[0]?.job_id);
    expect(cli.run(["undo", id])).toEqual({
      code: 3,
      out: "",
      err: `${id} is still running (pid ${job.pid}). Take it back when it has ended, or stop it first.\n`,
    });
    const end = ended(job);
    job.kill("SIGKILL");
    await end;
    expect(cli.run(["undo", id])).toEqual({
      code: 3,
      out: "",
      err: `${id} ended in the middle and applied nothing, so there is nothing to take back.\n`,
    });
    expect(cli.run(["jobs"]).out).toContain("interrupted");
    expect(cli.run(["doctor", "--repair"]).out).toContain(id);
    await until(() => pids.every((pid) => !isAlive(pid)));
    expect(existsSync(join(cli.home, "workspaces"))).toBe(true);
    expect(cli.apply([create("next", "1")]).code).toBe(0);
  });
});
