import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, renameSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { type ContractPart, changeAll, replaceByRename } from "./contract-job.ts";
import { appendInPlace, type TransactionBench, text } from "./transaction-bench.ts";

/** Undo touches only entries that are still as the job left them. */
export const describeUndo: ContractPart = (kind, current) => {
  let bench: TransactionBench;
  beforeEach(() => {
    bench = current();
  });

  describe(`the undo of a ${kind} job`, () => {
    test("touches nothing when a path was edited since", async () => {
      const jobId = await bench.apply(changeAll);
      appendInPlace(bench.at("edited.txt"), "mine\n");
      bench.save("gone.txt", "mine\n");
      const before = bench.tree();
      const outcome = await bench.transactions.undo(jobId, { force: false });
      expect<unknown>(outcome).toEqual({
        status: "conflict",
        conflicts: expect.arrayContaining([
          { path: "edited.txt", reason: "changed" },
          { path: "gone.txt", reason: "exists" },
        ]),
      });
      expect(bench.tree()).toEqual(before);
    });

    for (const [how, save] of [
      ["in place", (b: TransactionBench) => appendInPlace(b.at("edited.txt"), "mine\n")],
      ["by rename", replaceByRename],
    ] as const) {
      test(`with force brings the original back over a save ${how}, and redo brings the user's version`, async () => {
        const jobId = await bench.apply(changeAll);
        save(bench);
        const mine = bench.read("edited.txt");
        expect((await bench.transactions.undo(jobId, { force: true })).status).toBe("done");
        expect(bench.read("edited.txt")).toBe("one\n");
        expect((await bench.transactions.redo(jobId, { force: false })).status).toBe("done");
        expect(bench.read("edited.txt")).toBe(mine);
      });
    }

    test("with force brings a file back over one the user made, which redo brings back", async () => {
      const jobId = await bench.apply(changeAll);
      bench.save("gone.txt", "mine\n");
      expect((await bench.transactions.undo(jobId, { force: true })).status).toBe("done");
      expect(bench.read("gone.txt")).toBe("to be deleted\n");
      expect((await bench.transactions.redo(jobId, { force: false })).status).toBe("done");
      expect(bench.read("gone.txt")).toBe("mine\n");
    });

    test("with force brings back a file that the user deleted since, and redo takes it away again", async () => {
      const jobId = await bench.apply(changeAll);
      rmSync(bench.at("edited.txt"));
      const deleted = bench.tree();
      expect((await bench.transactions.undo(jobId, { force: true })).status).toBe("done");
      expect(bench.read("edited.txt")).toBe("one\n");
      const undone = bench.tree();
      for (const [direction, tree] of [
        ["redo", deleted],
        ["undo", undone],
        ["redo", deleted],
      ] as const) {
        const outcome = await bench.transactions[direction](jobId, { force: false });
        expect(outcome.status === "done" ? outcome.changes.map(({ path }) => path) : outcome).toContain(
          "edited.txt",
        );
        expect(bench.tree()).toEqual(tree);
      }
    });

    test("with force over what the user deleted after an undo: that redo is undone too", async () => {
      const jobId = await bench.apply(changeAll);
      await bench.transactions.undo(jobId, { force: false });
      rmSync(bench.at("edited.txt"));
      const deleted = bench.tree();
      expect((await bench.transactions.redo(jobId, { force: true })).status).toBe("done");
      expect(bench.read("edited.txt")).not.toBe("one\n");
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
      expect(bench.tree()).toEqual(deleted);
    });

    test("keeps a folder of the job that holds a file of the user's, and says so", async () => {
      const jobId = await bench.apply(changeAll);
      bench.save("made/deep/mine.txt", "mine\n");
      const outcome = await bench.transactions.undo(jobId, { force: false });
      expect(outcome.status === "done" ? outcome.left : outcome).toEqual([
        { path: "made/deep", reason: "not-empty" },
        { path: "made", reason: "not-empty" },
      ]);
      expect(bench.read("made/deep/mine.txt")).toBe("mine\n");
      expect(existsSync(bench.at("made/deep/new.txt"))).toBe(false);
      expect((await bench.transactions.redo(jobId, { force: false })).status).toBe("done");
      expect(bench.read("made/deep/new.txt")).toBe("new\n");
    });

    test("of an old job works under newer ones on other paths", async () => {
      const older = await bench.apply((view) => view.write("edited.txt", text("two\n")));
      await bench.apply((view) => view.write("kept.txt", text("newer\n")));
      expect((await bench.transactions.undo(older, { force: false })).status).toBe("done");
      expect([bench.read("edited.txt"), bench.read("kept.txt")]).toEqual(["one\n", "newer\n"]);
    });

    test("of an old job stops where a newer one changed the same path, until that one is undone", async () => {
      const before = bench.tree();
      const older = await bench.apply((view) => view.write("edited.txt", text("two\n")));
      const newer = await bench.apply((view) => view.write("edited.txt", text("three\n")));
      expect<unknown>(await bench.transactions.undo(older, { force: false })).toEqual({
        status: "conflict",
        conflicts: [{ path: "edited.txt", reason: "changed" }],
      });
      expect((await bench.transactions.undo(newer, { force: false })).status).toBe("done");
      expect((await bench.transactions.undo(older, { force: false })).status).toBe("done");
      expect(bench.tree()).toEqual(before);
    });

    test("does not mind a touch, and keeps files that the user made after the job", async () => {
      const before = bench.tree();
      const jobId = await bench.apply(changeAll);
      utimesSync(bench.at("edited.txt"), new Date(), new Date());
      bench.save("mine.txt", "mine\n");
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
      rmSync(bench.at("mine.txt"));
      expect(bench.tree()).toEqual(before);
    });

    test("stops when a parent has become a symlink", async () => {
      bench.save("folder/other.txt", "other\n");
      const jobId = await bench.apply((view) => view.write("folder/inner.txt", text("changed\n")));
      renameSync(bench.at("folder"), `${bench.folder}/elsewhere`);
      symlinkSync(`${bench.folder}/elsewhere`, bench.at("folder"));
      for (const force of [false, true]) {
        const outcome = await bench.transactions.undo(jobId, { force });
        expect(outcome.status).toBe("conflict");
      }
      expect(bench.read("folder/inner.txt")).toBe("changed\n");
    });
  });
};
