/** Undo is exact where the tree is unusual: access lists, names that are no text, folders that the user renamed since. */

import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import type { View } from "../../src/application/ports/platform-view.ts";
import { landsAll } from "../contracts/lands-all.ts";
import { createBench, type StagingKind, type TransactionBench } from "../contracts/transaction-bench.ts";
import { type Tree, treeOf } from "../contracts/tree.ts";
import { cases } from "../require.ts";
import { adorn, carryOut, type Edit, edits, plant, seeds, shellLine, somePaths } from "./random-tree.ts";

const SLOW = { timeout: 600_000 };
const KINDS = ["direct", "copy"] satisfies StagingKind[];

async function within(kind: StagingKind, use: (bench: TransactionBench) => Promise<void>): Promise<void> {
  const bench = createBench(kind);
  try {
    await use(bench);
  } finally {
    bench.remove();
  }
}

const run = (cwd: string, lines: readonly string[]) =>
  spawnSync("sh", ["-c", lines.join("\n")], { cwd, stdio: "ignore", timeout: 60_000 });

async function turn(bench: TransactionBench, direction: "undo" | "redo", jobId: string): Promise<void> {
  const outcome = await bench.transactions[direction](jobId, { force: false });
  expect(outcome.status === "done" ? outcome.left : outcome).toEqual([]);
}

const editing = (list: readonly Edit[]) => (view: View) => {
  for (const edit of list) carryOut(view, edit);
};

const lines = fc.array(shellLine, { minLength: 1, maxLength: 8 });

test.if(process.platform === "linux")(
  "access lists and attributes come back with undo, and again with redo",
  async () => {
    const work = fc.oneof(
      edits.map((list) => ({ kind: "direct" as const, act: editing(list) })),
      lines.map((list) => ({
        kind: "copy" as const,
        act: (_: View, { directory }: { directory: string | null }) => void run(directory as string, list),
      })),
    );
    await fc.assert(
      fc.asyncProperty(seeds, somePaths, work, (planted, adorned, { kind, act }) =>
        within(kind, async (bench) => {
          plant(bench.workspace, planted);
          adorn(bench.workspace, [...adorned, ...planted.slice(0, 4).map(({ path }) => path)]);
          const before = bench.tree();
          const jobId = await bench.apply(act);
          const after = bench.tree();
          await turn(bench, "undo", jobId);
          expect(bench.tree()).toEqual(before);
          await turn(bench, "redo", jobId);
          expect(bench.tree()).toEqual(after);
        }),
      ),
      { numRuns: cases(15) },
    );
  },
  SLOW,
);

/** `表.txt` and `能` in Shift-JIS, as a shell writes them. */
const BYTES = ["'./a/'$(printf '\\225\\134.txt')", "./$(printf '\\224\\134')"];
const byteLine = fc
  .tuple(
    fc.constantFrom(
      "echo more >>$1",
      "rm -rf $1",
      "mv $1 plain",
      "mv plain $1",
      "chmod 600 $1",
      "cat $1",
      "touch $1",
    ),
    fc.constantFrom(...BYTES),
  )
  .map(([line, name]) => line.replaceAll("$1", name));

test.if(process.platform === "linux")(
  "a job that touches a name which is not UTF-8 changes nothing and names it; any other leaves what its view showed",
  async () => {
    const some = fc.array(fc.oneof({ arbitrary: shellLine, weight: 3 }, byteLine), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(seeds, some, (planted, list) =>
        within("copy", async (bench) => {
          mkdirSync(bench.at("a"), { recursive: true });
          run(
            bench.workspace,
            BYTES.map((name) => `echo one >${name}`),
          );
          plant(bench.workspace, planted);
          const before = bench.tree();
          const { jobId, transaction } = await bench.begin();
          run(transaction.directory as string, list);
          const shown = plain(treeOf(transaction.directory as string));
          const { noText = [], changes } = await transaction.seal(landsAll);
          if (noText.length > 0) {
            expect(changes).toEqual([]);
            expect(noText.filter((path) => !/\\x[89][0-9a-f]/.test(path))).toEqual([]);
            await bench.transactions.discard(jobId);
          } else {
            await bench.transactions.stage(jobId);
            expect((await bench.transactions.commit(jobId)).status).toBe("done");
            expect(plain(bench.tree())).toEqual(shown);
            await turn(bench, "undo", jobId);
          }
          expect(bench.tree()).toEqual(before);
        }),
      ),
      { numRuns: cases(12) },
    );
  },
  SLOW,
);

/** A pipe stays where it is when a job takes its folder's others; its kind, bytes and target are all that is compared. */
function plain(tree: Tree): unknown[] {
  return Object.entries(tree)
    .filter(([, { kind }]) => kind !== "other")
    .map(([path, { kind, bytes, target }]) => [path, kind, bytes, target]);
}

/** False where read-only folders keep the user from it. */
function renames(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

test(
  "a folder that the user renamed since stops undo whole; back in its place, undo is exact",
  async () => {
    const folder = fc.constantFrom("a", "b", "c", "dir", "a/b", "b/c");
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...KINDS), seeds, edits, folder, (kind, planted, list, moved) =>
        within(kind, async (bench) => {
          mkdirSync(bench.at(moved), { recursive: true });
          writeFileSync(bench.at(`${moved}/inside`), "one\n");
          plant(bench.workspace, planted);
          const before = bench.tree();
          const jobId = await bench.apply((view) => {
            carryOut(view, { kind: "write", path: `${moved}/inside`, content: "two\n" });
            editing(list)(view);
          });
          const stands = bench.tree()[`${moved}/inside`];
          if (stands?.kind !== "file" || stands.bytes !== "two\n") return;
          if (!renames(bench.at(moved), bench.at("elsewhere"))) return;
          const away = bench.tree();
          expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("conflict");
          expect(bench.tree()).toEqual(away);
          renameSync(bench.at("elsewhere"), bench.at(moved));
          await turn(bench, "undo", jobId);
          expect(bench.tree()).toEqual(before);
        }),
      ),
      { numRuns: cases(15) },
    );
  },
  SLOW,
);
