import { expect, test } from "bun:test";
import { findRenamedTests } from "../../../src/domain/checks/renamed-tests.ts";

const file = (path: string, before: string | null, after: string | null) => ({ path, before, after });
const TEST = "from calc import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n";
const CODE = "def add(a, b):\n    return a + b\n";
const PLUS = CODE.replace("add", "plus");

test.each([
  ["a function", CODE, PLUS, TEST.replaceAll("add(", "plus(").replace("import add", "import plus")],
  ["a function and its test", CODE, PLUS, TEST.replaceAll("add", "plus")],
  [
    "a function whose body changes, too",
    CODE,
    PLUS.replace("a + b", "sum((a, b))"),
    TEST.replaceAll("add", "plus"),
  ],
  ["a name of the test alone", CODE, CODE, TEST.replace("test_adds", "test_sum_of_two")],
])("%s with another name leaves what the test expects", (_, before, after, now) => {
  const isRenamed = findRenamedTests([file("calc.py", before, after), file("test_calc.py", TEST, now)]);
  expect(isRenamed("test_calc.py::test_adds")).toBe(true);
  const title = /def (test\w+)/.exec(now)?.[1] ?? "";
  expect(isRenamed(`test_calc.py::${title}`)).toBe(true);
  expect(isRenamed("test_calc.py::test_of_another_file")).toBe(false);
});

const GO =
  'package m\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n';
test("a function of Go with its test, and a class with its file, are renamed", () => {
  const go = findRenamedTests([
    file("m.go", "func Add(a, b int) int { return a + b }\n", "func Plus(a, b int) int { return a + b }\n"),
    file("m_test.go", GO, GO.replaceAll("Add", "Plus")),
  ]);
  expect(go("ex.com/m › TestAdd")).toBe(true);
  const old =
    'import { Mul } from "../lib/mul.js";\ntest("two", () => {\n  assert.equal(new Mul(2).by(3), 6);\n});\n';
  const moved = findRenamedTests([
    file("lib/mul.js", "export class Mul {\n  by() {}\n}\n", null),
    file("lib/times.js", null, "export class Times {\n  by() {}\n}\n"),
    file("test/mul.test.js", old, null),
    file("test/times.test.js", null, old.replaceAll("mul", "times").replaceAll("Mul", "Times")),
  ]);
  expect(moved("two")).toBe(true);
});

const OTHERS: readonly [what: string, before: string, after: string, now: string, was?: string][] = [
  ["a number", CODE, PLUS, TEST.replaceAll("add", "plus").replace("3", "4")],
  [
    "a number that the code has, too",
    `${CODE}SUM = 3\n`,
    `${PLUS}SUM = 4\n`,
    TEST.replaceAll("add", "plus").replace("3", "4"),
  ],
  [
    "a literal that the code has, too",
    "def add(a, b):\n    return True\n",
    "def plus(a, b):\n    return False\n",
    TEST.replaceAll("add", "plus").replace("== 3", "is False"),
    TEST.replace("== 3", "is True"),
  ],
  [
    "a function that was there",
    `${CODE}\n\ndef sub(a, b):\n    return a - b\n`,
    "def sub(a, b):\n    return a - b\n",
    TEST.replaceAll("add", "sub"),
  ],
  ["an operator", CODE, PLUS, TEST.replaceAll("add", "plus").replace("==", "!=")],
  [
    "a name of the language",
    CODE,
    PLUS,
    TEST.replaceAll("add", "plus").replace("3", "len"),
    TEST.replace("3", "sum"),
  ],
  [
    "a constant with another value",
    `${CODE}SUM = 3\n`,
    `${CODE}TOTAL = 4\n`,
    TEST.replace("== 3", "== TOTAL"),
    TEST.replace("== 3", "== SUM"),
  ],
  [
    "an expected text",
    CODE,
    PLUS,
    TEST.replaceAll("add", "plus").replace("3", '"plus"'),
    TEST.replace("3", '"add"'),
  ],
  [
    "two names as one",
    `${CODE}SUM = 3\nALL = 4\n`,
    `${PLUS}ONE = 3\n`,
    TEST.replaceAll("add", "plus").replace("1", "ONE").replace("3", "ONE"),
    TEST.replace("1", "SUM").replace("3", "ALL"),
  ],
  ["a line less", CODE, PLUS, TEST.replaceAll("add", "plus").replace("    assert plus(1, 2) == 3\n", "")],
  [
    "a fixture",
    CODE,
    PLUS,
    `import pytest\n@pytest.fixture\ndef x():\n    pass\n${TEST.replaceAll("add", "plus")}`,
  ],
];

test.each(OTHERS.map(([what, before, after, now, was = TEST]) => [what, before, after, now, was] as const))(
  "beside another name, %s is another expectation",
  (_, before, after, now, was) => {
    const isRenamed = findRenamedTests([file("calc.py", before, after), file("test_calc.py", was, now)]);
    expect(isRenamed("test_calc.py::test_adds")).toBe(false);
  },
);

test("beside another helper or data of the tests, a test with another name may expect something else", () => {
  const names = [file("calc.py", CODE, PLUS), file("test_calc.py", TEST, TEST.replaceAll("add", "plus"))];
  expect(findRenamedTests(names)("test_calc.py::test_adds")).toBe(true);
  for (const path of ["tests/helper.py", "conftest.py", "tests/cases.json"])
    expect(findRenamedTests([...names, file(path, "A = 1\n", "A = 2\n")])("test_calc.py::test_adds")).toBe(
      false,
    );
});
