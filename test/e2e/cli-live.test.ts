import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../require.ts";
import { type Cli, create, createCli, shell, until } from "./cli-kit.ts";
import { type Shown, startProgram, type TerminalWorld } from "./terminal-kit.ts";

let cli: Cli;
const open: { shown: Shown[]; jobs: ChildProcess[] } = { shown: [], jobs: [] };
beforeEach(() => {
  cli = createCli();
});
afterEach(async () => {
  for (const shown of open.shown.splice(0)) await shown.close();
  for (const job of open.jobs.splice(0)) await ended(job, "SIGTERM");
  cli.remove();
});

async function ended(job: ChildProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (job.exitCode !== null || job.signalCode !== null) return;
  const end = new Promise((resolve) => job.once("close", resolve));
  job.kill(signal);
  await end;
}

interface Live {
  readonly job_id: string;
  readonly number: number;
  readonly seconds: number;
  readonly latest: { readonly type: string; readonly text: string } | null;
}

const live = () => cli.json(cli.run(["jobs", "--live", "--json"])).jobs as Live[];

/** Its id, once its last command runs. */
async function startSlowJob(
  name: string,
): Promise<{ readonly job: ChildProcess; readonly id: string; readonly number: number }> {
  const file = join(cli.folder, `${name}.json`);
  const script = `sleep 300 # ${name} \u001b[31m`;
  writeFileSync(file, JSON.stringify([create(`${name}.txt`, "x"), shell(script)]));
  const job = cli.start(["apply", file]);
  open.jobs.push(job);
  const found = await until(() => live().find(({ latest }) => latest?.text.includes(`# ${name}`)));
  return { job, id: found.job_id, number: found.number };
}

const world = (): TerminalWorld => ({ ...cli, remove: () => {} });

function watch(options: { readonly columns: number; readonly rows: number }): Shown {
  mkdirSync(cli.home, { recursive: true });
  const shown = startProgram(world(), { args: ["jobs", "--live"], ...options });
  open.shown.push(shown);
  return shown;
}

