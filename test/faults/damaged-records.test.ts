/** Files of the storage that a disk or a loss of power cut or filled with zeros: one job is lost to undo at most. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { JobRecord } from "../../src/application/ports/jobs.ts";
import { createJobArchive } from "../../src/infrastructure/engine/job-archive.ts";
import { jobFolder, readPlan, toChanges } from "../../src/infrastructure/jobs/job-folder.ts";
import { changeAll } from "../contracts/contract-job.ts";
import {
  createBench,
  openTransactions,
  type TransactionBench,
  text,
} from "../contracts/transaction-bench.ts";
import { type Tree, treeOf } from "../contracts/tree.ts";
import { cases } from "../require.ts";
import { carryOut, edits, plant, seeds } from "./random-tree.ts";

const DAMAGE: Readonly<Record<string, (bytes: Buffer) => Uint8Array>> = {
  emptied: () => Buffer.alloc(0),
  "cut in half": (bytes) => bytes.subarray(0, bytes.length / 2),
  "filled with zeros": (bytes) => Buffer.alloc(bytes.length),
};
const RECORD_DAMAGE: typeof DAMAGE = {
  ...DAMAGE,
  "with a digit of its version changed": (bytes) =>
    Buffer.from(bytes.toString("latin1").replace(/^\{"v":3/, '{"v":7'), "latin1"),
};

let bench: TransactionBench;
beforeEach(() => {
  bench = createBench("direct");
  bench.save("edited.txt", "one\n");
  bench.save("gone.txt", "to be deleted\n");
  bench.save("kept.txt", "kept\n");
  bench.save("folder/inner.txt", "in\n");
  bench.save("tree/branch/leaf.txt", "leaf\n");
});
afterEach(() => bench.remove());

const archive = () => createJobArchive(bench.storage.folder, () => new Date(), bench.workspace);
const fileOf = (jobId: string, name: string) => join(bench.storage.folder, "jobs", jobId, name);

function damage(path: string, how: string): void {
  writeFileSync(path, RECORD_DAMAGE[how]?.(readFileSync(path)) ?? "");
}

function remember(jobId: string): void {
  const at = new Date().toISOString();
  const plan = readPlan(jobFolder(bench.storage.folder, jobId));
  const counts = { totalCmds: 1, executedCmds: 1, failedCmds: 0 };
  const record: JobRecord = {
    jobId,
    groupId: jobId,
    workspace: bench.workspace,
    source: "test",
    title: "a job",
    createdAt: at,
    finishedAt: at,
    kind: "direct",
    outcome: "committed",
    success: true,
    changes: toChanges(plan?.ops ?? [], plan?.roots ?? [], bench.workspace),
    notes: [],
    ...counts,
  };
  archive().save(record);
}

async function twoJobs(): Promise<{ readonly old: string; readonly last: string }> {
  const old = await bench.apply(changeAll);
  remember(old);
  const last = await bench.apply((view) => view.write("kept.txt", text("kept too\n")));
  remember(last);
  return { old, last };
}

const RECORDS = ["plan.ndjson", "stands.1.ndjson"];

for (const how of Object.keys(RECORD_DAMAGE))
  for (const name of [...(how in DAMAGE ? ["job.json", "state.json", "after.json"] : []), ...RECORDS])
    test(`${name} ${how}: the other job can be listed and undone, and of the damaged one all that is still known`, async () => {
      const start = bench.tree();
      const { old, last } = await twoJobs();
      damage(fileOf(old, name), how);
      expect(
        archive()
          .list()
          .map(({ jobId }) => jobId)
          .sort(),
      ).toEqual([old, last].sort());
      const isUndo = RECORDS.includes(name);
      for (const whole of [false, true])
        expect<unknown>(await bench.transactions.findDamagedUndo?.({ whole })).toEqual(
          // One changed digit is found only by reading all.
          isUndo && (whole || how in DAMAGE) ? [{ jobId: old, file: fileOf(old, name), lost: [] }] : [],
        );
      const isRecord = name === "job.json" || name === "state.json";
      expect(archive().read(old)?.damaged).toBe(isRecord ? fileOf(old, name) : undefined);
      expect([...archive().walkDifferences(last)].length).toBe(1);
      expect([...archive().walkDifferences(old)].length >= 0).toBe(true);
      expect((await bench.transactions.undo(last, { force: false })).status).toBe("done");
      expect(bench.read("kept.txt")).toBe("kept\n");
      if (isUndo) {
        expect<unknown>(await bench.transactions.undo(old, { force: false })).toMatchObject({
          status: "done",
          left: [],
          rebuilt: fileOf(old, name),
        });
        expect(bench.tree()).toEqual(start);
        expect(archive().read(old)?.notes).toEqual([{ code: "rebuilt", paths: [] }]);
        expect(existsSync(`${fileOf(old, name)}.damaged`)).toBe(true);
      }
      await bench.apply((view) => view.write("kept.txt", text("later\n")));
    });

for (const name of RECORDS)
  test(`${name} of a newer version is neither used nor rebuilt`, async () => {
    const jobId = await bench.apply(changeAll);
    remember(jobId);
    const [file, applied] = [fileOf(jobId, name), bench.tree()];
    writeFileSync(file, readFileSync(file, "utf8").replace(/^\{"v":3,.*\n/, '{"v":4,"form":"unknown"}\n'));
    const written = readFileSync(file, "utf8");
    expect<unknown>(await bench.transactions.undo(jobId, { force: false })).toEqual({
      status: "refused",
      reason: "newer",
      paths: [file],
    });
    expect<unknown>(await bench.transactions.repairRecords?.()).toEqual([]);
    expect<unknown>(await bench.transactions.findDamagedUndo?.({ whole: true })).toEqual([
      { jobId, file, lost: "newer" },
    ]);
    expect(readFileSync(file, "utf8")).toBe(written);
    expect(bench.tree()).toEqual(applied);
  });

for (const how of Object.keys(RECORD_DAMAGE))
  test(`plan.ndjson of a preview ${how}: it is applied as it was shown`, async () => {
    const jobId = await bench.stage(changeAll);
    remember(jobId);
    const shown = toChanges(...planOf(jobId), bench.workspace);
    damage(fileOf(jobId, "plan.ndjson"), how);
    expect<unknown>(await bench.transactions.findDamagedUndo?.({ whole: true })).toEqual([
      { jobId, file: fileOf(jobId, "plan.ndjson"), lost: [] },
    ]);
    expect<unknown>(await bench.transactions.commit(jobId)).toMatchObject({
      status: "done",
      changes: shown,
      rebuilt: fileOf(jobId, "plan.ndjson"),
    });
    const applied = treeOf(bench.workspace, { times: false });
    expect(existsSync(fileOf(jobId, "plan.copy.ndjson"))).toBe(false);
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    await bench.apply(changeAll);
    expect(treeOf(bench.workspace, { times: false })).toEqual(applied);
  });

function planOf(jobId: string) {
  const plan = readPlan(jobFolder(bench.storage.folder, jobId));
  return [plan?.ops ?? [], plan?.roots ?? []] as const;
}

for (const how of Object.keys(DAMAGE))
  test(`job.json and state.json ${how} are rewritten, and the job is undone exactly`, async () => {
    const start = bench.tree();
    const jobId = await bench.apply(changeAll);
    remember(jobId);
    for (const name of ["job.json", "state.json"]) damage(fileOf(jobId, name), how);
    expect<unknown>(await bench.transactions.repairRecords?.()).toEqual(
      ["job.json", "state.json"].map((name) => ({ jobId, file: fileOf(jobId, name), repaired: true })),
    );
    expect(archive().read(jobId)).toMatchObject({ jobId, state: "committed", success: true });
    expect(archive().read(jobId)?.damaged).toBeUndefined();
    expect(existsSync(fileOf(jobId, "state.json.damaged"))).toBe(true);
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(bench.tree()).toEqual(start);
  });

test("a record cut between two lines, or one that is gone, is found by its end; one line within it only by reading all", async () => {
  const { old, last } = await twoJobs();
  const find = (whole: boolean) => bench.transactions.findDamagedUndo?.({ whole });
  const stands = readFileSync(fileOf(old, "stands.1.ndjson"), "utf8");
  const lines = stands.split("\n");
  writeFileSync(fileOf(old, "stands.1.ndjson"), `${lines.slice(0, -2).join("\n")}\n`);
  rmSync(fileOf(last, "stands.1.ndjson"));
  const both = [old, last]
    .sort()
    .map((jobId) => ({ jobId, file: fileOf(jobId, "stands.1.ndjson"), lost: [] }));
  for (const whole of [false, true]) expect<unknown>(await find(whole)).toEqual(both);
  expect<unknown>(
    await bench.transactions.findDamagedUndo?.({ whole: false, jobIds: new Set([old]) }),
  ).toEqual(both.filter(({ jobId }) => jobId === old));
  writeFileSync(fileOf(old, "stands.1.ndjson"), stands.replace(lines[1] as string, "#".repeat(9)));
  expect<unknown>([await find(false), await find(true)]).toEqual([
    both.filter(({ jobId }) => jobId === last),
    both,
  ]);
});

test("a record without a plan and without its swap is not rewritten, and the job's files stay", async () => {
  const jobId = await bench.apply(changeAll);
  remember(jobId);
  for (const name of ["plan.ndjson", "stands.1.ndjson"]) damage(fileOf(jobId, name), "filled with zeros");
  damage(fileOf(jobId, "state.json"), "cut in half");
  expect<unknown>(await bench.transactions.repairRecords?.()).toEqual([
    { jobId, file: fileOf(jobId, "state.json"), repaired: false },
  ]);
  await bench.transactions.discard(jobId);
  await bench.transactions.enforceQuota({ quotaBytes: 0, journalDays: 1 }, "job_0_none");
  expect(existsSync(fileOf(jobId, "slots"))).toBe(true);
});

class Crash extends Error {}

/** Dies at a step and does nothing more; false where the swap was done before. */
async function crashAt(step: number, swap: "commit" | "undo" | "redo", jobId: string): Promise<boolean> {
  let at = 0;
  const checkpoint = () => {
    at += 1;
    if (at >= step) throw new Crash();
  };
  const dying = openTransactions(bench.storage, join(bench.folder, "home"), { checkpoint });
  try {
    if (swap === "commit") await dying.commit(jobId);
    else await dying[swap](jobId, { force: true });
    return false;
  } catch {
    return true;
  }
}

