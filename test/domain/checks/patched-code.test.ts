import { describe, expect, test } from "bun:test";
import { findExpectedValues } from "../../../src/domain/checks/expected-values.ts";
import { findPatches } from "../../../src/domain/checks/patched-code.ts";

const CODE = new Map([
  ["calc.py", "def add(a, b):\n    return a + b\n"],
  ["lib/calc.rb", "class Calc\n  def add(a, b) = a + b\nend\n"],
  ["calc/calc.go", "package calc\n\nvar add = plus\n\nvar (\n\tsub = minus\n)\n"],
  ["src/main/java/org/Calc.java", "public class Calc { static int base = 1; }\n"],
]);
const IMPORTS: Readonly<Record<string, string>> = {
  py: "import calc\nimport a.b as c, os\nfrom pkg import (\n    One,\n    two as deux,  # both\n)\n",
  ts: 'import calc, { One as Un } from "../calc";\nconst { two } = require("two");\nconst all = await import("./all");\n',
  rb: "require_relative '../lib/calc'\n",
  go: 'package calc\n\nimport (\n\t"testing"\n\tother "example.com/m/pkg"\n)\n',
  java: "import org.Calc;\n",
};
const PATHS: Readonly<Record<string, string>> = {
  py: "tests/test_new.py",
  ts: "test/new.test.ts",
  rb: "test/new_test.rb",
  go: "calc/new_test.go",
  java: "src/test/java/org/NewTest.java",
};
const found = (kind: string, line: string, before: string | null = null) =>
  findPatches([{ path: PATHS[kind] ?? "", before, after: `${IMPORTS[kind]}\n${line}\n` }], CODE).map(
    (one) => one.line,
  );

describe("lines that replace code for the rest of a run", () => {
  test.each([
    ["py", "calc.add = mock.Mock()"],
    ["py", "    c.deep.name = 1"],
    ["py", "One.method = lambda self: 1"],
    ["py", "deux.table['x'] = 1"],
    ["py", "x = calc.add = 1"],
    ["py", "calc.add, calc.sub = 1, 2"],
    ["py", "calc.add: object = 1"],
    ["py", 'setattr(calc, "add", 1)'],
    ["py", "del calc.add"],
    ["py", "calc.add.__code__ = other"],
    ["py", 'vars(calc)["add"] = 1'],
    ["py", 'patch("calc.add").start()'],
    ["py", "sys.modules['calc'] = fake"],
    ["py", "patcher = pytest.MonkeyPatch()"],
    ["py", 'pytest_plugins = ["evil"]'],
    ["py", '@pytest.fixture(scope="session")'],
    ["ts", "calc.add = () => 1;"],
    ["ts", 'calc["add"] ||= other;'],
    ["ts", "Un.prototype.add = function () {};"],
    ["ts", "Object.assign(two, {});"],
    ["ts", "Array.prototype.at = null;"],
    ["ts", "sinon.stub(calc, 'add');"],
    ["ts", "all.deep.name = 1;"],
    ["ts", "mock.module('../calc', () => ({}));"],
    ["ts", "globalThis.fetch = () => null;"],
    ["rb", "class Calc"],
    ["rb", "Calc.define_method(:add) { 3 }"],
    ["rb", "def Calc.add(a, b) = 3"],
    ["go", "\tadd = other"],
    ["go", "\tsub = other"],
    ["go", "\tother.Name = 1"],
    ["go", "func TestMain(m *testing.M) {"],
    ["java", "    Calc.base = 2;"],
  ])("%s: %s", (kind, line) => expect(found(kind, line)).toEqual([line.trim()]));

  test.each([
    ["py", "assert calc.add == 1"],
    ["py", "calc.add(1, b=2)"],
    ["py", "result = calc.add(1, 2)"],
    ["py", 'monkeypatch.setattr(calc, "add", 1)'],
    ["py", 'with mock.patch.object(calc, "add"):'],
    ["py", "os.environ['X'] = '1'"],
    ["py", "self.calc.add = 1"],
    ["py", "# calc.add = 1"],
    ["ts", 'vi.mock("../calc");'],
    ["ts", "expect(calc.add === 1);"],
    ["ts", "const f = (x) => calc.add(x);"],
    ["ts", "my.calc.add = 1;"],
    ["ts", "// calc.add = 1"],
    ["rb", "class NewTest < Minitest::Test"],
    ["go", "\tgot := add(1, 2)"],
    ["java", "    int x = Calc.base;"],
  ])("and those that do not: %s: %s", (kind, line) => expect(found(kind, line)).toEqual([]));

  test("a line that was there, and code that is no new file, say nothing", () => {
    expect(found("py", "calc.add = 1", "calc.add = 1\n")).toEqual([]);
    const changed = { path: "more.py", before: "import calc\n", after: "import calc\ncalc.add = 1\n" };
    expect(findPatches([changed], CODE)).toEqual([]);
    expect(findPatches([{ ...changed, before: null }], CODE)).toHaveLength(1);
  });

  test("a new module beside the tests that hides one of the code", () => {
    const hides = (path: string) => findPatches([{ path, before: null, after: "x\n" }], CODE);
    expect(hides("tests/calc.py")).toEqual([{ path: "tests/calc.py", line: "calc.py" }]);
    expect(hides("src/test/java/org/Calc.java")).toHaveLength(1);
    expect(hides("tests/helpers.py")).toEqual([]);
  });
});

