import { describe, expect, test } from "bun:test";
import { findAffectedTests, onlyAddsTests } from "../../../src/domain/checks/affected-tests.ts";
import {
  cheapenLine,
  narrowLine,
  restOfLine,
  selectData,
  takesFiles,
} from "../../../src/domain/checks/narrow-check.ts";
import { breakFile, noticesBreak } from "../../../src/domain/checks/test-proofs.ts";
import type { CheckResult } from "../../../src/domain/checks/verdict.ts";

/** Tests of a project whose names and imports say nothing of the change. */
const others = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `test/other${at}.test.js`,
      `import { thing${at} } from "../src/thing${at}.js";\ntest("thing", () => thing${at}());\n`,
    ]),
  );

function affected(
  files: Readonly<Record<string, string>>,
  path: string,
  before: string,
  after = `${before}\n// more`,
) {
  const texts = new Map(Object.entries({ ...files, [path]: after }));
  return findAffectedTests({ texts, changed: [{ path, before, after }] });
}

describe("which tests a change concerns", () => {
  test("the one of the same name first, also among the parts of a longer name", () => {
    const { files, of } = affected(
      { ...others(20), "test/copy-sync-file.test.js": 'test("copies", () => {})' },
      "src/copy.js",
      "export const x = 1;",
    );
    expect(files[0]).toBe("test/copy-sync-file.test.js");
    expect(of).toBe(21);
  });
  test("a module tests.py is a test unless the sources import it", () => {
    const odd = "def test_odd(value):\n    return value % 2 == 1\n";
    const files = {
      "src/lib/tests.py": odd,
      "src/lib/defaults.py": "from .tests import test_odd\n",
      "app/tests.py": `from lib.utils import urlize\n${odd}`,
      "tests/test_utils.py": "from lib.utils import urlize\ndef test_urlize(): urlize()\n",
    };
    const { files: found, of } = affected(files, "src/lib/utils.py", "def urlize(): pass\n");
    expect(found).not.toContain("src/lib/tests.py");
    expect([of, found.length]).toEqual([2, 2]);
  });
  test("those that import it, the near ones before the far ones", () => {
    const { files } = affected(
      {
        ...others(20),
        "src/barrel.js": 'export * from "./deep.js";',
        "test/far.test.js": 'import { a } from "../src/barrel.js";\ntest("a", () => a());',
        "test/near.test.js": 'import { a } from "../src/deep";\ntest("a", () => a());',
      },
      "src/deep.js",
      "export const q = 1;",
    );
    expect(files).toEqual(["test/near.test.js", "test/far.test.js"]);
  });
  test("those that mention a changed function, the more so the fewer do", () => {
    const { files } = affected(
      { ...others(20), "test/basics.test.js": 'test("parses", () => run("parseHeader"));' },
      "lib/index.js",
      "function parseHeader(a) {\n  return a;\n}",
      "function parseHeader(a) {\n  return a + 1;\n}",
    );
    expect(files).toEqual(["test/basics.test.js"]);
  });
  test("a fifth of many, and tests of the change itself before all", () => {
    const files = Object.fromEntries(
      Array.from({ length: 50 }, (_, at) => [`test/t${at}.test.js`, 'import "../src/a.js";\ntest("x", f);']),
    );
    const texts = new Map(Object.entries({ ...files, "src/a.js": "f();\ng();" }));
    const changed = [
      { path: "src/a.js", before: "f();", after: "f();\ng();" },
      { path: "test/t49.test.js", before: null, after: 'import "../src/a.js";\ntest("x", f);' },
    ];
    const found = findAffectedTests({ texts, changed });
    expect(found.files[0]).toBe("test/t49.test.js");
    expect(found.files).toHaveLength(11);
  });
  test("where all tests import the root of the package, those that lie beside the source", () => {
    const root = "import net as nx\n\ndef test_it():\n    assert nx\n";
    const files = Object.fromEntries(
      ["flow", "paths", "trees", "cycles", "cuts"].flatMap((folder) => [
        [`net/${folder}/core.py`, "from net.base import base\n"],
        ...[1, 2, 3, 4, 5, 6, 7].map((at) => [`net/${folder}/tests/test_${folder}${at}.py`, root]),
      ]),
    );
    const all = { ...files, "net/__init__.py": "from net.cuts.core import *\n" };
    const { near, ranked, files: first } = affected(all, "net/cuts/core.py", "def cut(): pass\n");
    expect(near.map((path) => path.slice(0, 20))).toEqual(Array(5).fill("net/cuts/tests/test_"));
    expect(first.every((path) => path.startsWith("net/cuts/"))).toBe(true);
    expect([ranked.length, ranked.slice(0, 5)]).toEqual([35, [...near]]);
  });
  test("Python by its modules, Go by its packages", () => {
    const python = affected(
      {
        "tests/test_b.py": "from pkg.util import x\n\ndef test_x():\n    assert x\n",
        "tests/test_c.py": "def test_c():\n    pass\n",
      },
      "src/pkg/util.py",
      "x = 1",
      "x = 2",
    );
    expect(python.files).toEqual(["tests/test_b.py"]);
    const go = affected(
      {
        "flag/flag_test.go": "package flag\n\nfunc TestFlag(t *testing.T) {}\n",
        "other/o_test.go": "package other\n\nfunc TestOther(t *testing.T) {}\n",
      },
      "flag/parse.go",
      "package flag\n\nfunc parse() {}",
    );
    expect(go.files).toEqual(["flag/flag_test.go"]);
  });
  test("two hundred test files among two hundred sources take no noticeable time", () => {
    const filler = "const value = compute(input, options);\n".repeat(200);
    const files = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [
        `test/t${at}.test.js`,
        `import { a${at} } from "../src/a${at}.js";\ntest("x", () => a${at}());\n${filler}`,
      ]),
    );
    const sources = Object.fromEntries(
      Array.from({ length: 200 }, (_, at) => [
        `src/a${at}.js`,
        `import "./a${(at + 1) % 200}.js";\n${filler}`,
      ]),
    );
    const from = process.cpuUsage();
    affected({ ...files, ...sources }, "src/a7.js", filler, `${filler}changed();`);
    expect(process.cpuUsage(from).user / 1000).toBeLessThan(3_000);
  });
});

