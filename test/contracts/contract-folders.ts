import { beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import type { Transaction } from "../../src/application/ports/jobs-transaction.ts";
import type { View } from "../../src/application/ports/platform-view.ts";
import type { ContractPart } from "./contract-job.ts";
import { landsAll } from "./lands-all.ts";
import { type TransactionBench, text } from "./transaction-bench.ts";

const EDITS = "echo two >src/deep/edited.txt; rm src/deep/gone.txt";

/** The user's changes of the folders above a job's paths while it runs. */
export const describeFolders: ContractPart = (kind, current) => {
  let bench: TransactionBench;
  beforeEach(() => {
    bench = current();
    bench.save("src/deep/edited.txt", "one\n");
    bench.save("src/deep/gone.txt", "to be deleted\n");
    bench.save("theirs/edited.txt", "uno\n");
    bench.save("theirs/gone.txt", "mine\n");
    bench.save("theirs/deep/edited.txt", "dos\n");
  });

  const edit = (view: View) => view.write("src/deep/edited.txt", text("two\n"));
  const add = (view: View) => view.write("src/deep/new.txt", text("new\n"));
  const remove = (view: View) => view.remove("src/deep/gone.txt");
  const all = (view: View) => {
    for (const act of [edit, add, remove]) act(view);
  };
  const jobs: readonly [string, (view: View) => void][] = [
    ["edits, adds and deletes", all],
    ["edits", edit],
    ["adds", add],
  ];

  const meanwhile: readonly [string, string, string, (bench: TransactionBench) => void][] = [
    ["renamed it away", "src/deep", "missing", (b) => renameSync(b.at("src/deep"), b.at("src/else"))],
    ["renamed a folder above it away", "src", "missing", (b) => renameSync(b.at("src"), b.at("else"))],
    ["renamed another folder into its place", "src/deep", "changed", otherInPlace],
    [
      "renamed another folder into the place of the one above",
      "src",
      "changed",
      (b) => {
        renameSync(b.at("src"), b.at("else"));
        renameSync(b.at("theirs"), b.at("src"));
      },
    ],
    [
      "put a link in its place",
      "src/deep",
      "changed",
      (b) => {
        renameSync(b.at("src/deep"), b.at("src/else"));
        symlinkSync("else", b.at("src/deep"));
      },
    ],
    [
      "put a file in its place",
      "src/deep",
      "changed",
      (b) => {
        renameSync(b.at("src/deep"), b.at("src/else"));
        b.save("src/deep", "mine\n");
      },
    ],
    [
      "deleted it and made it anew",
      "src/deep",
      "changed",
      (b) => {
        cpSync(b.at("src/deep"), b.at("kept"), { recursive: true });
        rmSync(b.at("src/deep"), { recursive: true });
        renameSync(b.at("kept"), b.at("src/deep"));
      },
    ],
  ];

  for (const [job, change] of jobs)
    describe(`a ${kind} job that ${job} in a folder commits nothing when the user`, () => {
      for (const [what, path, reason, act] of meanwhile) {
        test(`${what} before the seal`, async () => {
          const { jobId, transaction } = await bench.begin();
          change(transaction.view);
          act(bench);
          await sealsToConflict({ jobId, transaction }, path, reason);
        });

        test(`${what} after the seal`, async () => {
          const jobId = await bench.stage(change);
          act(bench);
          const before = bench.tree();
          await expectOnly(jobId, path, reason);
          expect(bench.tree()).toEqual(before);
        });
      }
    });

  const commands: readonly [string, string][] = [
    ["edits and deletes", EDITS],
    ["deletes a folder and makes it anew", "rm -r src/deep; mkdir src/deep; echo two >src/deep/edited.txt"],
    ["deletes a folder", "rm -r src/deep"],
  ];
  for (const [job, line] of kind === "direct" ? [] : commands)
    for (const [what, path, reason, act] of meanwhile) {
      // A folder that it deleted and that is gone leaves nothing to do.
      if (line.includes("rm -r") && path === "src/deep" && reason === "missing") continue;
      test(`a ${kind} job whose command ${job} commits nothing when the user ${what}`, async () => {
        const { jobId, transaction } = await bench.begin();
        await runInView(transaction, line);
        act(bench);
        await sealsToConflict({ jobId, transaction }, path, reason);
      });
    }

  test(`a ${kind} job commits when the folder is back in its place`, async () => {
    const jobId = await bench.stage(all);
    renameSync(bench.at("src"), bench.at("else"));
    expect((await bench.transactions.commit(jobId)).status).toBe("conflict");
    renameSync(bench.at("else"), bench.at("src"));
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect(bench.read("src/deep/edited.txt")).toBe("two\n");
  });

  const works: readonly [string, (transaction: Transaction) => unknown][] = [
    ["edits", ({ view }) => all(view)],
    ...(kind === "direct"
      ? []
      : [
          ["commands", (one: Transaction) => runInView(one, EDITS)] as [
            string,
            (one: Transaction) => unknown,
          ],
        ]),
  ];
  for (const [what, work] of works)
    test(`a ${kind} job of ${what} commits when a folder that was gone at the seal is back in its place`, async () => {
      const { jobId, transaction } = await bench.begin();
      await work(transaction);
      // As a job does after each command.
      transaction.takeChanges({ processRan: true });
      renameSync(bench.at("src"), bench.at("else"));
      await transaction.seal(landsAll);
      await bench.transactions.stage(jobId);
      expect((await bench.transactions.commit(jobId)).status).toBe("conflict");
      renameSync(bench.at("else"), bench.at("src"));
      expect((await bench.transactions.commit(jobId)).status).toBe("done");
      expect(bench.read("src/deep/edited.txt")).toBe("two\n");
      expect(existsSync(bench.at("src/deep/gone.txt"))).toBe(false);
    });

  test(`a ${kind} job does not mind what the user does beside its paths`, async () => {
    const { jobId, transaction } = await bench.begin();
    all(transaction.view);
    bench.save("src/deep/beside.txt", "mine\n");
    mkdirSync(bench.at("src/more"));
    await transaction.seal(landsAll);
    await bench.transactions.stage(jobId);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect(bench.read("src/deep/beside.txt")).toBe("mine\n");
  });

  test(`a folder that a ${kind} job makes does not merge with one that the user put there`, async () => {
    const { jobId, transaction } = await bench.begin();
    transaction.view.write("made/edited.txt", text("ours\n"));
    renameSync(bench.at("theirs"), bench.at("made"));
    const before = bench.tree();
    await transaction.seal(landsAll);
    await bench.transactions.stage(jobId);
    expect((await bench.transactions.commit(jobId)).status).toBe("conflict");
    expect(bench.tree()).toEqual(before);
  });

  /** The current entry stays as it is. */
  async function sealsToConflict(
    { jobId, transaction }: { readonly jobId: string; readonly transaction: Transaction },
    path: string,
    reason: string,
  ): Promise<void> {
    const before = bench.tree();
    await transaction.seal(landsAll);
    await bench.transactions.stage(jobId);
    await expectOnly(jobId, path, reason);
    expect(bench.tree()).toEqual(before);
  }

  async function expectOnly(jobId: string, path: string, reason: string): Promise<void> {
    const outcome = await bench.transactions.commit(jobId);
    expect<unknown>(outcome).toEqual({ status: "conflict", conflicts: [{ path, reason }] });
  }
};

async function runInView({ processes, directory }: Transaction, line: string): Promise<void> {
  const cwd = directory as string;
  const env = { PATH: process.env.PATH ?? "" };
  const common = { env, timeoutMs: 20_000, outputLimitBytes: 1000, jobMarker: "folders" };
  if (processes === undefined) spawnSync("sh", ["-c", line], { cwd, env, stdio: "ignore" });
  else await processes.runProcess({ argv: ["sh", "-c", line], cwd, ...common });
}

function otherInPlace(bench: TransactionBench): void {
  renameSync(bench.at("src/deep"), bench.at("src/else"));
  renameSync(bench.at("theirs"), bench.at("src/deep"));
}
