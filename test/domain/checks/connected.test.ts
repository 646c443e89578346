import { describe, expect, test } from "bun:test";
import {
  filesHolding,
  findCheckConnection,
  findConnection,
  findTestFile,
} from "../../../src/domain/checks/connected.ts";
import { blankVariables, readCheckFailure } from "../../../src/domain/checks/failures.ts";
import { readResults } from "../../../src/domain/checks/read-results.ts";
import type { CheckResult } from "../../../src/domain/checks/verdict.ts";

const result = (output: string, state: CheckResult["state"] = "red"): CheckResult => {
  const results = readResults(output);
  return {
    kind: "test",
    command: "npm test",
    state,
    results,
    ...(results === null && { failure: readCheckFailure(output) }),
  };
};

/** node's TAP: one failing test, its message and the frame of its stack. */
const tap = (message: string, frame = "test/add.test.mjs:4:30") => `TAP version 13
# Subtest: adds
not ok 1 - adds
  ---
  duration_ms: 1.2
  error: '${message}'
  stack: |-
    add (file:///w/${frame})
    TestContext.<anonymous> (file:///w/test/add.test.mjs:4:30)
  ...
# Subtest: greets
ok 2 - greets
1..2
# tests 2
# pass 1
# fail 1
`;

/** pytest: the account and the short summary. */
const pytest = (error: string, place = "tests/test_add.py:5") => `tests/test_add.py::test_adds FAILED
tests/test_other.py::test_other PASSED
=================================== FAILURES ===================================
__________________________________ test_adds ___________________________________

    def test_adds():
>       assert add(1, 2) == 3
E       ${error}

${place}: AssertionError
=========================== short test summary info ============================
FAILED tests/test_add.py::test_adds - ${error}
========================= 1 failed, 1 passed in 0.01s ==========================
`;

const JS = new Map([
  ["src/add.mjs", "export const add = (a, b) => a - b;\n"],
  ["src/deep.mjs", "export const deep = 1;\n"],
  ["src/index.mjs", 'export * from "./add.mjs";\n'],
  ["test/add.test.mjs", 'import { add } from "../src/index.mjs";\ntest("adds", () => {});\n'],
  ["test/greet.test.mjs", 'import "../src/deep.mjs";\ntest("greets", () => {});\n'],
]);
const PY = new Map([
  ["src/pkg/add.py", "def add(a, b): return a - b\n"],
  ["tests/test_add.py", "from pkg.calc import add\ndef test_adds(): pass\n"],
]);

