/** Folders and files that the user moves while a swap is under way: nothing of theirs is lost, and nothing untrue is said. */

import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { notesOfInterruptions } from "../../src/application/jobs/job-facts.ts";
import type { SwapOutcome } from "../../src/application/ports/jobs-transaction.ts";
import { type Note, toJobStatus } from "../../src/domain/jobs/result.ts";
import { messagesFor } from "../../src/domain/texts/jobs.ts";
import { describeConflicts, wordNote } from "../../src/domain/texts/jobs-notes.ts";
import { createJobArchive } from "../../src/infrastructure/engine/job-archive.ts";
import { listKeptAside, removeKeptAside } from "../../src/infrastructure/engine/kept-aside.ts";
import { jobFolder, readState } from "../../src/infrastructure/jobs/job-folder.ts";
import {
  createBench,
  openTransactions,
  type TransactionBench,
  text,
} from "../contracts/transaction-bench.ts";
import { withoutTimes } from "../contracts/tree.ts";
import { runs } from "../require.ts";

/** By day a commit is tried at every other point, an undo and a redo at every fifth. */
const isLeftToTheNight = (action: Action, index: number) =>
  runs(1) === 1 && index % (action === "commit" ? 2 : 5) !== 0;

type Action = "commit" | "undo" | "redo";

const benches: TransactionBench[] = [];
afterEach(() => {
  for (const bench of benches.splice(0)) bench.remove();
});

/** The process dies there, as far as the engine is concerned. */
class Death extends Error {}

interface Scene {
  readonly bench: TransactionBench;
  readonly jobId: string;
  /** Called with every checkpoint from then on. */
  watch(at: (point: string) => void): void;
}

/** Folders with files that a job changes, removes and adds, just before the action. */
async function prepare(action: Action): Promise<Scene> {
  let at: (point: string) => void = () => {};
  const bench = createBench("direct", { deps: { checkpoint: (point) => at(point) } });
  benches.push(bench);
  for (const name of ["f1", "f2", "f3", "gone"]) bench.save(`d/e/${name}`, `orig ${name}\n`);
  bench.save("a/x", "orig x\n");
  bench.save("z/y", "orig y\n");
  const jobId = await bench.stage((view) => {
    for (const name of ["f1", "f2", "f3"]) view.write(`d/e/${name}`, text(`job ${name}\n`));
    view.write("d/e/made/new", text("job new\n"));
    view.write("d/e/added", text("job added\n"));
    view.remove("d/e/gone");
    view.write("a/x", text("job x\n"));
    view.write("z/y", text("job y\n"));
  });
  if (action !== "commit") await bench.transactions.commit(jobId);
  if (action === "redo") await bench.transactions.undo(jobId, { force: false });
  return { bench, jobId, watch: (next) => (at = next) };
}

function run({ bench, jobId }: Scene, action: Action) {
  const { transactions } = bench;
  return action === "commit" ? transactions.commit(jobId) : transactions[action](jobId, { force: false });
}

/** The points of an action from its intent on to the last rename. */
async function rehearse(action: Action): Promise<string[]> {
  const scene = await prepare(action);
  const points: string[] = [];
  scene.watch((point) => points.push(point));
  await run(scene, action);
  return points.slice(points.indexOf("intent"), points.indexOf("swapped") + 1);
}

function conflictPaths(outcome: SwapOutcome | { status: "late" }): string[] {
  return outcome.status === "conflict" ? outcome.conflicts.map(({ path }) => path) : [];
}

