import { describe, expect, test } from "bun:test";
import {
  findObstacle,
  findUnrequestedNames,
  readChangelogEntries,
} from "../../../src/domain/history/case.ts";

const source = {
  path: "src/price.ts",
  before: "export function total(a: number) {\n  return a;\n}\n",
  after:
    'export function total(a: number) {\n  return roundCents(a);\n}\nexport function roundCents(a: number) {\n  if (a < 0) throw new Error("a negative price");\n  return Math.round(a);\n}\n',
};
const tests = {
  path: "test/price.test.ts",
  before: 'import { total } from "../src/price.ts";\ntest("total", () => total(1));\n',
  after:
    'import { roundCents, total } from "../src/price.ts";\ntest("total", () => total(1));\n// roundHalf is a word of a comment\ntest("rounds", () => expect(() => roundCents(-1)).toThrow("a negative price"));\n',
};

describe("names that a request must tell", () => {
  test("a name and a message that the change brings and the tests need are missing until the request tells them", () => {
    const files = [source, tests];
    expect(findUnrequestedNames({ request: "Round prices to cents", files })).toEqual([
      "roundCents",
      '"a negative price"',
    ]);
    expect(
      findUnrequestedNames({ request: 'Add roundCents, which throws "a negative price"', files }),
    ).toEqual([]);
  });
  test("a name that only the change uses, or only the tests, is not one of them", () => {
    const files = [
      { ...source, after: source.before.replace("return a", "const helper = a;\n  return helper") },
      { ...tests, after: `${tests.before}const local = total(2);\n` },
    ];
    expect(findUnrequestedNames({ request: "", files })).toEqual([]);
  });
});

describe("a change that is not a case", () => {
  const request = "Prices with three decimals must be rounded by roundCents, a negative price is an error";
  const obstacle = (files: readonly (typeof source)[], text = request) =>
    findObstacle({ request: text, files })?.code ?? null;
  test.each([
    ["adds no tests", [source], "no-tests"],
    ["changes tests alone", [tests], "no-sources"],
    ["changes tests and documentation alone", [tests, { ...source, path: "docs/price.md" }], "no-sources"],
    ["deletes its tests", [source, { ...tests, after: null as unknown as string }], "no-tests"],
    [
      "is larger than a request",
      [tests, ...Array.from({ length: 40 }, (_, n) => ({ ...source, path: `src/a${n}.ts` }))],
      "too-large",
    ],
  ])("%s", (_, files, code) => {
    expect(obstacle(files)).toBe(code as never);
  });
  test("has a request of a word or two", () =>
    expect(obstacle([source, tests], "Fix it")).toBe("no-request"));
  test("a Japanese request counts by its length", () =>
    expect(
      obstacle([source, tests], 'roundCents で価格を丸める。負なら "a negative price" というエラー'),
    ).toBe(null));
});

test("the entries that a change adds to a changelog complete its request", () => {
  const file = {
    path: "CHANGELOG.md",
    before: "# Changes\n\n* old\n",
    after: "# Changes\n\n* Prices are rounded\n* old\n",
  };
  expect(readChangelogEntries([file, source])).toBe("* Prices are rounded");
});
