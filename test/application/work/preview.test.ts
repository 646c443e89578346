import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Bench, createBench, edit, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a", "old");
});
afterEach(() => bench.remove());

describe("a preview", () => {
  test("is staged, then committed once, and its record follows", async () => {
    const { result, outcome } = await bench.run([edit("update", "a", "new"), shell("echo x > b")], {
      preview: true,
    });
    expect([outcome, result.success, result.undo, bench.read("a")]).toEqual(["staged", true, "none", "old"]);
    const worker = await bench.open();
    expect(await worker.commitPreview(result.jobId)).toMatchObject({
      status: "done",
      job: { jobId: result.jobId, state: "committed", outcome: "committed", success: true },
    });
    expect([bench.read("a"), bench.read("b")]).toEqual(["new", "x\n"]);
    expect(await worker.commitPreview(result.jobId)).toMatchObject({ status: "not-a-preview" });
    expect(await worker.commitPreview("job_1_x")).toEqual({ status: "unknown" });
  });

  test("that no longer fits is a conflict and can be committed when it fits again", async () => {
    const { result } = await bench.run([edit("create", "new", "1")], { preview: true });
    bench.write("new", "mine");
    const worker = await bench.open();
    expect(await worker.commitPreview(result.jobId)).toMatchObject({
      status: "conflict",
      conflicts: [{ path: "new", reason: "exists" }],
    });
    expect(worker.archive.events(result.jobId).at(-1)?.event).toEqual({ type: "conflict", paths: ["new"] });
  });
});

test("a dry run lists the commands, masked, and leaves no job", async () => {
  const secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
  const ran = await bench.run([edit("create", "x", secret), shell("touch y")], { dryRun: true });
  expect(ran).toMatchObject({ outcome: "dry-run", result: { dryRun: true, executedCmds: 0, success: true } });
  expect(JSON.stringify(ran)).not.toContain(secret);
  expect([readdirSync(bench.workspace), (await bench.open()).archive.list()]).toEqual([["a"], []]);
});

test("a conflict at the commit keeps the job as a preview and names the path", async () => {
  const ran = await bench.run([shell("echo job > a"), shell(`echo mine > ${bench.path("a")}`)]);
  expect(ran).toMatchObject({
    outcome: "conflict",
    result: { success: false, undo: "none" },
    conflicts: [{ path: "a", reason: "changed" }],
  });
  expect(bench.read("a")).toBe("mine\n");
  expect((await bench.open()).archive.read(ran.result.jobId)).toMatchObject({ state: "staged" });
});

describe("a job whose process died", () => {
  const ID = "job_1700000000_deadbeef";
  function dead(pid: number, state = "running", outcome = "running"): void {
    const storage = readdirSync(join(bench.folder, "home/workspaces"))[0] as string;
    const folder = join(bench.folder, "home/workspaces", storage, "jobs", ID);
    mkdirSync(join(folder, "slots"), { recursive: true });
    const at = new Date(0).toISOString();
    const counts = { totalCmds: 1, executedCmds: 0, failedCmds: 0, changes: [], notes: [] };
    const record = {
      jobId: ID,
      groupId: "g",
      workspace: bench.workspace,
      source: "test",
      title: "t",
      createdAt: at,
      finishedAt: at,
      kind: "copy",
      outcome,
      pid,
      success: false,
      ...counts,
    };
    writeFileSync(join(folder, "job.json"), JSON.stringify(record));
    writeFileSync(join(folder, "state.json"), JSON.stringify({ state, at, pid, turn: 0 }));
  }

  test("is refused by undo and buried by the repair", async () => {
    const worker = await bench.open();
    dead(2 ** 22 + 1);
    expect(await worker.takeBack({ direction: "undo", name: ID, force: false })).toMatchObject({
      status: "refused",
      reason: "running",
    });
    expect(await worker.closeDeadJobs()).toEqual([ID]);
    expect(worker.archive.read(ID)).toMatchObject({ state: "discarded", outcome: "aborted" });
    expect(await worker.closeDeadJobs()).toEqual([]);
  });

  test("is buried as well when it died sealed, before its commit began; a preview is not", async () => {
    const worker = await bench.open();
    dead(2 ** 22 + 1, "staged", "committed");
    expect(await worker.closeDeadJobs()).toEqual([ID]);
    expect(worker.archive.read(ID)).toMatchObject({ state: "discarded", outcome: "aborted" });
    dead(2 ** 22 + 1, "staged", "staged");
    expect(await worker.closeDeadJobs()).toEqual([]);
    dead(2 ** 22 + 1, "staged", "conflict");
    expect(await worker.closeDeadJobs()).toEqual([]);
  });

  test("is left alone while that process lives", async () => {
    const worker = await bench.open();
    dead(process.pid);
    expect(await worker.closeDeadJobs()).toEqual([]);
  });
});
