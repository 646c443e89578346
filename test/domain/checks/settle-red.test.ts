import { describe, expect, test } from "bun:test";
import { readDeclarations } from "../../../src/domain/checks/declarations.ts";
import { type RedTests, settleRedTests } from "../../../src/domain/checks/settle-red.ts";
import { countTests, type TestOutcome } from "../../../src/domain/checks/test-results.ts";
import { type CheckResult, judgeAll } from "../../../src/domain/checks/verdict.ts";

function result(tests: Readonly<Record<string, TestOutcome>>): CheckResult {
  const all = new Map(Object.entries(tests));
  const counts = countTests(all);
  return {
    kind: "test",
    command: "test",
    state: counts.failed > 0 ? "red" : "green",
    results: { formats: ["tap"], listed: "all", tests: all, counts },
  };
}

function settle(
  [before, now, old]: readonly [CheckResult, CheckResult, CheckResult],
  {
    plan = "",
    diff = [],
    texts = new Map(),
    named = () => [],
  }: { plan?: string } & Partial<Pick<RedTests, "diff" | "texts" | "named">>,
) {
  return settleRedTests({
    declarations: readDeclarations(plan),
    changed: diff.map(({ path }) => path),
    before: [before],
    results: [now],
    checks: [{ kind: "test", command: "test", line: "test" }],
    judgement: judgeAll({ baseline: [before], draft: [now], old: [old] }),
    texts,
    diff,
    named,
  });
}

const both = result({ adds: "pass", multiplies: "pass" });
const one = result({ adds: "pass" });
const broken = result({ adds: "pass", multiplies: "fail" });
const MUL_TEST =
  'import { mul } from "../src/mul.js";\ntest("multiplies", () => assert.equal(mul(2, 2), 4));\n';
const gone = (path: string, before: string) => ({ path, before, after: null });

test("a test that is deleted with all the code it imports is removed with its code, not worse", () => {
  const diff = [gone("test/mul.test.js", MUL_TEST), gone("src/mul.js", "export const mul = 1;\n")];
  const { judgement, found } = settle([both, one, broken], { diff });
  expect([judgement.verdict, judgement.worse, found.removedWithCode]).toEqual(["same", [], ["multiplies"]]);
});

const changes = (path: string, before: string, after: string) => ({ path, before, after });
const GO_ADD = "func TestAdd(t *testing.T) {\n\tAdd(1, 2)\n}\n";

test.each([
  [
    "pytest",
    "test_mul[1-2]",
    "calc.py",
    "def add(a):\n    pass\n",
    "\n\ndef mul(a):\n    pass\n",
    "test_calc.py",
    "def test_add():\n    add(1)\n",
    "\n\ndef test_mul(a):\n    mul(a)\n",
  ],
  [
    "go",
    "ex.com/m/calc::TestMul/one",
    "calc/calc.go",
    "func Add() {}\n",
    "\nfunc (c Calc) Mul() {}\n",
    "calc/calc_test.go",
    GO_ADD,
    '\nfunc TestMul(t *testing.T) {\n\tt.Run("one", func(t *testing.T) { c.Mul() })\n}\n',
  ],
  [
    "node",
    "multiplies",
    "src/math.js",
    "export const add = 1;\n",
    "export function mul() {}\n",
    "test/math.test.js",
    'test("adds", () => add(1));\n',
    'test("multiplies", () => mul(2));\n',
  ],
])(
  "a test that is removed from its file together with the function it uses is removed with its code: %s",
  (_tool, name, source, kept, cut, file, others, own) => {
    const [before, now] = [result({ adds: "pass", [name]: "pass" }), result({ adds: "pass" })];
    const old = result({});
    const texts = new Map([
      [source, kept],
      [file, others],
    ]);
    const both = [changes(source, kept + cut, kept), changes(file, others + own, others)];
    const { judgement, found } = settle([before, now, old], { diff: both, texts });
    expect([judgement.verdict, judgement.worse, found.removedWithCode]).toEqual(["same", [], [name]]);
    const rewritten = kept + cut.replace("1", "2");
    const stays = [changes(source, kept + cut, `${rewritten} `), changes(file, others + own, others)];
    const left = settle([before, now, old], {
      diff: stays,
      texts: new Map([
        [source, rewritten],
        [file, others],
      ]),
    });
    expect(left.judgement.verdict).toBe("worse");
  },
);