describe.if(process.platform === "linux")("a folder that the user renames while a job is swapped", () => {
  for (const action of ["commit", "undo", "redo"] as const)
    for (const [name, target] of [
      ["in the workspace", "ws/d2"],
      ["to a place outside of it", "elsewhere"],
    ] as const)
      test(`${name}, at any moment of a ${action}: the folder has again what it had, under its new name`, async () => {
        const points = await rehearse(action);
        expect(points.length).toBeGreaterThan(10);
        for (const [index, point] of points.entries()) {
          if (isLeftToTheNight(action, index)) continue;
          const scene = await prepare(action);
          const { bench, jobId } = scene;
          const before = withoutTimes(bench.tree());
          const state = readState(jobFolder(bench.storage.folder, jobId));
          let passed = -1;
          scene.watch((reached) => {
            if (reached === "intent" || passed >= 0) passed += 1;
            if (passed === index && existsSync(bench.at("d")))
              renameSync(bench.at("d"), join(bench.folder, target));
          });
          const outcome = await run(scene, action);
          renameSync(join(bench.folder, target), bench.at("d"));
          if (outcome.status === "done") {
            // An undo or redo that was through with the folder when it was renamed.
            expect({ action, point, d: bench.read("d/e/f1") }).not.toMatchObject({ action: "commit" });
            continue;
          }
          expect({ point, status: outcome.status }).toEqual({ point, status: "conflict" });
          expect({ point, paths: conflictPaths(outcome).every((path) => path.startsWith("d")) }).toEqual({
            point,
            paths: true,
          });
          expect({ point, tree: withoutTimes(bench.tree()) }).toEqual({ point, tree: before });
          expect(existsSync(join(bench.storage.folder, "intent.json"))).toBe(false);
          expect(readState(jobFolder(bench.storage.folder, jobId))?.state).toBe(state?.state as "staged");
          // Nothing of the job is lost either.
          expect((await run(scene, action)).status).toBe("done");
        }
      });
});

/** As a process that comes after one that was killed. */
const later = ({ bench }: Scene) => openTransactions(bench.storage, join(bench.folder, "home"));

/** The folder goes elsewhere when entries of it are swapped; the process dies before it takes any back. */
async function dieWithFolderAt(scene: Scene, action: Action, target: string): Promise<void> {
  let inside = 0;
  scene.watch((point) => {
    if (point.startsWith("in ") || point.startsWith("out ")) inside += 1;
    if (inside === 4) renameSync(scene.bench.at("d"), target);
    if (inside === 4) inside += 1;
    if (point === "taking back") throw new Death();
  });
  await expect(run(scene, action)).rejects.toThrow(Death);
  scene.watch(() => {});
}

describe.if(process.platform === "linux")("a process that dies before it takes a swap back", () => {
  for (const action of ["commit", "undo"] as const)
    test(`leaves a ${action} that the next one reverts in the folder under its new name`, async () => {
      const scene = await prepare(action);
      const { bench } = scene;
      const before = withoutTimes(bench.tree());
      await dieWithFolderAt(scene, action, bench.at("d2"));
      expect(await later(scene).repair()).toMatchObject({ outcome: "taken-back", left: [] });
      renameSync(bench.at("d2"), bench.at("d"));
      expect(withoutTimes(bench.tree())).toEqual(before);
    });

  test("and whose folder is not found: the originals are kept where no discard, quota or expiry removes them, and the report says so", async () => {
    const scene = await prepare("commit");
    const { bench, jobId } = scene;
    await dieWithFolderAt(scene, "commit", join(bench.folder, "elsewhere"));
    const transactions = later(scene);
    const repaired = await transactions.repair();
    const folder = join(bench.storage.folder, "aside", jobId);
    const paths = repaired?.aside?.paths ?? [];
    expect(repaired).toMatchObject({ outcome: "taken-back", aside: { folder } });
    expect(paths.length).toBeGreaterThan(0);
    const job = { ...RECORD, jobId, workspace: bench.workspace };
    const archive = createJobArchive(bench.storage.folder, () => new Date(), bench.workspace);
    archive.save(job);
    const stored = archive.read(jobId);
    if (stored === null) throw new Error("the job is not told");
    expect(toJobStatus({ ...stored, changeCount: 1 }, false)).toBe("interrupted");
    expect(notesOfInterruptions(stored)).toMatchObject([{ code: "repaired", aside: { folder, paths } }]);
    renameSync(folder, `${folder}.taken`);
    const [told] = notesOfInterruptions(archive.read(jobId) ?? stored);
    expect(told).toMatchObject({ aside: { folder, paths, removed: true } });
    expect(wordNote(messagesFor("en"), told as Note)).toMatch(
      /were kept in .+, which has been removed or moved away since/,
    );
    renameSync(`${folder}.taken`, folder);
    // What is left of it cannot be applied as if it were whole.
    renameSync(join(bench.folder, "elsewhere"), bench.at("d"));
    expect((await transactions.commit(jobId)).status).toBe("conflict");
    await transactions.discard(jobId);
    await transactions.enforceQuota({ quotaBytes: 0, journalDays: 1 }, "none");
    for (const path of paths)
      expect(readFileSync(join(folder, path), "utf8")).toBe(`orig ${path.split("/").at(-1)}\n`);
    const bytes = paths.reduce((sum, path) => sum + readFileSync(join(folder, path)).length, 0);
    const kept = { jobId, folder, files: paths.length, bytes };
    expect(listKeptAside(bench.storage.folder)).toEqual([kept]);
    for (const other of [".", "..", "", `../aside/${jobId}`, `${jobId}/d`, jobId.slice(0, -1)])
      expect(removeKeptAside(bench.storage.folder, other)).toBeNull();
    expect(listKeptAside(bench.storage.folder)).toEqual([kept]);
    expect(removeKeptAside(bench.storage.folder, jobId)).toEqual(kept);
    expect(listKeptAside(bench.storage.folder)).toEqual([]);
    expect(removeKeptAside(bench.storage.folder, jobId)).toBeNull();
  });

  test("nothing that is kept aside is removed while its roll-back has not ended", async () => {
    const scene = await prepare("commit");
    const { bench, jobId } = scene;
    await dieWithFolderAt(scene, "commit", join(bench.folder, "elsewhere"));
    const dying = openTransactions(bench.storage, join(bench.folder, "home"), {
      checkpoint: (point) => {
        if (point === "aside") throw new Death();
      },
    });
    await expect(dying.repair()).rejects.toThrow(Death);
    mkdirSync(join(bench.storage.folder, "aside", jobId), { recursive: true });
    expect(removeKeptAside(bench.storage.folder, jobId)).toBe("unfinished");
    await later(scene).repair();
    expect(removeKeptAside(bench.storage.folder, jobId)).toMatchObject({ jobId });
  });
});