describe("a red test and a change", () => {
  const js = (changed: string, now = tap("is wrong 1")) =>
    findConnection("adds", {
      before: result(tap("is wrong 2")),
      now: result(now),
      changed: [changed],
      texts: JS,
    });
  const py = (changed: string, now = pytest("assert -1 == 3")) =>
    findConnection("tests/test_add.py::test_adds", {
      before: result(pytest("assert -2 == 3")),
      now: result(now),
      changed: [changed],
      texts: PY,
    });
  const cases: readonly [what: string, got: string | null, expected: string | null][] = [
    ["share a name", js("src/add.mjs"), "name"],
    ["are linked by a direct import", js("src/index.mjs"), "imports"],
    ["are apart where the import runs through another file", js("src/deep.mjs"), null],
    ["share the test's own file", js("test/add.test.mjs"), "test-file"],
    ["are tied by the stack", js("src/deep.mjs", tap("is wrong 1", "src/deep.mjs:1:2")), "stack"],
    ["are tied by another message", js("src/deep.mjs", tap("is not a function")), "message"],
    ["are apart where only numbers differ", js("src/deep.mjs", tap("is wrong 77")), null],
    ["are apart for documentation", js("docs/add.md"), null],
    ["are apart for data", js("data/add.json"), null],
    ["share a name in Python", py("src/pkg/add.py"), "name"],
    ["are apart in Python", py("src/pkg/other.py"), null],
    [
      "are tied by a frame in Python",
      py("src/pkg/other.py", pytest("assert -1 == 3", "src/pkg/other.py:9")),
      "stack",
    ],
    ["are tied by another message in Python", py("src/pkg/other.py", pytest("KeyError: 'a'")), "message"],
  ];
  for (const [what, got, expected] of cases) test(what, () => expect(got).toBe(expected));

  test("are tied by another outcome", () => {
    const skipped = tap("x")
      .replace("not ok 1 - adds", "ok 1 - adds # SKIP")
      .replace("# fail 1", "# fail 0\n# skipped 1");
    expect(js("src/deep.mjs", skipped)).toBe("outcome");
  });

  const go = (package_: string) => `=== RUN   TestAdd
    add_test.go:9: got -1, want 3
--- FAIL: TestAdd (0.00s)
FAIL
FAIL\t${package_}\t0.002s
`;
  const GO = new Map([
    ["calc/add.go", "package calc\n"],
    ["calc/add_test.go", "package calc\nfunc TestAdd(t *testing.T) {}\n"],
    ["other/other.go", "package other\n"],
  ]);
  const inGo = (changed: string) =>
    findConnection("example.com/m/calc › TestAdd", {
      before: result(go("example.com/m/calc")),
      now: result(go("example.com/m/calc")),
      changed: [changed],
      texts: GO,
    });
  test("are held in Go by the file of the function, whatever a subtest is called", () =>
    expect(filesHolding("example.com/m/calc › TestAdd/two_and_-1#01", GO)).toEqual(["calc/add_test.go"]));
  test("are held elsewhere by the file of the whole title, also with a slash in it", () => {
    const texts = new Map([
      ["test/store.test.js", 'describe("store", () => it("read/write", () => {}))'],
      ["test/other.test.js", 'it("can read", () => {})'],
    ]);
    expect(filesHolding("store › read/write", texts)).toEqual(["test/store.test.js"]);
  });
  test("are linked in Go by the package alone", () =>
    expect([inGo("calc/add.go"), inGo("other/other.go")]).toEqual(["package", null]));
});

describe("a check that names no tests, and a change", () => {
  const texts = new Map([
    ["check.mjs", 'import "./src/add.mjs";\n'],
    ["src/add.mjs", "export {};\n"],
    ["src/deep.mjs", "export {};\n"],
  ]);
  const connection = (changed: string, script = "", now = "it failed in 3 ms\n") =>
    findCheckConnection(
      { line: "npm test", script },
      { before: result("it failed in 12 ms\n"), now: result(now), changed: [changed], texts },
    );
  test("belong together by the script's entry, the file it names, another output or a named file", () => {
    expect(connection("src/add.mjs", "node check.mjs")).toBe("imports");
    expect(connection("src/add.mjs", "grep -q x src/add.mjs")).toBe("test-file");
    expect(connection("src/deep.mjs", "", "another failure\n")).toBe("message");
    expect(connection("src/deep.mjs", "", "it failed in 3 ms\n")).toBe(null);
    const named = "it failed in 12 ms\nat /w/src/deep.mjs:3\n";
    const both = { before: result(named), now: result(named), changed: ["src/deep.mjs"], texts };
    expect(findCheckConnection({ line: "npm test" }, both)).toBe("stack");
  });
});

test("what differs from run to run is blanked", () =>
  expect(blankVariables("at /tmp/a1/x.js:3 took 12.5 ms, 0xdeadbeef, id 1f2e3d4c5b, 7 of 9")).toBe(
    "at <path> took #, #, id #, # of #",
  ));

test("a test of a Java class, also of a nested one, is in the file of the class", () => {
  const test = "class A { @Test void adds() {} }";
  const texts = new Map([
    ["src/main/java/p/Sum.java", "class Sum {}"],
    ["src/test/java/p/SumTest.java", test],
    ["src/test/java/q/SumTest.java", test],
  ]);
  for (const name of ["p.SumTest › adds", "p.SumTest$Inner › each(int, int)[2]", "p.SumTest"])
    expect(findTestFile(name, undefined, texts)).toBe("src/test/java/p/SumTest.java");
  // A suite of another language has the name of a class.
  expect(findTestFile("SumTest › adds", undefined, new Map([["src/SumTest.js", ""]]))).toBeNull();
});
