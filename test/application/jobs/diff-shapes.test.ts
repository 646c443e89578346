/** Diffs that git makes of trees whose paths change what they are: file, folder, link. Each runs as a job and comes back. */

import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import { runs } from "../../require.ts";
import { type Planted, plantTree, treeOnDisk } from "./disk-tree.ts";
import { type Bench, createBench } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

type Tree = Readonly<Record<string, Planted>>;

/** One repository makes all of the diffs: they compare trees, regardless of earlier contents. */
const folder = mkdtempSync(join(tmpdir(), "picoclaw-diffs-"));
afterAll(() => removeTree(folder));

/** The output of `git diff` for two trees. */
function gitDiff(before: Tree, after: Tree, options: readonly string[]): string {
  const git = (...args: string[]): string => {
    const ran = spawnSync("git", ["-c", "init.defaultBranch=main", ...args], {
      cwd: folder,
      env: bench.environment(),
      encoding: "utf8",
    });
    if (ran.status !== 0) throw new Error(ran.stderr);
    return ran.stdout;
  };
  if (!existsSync(join(folder, ".git"))) git("init", "-q");
  const stage = (tree: Tree) => {
    for (const name of readdirSync(folder)) if (name !== ".git") removeTree(join(folder, name));
    plantTree(folder, tree);
    git("add", "-A");
  };
  stage(before);
  const stood = git("write-tree").trim();
  stage(after);
  return git("diff", "--cached", "--binary", ...options, stood);
}

interface Manner {
  readonly options?: readonly string[];
  /** The job also runs a process, so the view is a folder of its own. */
  readonly staged?: boolean;
}

async function carryOut(before: Tree, after: Tree, { options = [], staged = false }: Manner = {}) {
  const workspace = join(bench.folder, `ws-${crypto.randomUUID()}`);
  const expected = `${workspace}-expected`;
  for (const [folder, tree] of [
    [workspace, before],
    [expected, after],
  ] as const) {
    mkdirSync(folder);
    plantTree(folder, tree);
  }
  const planted = treeOnDisk(workspace);
  const patch = gitDiff(before, after, options);
  if (patch === "") return;
  const whole = staged ? `${patch}\n~~~bash\ntrue\n~~~\n` : patch;
  const result = await bench.run(whole, { at: workspace });
  expect(result.commands.map(({ error }) => error)).toEqual(staged ? ["", ""] : [""]);
  expect(treeOnDisk(workspace)).toEqual(treeOnDisk(expected));
  const worker = await bench.open({}, workspace);
  expect(await worker.takeBack({ direction: "undo", name: result.jobId, force: false })).toMatchObject({
    status: "done",
  });
  expect(treeOnDisk(workspace)).toEqual(planted);
}

const TEXT = "one\ntwo\nthree\nfour\n";

describe("a diff may change what a path is", () => {
  const cases: readonly (readonly [name: string, before: Tree, after: Tree])[] = [
    ["a file becomes a folder", { a: TEXT }, { "a/b": "x\n" }],
    ["a file moves into a folder of its name", { a: TEXT }, { "a/b": TEXT }],
    ["a folder becomes a file", { "a/b": "x\n" }, { a: TEXT }],
    ["a file moves out and takes its folder's name", { "a/b": TEXT }, { a: TEXT }],
    ["a deep folder becomes a file", { "a/b/c": "x\n", "a/d": "y\n" }, { a: TEXT }],
    ["a link becomes a folder", { a: { link: "z" }, "z/keep": "k\n" }, { "a/b": "x\n", "z/keep": "k\n" }],
    ["a link to nowhere becomes a folder", { a: { link: "nowhere" } }, { "a/b": "x\n" }],
    ["a folder becomes a link", { "a/b": "x\n", "z/keep": "k\n" }, { a: { link: "z" }, "z/keep": "k\n" }],
    ["a link becomes a file", { a: { link: "z" }, z: TEXT }, { a: "x\n", z: TEXT }],
    ["a file becomes a link", { a: "x\n", z: TEXT }, { a: { link: "z" }, z: TEXT }],
    ["a file and a folder change places", { a: TEXT, "b/c": "x\n" }, { "a/c": "x\n", b: TEXT }],
    ["the last file of a folder goes, and the folder with it", { "a/b/c": "x\n", d: "y\n" }, { d: "y\n" }],
  ];
  for (const [name, before, after] of cases) {
    test(name, async () => {
      await carryOut(before, after);
      await carryOut(before, after, { options: ["-M", "-C", "--find-copies-harder"], staged: true });
    });
  }

  test(
    "any tree becomes any other",
    async () => {
      const entry = fc.oneof(
        fc.constantFrom<Planted>(TEXT, `${TEXT}five\n`, "x\n", "", { link: "a" }, { link: "nowhere" }),
        fc
          .uint8Array({ maxLength: 30 })
          .map((bytes): Planted => ({ bytes: Buffer.from([0, ...bytes]), mode: 0o755 })),
      );
      const name = fc.constantFrom("a", "b", "c");
      const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
      const tree = fc.array(fc.tuple(path, entry), { maxLength: 6 }).map((entries): Tree => {
        const taken: Record<string, Planted> = {};
        for (const [at, what] of entries) {
          const clashes = Object.keys(taken).some(
            (other) => `${other}/`.startsWith(`${at}/`) || at.startsWith(`${other}/`),
          );
          if (!clashes) taken[at] = what;
        }
        return taken;
      });
      const options = fc.constantFrom([], ["-M"], ["-M", "-C", "--find-copies-harder"]);
      await fc.assert(
        fc.asyncProperty(tree, tree, options, (before, after, chosen) =>
          carryOut(before, after, { options: chosen }),
        ),
        { numRuns: runs(40) },
      );
    },
    runs(60_000),
  );

  test("a folder that still holds something of its own is not replaced", async () => {
    const patch = gitDiff({ "a/b": "x\n" }, { a: TEXT }, []);
    plantTree(bench.workspace, { "a/b": "x\n", "a/mine": "m\n" });
    const before = treeOnDisk(bench.workspace);
    const result = await bench.run(patch);
    expect(result.commands.map(({ error }) => error)).toEqual(["failed to write file a: is a directory: a"]);
    expect(treeOnDisk(bench.workspace)).toEqual(before);
  });

  test("what two parts of a diff put one below the other is refused", async () => {
    const create = (path: string) =>
      `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
    for (const patch of [create("a/b") + create("a"), create("a") + create("a/b")]) {
      const result = await bench.run(patch);
      expect(result.commands[0]?.error).toContain("is not a directory");
      expect(treeOnDisk(bench.workspace)).toEqual({});
    }
  });
});