describe("the line with these files alone", () => {
  const texts = new Map([["flag/flag_test.go", "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}"]]);
  const own = 'export PATH="$PWD/node_modules/.bin:$PATH"; ';
  for (const [line, wanted] of [
    [
      `${own}mocha -r ./test/setup.js --exit 'test/**/*.js'`,
      `${own}mocha -r ./test/setup.js --exit a.test.js`,
    ],
    [`${own}vitest run --reporter=verbose`, `${own}vitest run --reporter=verbose a.test.js`],
    [`${own}NODE_ENV=test jest --verbose`, `${own}NODE_ENV=test jest --verbose a.test.js`],
    [`${own}tape test/*.js`, `${own}tape a.test.js`],
    ["node --test test/", "node --test a.test.js"],
    ["node test/all.js", null],
    ["npm test", null],
    [`${own}mocha | tee log`, null],
  ] as const)
    test(line, () => expect(narrowLine(line, ["a.test.js"], texts)).toBe(wanted));
  test("pytest and go", () => {
    expect(narrowLine("python -m pytest -q", ["tests/test_a.py"], texts)).toBe(
      "python -m pytest -q tests/test_a.py",
    );
    const named = "python -m pytest -q test.py tests.py";
    expect(narrowLine(named, ["tests/test_a.py"], texts)).toBe("python -m pytest -q tests/test_a.py");
    expect(narrowLine(named, ["test.py"], texts)).toBe("python -m pytest -q test.py");
    expect(narrowLine("python -m pytest -c test.py", ["a_test.py"], texts)).toBe(
      "python -m pytest -c test.py a_test.py",
    );
    expect(narrowLine("python -m pytest --cov tests tests", ["a_test.py"], texts)).toBe(
      "python -m pytest --cov tests a_test.py",
    );
    expect(narrowLine(named, ["a.test.js"], texts)).toBe(named);
    expect(narrowLine("python -m pytest --deselect tests/test_a.py::test_x", ["a_test.py"], texts)).toBe(
      "python -m pytest --deselect tests/test_a.py::test_x a_test.py",
    );
    expect(narrowLine("python -m pytest -q | tee log", ["a_test.py"], texts)).toBeNull();
    expect(narrowLine("go test -v ./...", ["flag/flag_test.go"], texts)).toBe(
      "go test -v ./flag -run '^(TestA|TestB)$'",
    );
  });
  test("Maven: the classes that Surefire runs by default, of a project of one module", () => {
    const [sum, rest] = ["src/test/java/p/SumTest.java", "src/test/kotlin/TestRest.kt"];
    const again = "src/test/java/q/SumTest.java";
    const other = [
      "src/test/java/AbstractTest.java",
      "src/test/java/SumIT.java",
      "core/src/test/java/ATest.java",
    ];
    const fixture = "class SumTest { static class Fixture { @Test void broken() { fail(); } } }";
    const texts = new Map([sum, rest, again, ...other].map((path) => [path, fixture]));
    expect(narrowLine("mvn -q test", [sum, rest, again], texts)).toBe("mvn -q test -Dtest=SumTest,TestRest");
    expect(narrowLine("./mvnw -B -Pfast test", [sum], texts)).toBe("./mvnw -B -Pfast test -Dtest=SumTest");
    // Nested tests run with the whole suite only.
    for (const text of ["@Nested class Inner {}", "@RunWith(Enclosed.class)"])
      expect(narrowLine("mvn -q test", [rest, sum], new Map([...texts, [sum, text]]))).toBeNull();
    expect(narrowLine("mvn -q test", [sum], new Map())).toBeNull();
    // Other classes may extend a class that does not run by itself.
    for (const path of other) expect(narrowLine("mvn -q test", [sum, path], texts)).toBeNull();
    for (const line of ["mvn -q test | tee log", "mvn -q verify", "mvn test && ./it.sh", "make test"])
      expect(narrowLine(line, [sum], texts)).toBeNull();
  });
  test("a slow suite is judged by its affected files only if its runner takes files", () => {
    const lines = ["mvn -q test", "go test -v ./...", "node --test", "gradle test"];
    const taking = (...folders: readonly string[]) => lines.filter((line) => takesFiles(line, folders));
    expect(taking("src/main", "src/test")).toEqual(lines.slice(0, 3));
    // The tests of a Maven project with modules lie in their folders.
    expect(taking()).toEqual(lines.slice(1, 3));
  });
  test("a file name is never a command or a flag", () => {
    expect(narrowLine("node --test", ["a'; rm x.test.js"], texts)).toBe(`node --test 'a'\\''; rm x.test.js'`);
    expect(narrowLine("node --test", ["-e.test.js"], texts)).toBe("node --test ./-e.test.js");
  });
});

