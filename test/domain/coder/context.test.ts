import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  chooseExcerpts,
  definitionsOf,
  endOf,
  readAskedFile,
  showAround,
  showFile,
  showLines,
  splitBudget,
} from "../../../src/domain/coder/file-excerpts.ts";
import { type FileKind, fileKind } from "../../../src/domain/coder/rank-files.ts";
import { requestTerms } from "../../../src/domain/platform/request-terms.ts";

test("ranges and lines beyond the end of a file are cut, for every caller", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 40 }), { minLength: 1, maxLength: 60 }),
      fc.array(fc.tuple(fc.integer({ min: -3, max: 80 }), fc.nat(30)), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 80 }), { maxLength: 5 }),
      fc.integer({ min: 0, max: 3_000 }),
      (lines, asked, focus, limit) => {
        const also = asked.map(([from, length]) => ({ from, to: from + length }));
        const shown = chooseExcerpts("a.ts", lines, { terms: [], limit, also, focus });
        for (const { from, to } of shown) expect([from >= 1, to <= lines.length]).toEqual([true, true]);
      },
    ),
  );
});

test("a gap that is no longer than the line about it is shown, at both ends", () => {
  const long = (name: string) => `const ${name} = "${"x".repeat(90)}";`;
  const lines = ["}", "", ...Array.from({ length: 41 }, (_, at) => long(`a${at}`)), "}"];
  const shown = showAround("a.ts", lines.join("\n"), [23], 10_000);
  expect(shown).toStartWith('<file path="a.ts" lines="1-44 of 44">\n}\n\nconst a0');
  expect(shown).not.toContain("not shown");
});

describe("what of a request is looked for", () => {
  const firsts = (request: string) => requestTerms(request).map(({ spellings }) => spellings[0]);

  test.each<[string, string[]]>([
    ["copySync fails for links", ["copySync", "link", "copy", "sync"]],
    ["NothingType is missing", ["NothingType", "miss", "noth", "type"]],
    ["qs.stringify drops `depth`", ["stringify", "depth", "drop"]],
    ["it says 'Source must not be empty.'", ["Source must not be empty", "source", "empty"]],
    [
      "say 'error: too many links. Got 2: a, b' please",
      ["error: too many links. Got 2: a, b", "too many links", "error", "link", "got"],
    ],
    [
      "the type `first: number; the second one: string` is wrong",
      ["first: number; the second one: string", "type", "number", "second", "str"],
    ],
    ["please fix the bug in this file", []],
  ])("%s", (request, expected) => {
    expect(firsts(request)).toEqual(expected);
  });

  test("a message without parts weighs as much as one with parts", () => {
    const weightOf = (request: string) => requestTerms(request)[0]?.weight;
    expect(weightOf("it says 'Source must not be empty'")).toBe(weightOf("'error: the source. Is it empty'"));
  });

  test("Japanese words are looked for as they stand, and as code calls them", () => {
    expect(firsts("消費税の計算を直して")).toEqual(["消費税", "計算", "tax", "calc", "comput"]);
  });

  test.each<[string, string[]]>([
    ["JSONLIterator hangs", ["JSONLIterator"]],
    ["funcutils.wraps loses an argument", ["wraps"]],
    ["Table([[]]).to_text() crashes", ["Table", "to_text"]],
    ['PAGER="less -R" is dropped', ["PAGER"]],
    ["the JSON of package.json is not HTML, says TypeError", []],
  ])("names in: %s", (request, expected) => {
    const names = requestTerms(request).filter(({ kind }) => kind === "identifier");
    expect(names.map(({ spellings }) => spellings)).toEqual(expected.map((name) => [name]));
  });

  test("a name has the spellings of files and columns", () => {
    expect(requestTerms("copySync")[0]?.spellings).toEqual(["copySync", "copy-sync", "copy_sync"]);
  });
});

test.each<[string, FileKind]>([
  ["src/app.ts", "source"],
  ["lib/util/stat.js", "source"],
  ["lib/copy/__tests__/copy.test.js", "test"],
  ["test/parse.js", "test"],
  ["pkg/server_test.go", "test"],
  ["tests/test_views.py", "test"],
  ["test/fixtures/big.json", "fixture"],
  ["README.md", "docs"],
  ["docs/copy.md", "docs"],
  ["CHANGELOG.md", "history"],
  ["LICENSE", "history"],
  ["package-lock.json", "generated"],
  ["dist/qs.js", "generated"],
  ["assets/app.min.js", "generated"],
  ["package.json", "settings"],
  ["src/history.ts", "source"],
])("%s is %s", (path, kind) => {
  expect(fileKind(path)).toBe(kind);
});

