import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { requirePart } from "../../require.ts";
import { type Bench, createBench, said, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  mkdirSync(bench.path("sub"));
});
afterEach(() => bench.remove());

type Case = readonly [name: string, command: Readonly<Record<string, unknown>>, said: string];

const CASES: readonly Case[] = [
  ["bash by default", shell("echo $" + "{BASH_VERSION:+bash}"), "bash\n"],
  ["sh by choice", shell("echo $" + "{0##*/}", { shell: "sh" }), "sh\n"],
  ["content is appended to the command", shell("echo a", { content: "b c" }), "a b c\n"],
  ["env of the command", shell("echo $NODE_ENV", { env: { NODE_ENV: "production" } }), "production\n"],
  ["workdir inside", shell("basename $PWD", { workdir: "sub" }), "sub\n"],
  ["an empty workdir is the workspace", shell("basename $PWD", { workdir: "" }), "ws\n"],
  ["standard input is empty", shell("cat; echo end"), "end\n"],
  [
    "a failure carries status and output",
    shell("echo no; exit 7"),
    "command failed: exit status 7 (output: no\n)",
  ],
  ["a signal is named", shell("kill -9 $$"), "command failed: signal: SIGKILL"],
  ["workdir above", shell("pwd", { workdir: "../x" }), "workdir outside workspace: ../x"],
  ["workdir away", shell("pwd", { workdir: "/etc" }), "workdir outside workspace: /etc"],
  ["workdir through a link", shell("pwd", { workdir: "out" }), "workdir outside workspace: out"],
  ["workdir that is not there", shell("pwd", { workdir: "nope" }), "workdir is not a directory: nope"],
  ["another shell", shell("pwd", { shell: "fish" }), "unsupported shell: fish (bash, sh or zsh)"],
  ["another action", { ...shell("pwd"), action: "start" }, "unknown shell_command action: start"],
  ["a NUL", shell("echo \0"), "command contains a NUL byte"],
];

describe("shell_command", () => {
  test.each(CASES)("%s", async (_name, command, text) => {
    symlinkSync("/etc", bench.path("out"));
    expect(said(await bench.run([command]))).toEqual([text]);
  });

  test("both streams are the output", async () => {
    const [text = ""] = said(await bench.run([shell("echo 1; echo 2 >&2; echo 3")]));
    expect(text.split("\n").sort()).toEqual(["", "1", "2", "3"]);
  });

  test("an absolute workdir inside the workspace is in the view", async () => {
    const ran = await bench.run([shell("echo x > made", { workdir: bench.path("sub") })]);
    expect(ran.changes).toEqual([{ path: "sub/made", kind: "added" }]);
  });

  test.if(requirePart("zsh"))("zsh by choice", async () => {
    expect(said(await bench.run([shell("echo $" + "{ZSH_VERSION:+zsh}", { shell: "zsh" })]))).toEqual([
      "zsh\n",
    ]);
  });

  test("a timeout names its limit in seconds, keeps the output so far, and the job continues", async () => {
    const ran = await bench.run([shell("echo early; sleep 60"), shell("echo next")], {
      settings: { PICOCLAW_WORKER_COMMAND_TIMEOUT: "1" },
    });
    expect(ran.commands).toMatchObject([
      {
        success: false,
        output: "early\n",
        error: "command failed: timed out after 1 seconds (output: early\n)",
        reason: { code: "timeout", seconds: 1 },
      },
      { success: true, output: "next\n" },
    ]);
  });

  test("output is capped with head and tail, and says how much was cut", async () => {
    const ran = await bench.run([shell("seq 1 20000")], {
      settings: { PICOCLAW_WORKER_OUTPUT_LIMIT: "1000" },
    });
    const [text = ""] = said(ran);
    expect(text).toStartWith("1\n2\n3\n");
    expect(text).toEndWith("19999\n20000\n");
    expect(text.length).toBeLessThan(1200);
    expect(text).toMatch(/\d+/);
  });

  test("secrets of the host do not pass, unless env_pass names them; nor does any variable that is not on the list", async () => {
    const settings = { API_TOKEN: "s3cr3t-value-one", FOO: "bar", LANG: "C.UTF-8", GIT_DIR: "/nowhere" };
    const line = shell('echo "[$API_TOKEN|$FOO|$LANG|$GIT_DIR|$PICOCLAW_HOME]"');
    expect(said(await bench.run([line], { settings }))).toEqual(["[||C.UTF-8||]\n"]);
    const passed = await bench.run([line, shell("test $API_TOKEN = s3cr3t-value-one")], {
      settings: { ...settings, PICOCLAW_WORKER_ENV_PASS: "API_TOKEN" },
    });
    expect(passed.success).toBe(true);
    expect(said(passed)[0]).not.toContain("s3cr3t-value-one");
  });

  test("a secret in the patch is masked in results, journal and record", async () => {
    const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    const result = await bench.run([shell(`echo ${secret}`, { env: { DB_PASSWORD: "hunter2hunter2" } })]);
    const { archive } = await bench.open();
    for (const text of [
      JSON.stringify(result),
      JSON.stringify(archive.events(result.jobId)),
      JSON.stringify(archive.read(result.jobId)),
    ]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain("hunter2hunter2");
    }
  });

  test("what still runs at the end of the job is named and ended", async () => {
    // A process has no arguments while it becomes another program: the job ends after this one has.
    const program = "sh -c ': > up; sleep 300; :' >/dev/null 2>&1";
    const ran = await bench.run([shell(`${program} & until [ -e up ]; do :; done; echo started`)]);
    expect([ran.success, said(ran)]).toEqual([true, ["started\n"]]);
    expect(ran.ended.join()).toContain("sleep 300");
  });
});