const STEPS = 60;

/** Without times: each preview is made again. */
const look = () => treeOf(bench.workspace, { times: false });

describe("an intent that cannot be read", () => {
  for (const swap of ["commit", "undo", "redo"] as const)
    for (const how of ["emptied", "cut in half"])
      test(`${how} at any step of a ${swap}: the workspace is on one side, and jobs continue`, async () => {
        const start = look();
        let jobId = await bench.stage(changeAll);
        let [before, after] = [start, start];
        const settle = async () => {
          expect((await bench.transactions.commit(jobId)).status).toBe("done");
          if (swap !== "undo") after = look();
          else before = look();
          if (swap === "redo") await bench.transactions.undo(jobId, { force: false });
          if (swap === "undo") after = start;
          if (swap === "redo") before = start;
          if (swap === "commit") {
            await bench.transactions.undo(jobId, { force: false });
            jobId = await bench.stage(changeAll);
          }
        };
        await settle();
        let step = 1;
        for (; step < STEPS; step++) {
          if (!(await crashAt(step, swap, jobId))) break;
          const intent = join(bench.storage.folder, "intent.json");
          if (existsSync(intent)) damage(intent, how);
          await bench.transactions.repair();
          const now = JSON.stringify(look());
          expect([step, [JSON.stringify(before), JSON.stringify(after)].includes(now)]).toEqual([step, true]);
          expect(existsSync(intent)).toBe(false);
          if (now === JSON.stringify(after)) {
            if (swap === "undo") await bench.transactions.redo(jobId, { force: false });
            else await bench.transactions.undo(jobId, { force: false });
            expect(look()).toEqual(before);
          }
          // A deleted folder that was taken back has another time of change than the preview knows.
          if (swap === "commit") jobId = await bench.stage(changeAll);
        }
        expect(step).toBeGreaterThan(10);
        expect(step).toBeLessThan(STEPS);
        expect(look()).toEqual(after);
      });

  test("keeps a user's edit that a forced undo had just moved aside", async () => {
    const jobId = await bench.apply((view) => view.write("edited.txt", text("two\n")));
    bench.save("edited.txt", "mine\n");
    for (let step = 1; step < STEPS; step++) {
      if (!(await crashAt(step, "undo", jobId))) break;
      const intent = join(bench.storage.folder, "intent.json");
      if (existsSync(intent)) damage(intent, "emptied");
      await bench.transactions.repair();
      expect(["mine\n", "one\n"]).toContain(bench.read("edited.txt"));
      if (bench.read("edited.txt") === "mine\n") continue;
      expect((await bench.transactions.redo(jobId, { force: false })).status).toBe("done");
      expect(bench.read("edited.txt")).toBe("mine\n");
    }
  });

  test("with a plan that cannot be read either, other jobs go on and the slots stay", async () => {
    const { old, last } = await twoJobs();
    expect(await crashAt(5, "undo", old)).toBe(true);
    for (const name of ["plan.ndjson", "stands.1.ndjson"]) damage(fileOf(old, name), "filled with zeros");
    expect<unknown>(await bench.transactions.repair()).toMatchObject({
      jobId: old,
      outcome: "stuck",
      conflicts: [{ path: fileOf(old, "plan.ndjson"), reason: "damaged" }],
    });
    expect(existsSync(fileOf(old, "slots"))).toBe(true);
    expect((await bench.transactions.undo(last, { force: false })).status).toBe("done");
  });

  async function cutOff(
    swap: "commit" | "undo" | "redo",
    change: typeof changeAll = (view) => view.write("edited.txt", text("staged\n")),
  ) {
    const jobId = await bench.stage(change);
    remember(jobId);
    if (swap !== "commit") await bench.transactions.commit(jobId);
    if (swap === "redo") await bench.transactions.undo(jobId, { force: false });
    const before = look();
    for (let step = 1; JSON.stringify(look()) === JSON.stringify(before); step++)
      expect(await crashAt(step, swap, jobId)).toBe(true);
    return { jobId, before };
  }

  for (const swap of ["commit", "undo", "redo"] as const)
    for (const how of ["emptied", "cut in half"])
      test(`${how} in a ${swap}, with no record of the job that can be read: the job is named and halted`, async () => {
        await twoJobs();
        const { jobId } = await cutOff(swap);
        const now = look();
        damage(join(bench.storage.folder, "intent.json"), how);
        for (const name of readdirSync(fileOf(jobId, ".")))
          if (/^(plan|stands).*ndjson$/.test(name)) damage(fileOf(jobId, name), "filled with zeros");
        for (const halted of [undefined, jobId]) {
          expect<unknown>(await bench.transactions.repair(halted)).toMatchObject({
            jobId,
            direction: swap,
            outcome: "stuck",
            conflicts: [{ path: fileOf(jobId, "plan.ndjson"), reason: "damaged" }],
          });
          expect(archive().read(jobId)?.unsettled).toBe("halted");
        }
        expect(look()).toEqual(now);
        await bench.apply((view) => view.write("kept.txt", text("later\n")));
      });

  for (const swap of ["undo", "redo"] as const)
    for (const damaged of ["plan", swap === "undo" ? "stands.1" : "stands.2"])
      test(`in a ${swap}, with ${damaged}.ndjson: the other record suffices to put everything back`, async () => {
        const { jobId, before } = await cutOff(swap, changeAll);
        damage(join(bench.storage.folder, "intent.json"), "emptied");
        damage(fileOf(jobId, `${damaged}.ndjson`), "cut in half");
        expect<unknown>(await bench.transactions.repair()).toMatchObject({ jobId, outcome: "taken-back" });
        expect(look()).toEqual(before);
        // With force: a folder that was moved and put back has another time of change than the record knows.
        expect((await bench.transactions[swap](jobId, { force: true })).status).toBe("done");
      });
});