describe("a file that is broken on purpose", () => {
  test("code is, data, types, re-exports, tests and documentation are not", () => {
    for (const path of ["a.js", "a.py", "a.go", "src/a.rs", "a.c"])
      expect(breakFile(path, "x")).not.toBeNull();
    for (const path of ["a.json", "a.d.ts", "README.md", "test/a.js", "a.yaml"])
      expect(breakFile(path, "x")).toBeNull();
    expect(breakFile("a.ts", 'export type A = string;\nexport * from "./b.ts";\n')).toBeNull();
    expect(breakFile("a.ts", "export const a = 1;\n")).not.toBeNull();
  });
  const result = (
    passed: number,
    state: CheckResult["state"] = "green",
    tests?: readonly string[],
  ): CheckResult => ({
    kind: "test",
    command: "t",
    state,
    results: {
      formats: ["tap"],
      listed: tests === undefined ? "failed" : "all",
      tests: new Map(tests?.map((name) => [name, "pass"])),
      counts: { passed, failed: 0, skipped: 0 },
    },
  });
  test("is noticed by an exit code or by a count", () => {
    expect(noticesBreak(result(2), result(2))).toBe(false);
    expect(noticesBreak(result(2), result(1))).toBe(true);
    expect(noticesBreak(result(2), result(2, "red"))).toBe(true);
  });
  test("of a package without tests that cannot be compiled is noticed by no test", () => {
    const whole = result(2, "green", ["a", "b"]);
    expect(noticesBreak(whole, result(2, "red", ["a", "b"]))).toBe(false);
    expect(noticesBreak(whole, result(1, "red", ["a"]))).toBe(true);
  });
});

