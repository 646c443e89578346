/** A glob matches what git's own rules match, in steps that grow with the name and not with its powers. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { compileGlob } from "../../../src/domain/platform/glob.ts";
import { createIgnoreMatcher } from "../../../src/domain/platform/ignore-rules.ts";
import { cases } from "../../require.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "glob-"));
  spawnSync("git", ["init", "-q", root]);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const LETTERS = ["a", "b", "A", "1", "-", ".", "]", "[", "!", "^", "\\", ":", "}", "{", "(", "+", "|", "$"];
const PIECES = [
  ...[
    "a",
    "b",
    "/",
    "/",
    "*",
    "*",
    "**",
    "**/",
    "/**",
    "?",
    "[ab]",
    "[!a]",
    "[^-b]",
    "[a-]",
    "[]a]",
    "[a-b1]",
  ],
  ...[
    "[[:alpha:]]",
    "[[:digit:]a]",
    "[[:none:]]",
    "[[:alpha:",
    "[a",
    "[",
    "]",
    "\\*",
    "\\a",
    "\\",
    "\\/",
    "!",
  ],
  ...[
    "[\\]a]",
    "[a\\-b]",
    "[b-a]",
    "[!]a]",
    "[[:]]",
    "[[::]]",
    "[a/b]",
    "[*]",
    ".",
    "#",
    " ",
    "\\ ",
    "1",
    "A",
  ],
];
const pattern = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 7 })
  .map((all) => all.join(""));
const name = fc
  .array(fc.constantFrom("a", "b", "a", "b", ...LETTERS), { minLength: 1, maxLength: 5 })
  .map((all) => all.join(""))
  .filter((one) => one !== "." && one !== "..");
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((all) => all.join("/"));

test("of thousands of random patterns and paths, those are ignored that git ignores", () => {
  const all = fc.sample(fc.tuple(pattern, fc.array(path, { minLength: 12, maxLength: 12 })), {
    numRuns: cases(2000),
    seed: 20261119,
  });
  const asked: string[] = [];
  const rulesOf = new Map<string, string>();
  for (const [index, [written, paths]] of all.entries()) {
    const folder = `d${index}`;
    mkdirSync(join(root, folder));
    writeFileSync(join(root, folder, ".gitignore"), `${written}\n`);
    rulesOf.set(folder, `${written}\n`);
    asked.push(...paths.map((one) => `${folder}/${one}`));
  }
  const { stdout } = spawnSync("git", ["check-ignore", "--no-index", "-z", "--stdin"], {
    cwd: root,
    input: asked.join("\0"),
    maxBuffer: 1 << 28,
  });
  const theirs = new Set(stdout.toString().split("\0"));
  const rules = createIgnoreMatcher({
    read: (file) => rulesOf.get(file.replace(/\/\.gitignore$/, "")) ?? null,
    includeIgnored: false,
  });
  const told = (one: string) => `${JSON.stringify(rulesOf.get(one.split("/")[0] ?? ""))} ${one}`;
  const differing = asked.filter((one) => theirs.has(one) !== rules.has(one, false));
  expect(differing.slice(0, 20).map(told)).toEqual([]);
  expect(theirs.size).toBeGreaterThan(asked.length / 50);
});

test("a glob without a meaning matches nothing", () => {
  expect([compileGlob("["), compileGlob("[[:none:]]"), compileGlob("a\\")]).toEqual([null, null, null]);
  expect(["z", "a", "m"].map((one) => compileGlob("[z-a]")?.(one))).toEqual([true, false, false]);
});

test("a character beyond sixteen bits is one character, in a set too", () => {
  expect(["a?b", "a[😀-😃]b", "a[!x]b"].map((glob) => compileGlob(glob)?.("a😁b"))).toEqual([
    true,
    true,
    true,
  ]);
});
