import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "../../src/application/ports/jobs-workspace.ts";
import { type Bench, createBench, edit } from "../application/jobs/worker-kit.ts";
import { describeWorkspace } from "./workspace.contract.ts";

let bench: Bench;
let workspace: Workspace;
beforeAll(async () => {
  bench = createBench();
  bench.write(".env", "SECRET=1\n");
  const link = join(bench.folder, "link");
  symlinkSync(bench.workspace, link);
  workspace = await bench.open({}, link);
});
afterAll(() => bench.remove());

describeWorkspace("a folder", () => ({
  workspace,
  shell: (line) => spawnSync("sh", ["-c", line], { cwd: bench.workspace, encoding: "utf8" }).stdout.trimEnd(),
}));

test("a folder is known by its real path and by the one that was given", () => {
  expect(workspace.root).toBe(bench.workspace);
  expect(workspace.rootNames).toEqual([bench.workspace, join(bench.folder, "link")]);
});

test("values that a request leaves open are read from the settings of the folder", async () => {
  const patch = JSON.stringify([edit("update", ".env", "x"), edit("create", "next.txt", "next\n")]);
  const request = { patch, source: "test", startedBy: "user" as const, signal: new AbortController().signal };
  const dry = await bench.open({ PICOCLAW_WORKER_DRY_RUN: "true" });
  expect(await dry.execute(request)).toMatchObject({ about: "job", outcome: "dry-run" });
  const stops = await bench.open({ PICOCLAW_WORKER_STOP_ON_ERROR: "true" });
  expect(await stops.execute(request)).toMatchObject({ executedCmds: 0, failedCmds: 1 });
  expect(await stops.execute({ ...request, stopOnError: false })).toMatchObject({
    executedCmds: 1,
    failedCmds: 1,
  });
});
