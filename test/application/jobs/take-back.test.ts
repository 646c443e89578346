import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { type Bench, createBench, edit, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const job = async (content: string, groupId?: string) =>
  (await bench.run([edit("create", "a", content)], groupId === undefined ? {} : { groupId })).jobId;
const take = async (direction: "undo" | "redo", name?: string, force = false) =>
  (await bench.open()).takeBack({ direction, force, ...(name !== undefined && { name }) });

describe("taking back", () => {
  test("nothing there is nothing", async () => {
    expect([await take("undo"), await take("redo")]).toEqual([{ status: "nothing" }, { status: "nothing" }]);
    expect(await take("undo", "x")).toEqual({ status: "unknown", name: "x" });
  });

  test("the last one passes over jobs that changed nothing, previews and rolled-back ones", async () => {
    const id = await job("1");
    await bench.run([shell("true")]);
    await bench.run([edit("create", "b", "1")], { preview: true });
    await bench.run([edit("create", "b", "1"), shell("false")], { atomic: true });
    expect(await take("undo")).toMatchObject({ status: "done", jobs: [{ job: { jobId: id } }] });
    expect(readdirSync(bench.workspace)).toEqual([]);
  });

  test("redo brings the last taken-back one in, not the youngest", async () => {
    const first = await job("1");
    await bench.run([edit("create", "b", "2")]);
    await take("undo");
    await take("undo", first);
    expect(await take("redo")).toMatchObject({ jobs: [{ job: { jobId: first } }] });
  });

  test("a group is its jobs that are in effect", async () => {
    const [one, two] = [await job("1", "g"), await job("2", "g")];
    await take("undo", two);
    expect(await take("undo", "g")).toMatchObject({ status: "done", jobs: [{ job: { jobId: one } }] });
    expect(await take("undo", "g")).toEqual({ status: "nothing" });
    expect(await take("redo", "g")).toMatchObject({
      jobs: [{ job: { jobId: one } }, { job: { jobId: two } }],
    });
    expect(bench.read("a")).toBe("2");
  });

  test("a conflict names the later job, and what had gone back already", async () => {
    bench.write("a", "0");
    const one = await job("1", "g");
    const other = await job("2");
    const two = (await bench.run([edit("create", "b", "1")], { groupId: "g" })).jobId;
    expect(await take("undo", "g")).toMatchObject({
      status: "conflict",
      job: { jobId: one },
      conflicts: [{ path: "a", by: other }],
      before: [{ job: { jobId: two } }],
    });
    expect(await take("undo", one, true)).toMatchObject({ status: "done" });
    expect(bench.read("a")).toBe("0");
  });

  test("a record past the quota is gone and says so", async () => {
    bench.write("a", "x".repeat(10_000));
    const one = await job("y".repeat(10_000));
    const { undo, evicted } = await bench.run([edit("create", "a", "z".repeat(10_000))], {
      settings: { PICOCLAW_WORKER_UNDO_QUOTA: "80000" },
    });
    expect(evicted.map(({ jobId }) => jobId)).toContain(one);
    expect(undo).toBe("available");
    expect(await take("undo", one)).toMatchObject({ status: "refused", reason: "evicted" });
  });

  test("the journal tells of it", async () => {
    const id = await job("1");
    await take("undo", id);
    await take("redo", id);
    const { archive } = await bench.open();
    expect(archive.events(id).map(({ event }) => event.type)).toEqual([
      "job_started",
      "command_started",
      "command_finished",
      "committed",
      "undone",
      "redone",
    ]);
  });
});
