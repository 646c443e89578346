import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import { appendFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { chooseJobs, resolveJobName } from "../../../src/application/jobs/job-facts.ts";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import { type Bench, createBench, edit, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

const CLOSED = { state: "evicted", damaged: "/s/job.json", closed: "/s" } as const;
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
    const loud = shell("head -c 3000000 /dev/zero | tr '\\0' x; exit 3");
    const { jobId } = await bench.run([edit("create", "b", "1"), loud], { atomic: true });
    expect((await bench.open()).archive.read(jobId)?.reason?.length).toBeWithin(1, 300);
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

  test("a number names the same job after earlier ones were forgotten", async () => {
    const ids = [await job("1"), await job("2"), await job("3")];
    const { storage } = await bench.open();
    removeTree(join(storage, "jobs", ids[0] as string));
    expect(await take("undo", "#3")).toMatchObject({ status: "done", jobs: [{ job: { jobId: ids[2] } }] });
    expect(await take("undo", "1")).toMatchObject({ status: "unknown" });
    expect(bench.read("a")).toBe("2");
  });

  test("a job that this user may not read is never passed over", async () => {
    const ids = [await job("1"), await job("2"), await job("3")];
    await take("undo");
    await take("redo");
    const jobs = (await bench.open()).archive.list();
    for (const at of jobs.keys()) {
      const list = () => jobs.map((one, place) => (place === at ? { ...one, ...CLOSED } : one));
      const choose = (direction: "undo" | "redo", name?: string) => {
        const request = { direction, force: true, ...(name !== undefined && { name }) };
        const chosen = chooseJobs({ archive: { list } }, request);
        return typeof chosen === "string" ? chosen : chosen.map(({ jobId }) => ids.indexOf(jobId));
      };
      expect([choose("undo"), choose("undo", "#3")]).toEqual([[2], [2]]);
      expect(choose("redo")).toEqual([at]);
      expect([choose("undo", "#1"), choose("undo", "1 2")]).toEqual([[at], [at]]);
      expect(choose("undo", "#2")).toEqual([at === 0 ? 1 : at]);
      expect([choose("undo", "3 2"), choose("undo", "x")]).toEqual([at === 0 ? [2, 1] : [at], "unknown"]);
    }
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

describe("a clock that is set back or forward between jobs", () => {
  const before = Date.now();
  afterEach(() => void setSystemTime());

  test("does not change which job is the last, nor the numbers, nor which undo is the last", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -3_600_000, max: 3_600_000 }), { minLength: 2, maxLength: 5 }),
        async (shifts) => {
          const own = createBench();
          const takeOwn = async (direction: "undo" | "redo", name?: string) => {
            const taken = await (await own.open()).takeBack({
              direction,
              force: false,
              ...(name !== undefined && { name }),
            });
            return taken.status === "done" ? taken.jobs.map(({ job }) => job.jobId) : taken.status;
          };
          const shift = (n: number) => void setSystemTime(new Date(before + (shifts[n] ?? 0)));
          try {
            const ids: string[] = [];
            for (const n of shifts.keys()) {
              shift(n);
              ids.push((await own.run([edit("create", `f${n}`, "1")])).jobId);
            }
            expect((await own.open()).archive.list().map(({ jobId }) => jobId)).toEqual(ids);
            // Each undo takes the youngest that is in effect, each redo the one that was undone last.
            for (const [n, id] of ids.toReversed().entries()) {
              shift(n);
              expect(await takeOwn("undo")).toEqual([id]);
            }
            for (const [n, id] of ids.entries()) {
              shift(ids.length - 1 - n);
              expect(await takeOwn("redo")).toEqual([id]);
            }
          } finally {
            setSystemTime();
            own.remove();
          }
        },
      ),
      { numRuns: 6, examples: [[[0, -30_000]]] },
    );
  });

  test("a job whose line in the order was lost takes its place by its time", async () => {
    const ids = [await job("1"), await job("2"), await job("3")];
    const { storage, archive } = await bench.open();
    writeFileSync(join(storage, "order"), `${ids[2]}\n`);
    expect(archive.list().map(({ jobId }) => jobId)).toEqual(ids);
    // No number names two jobs.
    expect(archive.list().map(({ number }) => number)).toEqual([undefined, 2, 1]);
    expect(ids.map((id) => archive.read(id)?.number)).toEqual([undefined, 2, 1]);
    expect(Object.fromEntries(archive.numbers())).toEqual({ [ids[1] as string]: 2, [ids[2] as string]: 1 });
  });

  test("jobs of a version that kept no order have the first numbers, and a new job the next", async () => {
    const ids = [await job("1"), await job("2")];
    const { storage, archive } = await bench.open();
    rmSync(join(storage, "order"));
    ids.push(await job("3"));
    expect(archive.list().map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(resolveJobName({ archive }, "3")).toBe(ids[2] as string);
  });

  test("an undo of such a job leaves all numbers as they are", async () => {
    const ids = [await job("1"), await job("2")];
    const { storage, archive } = await bench.open();
    rmSync(join(storage, "order"));
    await take("undo", "2");
    expect(Object.fromEntries(archive.numbers())).toEqual(
      Object.fromEntries(ids.map((id, at) => [id, at + 1])),
    );
  });

  test("a job that is withdrawn has no number, and leaves a gap where another began after it", async () => {
    await job("1");
    const { storage, archive } = await bench.open();
    const numbers = () => archive.list().map(({ number }) => number);
    const note = (line: string) => appendFileSync(join(storage, "order"), `${line}\n`);
    note("job_9_trial000");
    note("-job_9_trial000");
    await job("2");
    expect(numbers()).toEqual([1, 2]);
    note("job_9_trial001");
    await job("3");
    note("-job_9_trial001");
    expect(numbers()).toEqual([1, 2, 4]);
    for (const line of ["job_9_b", "job_9_c", "-job_9_b", "job_9_d", "-job_9_d", "-job_9_c"]) note(line);
    await job("4");
    expect(numbers()).toEqual([1, 2, 4, 5]);
    for (const line of ["job_9_e", "job_9_f", "-job_9_e"]) note(line);
    await job("5");
    expect(numbers()).toEqual([1, 2, 4, 5, 8]);
    note("-job_9_f");
    expect(numbers()).toEqual([1, 2, 4, 5, 8]);
  });
});
