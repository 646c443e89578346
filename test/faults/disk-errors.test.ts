/** A disk that fails while a job lands or is taken back: what is said of the workspace is true, and a repair goes on. */

import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { SwapOutcome } from "../../src/application/ports/jobs-transaction.ts";
import { messagesFor } from "../../src/domain/texts/jobs.ts";
import { describeConflicts } from "../../src/domain/texts/jobs-notes.ts";
import { appendJournal, createJobFolder, writeDurably } from "../../src/infrastructure/jobs/job-folder.ts";
import { toStorage } from "../../src/infrastructure/platform/workspace-storage.ts";
import {
  createBench,
  openTransactions,
  type TransactionBench,
  text,
} from "../contracts/transaction-bench.ts";

let bench: TransactionBench;
beforeEach(() => {
  bench = createBench("direct");
  for (const name of ["a", "b", "c"]) bench.save(name, "old\n");
});
afterEach(() => bench.remove());

/** Fails at these steps, as a system call there would. */
function failing(steps: readonly RegExp[], code: string) {
  const checkpoint = (point: string) => {
    if (steps.some((step) => step.test(point)))
      throw Object.assign(new Error(code), { code, path: join(bench.storage.folder, "intent.json") });
  };
  return openTransactions(bench.storage, join(bench.folder, "home"), { checkpoint });
}

const stageAll = () =>
  bench.stage((view) => {
    for (const name of ["a", "b", "c"]) view.write(name, text("new\n"));
  });
const now = () => ["a", "b", "c"].map((name) => bench.read(name)).join("");
const [OLD, NEW] = ["old\n".repeat(3), "new\n".repeat(3)];

function conflictsOf(outcome: SwapOutcome | { readonly status: "late" }) {
  if (outcome.status !== "conflict") throw new Error(`not a conflict: ${JSON.stringify(outcome)}`);
  return outcome.conflicts;
}

for (const [code, reason, words] of [
  ["EIO", "disk-error", "input/output error"],
  ["ENOSPC", "no-space", "No space left"],
  ["EROFS", "read-only", "Read-only file system"],
  ["EMFILE", "too-many-files", "Too many open files"],
] as const) {
  test(`${code} at a rename: everything is put back, and the cause is named`, async () => {
    const jobId = await stageAll();
    const conflicts = conflictsOf(await failing([/^exchange 1$/], code).commit(jobId));
    expect(conflicts).toMatchObject([{ path: "b", reason }]);
    const said = describeConflicts(messagesFor("en"), jobId, conflicts, "terminal");
    expect(said).toContain(words);
    expect(said).not.toContain("Permission denied");
    expect(now()).toBe(OLD);
  });

  test(`${code} at the roll-back too: the job is said to be cut off, and a repair puts all back`, async () => {
    const jobId = await stageAll();
    const conflicts = conflictsOf(await failing([/^exchange 1$/, /^taking back$/], code).commit(jobId));
    expect(conflicts.at(-1)).toMatchObject({ reason: "interrupted", by: jobId });
    const said = describeConflicts(messagesFor("en"), jobId, conflicts, "terminal");
    expect(said).toContain("picoclaw doctor --repair");
    expect(said).not.toContain("Nothing");
    expect(await bench.transactions.findInterruption?.()).toEqual({
      jobId,
      direction: "commit",
      files: { before: ["c"], after: ["a", "b"], moved: [], edited: [] },
    });
    expect(now()).toBe("new\nnew\nold\n");
    await bench.transactions.repair();
    expect([OLD, NEW]).toContain(now());
    expect(await bench.transactions.findInterruption?.()).toBeNull();
  });

  test(`${code} at the roll-back too: files that are edited or removed then are distinguished`, async () => {
    const jobId = await stageAll();
    await failing([/^exchange 1$/, /^taking back$/], code).commit(jobId);
    bench.save("b", "mine, and longer\n");
    rmSync(bench.at("a"));
    const slots = join(bench.storage.folder, "jobs", jobId, "slots");
    expect((await bench.transactions.findInterruption?.())?.files).toEqual({
      before: ["c"],
      after: [],
      moved: [{ path: "a", at: expect.stringContaining(slots) }],
      edited: ["b"],
    });
  });

  for (const step of [/^stands$/, /^state$/])
    for (const swap of ["commit", "undo"] as const)
      test(`${code} after the swap of a ${swap} (${step.source}): cut off, and a repair completes it`, async () => {
        const jobId = await stageAll();
        if (swap === "undo") await bench.transactions.commit(jobId);
        const broken = failing([step], code);
        const outcome = swap === "undo" ? broken.undo(jobId, { force: false }) : broken.commit(jobId);
        const conflicts = conflictsOf(await outcome);
        expect(conflicts).toMatchObject([{ reason }, { reason: "interrupted", by: jobId }]);
        expect(describeConflicts(messagesFor("en"), jobId, conflicts, "terminal")).toContain(words);
        const stuck = await failing([step], code).repair();
        if (step.source === "^stands$") expect(stuck).toMatchObject({ jobId, outcome: "stuck" });
        await bench.transactions.repair();
        expect(now()).toBe(swap === "undo" ? OLD : NEW);
        const back = swap === "undo" ? "redo" : "undo";
        expect((await bench.transactions[back](jobId, { force: false })).status).toBe("done");
        expect(now()).toBe(swap === "undo" ? NEW : OLD);
      });
}

test.if(existsSync("/dev/full"))("a record that a full disk does not take is named by its path", () => {
  const path = bench.at("record.json");
  symlinkSync("/dev/full", `${path}.tmp`);
  const folder = { id: "job_1_x", path: bench.folder };
  symlinkSync("/dev/full", join(folder.path, "journal.ndjson"));
  for (const [write, at] of [
    [() => writeDurably(path, "{}"), path],
    [() => appendJournal(folder, "{}\n"), join(folder.path, "journal.ndjson")],
  ] as const)
    expect(write).toThrow(expect.objectContaining({ code: "ENOSPC", path: at }));
});

for (const [what, code, damage] of [
  ["that a full disk refuses", "no-space", (path: string) => symlinkSync("/dev/full", path)],
  ["whose record cannot be opened", "failed", (path: string) => mkdirSync(path)],
  // As of a system call that the error does not name.
  [
    "that fails with two paths",
    "failed",
    (path: string) => {
      const words = `EIO: i/o error, copyfile '/w/a' -> '${path}'`;
      return Object.assign(new Error(words), { code: "EIO" });
    },
  ],
] as const)
  test.if(code !== "no-space" || existsSync("/dev/full"))(
    `a job ${what} names no path inside the storage`,
    async () => {
      const storage = toStorage(bench.workspace, bench.at(`.picoclaw-1/s/${"0".repeat(32)}`), true);
      const jobId = "job_1_x";
      mkdirSync(storage.folder, { recursive: true });
      const fault = damage(join(createJobFolder(storage.folder, jobId).path, "state.json.tmp"));
      const now = () => {
        if (fault instanceof Error) throw fault;
        return new Date();
      };
      const begun = await openTransactions(storage, join(bench.folder, "home"), { now }).begin({
        startedBy: "user",
        jobId,
        kind: "direct",
        again: true,
      });
      expect(begun).toMatchObject({ ok: false, refusal: { code, path: bench.workspace } });
      expect(JSON.stringify(begun)).toContain(`(${storage.outer})`);
      expect(JSON.stringify(begun)).not.toContain("0".repeat(32));
    },
  );
