import { describe, expect, test } from "bun:test";
import { coderContext, namedIn } from "../../../src/application/chat/coder-context.ts";
import type { ProjectFiles } from "../../../src/application/chat/parts.ts";
import { symbolsOf } from "../../../src/application/chat/repository-map.ts";

const PATHS = [
  "README.md",
  "src/app.ts",
  "src/users/list.ts",
  "src/users/[id].tsx",
  "src/日本語.md",
  "Makefile",
  "lib/list.ts",
  "a/index.ts",
  "b/index.ts",
  "c/index.ts",
  "d/index.ts",
];

describe("files named in a message", () => {
  test.each<[string, string[]]>([
    ["fix src/app.ts", ["src/app.ts"]],
    ["fix ./src/app.ts, please.", ["src/app.ts"]],
    ["`app.ts`を直して", ["src/app.ts"]],
    ["app.tsの関数を直して、README.mdも", ["src/app.ts", "README.md"]],
    ["src/日本語.md を読んで", ["src/日本語.md"]],
    ["the page users/[id].tsx is broken", ["src/users/[id].tsx"]],
    ["compare list.ts with app.ts", ["src/users/list.ts", "lib/list.ts", "src/app.ts"]],
    ["add a target to the Makefile", ["Makefile"]],
    // Too many files are called so.
    ["look at index.ts", []],
    ["nothing is named here", []],
    ["../../etc/passwd and /etc/shadow", []],
  ])("%s", (message, expected) => {
    expect(namedIn(message, PATHS)).toEqual(expected);
  });
});

test.each<[string, string, string[]]>([
  [
    "TypeScript",
    "export function a() {}\nexport default class B {}\nconst hidden = 1;\nexport const c = 1, d = 2;\nexport type E = 1;\n",
    ["a", "B", "c", "E"],
  ],
  ["Python", "def a():\n  def inner(): pass\nclass B:\n  pass\nasync def c(): pass\n", ["a", "B", "c"]],
  ["Go", "func main() {}\nfunc Serve() {}\nfunc (s *S) Close() {}\n", ["Serve", "Close"]],
  ["Rust", "pub fn a() {}\npub(crate) struct B;\nenum C {}\n", ["a", "B", "C"]],
])("symbols of %s", (_, text, expected) => {
  expect(symbolsOf(text)).toEqual(expected);
});

function project(files: Readonly<Record<string, string>>): ProjectFiles {
  return {
    list: (limit) => Object.keys(files).slice(0, limit),
    read: (path, limit) => {
      const text = files[path];
      return text === undefined ? null : { text: text.slice(0, limit), cut: text.length > limit };
    },
    source: { judges: () => true, look: () => ({ kind: "missing" }) },
    planOptions: { inflate: (data) => data },
  };
}

test("the budget holds whatever the project is, and a cut file says so", () => {
  const files: Record<string, string> = { "big.ts": "x".repeat(50_000), "AGENTS.md": "r".repeat(5_000) };
  for (let i = 0; i < 3_000; i++) files[`src/f${i}.ts`] = `export const v${i} = 1;`;
  const text = coderContext(project(files), "change big.ts", [], { rules: 500, map: 800, files: 2_000 });
  expect(text.length).toBeLessThan(3_600);
  expect(text).toContain('<file path="big.ts" cut="true">');
});

test("without a name the likeliest files are shown", () => {
  const files = { "src/cart.ts": "cart", "src/discounts.ts": "off", "docs/other.md": "other" };
  const text = coderContext(project(files), "the discount is applied twice", [], {
    rules: 0,
    map: 200,
    files: 500,
  });
  expect(text).toContain('<file path="src/discounts.ts">\noff\n</file>');
  expect(text).not.toContain('<file path="src/cart.ts">');
});