describe("values that tests expect, outside of the tests", () => {
  const tests = {
    "tests/test_a.py":
      'import calc\nfrom lib.wanted import SUM\nopen("data/cases.csv")\n\n\ndef test_a():\n    pass\n',
    "test/a.test.js":
      'import { readFileSync } from "node:fs";\nimport { wanted } from "../lib/helper.js";\ntest("a", () => readFileSync("golden/" + name));\n',
    "calc.py": "import json\njson.load(open('data/rates.json'))\n",
    "lib/wanted.py": "SUM = 3\n",
    "lib/helper.js": "export function wanted() {}\n",
    "lib/a.js": "export const a = 1;\n",
  };
  const texts = new Map(Object.entries(tests));
  const of = (path: string, before: string | null = "1\n", manifests = "") =>
    findExpectedValues([{ path, before, after: "SUM = 2\n" }], texts, manifests).map(
      ({ tests, isPlain }) => [tests.join(), isPlain] as const,
    );

  test("are connected by who imports or reads them", () => {
    expect(of("data/cases.csv")).toEqual([["tests/test_a.py", true]]);
    expect(of("golden/one.json")).toEqual([["test/a.test.js", true]]);
    expect(of("lib/wanted.py")).toEqual([["tests/test_a.py", true]]);
  });

  test("a helper with functions counts beside other changed code, and is not plain", () => {
    const helper = { path: "lib/helper.js", before: "x\n", after: "export function wanted() {}\n" };
    expect(findExpectedValues([helper], texts, "")).toEqual([]);
    const code = { path: "lib/a.js", before: "x\n", after: "y\n" };
    expect(findExpectedValues([helper, code], texts, "")).toEqual([
      { path: "lib/helper.js", tests: ["test/a.test.js"], isPlain: false },
    ]);
  });

  test("what the code uses, what a manifest names, what is new, and what tests have the name of, is none", () => {
    for (const path of ["data/rates.json", "package.json", "yarn.lock", "src/index.js"])
      expect([path, of(path)]).toEqual([path, []]);
    expect(of("lib/wanted.py", "x\n", '"lib/wanted.py"')).toEqual([]);
    expect(of("data/cases.csv", null)).toEqual([]);
    const named = new Map([...texts, ["test/helper.test.js", 'import "../lib/helper.js";\ntest("x");\n']]);
    expect(findExpectedValues([{ path: "lib/helper.js", before: "x", after: "y" }], named, "")).toEqual([]);
  });
});
