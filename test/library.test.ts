import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync } from "node:fs";
import { attemptOr } from "../src/domain/platform/error-text.ts";
import * as library from "../src/lib.ts";
import { type Bench, createBench, edit, shell } from "./application/jobs/worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const at = () => ({ workspace: bench.workspace, env: bench.environment() });

describe("the library", () => {
  test("exports these names", () => {
    expect(Object.keys(library).sort()).toEqual([
      "TOOL_DEFINITIONS",
      "ToolCatalog",
      "ToolError",
      "WorkerError",
      "createAgentToolkit",
      "createApplyPatch",
      "createSecureTool",
      "createToolContext",
      "executeWorkerPatch",
      "formatExecutionResults",
      "listJobs",
      "openConversation",
      "openEnvironments",
      "openModels",
      "openSandbox",
      "openWorkerExecutor",
      "parsePatch",
      "redoJob",
      "toolDefinitions",
      "undoJob",
    ]);
  });

  test("carries out a patch, formats its results, lists it, takes it back and brings it in again", async () => {
    bench.write("a.txt", "old");
    const events: string[] = [];
    const result = await library.executeWorkerPatch(
      JSON.stringify([edit("update", "a.txt", "new"), shell("exit 3")]),
      { ...at(), plan: "Renew a.txt", onEvent: ({ type }) => void events.push(type) },
    );
    expect(result).toMatchObject({
      success: false,
      executed_cmds: 1,
      failed_cmds: 1,
      changes: [{ path: "a.txt", kind: "modified" }],
      undo: "available",
      dry_run: false,
    });
    expect(library.formatExecutionResults(result.results).replace(/\(\d+ms\)/g, "(0ms)")).toBe(
      "✓ [1] file_edit update a.txt (0ms)\n✗ [2] shell_command run exit 3 (0ms)\n    エラー: command failed: exit status 3",
    );
    expect(library.formatExecutionResults(result.results, "en")).toContain("\n    Error: ");
    expect(events).toEqual([
      "job_started",
      "command_started",
      "command_finished",
      "command_started",
      "command_finished",
      "committed",
    ]);
    expect(await library.listJobs(at())).toMatchObject([
      { jobId: result.job_id, title: "Renew a.txt", source: "library" },
    ]);
    expect(await library.undoJob(result.job_id, at())).toMatchObject({ status: "done" });
    expect(bench.read("a.txt")).toBe("old");
    expect(await library.redoJob(undefined, at())).toMatchObject({ status: "done" });
    expect(bench.read("a.txt")).toBe("new");
  });

  test("throws, with a code, for what never began", async () => {
    const thrown = async (patch: string, options: Parameters<typeof library.executeWorkerPatch>[1]) => {
      try {
        await library.executeWorkerPatch(patch, options);
      } catch (error) {
        return error instanceof library.WorkerError ? [error.code, error.message] : error;
      }
      return "nothing";
    };
    expect(await thrown("hello", at())).toEqual([
      "not-a-patch",
      expect.stringMatching(/^patch parse error: /),
    ]);
    expect(await thrown("[]", { ...at(), autoCommit: true })).toEqual(["auto-commit", expect.any(String)]);
    expect(await thrown("[]", { ...at(), workspace: "/nowhere" })).toEqual([
      "workspace",
      expect.stringContaining("/nowhere"),
    ]);
    const env = bench.environment({ PICOCLAW_WORKER_COMMAND_TIMEOUT: "soon" });
    expect(await thrown("[]", { ...at(), env })).toEqual(["configuration", expect.stringContaining("soon")]);
    // Of root's control group for our git nothing stays open.
    expect(openFiles().filter((path) => path.includes("cgroup"))).toEqual([]);
  });

  test.each([
    ["removed", "a command", (folder: string) => rmSync(folder, { recursive: true })],
    ["moved", "a command", (folder: string) => renameSync(folder, `${folder}-moved`)],
    ["removed", "an edit", (folder: string) => rmSync(folder, { recursive: true })],
    ["moved", "an edit", (folder: string) => renameSync(folder, `${folder}-moved`)],
  ])("a workspace that is %s while a job of %s runs gets nothing, and the job fails", async (_, of, take) => {
    bench.write("a.txt", "old");
    const { workspace } = at();
    const patch = [
      edit("create", "b.txt", "new"),
      ...(of === "a command" ? [shell("echo new > c.txt")] : []),
    ];
    const result = await library.executeWorkerPatch(JSON.stringify(patch), {
      ...at(),
      onEvent: (event) =>
        event.type === "command_finished" && event.index === patch.length - 1 && take(workspace),
    });
    expect(result).toMatchObject({ success: false, changes: [], undo: "none" });
    expect(existsSync(workspace)).toBe(false);
    if (existsSync(`${workspace}-moved`)) {
      expect(readdirSync(`${workspace}-moved`)).toEqual(["a.txt"]);
      renameSync(`${workspace}-moved`, workspace);
    } else mkdirSync(workspace);
    expect(await library.listJobs(at())).toMatchObject([
      { outcome: "rolled-back", state: "discarded", success: false },
    ]);
  });

  test("an aborted job applies nothing", async () => {
    const abort = new AbortController();
    const running = library.executeWorkerPatch(
      JSON.stringify([edit("create", "a", "1"), shell("sleep 60")]),
      {
        ...at(),
        signal: abort.signal,
        onEvent: ({ type }) => type === "command_finished" && abort.abort(),
      },
    );
    expect(await running).toMatchObject({ success: false, changes: [], undo: "none" });
    expect(await library.listJobs(at())).toMatchObject([{ outcome: "aborted", state: "discarded" }]);
  });
});

function openFiles(): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fd").flatMap((fd) =>
    attemptOr([], () => [readlinkSync(`/proc/self/fd/${fd}`)]),
  );
}