test.each<[string, string]>([
  ["function\n", "function add(a) {\n  return a;\n}\n\nrest();"],
  ["signature over lines", "var add = function add(\n  a,\n  b\n) {\n  return a;\n};\nrest();"],
  ["Python", "def add(a):\n    x = 1\n\n    return x\n\nrest()"],
  ["brace below", "int add(int a)\n{\n  return a;\n}\nrest();"],
  ["heading", "## One\ntext\n### Deeper\nmore\n## Two\nrest"],
  ["test", "t.test('adds', function (st) {\n  st.end();\n});\nrest();"],
])("a definition ends where its body does: %s", (kind, text) => {
  const lines = text.split("\n");
  const [first] = definitionsOf(lines, kind === "heading" ? "a.md" : "a.ts");
  expect(first?.line).toBe(1);
  const end = endOf(lines, first!);
  const left = lines.slice(end).join("\n");
  expect(left).toMatch(/^\s*(?:rest|## Two)/);
});

test.each<[string, ReturnType<typeof readAskedFile>]>([
  ["src/a.ts", { path: "src/a.ts" }],
  ["./src/a.ts:10-20", { path: "src/a.ts", lines: { from: 10, to: 20 } }],
  ["src/a.ts:20-10", { path: "src/a.ts", lines: { from: 10, to: 20 } }],
  ["src/a.ts#L10-L20", { path: "src/a.ts", lines: { from: 10, to: 20 } }],
  ["src/a.ts (lines 10-20)", { path: "src/a.ts", lines: { from: 10, to: 20 } }],
  ["src/a.ts:100", { path: "src/a.ts", lines: { from: 70, to: 130 } }],
  ["src/a.ts:100-", { path: "src/a.ts", lines: { from: 100, to: Number.MAX_SAFE_INTEGER } }],
  ["docs/日本語 の.md", { path: "docs/日本語 の.md" }],
])("%s is asked for", (text, expected) => {
  expect(readAskedFile(text)).toEqual(expected);
});

test("requested lines are cut at the limit, with the next range", () => {
  const text = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`).join("\n");
  expect(showLines("a.txt", text, { from: 98, to: 200 }, 1_000)).toBe(
    '<file path="a.txt" lines="98-100 of 100">\nline 98\nline 99\nline 100\n</file>',
  );
  expect(showLines("a.txt", text, { from: 10, to: 20 }, 24)).toBe(
    '<file path="a.txt" lines="10-12 of 100">\nline 10\nline 11\nline 12\n</file>\n(cut; the next is a.txt:13-20)',
  );
});

test("a long file says where the definitions stand that are not shown", () => {
  const text = `function first() {\n  one();\n}\n${"x = 1;\n".repeat(300)}function last() {\n  needle();\n}\n`;
  const shown = showFile("a.js", text, { terms: requestTerms("needle"), limit: 300 });
  expect(shown).toContain("function last() {\n  needle();\n}");
  expect(shown).toEndWith("(not shown, by line: first 1)");
});

test("a long definition that the request names is shown whole", () => {
  const body = Array.from({ length: 150 }, (_, at) => `    step_${at}()`);
  const filler = Array.from({ length: 200 }, (_, at) => `unrelated_${at} = ${at}`);
  const lines = [...filler, "def make_class(name):", ...body, "", ...filler];
  const request = { terms: requestTerms("make_class drops names"), limit: 4_000 };
  expect(chooseExcerpts("a.py", lines, request)).toEqual([{ from: 201, to: 351 }]);
});

test("a short gap between two excerpts is shown: it may be the middle of the function that matters", () => {
  const filler = Array.from({ length: 120 }, (_, at) => `unrelated_${at} = ${at}`);
  const middle = Array.from({ length: 9 }, (_, at) => `    between_${at}()`);
  const text = [...filler, ...middle, ...filler].join("\n");
  const ranges = (gap: number) =>
    chooseExcerpts("a.py", text.split("\n"), {
      terms: [],
      limit: 1_000,
      also: [
        { from: 118, to: 120 },
        { from: 121 + gap, to: 124 + gap },
      ],
    });
  expect(ranges(9)).toEqual([{ from: 118, to: 133 }]);
  expect(ranges(90)).toEqual([
    { from: 118, to: 120 },
    { from: 211, to: 214 },
  ]);
});

test("excerpts keep their budget, their order and the bounds of the file", () => {
  const line = fc.constantFrom(
    "",
    "  needle();",
    "function f() {",
    "}",
    "    x = 1;",
    "# needle",
    "y".repeat(90),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 120 }), fc.integer({ min: 0, max: 2_000 }), (lines, limit) => {
      const also = lines.flatMap((_, at) => (at % 9 === 0 ? [{ from: at + 1, to: at + 1 }] : []));
      const request = { terms: requestTerms("needle"), limit, ends: true, also };
      const ranges = chooseExcerpts("a.ts", lines, request);
      const shown = ranges.flatMap(({ from, to }) => lines.slice(from - 1, to));
      expect(shown.reduce((sum, one) => sum + one.length + 1, 0)).toBeLessThanOrEqual(limit);
      let last = 0;
      for (const { from, to } of ranges) {
        expect(from).toBeGreaterThan(last);
        expect(to).toBeGreaterThanOrEqual(from);
        expect(to).toBeLessThanOrEqual(lines.length);
        last = to;
      }
    }),
  );
});

test("a budget is split evenly, and unused shares pass to the others", () => {
  expect(splitBudget([10, 100, 200], 90)).toEqual([10, 40, 40]);
  expect(splitBudget([], 90)).toEqual([]);
  fc.assert(
    fc.property(fc.array(fc.nat(1_000)), fc.nat(5_000), (wishes, budget) => {
      const shares = splitBudget(wishes, budget);
      expect(shares.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(budget);
      for (const [at, share] of shares.entries()) expect(share).toBeLessThanOrEqual(wishes[at] as number);
    }),
  );
});

test("the outline covers a long file to its end, and comments are not headings", () => {
  const functions = Array.from(
    { length: 300 },
    (_, at) => `def step_${at}(x):\n    # a comment\n    return x\n`,
  );
  const text = `# Copyright: some licence\n# All rights reserved\n${functions.join("\n")}`;
  const shown = showFile("steps.py", text, { terms: [], limit: 800, ends: true });
  const outline = /\(not shown, by line: .*\)$/.exec(shown)?.[0] ?? "";
  expect(outline).not.toContain("Copyright");
  expect(outline).not.toContain("comment");
  expect(outline).toMatch(/step_2[89]\d \d+, and \d+ more\)$/);
  expect(outline.length).toBeLessThan(600);
});

