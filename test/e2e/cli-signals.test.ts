import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { type Cli, create, createCli, shell, until } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

interface LongJob {
  readonly job: ChildProcess;
  readonly said: () => string;
  /** How many of its processes this machine runs. */
  readonly processes: () => number;
}

/** A job that has begun: its shell's child, and one that left its session, both run. */
async function startLongJob(): Promise<LongJob> {
  const seconds = `${3000 + Math.floor(Math.random() * 6000)}.${process.pid}`;
  const line = `setsid sh -c 'exec sleep ${seconds}' & touch made; sleep ${seconds}; true`;
  cli.write("p.json", JSON.stringify([create("first", "x"), shell(line)]));
  const job = cli.start(["apply", "p.json"]);
  let said = "";
  for (const stream of [job.stdout, job.stderr]) stream?.on("data", (data) => (said += data));
  const processes = () =>
    readdirSync("/proc").filter((pid) => commandOf(pid) === `sleep\0${seconds}\0`).length;
  await until(() => processes() === 2);
  return { job, said: () => said, processes };
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

const ended = (job: ChildProcess) => new Promise<number | null>((resolve) => job.on("close", resolve));

describe.if(process.platform === "linux")("a job that is stopped", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "by %s ends its whole tree, applies nothing, says so, and the next one works",
    async (signal) => {
      const { job, said, processes } = await startLongJob();
      const end = ended(job);
      job.kill(signal);
      // A shell expects 130 from a program that Ctrl-C ended.
      expect(await end).toBe(signal === "SIGINT" ? 130 : 1);
      expect(said()).toStartWith(
        "Stopped, nothing changed\n\nFailed: stopped. Every change was undone; the workspace is as it was before.",
      );
      await until(() => processes() === 0);
      expect(Object.keys(cli.tree())).toEqual(["p.json"]);
      expect(cli.apply([create("next", "1")]).code).toBe(0);
      expect(cli.run(["jobs"]).out).toContain("Stopped, nothing changed");
    },
  );

  test("is not undone while it runs, and when its process was killed there is nothing to undo", async () => {
    const { job, processes } = await startLongJob();
    const id = String((cli.json(cli.run(["jobs", "--json"])).jobs as { job_id: string }[])[0]?.job_id);
    expect(cli.run(["undo", id])).toEqual({
      code: 3,
      out: "",
      err: `Refused\n#1 is still running (pid ${job.pid}). Wait until it has ended, or stop it: picoclaw stop 1\n`,
    });
    const end = ended(job);
    job.kill("SIGKILL");
    await end;
    expect(cli.run(["undo", id])).toEqual({
      code: 3,
      out: "",
      err: `Refused\n#1 ended before it applied anything, so there is nothing to undo.\n`,
    });
    expect(cli.run(["jobs"]).out).toContain("Interrupted");
    expect(cli.run(["doctor", "--repair"]).out).toContain("#1 ended before it applied anything");
    await until(() => processes() === 0);
    expect(cli.apply([create("next", "1")]).code).toBe(0);
  });
});

test("a server that is told to end with its first answer ends gently", async () => {
  const port = await freePort();
  const server = cli.start(["serve", "--port", String(port)]);
  const end = ended(server);
  await untilAnswers(port, server);
  server.kill("SIGTERM");
  expect(await end).toBe(0);
});

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

async function untilAnswers(port: number, server: ChildProcess): Promise<void> {
  const isUp = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (server.exitCode === null && !(await isUp()));
}