test("a file that only gained tests demands what it demanded", () => {
  const before = "import pytest\n\n\ndef test_one():\n    assert one() == 1\n";
  const adds = (after: string) => onlyAddsTests([{ before, after }]);
  expect(adds(`${before}\n\ndef test_two():\n    assert two() == 2\n`)).toBe(true);
  expect(adds(before.replace("def test_one", "def test_zero():\n    pass\n\n\ndef test_one"))).toBe(true);
  expect(adds(before.replace("    assert", "    return\n    assert"))).toBe(false);
  expect(adds(before.replace("import pytest", "import pytest\nfrom fake import *"))).toBe(false);
  expect(adds(before.replace("== 1", "== 2"))).toBe(false);
  expect(adds(`${before}\n\ndef test_one():\n    pass\n`)).toBe(false);
  const two = `${before}\n\ndef test_two():\n    assert two() == 2\n\n\n`;
  expect(adds(`${two}def test_three():\n    pass\n`)).toBe(true);
  for (const change of ["def one():\n    return 1\n", "pytestmark = skip\n", "def test_one():\n    pass\n"])
    expect([change, adds(two + change)]).toEqual([change, false]);
  expect(adds("")).toBe(false);
  const decorated =
    '@pytest.mark.parametrize(\n    "x",\n    [1, 2],\n)\ndef test_zero(x):\n    assert zero(x) == 0\n\n\ndef test_one';
  expect(adds(before.replace("def test_one", decorated))).toBe(true);
  expect(adds(before.replace("def test_one", "@pytest.mark.skip\ndef test_one"))).toBe(false);
  expect(adds(before.replace("def test_one", "@fixture\ndef cheat():\n    pass\n\n\ndef test_one"))).toBe(
    false,
  );
  expect(
    adds(
      before.replace("def test_one", "@fixture\nimport fake\ndef test_zero():\n    pass\n\n\ndef test_one"),
    ),
  ).toBe(false);
  const inClass = "class TestOld:\n    def test_old(self):\n        assert old() == 1\n";
  const inFront = (lines: string) =>
    onlyAddsTests([
      { before: inClass, after: inClass.replace("    def test_old", `${lines}    def test_old`) },
    ]);
  const next = "\n\nclass TestNext:\n    def test_next(self):\n        assert next() == 1\n";
  const spaced = "\n    def test_new(self):\n        x = new()\n\n        assert x == 0\n";
  expect(onlyAddsTests([{ before: inClass + next, after: inClass + spaced + next }])).toBe(true);
  expect(onlyAddsTests([{ before: inClass + next, after: inClass + spaced }])).toBe(false);
  const fresh = "    def test_new(self):\n        pass\n\n";
  const quiet = "    def _quiet(self, monkeypatch):\n        monkeypatch.setattr(old, 1)\n\n";
  expect(inFront(`    @pytest.mark.parametrize(\n        "x", [")"],\n    )\n    @slow\n${fresh}`)).toBe(
    true,
  );
  expect(inFront(`    @pytest.fixture(autouse=True)\n${quiet}${fresh}`)).toBe(false);
  expect(inFront(`    @slow("(")\n${quiet}${fresh}`)).toBe(false);
  expect(inFront(`    @pytest.fixture(autouse=True)\n${fresh}`)).toBe(false);
  expect(inFront(`${fresh}    @pytest.fixture(autouse=True)\n${quiet}`)).toBe(false);
});