test("the outline of one long suite names cases from its beginning to its end", () => {
  const cases = Array.from(
    { length: 90 },
    (_, at) =>
      `    t.test('stringifies value number ${at}', function (st) {\n        st.equal(f(${at}), ${at});\n        st.end();\n    });\n`,
  );
  const text = `'use strict';\n\nvar f = require('../');\n\ntest('stringify()', function (t) {\n${cases.join("\n")}\n    t.end();\n});\n\ntest('empty keys', function (t) {\n${cases.slice(0, 20).join("\n")}\n    t.end();\n});\n`;
  const shown = showFile("test/stringify.js", text, { terms: [], limit: 3_000, ends: true });
  const outline = /\(not shown, by line: .*\)$/.exec(shown)?.[0] ?? "";
  const lines = [...outline.matchAll(/number \d+ (\d+)/g)].map(([, line]) => Number(line));
  expect(lines.length).toBeGreaterThan(5);
  expect(lines[0]).toBeLessThan(150);
  expect(lines.at(-1)).toBeGreaterThan(350);
});

test("the head of a test is what it imports, not its licence", () => {
  const licence = Array.from({ length: 14 }, (_, at) => `// Licence, paragraph ${at}.`);
  const imports = ["", "package cobra", "", 'import "testing"'];
  const body = Array.from({ length: 300 }, (_, at) => `func Test${at}(t *testing.T) { check(${at}) }`);
  const text = [...licence, ...imports, ...body].join("\n");
  const shown = showFile("args_test.go", text, { terms: [], limit: 1_500, ends: true });
  expect(shown).toContain('import "testing"');
  expect(shown).not.toContain("Licence");
  const short = showFile("a_test.go", ["// One line.", ...imports, ...body].join("\n"), {
    terms: [],
    limit: 1_500,
    ends: true,
  });
  expect(short).toContain("// One line.");
});

