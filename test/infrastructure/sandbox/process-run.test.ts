import { afterEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRequest, ProcessResult } from "../../../src/application/ports/platform-processes.ts";
import { createProcessRunner } from "../../../src/infrastructure/platform/process-runner.ts";
import { endAllJobs, folder, request, until } from "./process-kit.ts";

const { runProcess, killJobProcesses, listJobProcesses } = createProcessRunner();

afterEach(endAllJobs);

/** A file whose appearance lets a script go on: `while [ ! -e go1 ]; do sleep 0.005; done`. */
function go(name: string): void {
  if (!existsSync(join(folder, name))) writeFileSync(join(folder, name), "");
}
const wait = (name: string) => `while [ ! -e ${name} ]; do sleep 0.005; done;`;

describe("a process that ends by itself", () => {
  test("its exit code, both streams and their order of arrival are returned", async () => {
    const script = `echo one; ${wait("order1")} echo two >&2; ${wait("order2")} echo three; exit 7`;
    const onOutput = (_: string, text: string) => go(text === "one\n" ? "order1" : "order2");
    const result = await runProcess(request(script, { onOutput }));
    expect(result).toEqual({
      outcome: "exited",
      exitCode: 7,
      signal: null,
      output: "one\ntwo\nthree\n",
      stdout: "one\nthree\n",
      stderr: "two\n",
      truncatedBytes: 0,
      durationMs: expect.any(Number),
    });
  });

  test("a signal that ends it is named", async () => {
    const result = await runProcess(request("kill -SEGV $$"));
    expect(result).toMatchObject({ outcome: "signaled", exitCode: null, signal: "SIGSEGV" });
  });

  test("it sees exactly the given environment and its job", async () => {
    const { stdout } = await runProcess(
      request("env", { env: { PATH: "/usr/bin:/bin", A: "ä b" }, jobMarker: "job_1_env" }),
    );
    const variables = stdout.split("\n").filter((line) => line && !/^(PWD|_|SHLVL|OLDPWD)=/.test(line));
    expect(variables.sort()).toEqual(["A=ä b", "PATH=/usr/bin:/bin", "PICOCLAW_JOB=job_1_env"]);
  });

  test("it leads a session and a process group of its own", async () => {
    const { stdout } = await runProcess(request("echo $$; cat /proc/$$/stat"));
    const [pid = "", stat = ""] = stdout.split("\n");
    expect(stat.slice(stat.lastIndexOf(")")).split(" ").slice(3, 5)).toEqual([pid, pid]);
  });

  test("reading standard input ends at once", async () => {
    expect(await runProcess(request("cat; read line; echo done"))).toMatchObject({ output: "done\n" });
  });

  test("it can open /dev/stdout and /dev/stderr again", async () => {
    const result = await runProcess(request("echo a > /dev/stdout; echo b > /dev/stderr"));
    expect(result).toMatchObject({ exitCode: 0, stdout: "a\n", stderr: "b\n" });
  });

  test("an abort before the start runs nothing", async () => {
    const result = await runProcess(request("echo ran", { signal: AbortSignal.abort() }));
    expect(result).toMatchObject({ outcome: "aborted", output: "" });
  });
});

describe("a process that cannot start says why", () => {
  const cases: readonly [string, Partial<ProcessRequest>, string][] = [
    ["a missing program", { argv: ["picoclaw-no-such-program"] }, "program-missing"],
    ["a program outside the given PATH", { env: { PATH: "/nonexistent" } }, "program-missing"],
    ["a missing path", { argv: ["/nonexistent/zsh", "-c", "true"] }, "program-missing"],
    ["a missing folder", { cwd: "/nonexistent" }, "cwd-missing"],
    ["a file for a folder", { cwd: "/etc/passwd" }, "cwd-missing"],
    ["a file that is no program", { argv: ["/etc/passwd"] }, "not-permitted"],
    [
      "three megabytes of arguments",
      { argv: ["sh", "-c", "true", "x".repeat(3_000_000)] },
      "arguments-too-long",
    ],
    ["a NUL byte", { argv: ["sh", "-c", "a\0b"] }, "invalid-argument"],
  ];
  test.each(cases)("%s", async (_name, change, reason) => {
    const result = await runProcess(request("true", change));
    expect(result).toMatchObject({ outcome: "not-started", exitCode: null, error: { reason } });
    expect(result.error?.message).not.toBe("");
    expect(result.error?.cause).toBeDefined();
  });

  test("and leaves no file descriptor open", async () => {
    const open = () => readdirSync("/proc/self/fd").length;
    await runProcess(request("true", { argv: ["picoclaw-no-such-program"] }));
    const before = open();
    for (let i = 0; i < 20; i++) await runProcess(request("true", { argv: ["picoclaw-no-such-program"] }));
    for (let i = 0; i < 5; i++) await runProcess(request("echo x"));
    await until(() => open() <= before, "descriptors closed");
  });
});

describe("output", () => {
  test("300 MB cost bounded memory and keep head and tail", () => {
    const { stdout } = spawnSync(
      process.execPath,
      ["--no-env-file", join(import.meta.dir, "flood-child.ts")],
      {
        encoding: "utf8",
      },
    );
    const { grown, ...result } = JSON.parse(stdout) as ProcessResult & { grown: number };
    expect(result.exitCode).toBe(0);
    expect(result.output).toStartWith("first\ny\n");
    expect(result.output).toEndWith("y\nlast\n");
    expect(result.truncatedBytes).toBe(6 + 300 * 1024 * 1024 + 5 - 10_000);
    expect(result.output).toContain(`[... ${result.truncatedBytes} bytes cut ...]`);
    expect(grown).toBeLessThan(120 * 1024 * 1024);
  });

  test("a character that arrives in pieces stays whole, live too", async () => {
    const live: string[] = [];
    const script = `printf '\\346\\227'; printf x >&2; ${wait("half1")} printf '\\245\\360\\237'; ${wait("half2")} printf '\\230\\200'`;
    const onOutput = (stream: string, text: string) => {
      live.push(`${stream}:${text}`);
      go(text === "x" ? "half1" : "half2");
    };
    const result = await runProcess(request(script, { onOutput }));
    expect(result.stdout).toBe("日😀");
    expect(result.output).toBe("x日😀");
    expect(live.join("")).toBe("stderr:xstdout:日stdout:😀");
  });

  test("bytes that are not UTF-8 are replaced, the rest stays", async () => {
    const { stdout } = await runProcess(request("printf 'a\\377\\200b\\342\\202'"));
    expect(stdout).toBe("a\uFFFD\uFFFDb\uFFFD");
  });

  test("ten thousand small writes arrive complete and in order", async () => {
    const { stdout } = await runProcess(request("i=0; while [ $i -lt 10000 ]; do echo $i; i=$((i+1)); done"));
    expect(stdout).toBe(`${Array.from({ length: 10_000 }, (_, i) => i).join("\n")}\n`);
  });

  test("a background child that keeps stdout open does not hold the command, and may go on writing", async () => {
    const marker = `job_test_${crypto.randomUUID()}`;
    const script = `(${wait("later")} echo late; exec sleep 1000) & echo now`;
    const result = await runProcess(request(script, { jobMarker: marker }));
    expect(result).toMatchObject({ outcome: "exited", exitCode: 0, output: "now\n" });
    go("later");
    await until(
      async () => (await listJobProcesses(marker)).some((p) => p.command === "sleep 1000"),
      "it wrote and lives",
    );
    expect(await killJobProcesses(marker)).toEqual([
      { pid: expect.any(Number), command: "sleep 1000", survived: false },
    ]);
  });
});