describe.if(process.platform === "linux" && requirePart("bwrap"))("jobs that run now", () => {
  test("are one line each through a pipe: id, time, who asked, title, step, latest; then how to stop one", async () => {
    const first = await startSlowJob("one");
    const second = await startSlowJob("two");
    const { code, out, err } = cli.run(["jobs", "--live"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const lines = out.trimEnd().split("\n");
    expect(lines).toHaveLength(5);
    expect(lines[1]).toMatch(
      new RegExp(`^#${first.number} +\\d+ s +command line +create one.txt +command 2/2 +\\$ sleep 300 # one`),
    );
    expect(lines[2]).toStartWith(`#${second.number} `);
    expect(lines[4]).toBe("To end one: picoclaw stop ID");
    expect(out).not.toContain("\u001b");

    expect(cli.run(["jobs", "--live"], { env: { PICOCLAW_LOCALE: "ja" } }).out).toContain("コマンド 2/2");

    expect(cli.run(["stop", String(first.number)]).code).toBe(0);
    expect(live().map(({ job_id }) => job_id)).toEqual([second.id]);
  });

  test("are one document with --json", async () => {
    const { job, id } = await startSlowJob("one");
    expect(live()).toMatchObject([
      {
        job_id: id,
        status: "running",
        source: "cli",
        pid: job.pid,
        attempt: null,
        command: 2,
        commands: 2,
        latest: { type: "command_started" },
      },
    ]);
  });

  test("are a coder's drafts too, with their attempt", async () => {
    mkdirSync(cli.home);
    const script = join(cli.home, "answers.yaml");
    const patch = "```bash\nsleep 300 # slow\n```";
    const text = `## Plan\nSlow\n\n## Patch\n${patch}\n\n## Risk\nlow`;
    writeFileSync(script, JSON.stringify({ answers: [{ when: { role: "coder3" }, text }] }));
    const roles = ["chat", "worker", "coder1", "coder2", "coder3"];
    writeFileSync(
      join(cli.home, "config.yaml"),
      JSON.stringify({
        providers: { scripted: { type: "scripted", script } },
        roles: Object.fromEntries(roles.map((role) => [role, { provider: "scripted", model: "demo-1" }])),
      }),
    );
    open.jobs.push(cli.start(["chat", "/code3 take your time"]));
    await until(() => live().find(({ latest }) => latest?.text === "$ sleep 300 # slow"));
    expect(cli.run(["jobs", "--live"]).out).toMatch(
      /^#1 +\d+ s +chat in the terminal +take your time +attempt 1 +\$ sleep 300 # slow$/m,
    );
  });

  test("are not those whose process was killed", async () => {
    const { job } = await startSlowJob("one");
    await ended(job, "SIGKILL");
    expect(cli.run(["jobs", "--live"])).toEqual({ code: 0, out: "Nothing is running.\n", err: "" });
    expect(live()).toEqual([]);
    expect(cli.run(["jobs"]).out).toContain("Interrupted");
  });

  test("follow what happens at a terminal, until q; the jobs go on", async () => {
    const shown = watch({ columns: 80, rows: 24 });
    await shown.until("Nothing is running.");
    const { number } = await startSlowJob("one");
    await shown.until(
      new RegExp(
        `Running now: 1\\s+#${number} +\\d+ s +command line +create one.txt +command 2/2\\s+\\$ sleep 300 # one`,
      ),
    );
    const secondsShown = () => Number(/ (\d+) s /.exec(shown.screen())?.[1]);
    const before = secondsShown();
    await shown.until(() => secondsShown() > before);
    await shown.until("To end one: picoclaw stop ID");
    expect(cli.run(["stop", String(number)]).code).toBe(0);
    await shown.until("Nothing is running.");
    expect(shown.screen()).not.toContain(`#${number}`);
    shown.type("q");
    expect(await shown.child.exited).toBe(0);
    await shown.settled();
    expect(shown.screen()).toBe("");
  });

  test("are left with Ctrl-C as every command is, and by a signal with a whole terminal", async () => {
    const { number } = await startSlowJob("one");
    const interrupted = watch({ columns: 160, rows: 24 });
    // Wide enough for one line.
    await interrupted.until(new RegExp(`#${number} .* command 2/2 +\\$ sleep 300 # one`));
    interrupted.type("\u0003");
    expect(await interrupted.child.exited).toBe(130);

    const ended = watch({ columns: 30, rows: 5 });
    await ended.until("Running now: 1");
    // By the next second the terminal's own answers have been read; after the end they would not be read.
    const first = ended.screen();
    await ended.until(() => ended.screen() !== first);
    ended.child.kill("SIGTERM");
    expect(await ended.child.exited).toBe(143);
    await ended.settled();
    expect(ended.screen()).toBe("");
    expect(ended.sent.raw).toContain("\u001b[?25h");
    expect(live()).toHaveLength(1);
  });
});

test("--live cannot be combined with --all or --limit, and needs no job", () => {
  expect(cli.run(["jobs", "--live"])).toEqual({ code: 0, out: "Nothing is running.\n", err: "" });
  expect(cli.run(["jobs", "--live"], { env: { PICOCLAW_LOCALE: "ja" } }).out).toBe(
    "実行中のものはありません。\n",
  );
  expect(cli.run(["jobs", "--live", "--json"]).out).toBe('{"jobs":[],"agents":[],"processes":[]}\n');
  expect(cli.run(["jobs", "--live", "--all"])).toMatchObject({
    code: 2,
    err: "These cannot be used together: --live, --all\n",
  });
  expect(cli.run(["jobs", "--live", "--limit", "3", "--json"]).code).toBe(2);
  expect(cli.run(["jobs", "--help"]).out).toContain("--live");
  expect(cli.run(["completion", "bash"]).out).toMatch(/jobs\) known=".*--live/);
});
