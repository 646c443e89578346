import { describe, expect, test } from "bun:test";
import {
  findUntouchedNames,
  leaveAll,
  readNamedCode,
  readTouchedCode,
} from "../../../src/domain/coder/named-code.ts";

describe("the code of which a message wants a change", () => {
  test.each([
    ["withBase adds it twice. withoutBase has the same problem.", ["withoutBase"]],
    ["withBase adds it twice; the same goes for `withoutBase`.", ["withoutBase"]],
    ["`foo` and `bar` both lose the sign", ["foo", "bar"]],
    ["ensureLink / ensureLinkSync with a relative source throws", ["ensureLink", "ensureLinkSync"]],
    ["Fix the year in src/a.ts and src/b.ts", ["src/a.ts", "src/b.ts"]],
    ["Rename readAll. Also fix `readOne`.", ["readAll", "readOne"]],
    ["foo_bar が壊れています。baz_qux も同じ問題があります。", ["baz_qux"]],
    ["`foo`と`bar`を修正してください。", ["foo", "bar"]],
  ])("%s", (message, wanted) => expect(readNamedCode(message).wanted).toEqual(wanted));

  test.each([
    "withBase adds it twice, as withoutBase does it right.",
    "`encode` ignores spaces. See `decode`, which is called from `parse`.",
    "toText is called by renderRow and renderCell.",
    "`foo` and `bar` already do that; toText does not.",
    "Make it behave like readAll and readOne.",
    "toText loses the sign.\n```\nreadAll, readOne\n```\n> readAll, readOne",
    "`Mux.Find` が入れ子のルート（`Mount` や `Route`）で正しいパターンを返しません。直してください。",
    "fooBar は壊れています。bazQux と quxBaz のように動くはずです。",
    "number.py and time.py were fixed last week; filesize is wrong.",
  ])("only cited: %s", (message) => expect(readNamedCode(message).wanted).toEqual([]));

  test("a message of any size is read in time that grows with it", () => {
    const read = (text: string) => readNamedCode(text).wanted.length;
    for (const piece of ["a/", "a.b.", "`a_b`, ", "```\n", "foo_bar and ", "(", "> x\n"])
      expect(read(piece.repeat(10_000))).toBeGreaterThanOrEqual(0);
  });
});

const BEFORE = `export function withBase(input, base) {
  return base + input;
}

export function withoutBase(input, base) {
  return trim(input, base);
}

function trim(input, base) {
  return input.slice(base.length);
}
`;
const named = readNamedCode("withBase is wrong. withoutBase has the same problem.");

function untouched(after: string, more: { path: string; before: string; after: string }[] = []): string[] {
  const touched = readTouchedCode([{ path: "src/url.js", before: BEFORE, after }, ...more]);
  return findUntouchedNames(named, touched, {
    paths: ["src/url.js"],
    sources: [{ path: "src/url.js", text: after }],
  });
}
const ONE = BEFORE.replace("base + input", "join(base, input)");

describe("a change that leaves named code alone", () => {
  test("is recognised by its name", () => expect(untouched(ONE)).toEqual(["withoutBase"]));
  test.each([
    'const withoutBase = require("./url").withoutBase',
    "const withoutBase = require('./url');",
    'const withoutBase = await import("./url.js");',
    "export const withoutBase = url.withoutBase",
  ])("although others hand it on: %s", (line) => {
    const touched = readTouchedCode([{ path: "src/url.js", before: BEFORE, after: ONE }]);
    const sources = [
      { path: "src/url.js", text: ONE },
      {
        path: "src/other.js",
        text: `${line}
`,
      },
    ];
    expect(findUntouchedNames(named, touched, { paths: [], sources })).toEqual(["withoutBase"]);
  });
  test("not where it changes its body as well", () =>
    expect(untouched(ONE.replace("trim(input, base)", "trim(input, base, true)"))).toEqual([]));
  test("not where it changes what that calls", () =>
    expect(untouched(ONE.replace("base.length", "base.length + 1"))).toEqual([]));
  test("not where a new test is about it", () =>
    expect(
      untouched(ONE, [
        { path: "test/url.test.js", before: "", after: "test('x', () => withoutBase('/a'));\n" },
      ]),
    ).toEqual([]));
  test("not where nothing that the message names was changed", () =>
    expect(untouched(BEFORE.replace("input.slice", "String(input).slice"))).toEqual([]));
  test("not where the name is defined twice, or nowhere", () => {
    expect(untouched(`${ONE}\nfunction withoutBase() {\n  return 1;\n}\n`)).toEqual([]);
    expect(untouched(ONE.replaceAll("withoutBase", "other"))).toEqual([]);
  });
});

describe("a reason for no change that names code", () => {
  const texts = new Map([
    ["src/parse.mjs", "export function parse() {}\nexport function print() {}\n"],
    ["src/old.mjs", "export const old = 1;\n"],
    ["CHANGELOG.md", "parse is new\n"],
  ]);
  const files = {
    list: () => [...texts.keys()],
    source: {
      look: (path: string) => ({
        kind: "file" as const,
        bytes: new TextEncoder().encode(texts.get(path) ?? ""),
        mode: 0o644,
      }),
    },
  };
  const covers = (request: string, ...reasons: string[]) => leaveAll(reasons, [], request, files);
  test.each(["Fix `parse` in src/parse.mjs", "In parse.mjs, `parse` loses the sign", "`parse` is wrong"])(
    "covers the code and the source that has it: %s",
    (request) => expect(covers(request, "`parse`: right as it is")).toBe(true),
  );
  test.each([
    "Update config.yaml, CHANGELOG.md and package.json for 2.0; `parse` may need a fix too.",
    "Fix `parse` in src/parse.mjs and update CHANGELOG.md to say so.",
    "Please fix `parse`, then delete src/old.mjs",
    "Fix `parse` and `print` in src/parse.mjs",
    "Fix `parse` in src/new.mjs",
  ])("covers no other code or file: %s", (request) => expect(covers(request, "parse: right")).toBe(false));
  test("covers everything together with reasons for the rest, or where another reason names nothing", () => {
    const request = "Fix `parse`, then delete src/old.mjs";
    expect(covers(request, "parse: right", "src/old.mjs: still used")).toBe(true);
    expect(covers(request, "parse: right", "the request is a question")).toBe(true);
  });
});