test("the head of a test goes as far as its imports", () => {
  const imports = Array.from({ length: 20 }, (_, at) => `const p${at} = require("p${at}");`);
  const body = Array.from({ length: 300 }, (_, at) => `  const own${at} = require("own${at}");`);
  const text = ["'use strict';", "", ...imports, "", "test('all', () => {", ...body, "});"].join("\n");
  const shown = showFile("a.test.js", text, { terms: [], limit: 2_500, ends: true });
  expect(shown).toContain('const p19 = require("p19");\n… lines');
});

test("a list of imports that the head would cut is shown to its end", () => {
  const names = Array.from({ length: 12 }, (_, at) => `\t"example.com/p${at}"`);
  const body = Array.from({ length: 300 }, (_, at) => `func f${at}() {}`);
  const text = ["package a", "", "import (", ...names, ")", "", ...body].join("\n");
  const shown = showFile("a_test.go", text, { terms: [], limit: 1_500, ends: true });
  expect(shown).toContain('\t"example.com/p11"\n)\n… lines');
});

test("a sentence that begins with a word of a language defines nothing", () => {
  const lines = [
    "    function that accepts a value",
    "function real(a) {",
    "local function M.of(x)",
    "function shell_one {",
  ];
  expect(definitionsOf(lines, "a.py").map(({ name }) => name)).toEqual(["real", "shell_one"]);
  expect(definitionsOf(["function M.of(x)"], "a.lua").map(({ name }) => name)).toEqual(["M"]);
});

test("a heading is named by its words, without badges, links and tags", () => {
  const lines = [
    "# qs <sup>[![Version Badge][npm-version-svg]][package-url]</sup>",
    "## [Unreleased](https://example.com/compare/v1...HEAD)",
    "### `Array<T>` and [its][ref] limits",
    "[![build](https://example.com/b.svg)](https://example.com)",
    "# ![logo](logo.svg)",
  ];
  expect(definitionsOf(lines, "README.md").map(({ name }) => name)).toEqual([
    "qs",
    "Unreleased",
    "`Array<T>` and its limits",
  ]);
});

test("the name of a test ends at the quote that began it", () => {
  const lines = [`it('with "own" keys', () => {`, 'test("`depth` option", () => {', "  it(`it's`, () => {"];
  expect(definitionsOf(lines, "a.test.js").map(({ name }) => name)).toEqual([
    'with "own" keys',
    "`depth` option",
    "it's",
  ]);
});

test("typings are not sources", () => {
  expect(["types/index.d.ts", "lib/a.pyi", "lib/a.ts"].map(fileKind)).toEqual(["docs", "docs", "source"]);
});

test("the outline of unshown code names overloads once, and no imports", () => {
  const body = Array.from({ length: 60 }, (_, at) => `  // line ${at}`);
  const text = [
    'const assert = require("node:assert")',
    "export function item(a: string): void;",
    "export function item(a: number): void;",
    "export function item(a: unknown): void {",
    ...body,
    "}",
    "export function wanted(): void {",
    ...body,
    "}",
  ].join("\n");
  const shown = showFile("src/a.ts", text, { terms: [], limit: 700, focus: [70] });
  expect(shown.split("\n").at(-1)).toBe("(not shown, by line: item 2)");
});

test("methods with a type before their name are definitions, and calls and control flow are not", () => {
  const lines = `public final class Printer implements Closeable {
    public void printComment(final String comment) throws IOException {
        try (Lock held = lock()) {
            if (comment == null) {
            } else if (isEmpty(comment)) {
            }
            return new Object(comment) {
    private static <T> List<T> toList(final T[] values) {
    synchronized (lock) {
    bool empty() const {
    else while (open(x)) {
    return wrap(value) {`.split("\n");
  expect(definitionsOf(lines, "Printer.java").map(({ name }) => name)).toEqual([
    "Printer",
    "printComment",
    "toList",
    "empty",
  ]);
  expect(
    definitionsOf(["int parse(reader from, void* stream,", "          void* user)", "{"], "ini.c"),
  ).toEqual([{ line: 1, name: "parse", indent: 0 }]);
});