test("another test of the file is not removed with the code", () => {
  const diff = [
    changes("calc.py", "def mul():\n    pass\n", ""),
    changes("test_calc.py", "def test_add():\n    add(1)\n\ndef test_mul():\n    mul(1)\n", ""),
  ];
  const [before, now] = [
    result({ adds: "pass", test_add: "pass", test_mul: "pass" }),
    result({ adds: "pass" }),
  ];
  const { judgement, found } = settle([before, now, result({})], {
    diff,
    texts: new Map([["add.py", "def add():\n    pass\n"]]),
  });
  expect([judgement.verdict, found.removedWithCode]).toEqual(["worse", ["test_mul"]]);
});

const CUT = "def mul():\n    pass\n";
const MUL_PY = "def test_mul():\n    mul(1)\n";
const KEPT = "def test_add():\n    add(1)\n";
test.each([
  [
    "its callers stay",
    "test_mul",
    "",
    [["use.py", "def total():\n    return mul()\n"]],
    [["test_calc.py", MUL_PY, ""]],
  ],
  [
    "the name is that of a method which the patterns do not find",
    "test_mul",
    "",
    [["use.ts", "class Use {\n  mul() {}\n}\n"]],
    [["test_calc.py", MUL_PY, ""]],
  ],
  [
    "only a test with a longer title uses it",
    "multiplies",
    "",
    [],
    [
      [
        "a.test.js",
        'test("multiplies", () => 1);\ntest("multiplies twice", () => mul());\n',
        'test("others", () => 1);\n',
      ],
    ],
  ],
  [
    "it is still in its file, which cannot be loaded",
    "test_mul",
    "",
    [],
    [["test_calc.py", MUL_PY, MUL_PY + KEPT]],
  ],
  [
    "it uses a helper of Rust's tests",
    "tests::test_mul",
    "",
    [],
    [
      [
        "lib.rs",
        "#[cfg(test)]\nmod tests {\n  fn sample() {}\n  #[test]\n  fn test_mul() { sample(); }\n}\n",
        "",
      ],
    ],
  ],
  [
    "it uses a name of an example in the documentation",
    "multiplies",
    "",
    [],
    [
      ["README.md", "const price = mul(2);\n", ""],
      ["a.test.js", 'test("multiplies", () => (price) => price);\n', ""],
    ],
  ],
  [
    "another file has a test of that title, which does not use it",
    "test_mul",
    "",
    [],
    [
      ["test_calc.py", MUL_PY, ""],
      ["test_other.py", MUL_PY.replace("mul(1)", "add(1)"), ""],
    ],
  ],
] as const)("a missing test is not removed with its code if %s", (_why, name, kept, rest, tests) => {
  const diff = [changes("calc.py", CUT, kept), ...tests.map(([path, was, is]) => changes(path, was, is))];
  const texts = new Map<string, string>([...rest, ...tests.map(([path, , after]) => [path, after] as const)]);
  const [before, now] = [result({ adds: "pass", [name]: "pass" }), result({ adds: "pass" })];
  const { judgement, found } = settle([before, now, result({})], { diff, texts });
  expect([judgement.verdict, judgement.worse, found.removedWithCode ?? []]).toEqual(["worse", [name], []]);
});

test("a test that is deleted while its code stays is worse, unless the coder declares it", () => {
  const diff = [gone("test/mul.test.js", MUL_TEST)];
  const texts = new Map([["src/mul.js", "export const mul = 1;\n"]]);
  expect(settle([both, one, broken], { diff, texts }).judgement.verdict).toBe("worse");
  const { judgement, found } = settle([both, one, broken], { diff, texts, plan: "Removes: multiplies" });
  expect([judgement.verdict, found.removed]).toEqual(["same", ["multiplies"]]);
});

