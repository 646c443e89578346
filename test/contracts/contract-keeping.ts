import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { type ContractPart, changeAll } from "./contract-job.ts";
import { landsAll } from "./lands-all.ts";
import { type TransactionBench, text } from "./transaction-bench.ts";

/** Quota, modes, and workspaces that are none. */
export const describeKeeping: ContractPart = (kind, current) => {
  let bench: TransactionBench;
  beforeEach(() => {
    bench = current();
  });

  describe(`the quota of ${kind} jobs`, () => {
    test("evicts the oldest undo records, says which, and refuses to undo them", async () => {
      bench.save("big.bin", "a".repeat(100_000));
      const jobs: string[] = [];
      for (const letter of ["b", "c", "d"])
        jobs.push(await bench.apply((view) => view.write("big.bin", text(letter.repeat(100_000)))));
      const [first, second, third] = jobs as [string, string, string];
      const evicted = await bench.transactions.enforceQuota({ quotaBytes: 500_000, journalDays: 0 }, third);
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
      expect(await bench.transactions.enforceQuota({ quotaBytes: 10, journalDays: 0 }, jobId)).toEqual([]);
      const { jobId: other, transaction } = await bench.begin();
      transaction.view.write("other.bin", text("b".repeat(100_000)));
      await transaction.seal(landsAll);
      bench.save("other.bin", "mine");
      expect((await bench.transactions.commit(other)).status).toBe("conflict");
      const evicted = await bench.transactions.enforceQuota({ quotaBytes: 10, journalDays: 0 }, jobId);
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
      const missing = await bench.transactions.begin({ startedBy: "user", jobId, kind });
      expect(missing.ok ? null : missing.refusal.code).toBe("workspace-missing");
      mkdirSync(`${bench.folder}/x`, { recursive: true });
      await Bun.write(bench.workspace, "a file");
      const file = await bench.transactions.begin({ startedBy: "user", jobId, kind });
      expect(file.ok ? null : file.refusal.code).toBe("not-a-directory");
    });
  });
};