describe("slots that are gone", () => {
  for (const direction of ["undo", "redo"] as const)
    for (const which of ["all", "one"])
      test(`(${which}): ${direction} is refused, names the files and changes nothing, also with force`, async () => {
        const jobId = await bench.apply((view) => {
          view.write("edited.txt", text("two\n"));
          view.write("new.txt", text("new\n"));
          view.remove("gone.txt");
        });
        if (direction === "redo") await bench.transactions.undo(jobId, { force: false });
        const side = direction === "undo" ? "a" : "b";
        if (which === "all") rmSync(fileOf(jobId, "slots"), { recursive: true });
        else rmSync(fileOf(jobId, `slots/0.${side}`));
        const before = bench.tree();
        for (const force of [false, true]) {
          const outcome = await bench.transactions[direction](jobId, { force });
          expect(outcome).toMatchObject({ status: "refused", reason: "data-gone" });
          const paths = outcome.status === "refused" ? [...(outcome.paths ?? [])].sort() : [];
          const all = direction === "undo" ? ["edited.txt", "gone.txt"] : ["edited.txt", "new.txt"];
          expect(paths).toEqual(which === "all" ? all : ["edited.txt"]);
          expect(bench.tree()).toEqual(before);
        }
      });

  test("of a preview: it is not applied", async () => {
    const jobId = await bench.stage((view) => view.write("edited.txt", text("two\n")));
    rmSync(fileOf(jobId, "slots/0.b"));
    expect((await bench.transactions.commit(jobId)).status).toBe("conflict");
    expect(bench.read("edited.txt")).toBe("one\n");
  });
});