test("tests that get other names and demand no less weaken nothing, and are not new", () => {
  const renamed = result({ adds: "pass", "multiplies two": "pass", "multiplies three": "pass" });
  const after = `test("multiplies two", () => assert.equal(mul(2, 2), 4));
test("multiplies three", () => assert.equal(mul(3, 2), 6));\n`;
  const before = 'test("multiplies", () => assert.equal(mul(2, 2), 4));\n';
  const diff = [{ path: "test/mul.test.js", before, after }];
  const { judgement } = settle([both, renamed, both], {
    diff,
    texts: new Map([["test/mul.test.js", after]]),
  });
  expect(judgement).toMatchObject({
    verdict: "same",
    weakened: [],
    weakensTests: false,
    moved: ["multiplies"],
  });
  expect(judgement.newPassing).toHaveLength(1);
  const less = [{ path: "test/mul.test.js", before, after: 'test("multiplies two", () => {});\n' }];
  expect(settle([both, renamed, both], { diff: less }).judgement.weakened).toEqual(["multiplies"]);
});

test.each([
  [
    "a test",
    'test("multiplies", () => assert.equal(mul(2, 2), 4));\n',
    'test("divides evenly", () => assert.throws(div(6, 0), RangeError));\n',
  ],
  [
    "a case of a table",
    'for (const one of [\n  { name: "multiplies", args: [2, 2], result: 4 },\n  { name: "adds" },\n]) run(one);\n',
    'for (const one of [\n  { name: "adds" },\n]) run(one);\ntest("divides evenly", () => {\n  assert.equal(div(6, 3), 2);\n});\n',
  ],
])("%s whose place another test takes is removed, not renamed", (_, before, after) => {
  const other = result({ adds: "pass", "divides evenly": "pass" });
  const { judgement } = settle([both, other, both], {
    diff: [{ path: "test/mul.test.js", before, after }],
    texts: new Map([["test/mul.test.js", after]]),
  });
  expect(judgement).toMatchObject({ weakened: ["multiplies"], moved: [], newPassing: ["divides evenly"] });
});

test.each([
  [
    "multiplies",
    'test("multiplies", () => {',
    'test("returns the product of both numbers, also of a negative one", () => {',
  ],
  [
    "returns the product of both numbers",
    'test("returns the product of both numbers", () => {',
    'test("multiplies", () => {',
  ],
  ["TestMul::test_product_of_two", "    def test_product_of_two(self):", "    def test_multiplies(self):"],
])("a test that gets another name alone is renamed, not removed: %s", (name, before, after) => {
  const body = "assert(mul(2, 2), 4)\n";
  const now = after.includes("def") ? "TestMul::test_multiplies" : (/"(.+)"/.exec(after)?.[1] ?? "");
  const [old, other] = [result({ adds: "pass", [name]: "pass" }), result({ adds: "pass", [now]: "pass" })];
  const path = after.includes("def") ? "test/test_mul.py" : "test/mul.test.js";
  const { judgement } = settle([old, other, old], {
    diff: [{ path, before: `${before}\n${body}`, after: `${after}\n${body}` }],
    texts: new Map([[path, `${after}\n${body}`]]),
  });
  expect(judgement).toMatchObject({ weakened: [], moved: [name], newPassing: [] });
});

const MUL =
  "module.exports = (a, b) => {\n  const parts = Array(b).fill(a);\n  return parts.reduce((x, y) => x + y, 0);\n};\n";
const INSIDE =
  'const test = require("node:test");\ntest("multiplies", () => {\n  assert.equal(require("../lib/mul.js")(2, 2), 4);\n});\n';

