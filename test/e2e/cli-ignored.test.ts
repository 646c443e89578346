/** Paths that git ignores, and git's own bookkeeping, are a line each of a report. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { requirePart } from "../require.ts";
import { type Cli, createCli, jobIdIn, shell } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
  cli.git("init", "-q");
  cli.write(".gitignore", "node_modules/\n*.log\ndist\n");
  cli.write("dist/kept.js", "tracked\n");
  cli.git("add", "-f", ".gitignore", "dist/kept.js");
});
afterEach(() => cli.remove());

const env = { PICOCLAW_WORKER_TRANSACTION: "copy", PICOCLAW_WORKER_CONFINE: "off" };
const MAKE =
  "mkdir -p node_modules/a dist; for i in 1 2 3; do echo $i > node_modules/a/$i.js; done; echo x > run.log; echo new > dist/kept.js; echo new > dist/made.js; echo a > a.txt; git add a.txt";

test("ignored paths are folded; a tracked one, and one that is edited by name, is not", () => {
  const ran = cli.apply([shell(MAKE)], [], { env });
  expect(ran.code).toBe(0);
  const list = /^Changed files: (\d+)\n((?: {2}.*\n)*)/m.exec(ran.out)?.[2]?.trimEnd().split("\n");
  expect(list).toEqual([
    "  A a.txt",
    "  M dist/kept.js",
    "  M .git (1)",
    "  5 ignored by git: dist/, node_modules/, run.log",
  ]);
  const id = jobIdIn(ran.out);
  const shown = cli.run(["show", id]);
  expect(shown.out).toContain("  5 ignored by git: dist/, node_modules/, run.log\n");
  expect(shown.out).not.toContain("1.js");
  const all = cli.run(["show", id, "--all"]).out;
  for (const path of ["node_modules/a/1.js", "run.log", ".git/index"]) expect(all).toContain(` ${path}\n`);
  expect(all).not.toContain("ignored by git");
  const json = JSON.parse(cli.run(["show", id, "--json"]).out) as { changes: unknown[] };
  expect(json.changes).toContainEqual({ path: "run.log", kind: "added", ignored: "run.log" });
  expect(json.changes).toContainEqual({
    path: "node_modules/a/1.js",
    kind: "added",
    ignored: "node_modules/",
  });
  const undone = cli.run(["undo", id], { env: { PICOCLAW_LOCALE: "ja" } });
  expect(undone.out).toContain("git が無視するもの 5 件: dist/, node_modules/, run.log");
  const edited = cli.apply([{ type: "file_edit", action: "create", target: "own.log", content: "x\n" }]);
  expect(edited.out).toContain("  A own.log\n");
});

test.each(requirePart("bwrap") ? ["copy", "overlay"] : ["copy"])(
  "what tools leave in caches neither lands nor counts, unless the project tracks it (%s)",
  (kind) => {
    cli.write("src/a.py", "1\n");
    cli.write("tracked/__pycache__/kept.pyc", "old\n");
    cli.git("add", "-f", "tracked/__pycache__/kept.pyc");
    const make =
      "mkdir -p src/__pycache__ .pytest_cache/v coverage tracked/__pycache__; echo x > src/__pycache__/a.pyc; echo x > .pytest_cache/v/x; echo x > coverage/lcov.info; echo x > coverage/more.js; echo {} > a.tsbuildinfo; echo new > tracked/__pycache__/kept.pyc; echo a > a.txt";
    const named = { type: "file_edit", action: "create", target: ".ruff_cache/own.txt", content: "x\n" };
    const staged = kind === "copy" ? env : { PICOCLAW_WORKER_TRANSACTION: "overlay" };
    const ran = cli.apply([named, shell(make)], [], { env: staged });
    expect(ran.code).toBe(0);
    const list = /^Changed files: (\d+)\n((?: {2}.*\n)*)/m.exec(ran.out)?.[2]?.trimEnd().split("\n");
    expect(list?.sort()).toEqual(
      ["  A .ruff_cache/own.txt", "  A a.txt", "  M tracked/__pycache__/kept.pyc"].sort(),
    );
    for (const gone of ["coverage", ".pytest_cache", "src/__pycache__", "a.tsbuildinfo"])
      expect(Object.keys(cli.tree()).join("\n")).not.toContain(gone);
  },
);
