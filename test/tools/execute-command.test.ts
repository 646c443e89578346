import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { codeOf, createToolBench, dataOf, jobOf, type ToolBench } from "./tool-kit.ts";

let bench: ToolBench;
beforeEach(() => {
  bench = createToolBench();
});
afterEach(() => bench.remove());

describe("execute_command", () => {
  test("returns exit code and both streams, and its changes are a job that undo_job undoes", async () => {
    bench.write("a.txt", "old");
    const toolkit = await bench.toolkit();
    const result = await toolkit.executeCommand({
      command: "echo out; echo err >&2; echo new > a.txt; exit 3",
    });
    expect(dataOf(result)).toEqual({
      exit_code: 3,
      stdout: "out\n",
      stderr: "err\n",
      duration_ms: expect.any(Number),
    });
    expect(result).toMatchObject({ changes: [{ path: "a.txt", kind: "modified" }] });
    expect(bench.read("a.txt")).toBe("new\n");
    expect(dataOf(await toolkit.undoJob({ job_id: jobOf(result) }))).toEqual({
      undone: [jobOf(result)],
      changes: [{ path: "a.txt", kind: "modified" }],
    });
    expect(bench.read("a.txt")).toBe("old");
  });

  test.each(["execute_command", "exec_command", "command-executor_execute_command"])(
    "is called as %s, in a folder of the workspace",
    async (name) => {
      bench.write("sub/a.txt", "");
      const toolkit = await bench.toolkit();
      const result = await toolkit.invoke(name, { command: "ls", working_directory: "sub" });
      expect(dataOf(result)).toMatchObject({ exit_code: 0, stdout: "a.txt\n" });
    },
  );

  test("a time limit ends it with -1, the output so far and the reason", async () => {
    const toolkit = await bench.toolkit();
    const result = await toolkit.executeCommand({ command: "echo so far; sleep 60", timeout: 2 });
    expect(dataOf(result)).toEqual({
      exit_code: -1,
      stdout: "so far\n",
      stderr: "Command timeout after 2 seconds",
      duration_ms: expect.any(Number),
    });
  });

  test("an aborted call is ABORTED, and leaves nothing", async () => {
    const toolkit = await bench.toolkit();
    const abort = new AbortController();
    const result = await toolkit.executeCommand(
      { command: "touch made; echo ready; sleep 60" },
      { signal: abort.signal, onOutput: () => abort.abort() },
    );
    expect(codeOf(result)).toBe("failure ABORTED");
    expect(bench.tree()).toEqual({});
  });

  test("a protected file that it changes is put back, and said", async () => {
    bench.write(".env", "A=1\n");
    const result = await (await bench.toolkit()).executeCommand({ command: "echo B=2 > .env; echo x > y" });
    expect(result).toMatchObject({
      status: "success",
      changes: [{ path: "y", kind: "added" }],
      notes: expect.arrayContaining([expect.stringContaining("(restored)")]),
    });
    expect(bench.read(".env")).toBe("A=1\n");
  });

  test("secrets in its output are masked, and long output keeps head and tail", async () => {
    const toolkit = await bench.toolkit({}, { PICOCLAW_WORKER_OUTPUT_LIMIT: "1000" });
    const secret = `ghp_${"a1B2c3D4e5".repeat(4)}`.slice(0, 40);
    expect(JSON.stringify(await toolkit.executeCommand({ command: `echo ${secret}` }))).not.toContain(secret);
    const { stdout } = dataOf(await toolkit.executeCommand({ command: "echo first; seq 100000; echo last" }));
    expect(stdout.length).toBeLessThan(2000);
    expect([stdout.startsWith("first\n"), stdout.endsWith("last\n")]).toEqual([true, true]);
  });

  test.each([
    ["a folder that is not there", { command: "ls", working_directory: "none" }, "failure NOT_FOUND"],
    ["a file", { command: "ls", working_directory: "a.txt" }, "failure NOT_A_DIRECTORY"],
    ["an empty command", { command: "" }, "failure INVALID_ARGUMENT"],
    ["a NUL", { command: "ls \0" }, "failure INVALID_ARGUMENT"],
    ["no time at all", { command: "ls", timeout: 0 }, "failure INVALID_ARGUMENT"],
    ["a time that is text", { command: "ls", timeout: "1" }, "failure INVALID_ARGUMENT"],
  ])("%s is refused", async (_name, args, expected) => {
    bench.write("a.txt", "");
    expect(codeOf(await (await bench.toolkit()).invoke("execute_command", args))).toBe(expected);
  });

  test("jobs of one context share its group, and undo_job takes the group", async () => {
    const toolkit = await bench.toolkit({ groupId: "turn-1" });
    await toolkit.writeFile({ path: "a.txt", content: "1" });
    await toolkit.executeCommand({ command: "echo 2 > b.txt" });
    expect(bench.tree()).toEqual({ "a.txt": "1", "b.txt": "2\n" });
    expect(codeOf(await toolkit.undoJob({ job_id: "turn-1" }))).toBe("success");
    expect(bench.tree()).toEqual({});
  });

  test("with worker.dry_run nothing runs, and the call says so", async () => {
    const toolkit = await bench.toolkit({}, { PICOCLAW_DRY_RUN: "true" });
    expect(codeOf(await toolkit.executeCommand({ command: "touch made" }))).toBe("failure REFUSED");
    expect(bench.tree()).toEqual({});
  });
});

describe("undo_job", () => {
  test("undoes the last job, then the one before", async () => {
    const toolkit = await bench.toolkit();
    await toolkit.writeFile({ path: "a.txt", content: "1" });
    await toolkit.writeFile({ path: "a.txt", content: "2" });
    await toolkit.undoJob({});
    expect(bench.read("a.txt")).toBe("1");
    await toolkit.undoJob({});
    expect(bench.tree()).toEqual({});
    expect(codeOf(await toolkit.undoJob({}))).toBe("failure NOTHING_TO_UNDO");
  });

  test("an unknown job, an undone one, and one that later jobs build on are distinguished", async () => {
    const toolkit = await bench.toolkit();
    const job_id = jobOf(await toolkit.writeFile({ path: "a.txt", content: "1" }));
    const later = jobOf(await toolkit.writeFile({ path: "a.txt", content: "2" }));
    expect(codeOf(await toolkit.undoJob({ job_id: "job_1_abcdefgh" }))).toBe("failure NOT_FOUND");
    expect(await toolkit.undoJob({ job_id })).toEqual({
      status: "failure",
      reason: "tool",
      message: `Nothing was undone, because these were changed after #1:\n  a.txt (changed since by #2; undo that first: picoclaw undo 2)`,
      error: { code: "CONFLICT" },
    });
    await toolkit.undoJob({ job_id: later });
    expect(codeOf(await toolkit.undoJob({ job_id: later }))).toBe("failure REFUSED");
  });
});
