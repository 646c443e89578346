import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import fc from "fast-check";
import { readIgnoredPaths } from "../../src/tools/read/project-files.ts";
import { toRipgrepPattern } from "../../src/tools/read/search/tool.ts";
import type { AgentToolkit } from "../../src/tools/toolkit.ts";
import { cases, requirePart } from "../require.ts";
import { codeOf, createToolBench, dataOf, type ToolBench } from "./tool-kit.ts";

let bench: ToolBench;
beforeEach(() => {
  bench = createToolBench();
});
afterEach(() => bench.remove());

/** A PATH with everything but ripgrep. */
function withoutRipgrep(): string {
  const folder = `${bench.folder}/bin`;
  mkdirSync(folder, { recursive: true });
  return folder;
}

function fixture(): void {
  bench.git("init", "-q");
  bench.write(".gitignore", "node_modules/\n*.log\n!keep.log\n/only-here.txt\n");
  bench.write("src/a.ts", "export const alpha = 1;\r\nconst beta = 'x.y';\r\n// ALPHA end\r\n");
  bench.write("src/deep/b.ts", "\uFEFFalpha\n\talpha(beta)\n");
  bench.write("src/deep/.gitignore", "secret.ts\n");
  bench.write("src/deep/secret.ts", "alpha\n");
  bench.write("node_modules/x/index.js", "alpha\n");
  bench.write("a.log", "alpha\n");
  bench.write("keep.log", "alpha\n");
  bench.write("only-here.txt", "alpha\n");
  bench.write("sub/only-here.txt", "alpha\n");
  bench.write(".hidden", "alpha hidden\n");
  bench.write("wide.txt", Buffer.from("\uFEFFalpha 日本\n", "utf16le"));
  bench.write("binary", Buffer.from("alpha\0alpha\n"));
  bench.write("broken.txt", Buffer.concat([Buffer.from("a"), Buffer.from([0xff]), Buffer.from("b alpha\n")]));
  bench.write(
    "cut.txt",
    Buffer.concat([Buffer.from("a"), Buffer.from([0xe3, 0x81]), Buffer.from("b alpha\n")]),
  );
  bench.write("日本語.txt", "アルファ alpha\nカ゚\n");
  bench.write("sjis.txt", Buffer.from("93fa967b8cea0a", "hex"));
  bench.write("empty.txt", "");
  bench.write("long.txt", `${"x".repeat(3000)}alpha\n`);
  bench.link("link.ts", "src/a.ts");
}

const found = async (toolkit: AgentToolkit, args: Parameters<AgentToolkit["search"]>[0]) =>
  dataOf(await toolkit.search(args)).matches.map(({ path, line }) => `${path}:${line}`);

describe("search", () => {
  test("finds lines by a regular expression, where git does not ignore them", async () => {
    fixture();
    const toolkit = await bench.toolkit();
    expect(await found(toolkit, { pattern: "\\balpha\\b" })).toEqual([
      ".hidden:1",
      "broken.txt:1",
      "cut.txt:1",
      "keep.log:1",
      "src/a.ts:1",
      "src/deep/b.ts:1",
      "src/deep/b.ts:2",
      "sub/only-here.txt:1",
      "wide.txt:1",
      "日本語.txt:1",
    ]);
    expect(await found(toolkit, { pattern: "alpha", include: "*.ts", ignore_case: true })).toEqual([
      "src/a.ts:1",
      "src/a.ts:3",
      "src/deep/b.ts:1",
      "src/deep/b.ts:2",
    ]);
    expect(await found(toolkit, { pattern: "alpha", path: "src/deep", include_ignored: true })).toEqual([
      "src/deep/b.ts:1",
      "src/deep/b.ts:2",
      "src/deep/secret.ts:1",
    ]);
    expect(await found(toolkit, { pattern: "alpha", path: "only-here.txt" })).toEqual(["only-here.txt:1"]);
    expect(await found(toolkit, { pattern: "日本" })).toEqual(["sjis.txt:1", "wide.txt:1"]);
  });

  test("a pattern that JavaScript does not end with, and a glob of many stars, are soon answered", async () => {
    bench.write("long.txt", `${"a".repeat(15_000)}\n`);
    bench.write("a".repeat(61), "found\n");
    const { search } = await bench.toolkit();
    expect(dataOf(await search({ pattern: "(a+)+b" }))).toMatchObject({ matches: [] });
    expect(dataOf(await search({ pattern: "found", include: "*a*a*a*a*a*a*a*a*b" }))).toMatchObject({
      matches: [],
    });
    expect(dataOf(await search({ pattern: "(a+)+$", max_results: 1 }))).toMatchObject({
      matches: [{ path: "long.txt", line: 1 }],
    });
  });

  test("is capped, and says how to get the rest", async () => {
    bench.write("a.txt", "x\n".repeat(10));
    expect(await (await bench.toolkit()).search({ pattern: "x", max_results: 2 })).toEqual({
      status: "success",
      data: {
        matches: [
          { path: "a.txt", line: 1, text: "x" },
          { path: "a.txt", line: 2, text: "x" },
        ],
        truncated: true,
      },
      notes: ["output capped at 2 matching lines; narrow it with path or include, or raise max_results"],
    });
  });

  test.each([
    ["a broken pattern", { pattern: "(" }],
    ["an empty pattern", { pattern: "" }],
    ["a broken glob", { pattern: "x", include: "[" }],
    ["a pattern that looks ahead", { pattern: "a(?=b)" }],
    ["a pattern that refers back", { pattern: "(a)\\1" }],
  ])("%s is INVALID_ARGUMENT", async (_name, args) => {
    expect(codeOf(await (await bench.toolkit()).search(args))).toBe("failure INVALID_ARGUMENT");
  });
});

