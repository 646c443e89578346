import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import type { Difference, DifferenceVerdict } from "../../src/application/ports/jobs-transaction.ts";
import { type ContractPart, changeAll } from "./contract-job.ts";
import { type Change, type TransactionBench, text } from "./transaction-bench.ts";

const NOTHING: DifferenceVerdict = { drop: [], rewrite: new Map() };

/** A judge sees a job as it is sealed, and only what it passes is committed. */
export const describeJudge: ContractPart = (kind, current) => {
  let bench: TransactionBench;
  beforeEach(() => {
    bench = current();
  });

  async function sealed(
    change: Change,
    judge: (difference: Difference) => DifferenceVerdict,
  ): Promise<string> {
    const { jobId, transaction } = await bench.begin();
    await change(transaction.view, transaction);
    await transaction.layers?.rest();
    await transaction.layers?.wake();
    const { changes } = await transaction.seal(judge);
    const outcome = await bench.transactions.commit(jobId);
    if (outcome.status !== "done") throw new Error(JSON.stringify(outcome));
    expect(outcome.changes).toEqual(changes);
    return jobId;
  }
  const grove = () => {
    bench.save("grove/branch/leaf.txt", "leaf\n");
    bench.save("grove/other.txt", "other\n");
  };
  const drop =
    (...paths: string[]) =>
    (): DifferenceVerdict => ({ ...NOTHING, drop: paths });

  describe(`the judge of a ${kind} job`, () => {
    test("sees both sides of every path", async () => {
      const said = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString());
      const seen: unknown[] = [];
      await sealed(changeAll, (difference) => {
        for (const path of ["edited.txt", "gone.txt", "kept.txt", "made/deep/new.txt", "made/none"])
          seen.push([
            path,
            difference.look(path, "before")?.kind ?? null,
            said(difference.original(path)),
            difference.look(path, "after")?.kind ?? null,
            said(difference.current(path)),
          ]);
        seen.push([difference.look("tree/branch", "after"), difference.look("link", "after")?.kind]);
        return NOTHING;
      });
      expect(seen).toEqual([
        ["edited.txt", "file", "one\n", "file", "two\n"],
        ["gone.txt", "file", "to be deleted\n", null, null],
        ["kept.txt", "file", "kept\n", "file", "kept\n"],
        ["made/deep/new.txt", null, null, "file", "new\n"],
        ["made/none", null, null, null, null],
        [null, "symlink"],
      ]);
    });

    test("an open job answers for both sides of a path, for any kind of entry at its parents", async () => {
      const said = (bytes: Uint8Array | null) => (bytes === null ? null : Buffer.from(bytes).toString());
      const { transaction } = await bench.begin();
      const { view } = transaction;
      changeAll(view);
      view.remove("kept.txt");
      view.write("kept.txt/inside/a.txt", text("a\n"));
      view.write("tree", text("now a file\n"));
      const paths = [
        "made/deep/new.txt",
        "kept.txt/inside/a.txt",
        "tree",
        "tree/branch/leaf.txt",
        "no/where",
      ];
      const sides = paths.map((path) => [
        transaction.look(path, "before")?.kind ?? null,
        said(transaction.original(path)),
        transaction.look(path, "after")?.kind ?? null,
        said(transaction.current(path)),
      ]);
      expect(sides).toEqual([
        [null, null, "file", "new\n"],
        [null, null, "file", "a\n"],
        ["directory", null, "file", "now a file\n"],
        ["file", "leaf\n", null, null],
        [null, null, null, null],
      ]);
      await transaction.discard();
    });

    test("keeps a file as it was, with all that a person could see of it", async () => {
      const before = bench.tree()["edited.txt"];
      await sealed(changeAll, drop("edited.txt", "gone.txt"));
      expect([bench.tree()["edited.txt"], bench.read("gone.txt"), bench.read("made/deep/new.txt")]).toEqual([
        before,
        "to be deleted\n",
        "new\n",
      ]);
    });

    test("drops new entries with the folders that were made for them alone", async () => {
      await sealed(
        (view) => {
          view.write("made/one/a.txt", text("a"));
          view.write("made/two/b.txt", text("b"));
          view.write("alone/deep/c.txt", text("c"));
        },
        drop("made/one/a.txt", "alone/deep/c.txt"),
      );
      const stands = ["made/two/b.txt", "made/one", "alone"].map((path) => existsSync(bench.at(path)));
      expect(stands).toEqual([true, false, false]);
    });

    test("keeps one file of a removed folder: the rest is removed, and all is restored", async () => {
      grove();
      const before = bench.tree();
      const removeTree: Change = (view) => {
        for (const path of ["grove/branch/leaf.txt", "grove/branch", "grove/other.txt", "grove"])
          view.remove(path);
      };
      const jobId = await sealed(removeTree, drop("grove/branch/leaf.txt"));
      expect([bench.read("grove/branch/leaf.txt"), existsSync(bench.at("grove/other.txt"))]).toEqual([
        "leaf\n",
        false,
      ]);
      await bench.transactions.undo(jobId, { force: false });
      expect(bench.tree()).toEqual(before);
    });

    test("keeps one file of a folder that gave way to a link", async () => {
      grove();
      const before = bench.tree();
      const replace: Change = (view) => {
        for (const path of ["grove/branch/leaf.txt", "grove/branch", "grove/other.txt", "grove"])
          view.remove(path);
        view.makeSymlink("grove", "folder");
      };
      const jobId = await sealed(replace, drop("grove/branch/leaf.txt"));
      expect([bench.tree().grove?.kind, bench.read("grove/branch/leaf.txt")]).toEqual([
        "directory",
        "leaf\n",
      ]);
      expect(existsSync(bench.at("grove/other.txt"))).toBe(false);
      await bench.transactions.undo(jobId, { force: false });
      expect(bench.tree()).toEqual(before);
    });

    test("gives a file other bytes, and undo knows it again", async () => {
      const before = bench.tree();
      const rewrite = new Map([["edited.txt", text("judged\n")]]);
      const jobId = await sealed(changeAll, () => ({ drop: [], rewrite }));
      expect(bench.read("edited.txt")).toBe("judged\n");
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
      expect(bench.tree()).toEqual(before);
      expect((await bench.transactions.redo(jobId, { force: false })).status).toBe("done");
      expect(bench.read("edited.txt")).toBe("judged\n");
    });

    test("that gives a file its old bytes leaves it alone", async () => {
      const rewrite = new Map([["edited.txt", text("one\n")]]);
      const jobId = await sealed(
        (view) => view.write("edited.txt", text("two\n")),
        () => ({ drop: [], rewrite }),
      );
      expect([bench.read("edited.txt"), jobId.startsWith("job_")]).toEqual(["one\n", true]);
    });
  });
};
