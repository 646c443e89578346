import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { resolveTarget } from "../../src/application/platform/resolve-target.ts";
import { type View, ViewFault } from "../../src/application/ports/platform-view.ts";
import { landsAll } from "../contracts/lands-all.ts";
import {
  createBench,
  type StagingKind,
  type TransactionBench,
  text,
} from "../contracts/transaction-bench.ts";
import { type Tree, treeOf } from "../contracts/tree.ts";
import { cases } from "../require.ts";

const SLOW = { timeout: 600_000 };
const CANARY = "canary: nobody may read this\n";
let bench: TransactionBench;
let outside: Tree;
const beside = () => treeOf(bench.folder, { without: (path) => /^(ws|home)(\/|$)/.test(path) });

/** A workspace full of links that lead out, in circles and back in. */
beforeAll(() => {
  bench = createBench("direct");
  for (const folder of ["outside/deep", "ws-evil"])
    mkdirSync(join(bench.folder, folder), { recursive: true });
  for (const file of ["outside/secret", "outside/deep/secret", "ws-evil/secret", "secret"])
    writeFileSync(join(bench.folder, file), CANARY);
  bench.save("inside/file.txt", "inside\n");
  bench.save("inside/deep/file.txt", "inside\n");
  const links: Readonly<Record<string, string>> = {
    root: "/",
    up: "..",
    "up-up": "../..",
    out: "../outside",
    "out-absolute": join(bench.folder, "outside"),
    "out-file": "../outside/secret",
    evil: `${bench.workspace}-evil`,
    loop: "loop",
    ping: "pong",
    pong: "ping",
    chain: "chain1",
    chain1: "chain2",
    chain2: "out",
    good: "inside",
    "good-absolute": join(bench.workspace, "inside"),
    "good-up": "inside/../inside",
    sly: "inside/../../outside",
    dangling: "not/there",
    "inside/back": "../out",
    "inside/deep/up": "../..",
    proc: "/proc/self/cwd",
  };
  for (const [path, target] of Object.entries(links)) symlinkSync(target, bench.at(path));
  outside = beside();
});
afterAll(() => bench.remove());

const part = fc.constantFrom(
  ..."root up up-up out out-absolute out-file evil loop ping chain good good-absolute good-up sly dangling proc".split(
    " ",
  ),
  ..."inside deep back file.txt secret outside ws ws-evil made .. . tmp etc passwd".split(" "),
  "",
  "\0",
  "日本",
  "a\u0300",
  "x".repeat(300),
  "...",
  " ",
  "~",
  "$HOME",
  "C:\\x",
);
const relative = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("/"));
const target = fc.oneof(
  { weight: 4, arbitrary: relative },
  { weight: 1, arbitrary: relative.map((path) => `/${path}`) },
  { weight: 2, arbitrary: relative.map((path) => `${bench.workspace}/${path}`) },
  { weight: 1, arbitrary: relative.map((path) => `${bench.workspace}${path}`) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 40 }) },
);
const action = fc.constantFrom("read", "write", "remove", "mkdir", "link", "rename", "copy", "list", "look");

/** A file edit resolves, then acts. The result must not be the canary's. */
function attempt(view: View, what: string, from: string, to: string, followLast: boolean): void {
  const bounds = { view, rootNames: [bench.workspace] };
  const resolve = (path: string) => resolveTarget(bounds, path, followLast ? "all" : "parents").path;
  const source = resolve(from);
  if (source === "") return;
  switch (what) {
    case "read":
      expect(Buffer.from(view.read(source)).toString()).not.toContain("canary");
      return;
    case "write":
      view.write(source, text("written by a job\n"));
      return;
    case "remove":
      view.remove(source);
      return;
    case "mkdir":
      view.makeDirectory(source);
      return;
    case "link":
      view.makeSymlink(source, to.replaceAll("\0", "") || "x");
      return;
    case "list":
      expect(view.list(source)).not.toContain("secret");
      return;
    case "look":
      view.look(source);
      return;
    default:
      view[what as "rename" | "copy"](source, resolve(to));
  }
}

for (const kind of ["direct", "copy"] satisfies StagingKind[])
  test(
    `no path and no link leads a ${kind} job out of its workspace, also links that it made itself`,
    async () => {
      const step = fc.tuple(action, target, target, fc.boolean());
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
          const { jobId, transaction } = await bench.begin(kind);
          for (const [what, from, to, follow] of steps) {
            try {
              attempt(transaction.view, what, from, to, follow);
            } catch (error) {
              if (!(error instanceof ViewFault)) throw error;
            }
          }
          await transaction.seal(landsAll);
          const outcome = await bench.transactions.commit(jobId);
          expect(beside()).toEqual(outside);
          if (outcome.status !== "done") throw new Error(JSON.stringify(outcome));
          expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
          expect(beside()).toEqual(outside);
        }),
        { numRuns: cases(kind === "direct" ? 40 : 16) },
      );
    },
    SLOW,
  );

test("a view itself takes no step upwards and follows no link", async () => {
  for (const kind of ["direct", "copy"] satisfies StagingKind[]) {
    const { jobId, transaction } = await bench.begin(kind);
    const { view } = transaction;
    for (const path of [
      "../secret",
      "inside/../../secret",
      "..",
      "out/secret",
      "up/secret",
      "chain/secret",
    ]) {
      expect(view.look(path)).toEqual({ kind: "missing" });
      expect(() => view.read(path)).toThrow(ViewFault);
      expect(() => view.write(path, text("x"))).toThrow(ViewFault);
      expect(() => view.remove(path)).toThrow(ViewFault);
      expect(() => view.copy("inside/file.txt", path)).toThrow(ViewFault);
    }
    await bench.transactions.discard(jobId);
  }
  expect(beside()).toEqual(outside);
});