const PATTERNS = [
  "alpha",
  "^alpha",
  "alpha$",
  "end$",
  "^$",
  "a.b",
  "a[^x]b",
  "\\s+alpha",
  "[\\s]alpha",
  "\\w+\\(",
  "\\d",
  "\\D;",
  "x\\.y",
  "(?:alpha|beta)\\b",
  "(?<name>al)pha",
  "alpha(?= )",
  "(?!x)alpha",
  "(a)lph\\1",
  "al{1}pha",
  "x{3000}",
  "[A-Z]{3,}",
  "[a-c\\d-]+=",
  "\\/\\/",
  "'[^']*'",
  "\\u{61}lpha",
  "\\p{L}alpha",
  "\\S\\W",
  "\\-",
  "a{",
  "]",
  "\\bALPHA\\b",
  "^.$",
];

describe.if(requirePart("rg"))("with ripgrep and without", () => {
  test.each(PATTERNS)("%s gives the same", async (pattern) => {
    fixture();
    const [fast, slow] = [await bench.toolkit(), await bench.toolkit({}, { PATH: withoutRipgrep() })];
    for (const ignore_case of [false, true]) {
      const args = { pattern, ignore_case, max_results: 5000 };
      expect(await fast.search(args)).toEqual(await slow.search(args));
    }
  });

  test("any pattern over any text gives the same", async () => {
    const [fast, slow] = [await bench.toolkit(), await bench.toolkit({}, { PATH: withoutRipgrep() })];
    const atom = fc.constantFrom(
      ...[
        "a",
        "B",
        "é",
        "K",
        "0",
        "_",
        " ",
        "-",
        ".",
        "\\.",
        "\\d",
        "\\D",
        "\\w",
        "\\W",
        "\\s",
        "\\S",
        "\\b",
      ],
      ...["^", "$", "[a-c]", "[^a]", "[\\d.]", "(?:a|b)", "(b)", "\\t", "\\x61", "/", "#", "&", "~"],
    );
    const part = fc
      .tuple(atom, fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{1,}", "*?"))
      .filter(([it, times]) => times === "" || !/^(?:\\b|\^|\$)$/.test(it))
      .map(([it, times]) => it + times);
    const pattern = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));
    const piece = fc.constantFrom(
      ...[
        "a",
        "b",
        "c",
        "B",
        "é",
        "K",
        "\u212a",
        "0",
        "_",
        " ",
        "-",
        ".",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\u0085",
      ],
      ...["\u2028", "\ufeff", "/", "#", "&", "~", "日"].map((text) => text),
    );
    const bytes = fc
      .array(
        fc.oneof(
          piece.map((text) => Buffer.from(text)),
          fc.constantFrom(Buffer.from([0xff]), Buffer.from([0xe3, 0x81])),
        ),
        {
          maxLength: 12,
        },
      )
      .map((parts) => Buffer.concat(parts));
    await fc.assert(
      fc.asyncProperty(pattern, bytes, fc.boolean(), async (source, text, ignore_case) => {
        bench.write("a.txt", text);
        const args = { pattern: source, ignore_case };
        expect(await fast.search(args)).toEqual(await slow.search(args));
      }),
      { numRuns: cases(150) },
    );
  });
});

describe("a pattern in ripgrep's language", () => {
  test.each([
    ["what it cannot say", ["(?=a)", "(?<!a)", "\\1", "\\p{L}", "\\B", "[^\\s]", "(?i:a)", "\\k<a>", "[]"]],
  ])("%s is left to JavaScript", (_name, patterns) => {
    expect(patterns.map((pattern) => toRipgrepPattern(pattern, false))).toEqual(patterns.map(() => null));
  });
});

describe("ignored files", () => {
  const RULES = [
    "*.log",
    "build/",
    "/top",
    "a/b",
    "**/x",
    "a/**",
    "a/**/b",
    "!keep",
    "q?",
    "[ab]c",
    "[!a]z",
    "\\#h",
    "#c",
    "sp\\ ",
    "*",
    "!*/",
    "d*/",
    "**",
  ];
  const NAMES = ["a", "b", "x", "top", "keep", "build", "q1", "ac", "bz", "az", "#h", "sp ", "f.log", "dd"];

  test("is what git ignores, for any rules and any tree", async () => {
    bench.git("init", "-q");
    const { files } = (await bench.context()).workspace;
    const path = fc
      .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 })
      .map((parts) => parts.join("/"));
    const rules = fc
      .array(fc.constantFrom(...RULES), { maxLength: 5 })
      .map((lines) => `${lines.join("\n")}\n`);
    await fc.assert(
      fc.asyncProperty(
        fc.array(path, { minLength: 1, maxLength: 6 }),
        rules,
        rules,
        async (paths, top, below) => {
          spawnSync("sh", ["-c", "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +"], {
            cwd: bench.workspace,
          });
          for (const each of paths) {
            try {
              bench.write(each, "");
            } catch {
              // A file is where this path needs a folder.
            }
          }
          bench.write(".gitignore", top);
          if (files.look("a").kind === "directory") bench.write("a/.gitignore", below);
          const listed = bench
            .git("ls-files", "-z", "--others", "--exclude-standard")
            .split("\0")
            .filter(Boolean);
          const all = bench.git("ls-files", "-z", "--others").split("\0").filter(Boolean);
          const ignored = readIgnoredPaths(files, { includeIgnored: false });
          expect(all.filter((each) => !ignored.has(each, false)).sort()).toEqual(listed.sort());
        },
      ),
      { numRuns: cases(60) },
    );
  });
});