test.each([
  ["inside the test", INSIDE],
  [
    "at the top, under another name",
    `const times = require("../lib/mul.js");\ntest("multiplies", () => times(2));\n`,
  ],
])("a test goes with the file without names that it imports alone: %s", (_, text) => {
  const diff = [gone("test/mul.test.js", text), gone("lib/mul.js", MUL)];
  const texts = new Map([["lib/add.js", "module.exports = (a, b) => a + b;\n"]]);
  const { judgement, found } = settle([both, one, broken], { diff, texts });
  expect([judgement.verdict, judgement.worse, found.removedWithCode]).toEqual(["same", [], ["multiplies"]]);
});

test.each<[string, Partial<Pick<RedTests, "diff" | "texts">>]>([
  [
    "is still imported",
    {
      diff: [gone("test/mul.test.js", INSIDE), gone("lib/mul.js", MUL)],
      texts: new Map([["lib/index.js", 'exports.mul = require("./mul.js");\n']]),
    },
  ],
  [
    "moved to another file",
    {
      diff: [
        gone("test/mul.test.js", INSIDE),
        gone("lib/mul.js", MUL),
        { path: "lib/times.js", before: null, after: MUL },
      ],
      texts: new Map([["lib/times.js", MUL]]),
    },
  ],
  [
    "is one of two that the test loads",
    {
      diff: [
        gone("test/mul.test.js", INSIDE.replace("\n", '\nconst add = require("../lib/add.js");\n')),
        gone("lib/mul.js", MUL),
      ],
      texts: new Map([["lib/add.js", "module.exports = (a, b) => a + b;\n"]]),
    },
  ],
])("a test is worse where the code that it tests %s", (_, about) => {
  expect(settle([both, one, broken], about).judgement.worse).toEqual(["multiplies"]);
});

test("a removal beside a new test is not told as another expectation", () => {
  const now = result({ adds: "pass", subtracts: "pass" });
  const diff = [gone("test/mul.test.js", INSIDE), gone("lib/mul.js", MUL)];
  const { judgement, found } = settle([both, now, broken], { diff });
  expect([judgement.verdict, judgement.expectsElse, found.removedWithCode]).toEqual([
    "same",
    [],
    ["multiplies"],
  ]);
});

describe("a change beside the red tests of a named file", () => {
  const texts = new Map([
    ["leap.py", "def leap(year):\n    pass\n"],
    [
      "leap_test.py",
      "from leap import leap\ndef test_four(): assert leap(4)\ndef test_five(): assert not leap(5)\n",
    ],
    ["src/app.ts", "export const a = 1;\n"],
    ["other.py", "x = 1\n"],
  ]);
  const [four, five] = ["leap_test.py::test_four", "leap_test.py::test_five"] as const;
  const red = result({ [four]: "fail", [five]: "fail" });
  const stray = [{ path: "src/app.ts", before: null, after: "export const a = 1;\n" }];
  const verdict = (
    paths: readonly string[],
    {
      now = red,
      plan = "",
      diff = stray,
    }: { now?: CheckResult; plan?: string; diff?: RedTests["diff"] } = {},
  ) => settle([red, now, now], { plan, diff: diff ?? [], texts, named: () => paths }).judgement.verdict;

  test("is still red where the message names the test file, or the code that it tests", () => {
    expect([verdict(["leap_test.py"]), verdict(["leap.py"])]).toEqual(["still-red", "still-red"]);
  });
  test("is judged as before where the message names neither, or also a file that the change touches", () => {
    expect([verdict([]), verdict(["other.py"])]).toEqual(["unknown", "unknown"]);
    expect(verdict(["leap.py", "src/app.ts"])).toBe("unknown");
  });
  test("is better where it mends one of them, and excused where the coder gives a reason", () => {
    expect(verdict(["leap_test.py"], { now: result({ [four]: "pass", [five]: "fail" }) })).toBe("better");
    expect(
      verdict(["leap_test.py"], { plan: "Not mine: leap_test.py: only the constant was asked for" }),
    ).toBe("red-before");
  });
});
