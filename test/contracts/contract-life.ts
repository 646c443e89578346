import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { type ContractPart, changeAll } from "./contract-job.ts";
import { landsAll } from "./lands-all.ts";
import { type TransactionBench, text } from "./transaction-bench.ts";

/** A job from its view to its undo and redo, and what is refused in which state. */
export const describeLife: ContractPart = (kind, current) => {
  let bench: TransactionBench;
  beforeEach(() => {
    bench = current();
  });

  describe(`a ${kind} job`, () => {
    test("changes nothing before its commit", async () => {
      const before = bench.tree();
      await bench.stage(changeAll);
      expect(bench.tree()).toEqual(before);
    });

    test("names its changes when sealed and when committed", async () => {
      const { jobId, transaction } = await bench.begin();
      changeAll(transaction.view);
      const changes = [
        { path: "edited.txt", kind: "modified" as const },
        { path: "empty", kind: "added" as const },
        { path: "folder", kind: "deleted" as const },
        { path: "gone.txt", kind: "deleted" as const },
        { path: "link", kind: "added" as const },
        { path: "made", kind: "added" as const },
        { path: "made/deep", kind: "added" as const },
        { path: "made/deep/new.txt", kind: "added" as const },
        { path: "tree", kind: "deleted" as const },
      ];
      const sealed = await transaction.seal(landsAll);
      const shown = sealed.changes.filter(({ path }) => !/^(folder|tree)\//.test(path));
      expect({ ...sealed, changes: shown }).toEqual({ changes, outside: [], notes: [] });
      const outcome = await bench.transactions.commit(jobId);
      expect(outcome.status).toBe("done");
      expect({
        edited: bench.read("edited.txt"),
        made: bench.read("made/deep/new.txt"),
        linked: bench.read("link"),
        gone: existsSync(bench.at("gone.txt")),
        folder: existsSync(bench.at("folder")),
        empty: existsSync(bench.at("empty")),
      }).toEqual({
        edited: "two\n",
        made: "new\n",
        linked: "kept\n",
        gone: false,
        folder: false,
        empty: true,
      });
    });

    test("is undone, redone and undone again, exactly", async () => {
      const before = bench.tree();
      const jobId = await bench.apply(changeAll);
      const after = bench.tree();
      for (let round = 0; round < 3; round++) {
        expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
        expect(bench.tree()).toEqual(before);
        expect((await bench.transactions.redo(jobId, { force: false })).status).toBe("done");
        expect(bench.tree()).toEqual(after);
      }
    });

    test("that is discarded leaves nothing and cannot be committed", async () => {
      const before = bench.tree();
      const jobId = await bench.stage(changeAll);
      await bench.transactions.discard(jobId);
      expect(await bench.transactions.commit(jobId)).toEqual({
        status: "refused",
        reason: "wrong-state",
        state: "discarded",
      });
      expect(bench.tree()).toEqual(before);
    });

    test("that changed nothing commits and is undone as nothing", async () => {
      const before = bench.tree();
      const jobId = await bench.apply((view) => view.write("edited.txt", text("one\n")));
      expect(await bench.transactions.undo(jobId, { force: false })).toEqual({
        status: "done",
        changes: [],
        left: [],
      });
      expect(bench.tree()).toEqual(before);
    });

    test("replaces a file by a folder and a folder by a file, and takes both back", async () => {
      const before = bench.tree();
      const jobId = await bench.apply((view) => {
        view.remove("edited.txt");
        view.write("edited.txt/now/a-folder.txt", text("x"));
        view.remove("folder/inner.txt");
        view.remove("folder");
        view.write("folder", text("now a file"));
      });
      const after = bench.tree();
      expect(bench.read("folder")).toBe("now a file");
      await bench.transactions.undo(jobId, { force: false });
      expect(bench.tree()).toEqual(before);
      await bench.transactions.redo(jobId, { force: false });
      expect(bench.tree()).toEqual(after);
    });

    test("keeps a file that is renamed or copied onto itself, and moves no folder into itself", async () => {
      const before = bench.tree();
      const jobId = await bench.apply((view) => {
        view.rename("edited.txt", "edited.txt");
        view.copy("edited.txt", "edited.txt");
        expect(() => view.rename("folder", "folder/deeper/still")).toThrow("into itself");
        expect(() => view.rename("nothing", "made/for/it")).toThrow("no such file");
      });
      expect(bench.tree()).toEqual(before);
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    });

    test("a committed job commits again as done, and changes nothing", async () => {
      const jobId = await bench.apply(changeAll);
      const after = bench.tree();
      expect((await bench.transactions.commit(jobId)).status).toBe("done");
      expect(bench.tree()).toEqual(after);
    });
  });

  describe(`a ${kind} job in the wrong state`, () => {
    test("is refused with the state it is in", async () => {
      const staged = await bench.stage(changeAll);
      const { transactions } = bench;
      const refused = (state: string) => ({ status: "refused", reason: "wrong-state", state });
      expect<unknown>(await transactions.undo(staged, { force: true })).toEqual(refused("staged"));
      expect<unknown>(await transactions.redo(staged, { force: true })).toEqual(refused("staged"));
      await transactions.commit(staged);
      expect<unknown>(await transactions.redo(staged, { force: true })).toEqual(refused("committed"));
      await transactions.undo(staged, { force: false });
      expect<unknown>(await transactions.undo(staged, { force: true })).toEqual(refused("undone"));
      expect<unknown>(await transactions.commit(staged)).toEqual(refused("undone"));
    });

    test("is unknown when it never was", async () => {
      const nobody = { status: "refused", reason: "unknown-job" };
      expect<unknown>(await bench.transactions.commit("job_1_aaaaaaaa")).toEqual(nobody);
      expect<unknown>(await bench.transactions.undo("job_1_aaaaaaaa", { force: true })).toEqual(nobody);
    });

    test("a committed job cannot be discarded: its undo stays", async () => {
      const before = bench.tree();
      const jobId = await bench.apply(changeAll);
      await bench.transactions.discard(jobId);
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
      expect(bench.tree()).toEqual(before);
    });
  });
};
