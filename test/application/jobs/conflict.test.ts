/** A preview that no longer fits: the rest of it, or nothing of it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { applyRest } from "../../../src/application/jobs/action-report.ts";
import { type Bench, createBench, edit } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  for (const name of ["a", "b", "gone"]) bench.write(name, `old ${name}\n`);
});
afterEach(() => bench.remove());
const signal = AbortSignal.timeout(60_000);
const preview = async () => {
  const result = await bench.run(
    [
      edit("update", "a", "new a\n"),
      edit("update", "b", "new b\n"),
      edit("create", "deep/c", "new c\n"),
      edit("delete", "gone"),
    ],
    { preview: true },
  );
  return result.jobId;
};

describe("a preview in conflict", () => {
  test("brings in the rest as one job that can be undone, and is gone then", async () => {
    const jobId = await preview();
    bench.write("a", "mine\n");
    const worker = await bench.open();
    const rest = await applyRest(worker, jobId, signal);
    expect(rest).toMatchObject({ status: "ran", left: ["a"], result: { outcome: "committed" } });
    expect([bench.read("a"), bench.read("b"), bench.read("deep/c")]).toEqual([
      "mine\n",
      "new b\n",
      "new c\n",
    ]);
    expect(worker.archive.read(jobId)?.state).toBe("discarded");
    expect((await worker.takeBack({ direction: "undo", force: false })).status).toBe("done");
    expect([bench.read("a"), bench.read("b"), bench.read("gone")]).toEqual([
      "mine\n",
      "old b\n",
      "old gone\n",
    ]);
  });

  test("that fits again lands whole; one with nothing beside the conflict is left as it is", async () => {
    const jobId = await preview();
    const worker = await bench.open();
    expect(await applyRest(worker, jobId, signal)).toMatchObject({
      status: "whole",
      outcome: { status: "done" },
    });
    const result = await bench.run([edit("update", "a", "once more\n")], { preview: true });
    bench.write("a", "mine\n");
    expect(await applyRest(worker, result.jobId, signal)).toMatchObject({
      status: "whole",
      outcome: { status: "conflict" },
    });
    expect([bench.read("a"), worker.archive.read(result.jobId)?.state]).toEqual(["mine\n", "staged"]);
  });

  test("knows how a file was where a later job changed it", async () => {
    const jobId = await preview();
    await bench.run([edit("update", "a", "theirs\n")]);
    const worker = await bench.open();
    const [a] = worker.archive.differences(jobId).filter(({ path }) => path === "a");
    const text = (bytes: Uint8Array | null | undefined) => new TextDecoder().decode(bytes ?? undefined);
    expect([text(a?.base), text(a?.before), text(a?.after)]).toEqual(["old a\n", "theirs\n", "new a\n"]);
  });

  test("is discarded once, and only while it is one", async () => {
    const jobId = await preview();
    const worker = await bench.open();
    expect(await worker.discardPreview(jobId)).toEqual({ status: "done" });
    expect(await worker.discardPreview(jobId)).toEqual({ status: "not-a-preview" });
    expect(await worker.discardPreview("job_1_aaaaaaaa")).toEqual({ status: "unknown" });
    expect([worker.archive.read(jobId)?.state, bench.read("a")]).toEqual(["discarded", "old a\n"]);
    expect((await worker.commitPreview(jobId)).status).toBe("not-a-preview");
  });
});
