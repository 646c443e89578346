/** The column "PicoClaw" of docs/why-not-git.md, done by the program. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Cli, create, createCli, jobIdIn, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

test.if(requirePart("bwrap"))("undo brings back what git has no copy of", () => {
  const at = (path: string) => join(cli.workspace, path);
  cli.git("init", "-q");
  cli.write(".gitignore", "node_modules\ncache.db\n");
  cli.write("draft.txt", "never committed");
  cli.write("node_modules/dep/index.js", "module.exports = 1;\n");
  cli.write("cache.db", new Uint8Array([0, 1, 2, 255]));
  mkdirSync(at("empty"));
  symlinkSync("draft.txt", at("link"));
  chmodSync(at("draft.txt"), 0o640);
  const before = cli.tree();
  const rash = "echo x > draft.txt; chmod 600 draft.txt; rm -rf .git node_modules cache.db empty link";
  expect(cli.apply([shell(rash)]).code).toBe(0);
  expect(Object.keys(cli.tree()).sort()).toEqual([".gitignore", "draft.txt"]);
  expect(cli.run(["undo"]).code).toBe(0);
  expect(cli.tree()).toEqual(before);
  expect(lstatSync(at("draft.txt")).mode & 0o777).toBe(0o640);
  expect(lstatSync(at("empty")).isDirectory()).toBe(true);
  expect(readlinkSync(at("link"))).toBe("draft.txt");
});

test("one job of three is undone alone, and an edit of the user's is not overwritten", () => {
  const [first = ""] = ["a", "b", "c"].map((name) => jobIdIn(cli.apply([create(name, name)]).out));
  expect(cli.run(["undo", first]).code).toBe(0);
  expect(cli.tree()).toEqual({ b: "b", c: "c" });
  cli.write("c", "mine");
  expect(cli.run(["undo"]).code).toBe(3);
  expect(cli.read("c")).toBe("mine");
});
