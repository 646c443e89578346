import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { previewFacts, wordAction } from "../../../src/application/jobs/action-report.ts";
import type { PreviewCommit } from "../../../src/application/ports/jobs-workspace.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { createRunningJobs } from "../../../src/infrastructure/engine/running-jobs.ts";
import { withFolderLocks } from "../../../src/infrastructure/platform/folder-lock.ts";
import { processBirth } from "../../../src/infrastructure/platform/process-table.ts";
import { until } from "../../e2e/cli-kit.ts";
import { type Bench, createBench, edit, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a", "old");
});
afterEach(() => bench.remove());

describe("a preview", () => {
  test("is staged, then committed once, and its record follows", async () => {
    const result = await bench.run([edit("update", "a", "new"), shell("echo x > b")], {
      preview: true,
    });
    expect([result.outcome, result.success, result.undo, bench.read("a")]).toEqual([
      "staged",
      true,
      "none",
      "old",
    ]);
    const worker = await bench.open();
    expect(await worker.commitPreview(result.jobId)).toMatchObject({
      status: "done",
      job: { jobId: result.jobId, state: "committed", outcome: "committed", success: true },
    });
    expect([bench.read("a"), bench.read("b")]).toEqual(["new", "x\n"]);
    expect(await worker.commitPreview(result.jobId)).toMatchObject({ status: "not-a-preview" });
    expect(await worker.commitPreview("job_1_x")).toEqual({ status: "unknown" });
  });

  test("that two programs apply at once lands once; the other says that it is applied already", async () => {
    const result = await bench.run([edit("update", "a", "new")], { preview: true });
    const [one, two] = [await bench.open(), await bench.open()];
    const both: Promise<PreviewCommit>[] = [];
    // Both have read that it is a preview when the first of them may begin.
    await withFolderLocks([bench.workspace], { timeoutMs: 0 }, () => {
      for (const worker of [one, two]) both.push(worker.commitPreview(result.jobId));
    });
    const ends = await Promise.all(both);
    expect(ends.map(({ status }) => status).sort()).toEqual(["done", "not-a-preview"]);
    const late = ends.find(({ status }) => status !== "done") as PreviewCommit;
    const said = wordAction(messagesFor("en"), previewFacts(one, result.jobId, late), "terminal");
    expect(said).toBe("Refused\n#1 is already applied; nothing was changed now.");
    const landed = one.archive.events(result.jobId).filter(({ event }) => event.type === "committed");
    expect([bench.read("a"), landed.length]).toEqual(["new", 1]);
  });

  test("that no longer fits is a conflict and can be committed when it fits again", async () => {
    const result = await bench.run([edit("create", "new", "1")], { preview: true });
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
  expect(ran).toMatchObject({ outcome: "dry-run", dryRun: true, executedCmds: 0, success: true });
  expect(JSON.stringify(ran)).not.toContain(secret);
  expect([readdirSync(bench.workspace), (await bench.open()).archive.list()]).toEqual([["a"], []]);
});

test("a conflict at the commit keeps the job as a preview and names the path", async () => {
  const ran = await bench.run([shell("echo job > a"), shell(`echo mine > ${bench.path("a")}`)]);
  expect(ran).toMatchObject({
    outcome: "conflict",
    success: false,
    undo: "none",
    conflicts: [{ path: "a", reason: "changed" }],
  });
  expect(bench.read("a")).toBe("mine\n");
  expect((await bench.open()).archive.read(ran.jobId)).toMatchObject({ state: "staged" });
});

describe("a job whose process died", () => {
  const ID = "job_1700000000_deadbeef";
  interface Left {
    readonly state?: string;
    readonly outcome?: string;
    readonly birth?: string;
  }
  function dead(pid: number, { state = "running", outcome = "running", birth }: Left = {}): string {
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
      ...(birth !== undefined && { birth }),
      success: false,
      ...counts,
    };
    writeFileSync(join(folder, "job.json"), JSON.stringify(record));
    writeFileSync(join(folder, "state.json"), JSON.stringify({ state, at, pid, turn: 0 }));
    return join(bench.folder, "home/workspaces", storage);
  }

  test("is refused by undo and buried by the repair", async () => {
    const worker = await bench.open();
    dead(2 ** 22 + 1);
    expect(await worker.takeBack({ direction: "undo", name: ID, force: false })).toMatchObject({
      status: "refused",
      reason: "running",
    });
    expect(await worker.closeDeadJobs()).toEqual([ID]);
    expect(worker.archive.read(ID)).toMatchObject({
      state: "discarded",
      outcome: "aborted",
      reason: "its process died",
    });
    expect(await worker.closeDeadJobs()).toEqual([]);
  });

  test("is buried as well when it died sealed, before its commit began; a preview is not", async () => {
    const worker = await bench.open();
    dead(2 ** 22 + 1, { state: "staged", outcome: "committed" });
    expect(await worker.closeDeadJobs()).toEqual([ID]);
    expect(worker.archive.read(ID)).toMatchObject({
      state: "discarded",
      outcome: "aborted",
      reason: "its process died",
    });
    dead(2 ** 22 + 1, { state: "staged", outcome: "staged" });
    expect(await worker.closeDeadJobs()).toEqual([]);
    dead(2 ** 22 + 1, { state: "staged", outcome: "conflict" });
    expect(await worker.closeDeadJobs()).toEqual([]);
  });

  test("is left alone while that process lives", async () => {
    const worker = await bench.open();
    for (const birth of [undefined, processBirth(process.pid)]) {
      dead(process.pid, birth === undefined ? {} : { birth });
      expect(await worker.closeDeadJobs()).toEqual([]);
    }
  });

  test.each([
    ["while it ran", {}],
    ["sealed", { state: "staged", outcome: "committed" }],
  ])("%s is buried although another process has its number by now", async (_, left) => {
    const worker = await bench.open();
    const [place] = processBirth(process.pid).split(" ");
    dead(process.pid, { ...left, birth: `${place} 1` });
    expect(await worker.closeDeadJobs()).toEqual([ID]);
    expect(worker.archive.read(ID)).toMatchObject({
      state: "discarded",
      outcome: "aborted",
      reason: "its process died",
    });
  });

  test("is not one while it waits, sealed, for the workspace", async () => {
    const worker = await bench.open();
    const ran = await withFolderLocks([bench.workspace], { timeoutMs: 1_000 }, async () => {
      const running = bench.run([edit("create", "late", "1")]);
      const job = await until(() => worker.archive.list().find(({ unsettled }) => unsettled === "due"));
      // As a process in another container of this home sees it.
      expect(worker.isAlive({ ...job, birth: "boot/pid:[1] 1" })).toBe(true);
      return { running, job };
    });
    if (ran === "busy") throw new Error(ran);
    expect(await ran.running).toMatchObject({ outcome: "committed" });
    expect(worker.isAlive({ ...ran.job, birth: "boot/pid:[1] 1" })).toBe(false);
  });

  test("is judged by its lock when its number means nothing here", async () => {
    const worker = await bench.open();
    const storage = dead(process.pid, { state: "staged", outcome: "committed", birth: "boot/pid:[1] 1" });
    const running = createRunningJobs(storage);
    running.start(ID);
    expect(await worker.closeDeadJobs()).toEqual([]);
    running.end(ID);
    expect(await worker.closeDeadJobs()).toEqual([ID]);
  });
});