/** One fault of a file: bytes that are other ones, or gone. */
type Fault =
  | { readonly kind: "byte"; readonly at: number; readonly value: number }
  | { readonly kind: "cut"; readonly at: number }
  | { readonly kind: "zeros" | "without"; readonly at: number; readonly length: number }
  | { readonly kind: "line gone" | "line twice"; readonly at: number }
  | { readonly kind: "file gone" };

const at = fc.double({ min: 0, max: 1, noNaN: true });
const fault: fc.Arbitrary<Fault> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("byte" as const), at, value: fc.integer({ min: 1, max: 255 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("cut" as const), at }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("zeros" as const, "without" as const),
      at,
      length: fc.nat(600),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom("line gone" as const, "line twice" as const), at }),
  },
  fc.constant({ kind: "file gone" as const }),
);

function inflict(path: string, one: Fault): void {
  if (one.kind === "file gone") rmSync(path, { force: true });
  if (one.kind === "file gone" || !existsSync(path)) return;
  const bytes = readFileSync(path);
  const from = Math.floor(one.at * bytes.length);
  if (one.kind === "byte") bytes[from] = ((bytes[from] ?? 0) + one.value) % 256;
  if (one.kind === "zeros") bytes.fill(0, from, Math.min(bytes.length, from + one.length));
  const lines = bytes.toString("latin1").split("\n");
  const line = Math.floor(one.at * lines.length);
  if (one.kind === "line gone") lines.splice(line, 1);
  if (one.kind === "line twice") lines.splice(line, 0, lines[line] ?? "");
  const text = Buffer.from(lines.join("\n"), "latin1");
  if (one.kind === "cut") writeFileSync(path, bytes.subarray(0, from));
  else if (one.kind === "without")
    writeFileSync(path, Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + one.length)]));
  else writeFileSync(path, text);
}

