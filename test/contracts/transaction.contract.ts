import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync } from "node:fs";
import type { View } from "../../src/application/ports/view.ts";
import { appendInPlace, type StagingKind, type TransactionBench, text } from "./transaction-bench.ts";

export interface TransactionHarness {
  readonly kind: StagingKind;
  open(): TransactionBench;
}

/** What holds for every way to stage. A kind that runs no processes changes the view by its own operations. */
export function describeTransactions({ kind, open }: TransactionHarness): void {
  let bench: TransactionBench;
  beforeEach(() => {
    bench = open();
    bench.save("kept.txt", "kept\n");
    bench.save("edited.txt", "one\n");
    bench.save("gone.txt", "to be deleted\n");
    bench.save("folder/inner.txt", "inner\n");
    bench.save("tree/branch/leaf.txt", "leaf\n");
  });
  afterEach(() => bench.remove());

  /** Edits, deletes, creates, makes a folder, deletes a folder. */
  const changeAll = (view: View) => {
    view.write("edited.txt", text("two\n"));
    view.remove("gone.txt");
    view.write("made/deep/new.txt", text("new\n"));
    view.makeDirectory("empty");
    view.makeSymlink("link", "kept.txt");
    view.remove("folder/inner.txt");
    view.remove("folder");
    view.remove("tree/branch/leaf.txt");
    view.remove("tree/branch");
    view.remove("tree");
  };

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
      const sealed = await transaction.seal();
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
        await transaction.seal();
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

    test("with force brings back a file that the user deleted since", async () => {
      const jobId = await bench.apply(changeAll);
      rmSync(bench.at("edited.txt"));
      expect((await bench.transactions.undo(jobId, { force: true })).status).toBe("done");
      expect(bench.read("edited.txt")).toBe("one\n");
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

  describe(`the quota of ${kind} jobs`, () => {
    test("evicts the oldest undo records, says which, and refuses to undo them", async () => {
      bench.save("big.bin", "a".repeat(100_000));
      const jobs: string[] = [];
      for (const letter of ["b", "c", "d"])
        jobs.push(await bench.apply((view) => view.write("big.bin", text(letter.repeat(100_000)))));
      const [first, second, third] = jobs as [string, string, string];
      const evicted = await bench.transactions.enforceQuota(250_000, third);
      expect(evicted.map(({ jobId }) => jobId)).toEqual([first]);
      expect(evicted[0]?.bytes).toBeGreaterThanOrEqual(100_000);
      expect<unknown>(await bench.transactions.undo(first, { force: true })).toEqual({
        status: "refused",
        reason: "evicted",
      });
      expect((await bench.transactions.undo(third, { force: false })).status).toBe("done");
      expect((await bench.transactions.undo(second, { force: false })).status).toBe("done");
      expect(bench.read("big.bin")).toBe("b".repeat(100_000));
    });

    test("never evicts the job it is called for, and counts a preview that met a conflict", async () => {
      const jobId = await bench.stage((view) => view.write("big.bin", text("b".repeat(100_000))));
      expect(await bench.transactions.enforceQuota(10, jobId)).toEqual([]);
      const { jobId: other, transaction } = await bench.begin();
      transaction.view.write("other.bin", text("b".repeat(100_000)));
      await transaction.seal();
      bench.save("other.bin", "mine");
      expect((await bench.transactions.commit(other)).status).toBe("conflict");
      const evicted = await bench.transactions.enforceQuota(10, jobId);
      expect(evicted.map((each) => each.jobId)).toEqual([other]);
    });
  });

  describe(`a ${kind} job and modes`, () => {
    test("keeps the mode of an edited file and of what it deletes", async () => {
      chmodSync(bench.at("edited.txt"), 0o600);
      chmodSync(bench.at("gone.txt"), 0o755);
      const before = bench.tree();
      const jobId = await bench.apply(changeAll);
      expect(bench.tree()["edited.txt"]?.mode).toBe(0o600);
      await bench.transactions.undo(jobId, { force: false });
      expect(bench.tree()).toEqual(before);
    });

    test("is undone where its folders are read-only", async () => {
      chmodSync(bench.at("folder"), 0o555);
      const before = bench.tree();
      const jobId = await bench.stage((view, transaction) => {
        if (transaction.directory !== null) chmodSync(`${transaction.directory}/folder`, 0o755);
        view.write("folder/inner.txt", text("changed\n"));
        if (transaction.directory !== null) chmodSync(`${transaction.directory}/folder`, 0o555);
      });
      expect((await bench.transactions.commit(jobId)).status).toBe("done");
      expect(bench.read("folder/inner.txt")).toBe("changed\n");
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
      expect(bench.tree()).toEqual(before);
    });
  });

  describe(`a workspace for ${kind} jobs`, () => {
    test("that is missing or no folder is refused before anything runs", async () => {
      const jobId = "job_1_bbbbbbbb";
      rmSync(bench.workspace, { recursive: true });
      const missing = await bench.transactions.begin({ jobId, kind });
      expect(missing.ok ? null : missing.refusal.code).toBe("workspace-missing");
      mkdirSync(`${bench.folder}/x`, { recursive: true });
      await Bun.write(bench.workspace, "a file");
      const file = await bench.transactions.begin({ jobId, kind });
      expect(file.ok ? null : file.refusal.code).toBe("not-a-directory");
    });
  });
}

async function expectConflict(bench: TransactionBench, jobId: string, path: string, reason: string) {
  const outcome = await bench.transactions.commit(jobId);
  expect<unknown>(outcome).toEqual({
    status: "conflict",
    conflicts: expect.arrayContaining([{ path, reason }]),
  });
}

/** What editors do: write beside, rename over. */
function replaceByRename(bench: TransactionBench): void {
  bench.save(".edited.swp", "mine\n");
  renameSync(bench.at(".edited.swp"), bench.at("edited.txt"));
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
