import { beforeEach, describe, expect, test } from "bun:test";
import { linkSync, lstatSync, mkdirSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import { sealNote } from "../../src/domain/jobs/result.ts";
import { type ContractPart, changeAll, replaceByRename } from "./contract-job.ts";
import { landsAll } from "./lands-all.ts";
import { appendInPlace, type TransactionBench, text } from "./transaction-bench.ts";

/** All paths or none: what stops a commit, and what does not. */
export const describeCommit: ContractPart = (kind, current) => {
  let bench: TransactionBench;
  beforeEach(() => {
    bench = current();
  });

  describe(`the commit of a ${kind} job stops, whole, when the user`, () => {
    const meanwhile: readonly [string, string, string, (bench: TransactionBench) => void][] = [
      ["saved an edited file by rename", "edited.txt", "changed", replaceByRename],
      [
        "wrote into an edited file",
        "edited.txt",
        "changed",
        (b) => appendInPlace(b.at("edited.txt"), "mine\n"),
      ],
      ["saved as many other bytes", "edited.txt", "changed", (b) => b.save("edited.txt", "uno\n")],
      ["deleted an edited file", "edited.txt", "missing", (b) => rmSync(b.at("edited.txt"))],
      ["wrote into a deleted file", "gone.txt", "changed", (b) => b.save("gone.txt", "still needed\n")],
      ["created a created file", "made", "exists", (b) => b.save("made/deep/new.txt", "mine\n")],
      ["saved below a deleted folder", "folder", "changed", (b) => b.save("folder/inner.txt", "mine!\n")],
      ["made a file below a deleted folder", "folder", "changed", (b) => b.save("folder/mine.txt", "mine\n")],
      [
        "made a file deep below a deleted folder",
        "tree",
        "changed",
        (b) => b.save("tree/branch/mine", "mine\n"),
      ],
      ["made a link where a file comes", "link", "exists", (b) => symlinkSync("/etc/hosts", b.at("link"))],
      ["put a folder where a file was", "edited.txt", "changed", folderForFile],
    ];
    for (const [what, path, reason, act] of meanwhile) {
      test(`${what} before the seal`, async () => {
        const { jobId, transaction } = await bench.begin();
        changeAll(transaction.view);
        act(bench);
        const before = bench.tree();
        await transaction.seal(landsAll);
        await bench.transactions.stage(jobId);
        await expectConflict(bench, jobId, path, reason);
        expect(bench.tree()).toEqual(before);
      });

      test(`${what} after the seal`, async () => {
        const jobId = await bench.stage(changeAll);
        act(bench);
        const before = bench.tree();
        await expectConflict(bench, jobId, path, reason);
        expect(bench.tree()).toEqual(before);
      });
    }

    test("holds an edited file open for writing", async () => {
      const jobId = await bench.stage(changeAll);
      const before = bench.tree();
      const holder = await holdOpen(bench.at("edited.txt"));
      try {
        const outcome = await bench.transactions.commit(jobId);
        expect<unknown>(outcome).toEqual({
          status: "conflict",
          conflicts: [{ path: "edited.txt", reason: "open", by: `sh (pid ${holder.pid})` }],
        });
        expect(bench.tree()).toEqual(before);
      } finally {
        holder.kill("SIGKILL");
        await holder.exited;
      }
      expect((await bench.transactions.commit(jobId)).status).toBe("done");
    });

    test("and the job stays a preview that can be committed once the way is free", async () => {
      const jobId = await bench.stage((view) => view.write("new.txt", text("ours")));
      bench.save("new.txt", "mine");
      await expectConflict(bench, jobId, "new.txt", "exists");
      rmSync(bench.at("new.txt"));
      expect((await bench.transactions.commit(jobId)).status).toBe("done");
      expect(bench.read("new.txt")).toBe("ours");
    });
  });

  test(`a ${kind} job that met a conflict commits once the file is what the job was based on`, async () => {
    const { jobId, transaction } = await bench.begin();
    transaction.view.write("edited.txt", text("two\n"));
    transaction.view.remove("gone.txt");
    transaction.takeChanges({ processRan: false });
    bench.save("edited.txt", "mine\n");
    bench.save("gone.txt", "mine\n");
    await transaction.seal(landsAll);
    await bench.transactions.stage(jobId);
    await expectConflict(bench, jobId, "edited.txt", "changed");
    bench.save("edited.txt", "one\n");
    await expectConflict(bench, jobId, "gone.txt", "changed");
    bench.save("gone.txt", "to be deleted\n");
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect(bench.read("edited.txt")).toBe("two\n");
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(bench.read("gone.txt")).toBe("to be deleted\n");
  });

  test(`a ${kind} job says that a file had other names, which keep what they had`, async () => {
    linkSync(bench.at("edited.txt"), bench.at("second.txt"));
    const { jobId, transaction } = await bench.begin();
    transaction.view.write("edited.txt", text("two\n"));
    transaction.view.write("kept.txt", text("two\n"));
    const { notes } = await transaction.seal(landsAll);
    expect(notes).toEqual([sealNote("other-names", "edited.txt")]);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect(bench.read("second.txt")).toBe("one\n");
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(lstatSync(bench.at("second.txt")).ino).toBe(lstatSync(bench.at("edited.txt")).ino);
  });

  describe(`the commit of a ${kind} job does not mind`, () => {
    const harmless: readonly [string, (bench: TransactionBench) => void][] = [
      ["a save of the same bytes", (b) => b.save("edited.txt", "one\n")],
      ["a touch", (b) => utimesSync(b.at("edited.txt"), new Date(), new Date())],
      ["a change of something else", (b) => b.save("kept.txt", "other\n")],
      ["a new file of the user", (b) => b.save("mine.txt", "mine\n")],
    ];
    for (const [what, act] of harmless) {
      test(what, async () => {
        const jobId = await bench.stage((view) => view.write("edited.txt", text("two\n")));
        act(bench);
        expect((await bench.transactions.commit(jobId)).status).toBe("done");
      });
    }
  });
};

async function expectConflict(bench: TransactionBench, jobId: string, path: string, reason: string) {
  const outcome = await bench.transactions.commit(jobId);
  expect<unknown>(outcome).toEqual({
    status: "conflict",
    conflicts: expect.arrayContaining([{ path, reason }]),
  });
}

function folderForFile(bench: TransactionBench): void {
  rmSync(bench.at("edited.txt"));
  mkdirSync(bench.at("edited.txt"));
}

/** A process with the file open for writing; resolves once it has it. */
async function holdOpen(path: string) {
  const holder = Bun.spawn(["sh", "-c", 'exec 3>>"$0"; echo ready; read wait', path], {
    stdin: "pipe",
    stdout: "pipe",
  });
  await holder.stdout.getReader().read();
  return holder;
}