/** Paths that are neither as before the job, nor left as the job made them and named as lost. */
function findWrong(before: Tree, after: Tree, now: Tree, lost: readonly string[]): string[] {
  const same = (x: unknown, y: unknown) => Bun.deepEquals(x, y);
  const isLost = (path: string) =>
    lost.some(
      (one) => path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`) || path === "",
    );
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].filter(
    (path) => !same(now[path], before[path]) && !(same(now[path], after[path]) && isLost(path)),
  );
}

describe("undo data with faults at random places", () => {
  const RUNS = process.env.TEST_NIGHTLY === "1" ? 3_000 : cases(40);
  for (const names of [["plan.ndjson"], ["stands.1.ndjson"], ["plan.ndjson", "stands.1.ndjson"]])
    test(`${names.join(" and ")}: an undo restores what is proven, names the rest, and restores nothing wrong`, async () => {
      const isPlanOnly = names.length === 1 && names[0] === "plan.ndjson";
      await fc.assert(
        fc.asyncProperty(
          seeds,
          edits,
          fc.array(fc.tuple(fc.nat(names.length - 1), fault), { minLength: 1, maxLength: 4 }),
          fc.boolean(),
          async (planted, list, faults, force) => {
            bench.remove();
            bench = createBench("direct");
            plant(bench.workspace, planted);
            const look = () => treeOf(bench.workspace, { times: false });
            const before = look();
            const jobId = await bench.apply((view) => {
              for (const edit of list) carryOut(view, edit);
              view.write("always.txt", text("always\n"));
            });
            remember(jobId);
            const after = look();
            for (const [which, one] of faults) inflict(fileOf(jobId, names[which] as string), one);
            const undone = await bench.transactions.undo(jobId, { force });
            const lost =
              undone.status === "done" ? undone.left.filter(({ reason }) => reason === "lost") : [];
            if (undone.status === "done")
              expect(
                findWrong(
                  before,
                  after,
                  look(),
                  lost.map(({ path }) => path),
                ),
              ).toEqual([]);
            else expect(look()).toEqual(after);
            if (isPlanOnly) expect([undone.status, lost]).toEqual(["done", []]);
          },
        ),
        { numRuns: RUNS },
      );
    }, 600_000);

  test("the plan of a preview and its copy: the preview is applied exactly, or nothing changes", async () => {
    const names = ["plan.ndjson", "plan.copy.ndjson"];
    await fc.assert(
      fc.asyncProperty(
        seeds,
        edits,
        fc.array(fc.tuple(fc.nat(1), fault), { minLength: 1, maxLength: 3 }),
        async (planted, list, faults) => {
          bench.remove();
          bench = createBench("direct");
          plant(bench.workspace, planted);
          const look = () => treeOf(bench.workspace, { times: false });
          const before = look();
          const change: Parameters<TransactionBench["stage"]>[0] = (view) => {
            for (const edit of list) carryOut(view, edit);
            view.write("always.txt", text("always\n"));
          };
          const trial = await bench.apply(change);
          const after = look();
          expect((await bench.transactions.undo(trial, { force: false })).status).toBe("done");
          const jobId = await bench.stage(change);
          remember(jobId);
          for (const [which, one] of faults) inflict(fileOf(jobId, names[which] as string), one);
          const { status } = await bench.transactions.commit(jobId);
          expect(look()).toEqual(status === "done" ? after : before);
          if (new Set(faults.map(([which]) => which)).size === 1) expect(status).toBe("done");
        },
      ),
      { numRuns: RUNS },
    );
  }, 600_000);
});

describe("a swap that was cut off, and whose record a newer version wrote since", () => {
  const newer = (file: string) =>
    writeFileSync(file, readFileSync(file, "utf8").replace(/^\{"v":3,.*\n/, '{"v":4,"form":"unknown"}\n'));
  for (const swap of ["commit", "undo", "redo"] as const)
    for (const name of RECORDS)
      test(`${swap}, ${name}: half-way and said so, its slots kept, completed once the record is read`, async () => {
        const start = look();
        const jobId = await bench.stage(changeAll);
        remember(jobId);
        if (swap !== "commit") await bench.transactions.commit(jobId);
        const after = look();
        if (swap === "redo") await bench.transactions.undo(jobId, { force: false });
        const record =
          name === "plan.ndjson" ? name : `stands.${["commit", "undo", "redo"].indexOf(swap)}.ndjson`;
        // The first commit has no record of an earlier swap.
        if (record === "stands.0.ndjson") return;
        expect(await crashAt(7, swap, jobId)).toBe(true);
        const [file, half] = [fileOf(jobId, record), look()];
        expect([start, after]).not.toContainEqual(half);
        const written = readFileSync(file);
        newer(file);
        const other = await bench.apply((view) => view.write("other.txt", text("of another job\n")));
        const stuck = await bench.transactions.repair(jobId);
        expect<unknown>(stuck).toMatchObject({
          jobId,
          outcome: "stuck",
          conflicts: [{ path: file, reason: "newer" }],
        });
        expect(archive().read(jobId)).toMatchObject({ unsettled: "halted" });
        expect<unknown>(await bench.transactions.repairRecords?.()).toEqual([]);
        const action = swap === "undo" ? "undo" : swap === "redo" ? "redo" : "commit";
        expect<unknown>(
          await (action === "commit"
            ? bench.transactions.commit(jobId)
            : bench.transactions[action](jobId, { force: true })),
        ).toMatchObject({ status: "conflict", conflicts: [{ path: file, reason: "newer", by: jobId }] });
        await bench.transactions.discard(jobId);
        await bench.transactions.enforceQuota({ quotaBytes: 0, journalDays: 1 }, "job_0_none");
        expect((await bench.transactions.undo(other, { force: false })).status).not.toBe("done");
        expect(look()).toEqual({ ...half, "other.txt": look()["other.txt"] as never });
        expect(existsSync(fileOf(jobId, "slots"))).toBe(true);
        writeFileSync(file, written);
        expect<unknown>(await bench.transactions.repair(jobId)).toMatchObject({ jobId, outcome: "finished" });
        expect(archive().read(jobId)?.unsettled).toBeUndefined();
        rmSync(join(bench.workspace, "other.txt"));
        expect(look()).not.toEqual(half);
        if (swap !== "commit") expect(look()).toEqual(swap === "undo" ? start : after);
        if (swap === "undo") return;
        expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
        expect(look()).toEqual(start);
      });
});
