import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { walkFolder } from "../../src/infrastructure/platform/walk-folder.ts";
import { type Cli, create, createCli, shell } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const file = () => join(cli.home, "logs/picoclaw.log");
const lines = () =>
  readFileSync(file(), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the log", () => {
  test("tells a job in both vocabularies, with the summary before it runs", () => {
    cli.git("init", "-q");
    cli.apply([create("a", "1"), shell("echo out; exit 3")], ["--auto-commit"]);
    expect(lines().map(({ level, msg, event }) => [level, msg, event])).toEqual([
      [30, "worker.patch_parse", "worker.patch_parse"],
      [30, "worker.execution_summary", "worker.execution_summary"],
      [30, "worker.patch_execution_start", "worker.execution_started"],
      [40, "worker.auto_commit_failed", "worker.auto_commit"],
      [30, "worker.command_executed", "worker.command_executed"],
      [50, "worker.command_failed", "worker.command_failed"],
      [30, "worker.auto_commit_success", "worker.auto_commit"],
      [50, "worker.patch_execution_complete", "worker.execution_failed"],
    ]);
    const [, summary, start, nothing, executed, failed, , complete] = lines();
    expect(nothing).toMatchObject({ moment: "before", error: "nothing to commit" });
    expect(summary).toMatchObject({
      component: "worker",
      total_commands: 2,
      file_edits: 1,
      shell_commands: 1,
      git_operations: 0,
    });
    expect(start).toMatchObject({ session_key: "cli:default", patch: expect.stringContaining("file_edit") });
    expect(executed).toMatchObject({ command_index: 0, type: "file_edit", action: "create", target: "a" });
    expect(failed).toMatchObject({
      command_index: 1,
      error: "command failed: exit status 3 (output: out\n)",
    });
    expect(complete).toMatchObject({
      success: false,
      executed_cmds: 1,
      failed_cmds: 1,
      outcome: "committed",
    });
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  test("holds parse errors and refusals, and dry runs", () => {
    cli.run(["apply"], { input: "hello" });
    cli.apply([create("a", "1")], ["--auto-commit"]);
    cli.apply([create("a", "1")], ["--dry-run"]);
    const told = lines().map(({ msg, event }) => `${msg} ${event}`);
    expect(
      told.filter((line) => line === "worker.patch_execution_error worker.execution_failed"),
    ).toHaveLength(1);
    expect(told).toContain("worker.auto_commit_failed worker.auto_commit");
    expect(told).toContain("worker.dry_run worker.dry_run");
  });

  test("no secret reaches any file of PicoClaw, from the patch, its output or the environment", () => {
    const secrets = [
      "sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF",
      "ghp_0123456789abcdefghijABCDEFGHIJ012345",
      "plainvalue-of-mine",
    ];
    const env = { MY_SERVICE_TOKEN: secrets[2] as string, PICOCLAW_WORKER_ENV_PASS: "MY_SERVICE_TOKEN" };
    cli.apply(
      [
        {
          ...shell(`echo ${secrets[0]}; echo $MY_SERVICE_TOKEN; false`),
          env: { DB_PASSWORD: "hunter2hunter2" },
        },
        create("conf", `token=${secrets[1]}\n`),
        shell(`curl -H 'Authorization: Bearer ${secrets[1]}' https://u:pa55word@example.invalid/`),
      ],
      [],
      { env },
    );
    const written = [...walkFolder(cli.home)]
      // Undo and diffs keep the user's own files.
      .filter(({ path, stats }) => stats.isFile() && !/\/slots\/|\/after\.bin$/.test(path))
      .map(({ path }) => readFileSync(join(cli.home, path), "latin1"))
      .join("\n");
    expect(written).toContain("shell_command");
    for (const secret of [...secrets, "hunter2hunter2", "pa55word"]) expect(written).not.toContain(secret);
  });

  test("is written where log.file says, and not at all when silent", () => {
    const elsewhere = join(cli.folder, "other.log");
    cli.apply([create("a", "1")], [], { env: { PICOCLAW_LOG_FILE: elsewhere } });
    cli.apply([create("a", "1")], [], { env: { PICOCLAW_LOG_LEVEL: "silent" } });
    expect([existsSync(elsewhere), existsSync(file())]).toEqual([true, false]);
  });
});

describe("a person at a terminal", () => {
  test.if(existsSync("/usr/bin/script"))("is told before the job what is about to run; a pipe is not", () => {
    cli.write("p.json", JSON.stringify([create("a", "1"), shell("true")]));
    const summary = "About to run: 2 (file_edit: 1, shell_command: 1, git_operation: 0)";
    const program = join(import.meta.dir, "../../bin/picoclaw");
    const seen = cli.run(["-qec", `${program} apply p.json`, "/dev/null"], { program: "/usr/bin/script" });
    expect(seen.code).toBe(0);
    expect(seen.out.indexOf(summary)).toBeGreaterThanOrEqual(0);
    expect(seen.out.indexOf(summary)).toBeLessThan(seen.out.indexOf("Applied"));
    expect(cli.run(["apply", "p.json"]).err).toBe("");
    const quiet = { PICOCLAW_WORKER_SHOW_EXECUTION_SUMMARY: "false" };
    const unseen = cli.run(["-qec", `${program} apply p.json`, "/dev/null"], {
      program: "/usr/bin/script",
      env: quiet,
    });
    expect(unseen.out).not.toContain("About to run");
  });
});