describe("the tests", () => {
  test("that a change touches are those that read its data, by its name or by a pattern, with the words that select its cases", () => {
    const reader =
      'files = find_test_files(pattern="check-*.test")\n\n\nclass CheckSuite(DataSuite):\n    pass\n';
    const files = {
      "app/test/testcheck.py": reader,
      "app/test/testother.py":
        'files = find_test_files(pattern="parse*.test")\ndef test_other():\n    pass\n',
      "app/test/testall.py": 'files = glob("*.test")\ndef test_all():\n    pass\n',
    };
    const { touched, near, readers } = affected(
      files,
      "test-data/unit/check-protocols.test",
      "[case testA]\n",
    );
    expect([...touched]).toEqual(["app/test/testcheck.py"]);
    expect(near).toEqual(touched);
    const select = (line: string, ...more: readonly string[]) =>
      selectData(line, [...touched, ...more], readers);
    expect(select("python -m pytest -v app/test/testcheck.py")).toBe(
      "python -m pytest -v app/test/testcheck.py -k 'check-protocols'",
    );
    expect(select("python -m pytest -v app/test/testcheck.py tests/test_b.py", "tests/test_b.py")).toEndWith(
      "tests/test_b.py -k 'check-protocols or test_b.py'",
    );
    expect(
      select("python -m pytest -v app/test/testcheck.py a/testcheck.py", "a/testcheck.py"),
    ).not.toContain("-k");
    expect(select("npx jest app/test/testcheck.py")).not.toContain("-k");
  });
});

describe("the same tests with less beside them", () => {
  const python = ".venv/bin/python -m pytest -v";
  const vitest = 'export PATH="$PWD/node_modules/.bin:$PATH"; vitest run --reporter=verbose';
  test.each([
    [python, 'addopts = "-nauto --strict-markers"', `${python} -n0`],
    [python, "addopts =\n    --cov=lib --cov-report=xml\n", `${python} --no-cov`],
    [python, 'addopts = ["-ra", "--no-header"]', python],
    [vitest, "typecheck: { enabled: true }", `${vitest} --typecheck.enabled=false`],
    [vitest, "coverage: { enabled: true }", `${vitest} --coverage.enabled=false`],
    [vitest, "environment: 'jsdom'", vitest],
    ["jest --verbose --coverage", "", "jest --verbose --coverage --coverage=false"],
    ["mvn -B -fae test; s=$?; exit $s", "", "mvn -o -B -fae test; s=$?; exit $s"],
    ["npm test", "typecheck: {}", "npm test"],
  ])("%s with %s", (line, settings, cheaper) => {
    expect(cheapenLine(line, settings)).toBe(cheaper);
  });
});

describe("the rest of a call with test files", () => {
  const call = "python -m pytest -v";
  const rest = (line: string, part: string) => restOfLine(line, part, () => new Map());
  test("has the files that the part lacks", () => {
    expect(rest(`${call} tests/test_a.py tests/test_b.py tests/test_c.py`, `${call} tests/test_b.py`)).toBe(
      `${call} tests/test_a.py tests/test_c.py`,
    );
  });
  test.each([
    [`${call} tests/test_a.py`, `${call} tests/test_a.py`],
    [`${call} tests/test_a.py tests/test_b.py`, `${call} tests/test_c.py`],
    [`${call} tests/test_a.py tests/test_b.py -k words`, `${call} tests/test_b.py`],
    [`${call} -n0 tests/test_a.py tests/test_b.py`, `${call} tests/test_b.py`],
  ])("is unknown for %s and %s", (line, part) => {
    expect(rest(line, part)).toBeNull();
  });
});