const RECORD = {
  groupId: "group",
  source: "test",
  title: "title",
  createdAt: "2026-01-01T00:00:00.000Z",
  finishedAt: "2026-01-01T00:00:00.000Z",
  kind: "direct",
  outcome: "conflict",
  success: false,
  totalCmds: 1,
  executedCmds: 1,
  failedCmds: 0,
  changes: [],
  notes: [],
} as const;

describe.if(process.platform === "linux")("a commit that is reverted", () => {
  /** `act` once the whole of it is swapped; a folder that goes keeps it from standing. */
  async function takeBack(act: (bench: TransactionBench) => void) {
    const scene = await prepare("commit");
    const { bench } = scene;
    scene.watch((point) => {
      if (point !== "modes" || !existsSync(bench.at("a"))) return;
      renameSync(bench.at("a"), bench.at("a2"));
      act(bench);
    });
    return { scene, outcome: await run(scene, "commit") };
  }

  test("gives a file that the user renamed its contents back under its new name", async () => {
    const { scene, outcome } = await takeBack((bench) => {
      renameSync(bench.at("d/e/f1"), bench.at("z/named"));
      renameSync(bench.at("d/e/made"), bench.at("made2"));
    });
    const { bench } = scene;
    expect(outcome).toMatchObject({ status: "conflict", conflicts: [{ path: "a" }] });
    expect(bench.read("z/named")).toBe("orig f1\n");
    expect(existsSync(bench.at("d/e/f1"))).toBe(false);
    expect(existsSync(bench.at("made2"))).toBe(false);
    expect(bench.read("a2/x")).toBe("orig x\n");
  });

  test("keeps the original of a file that the user wrote over aside, and names both", async () => {
    const { scene, outcome } = await takeBack((bench) => {
      rmSync(bench.at("d/e/f1"));
      writeFileSync(bench.at("d/e/f1"), "mine\n");
    });
    const { bench, jobId } = scene;
    const folder = join(bench.storage.folder, "aside", jobId);
    const conflicts = outcome.status === "conflict" ? outcome.conflicts : [];
    expect(conflicts).toContainEqual({ path: "d/e/f1", reason: "kept-aside", by: folder });
    expect(bench.read("d/e/f1")).toBe("mine\n");
    expect(readFileSync(join(folder, "d/e/f1"), "utf8")).toBe("orig f1\n");
    const said = describeConflicts(messagesFor("en"), jobId, conflicts, "terminal");
    expect(said).toContain(folder);
    expect(said).not.toContain("Nothing was applied");
    expect(existsSync(join(bench.storage.folder, "intent.json"))).toBe(false);
  });
});
