import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { readKeptCounts, readResults } from "../../../src/domain/checks/read-results.ts";
import { REPORTS } from "../../../src/domain/checks/runners/junit.ts";
import { type CheckResult, judgeAll } from "../../../src/domain/checks/verdict.ts";
import { cutMiddle } from "../../../src/domain/texts/format-text.ts";
import { cpuTimeMs } from "../../cpu-time.ts";

/** Recorded from the real tools by `fixtures/record.sh`. */
const FOLDER = join(import.meta.dir, "fixtures");
const NAMES = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".txt"))
  .map((name) => name.slice(0, -4))
  .sort();

function recorded(name: string): { readonly output: string; readonly exitCode: number } {
  const text = readFileSync(join(FOLDER, `${name}.txt`), "utf8");
  const end = /\nexit (\d+)\n$/.exec(text) as RegExpExecArray;
  return { output: text.slice(0, end.index), exitCode: Number(end[1]) };
}

/** `format, what is listed: passed failed skipped`. */
function inShort(output: string): string {
  const results = readResults(output);
  if (results === null) return "unknown";
  const { passed, failed, skipped } = results.counts;
  return `${results.formats.join("+")} ${results.listed}: ${passed} ${failed} ${skipped}`;
}

const EXPECTED: Readonly<Record<string, string>> = {
  "cargo-all-green": "cargo all: 5 0 1",
  "cargo-all-red": "cargo all: 4 1 1",
  "cargo-build": "unknown",
  "cargo-green": "cargo all: 5 0 1",
  "cargo-red": "cargo all: 2 1 1",
  "go-build": "go failed: 0 4 0",
  "go-green": "go failed: 2 0 0",
  "go-json-cover": "go-json all: 2 0 0",
  "go-json-green": "go-json all: 5 0 1",
  "go-json-none": "unknown",
  "go-json-prints": "go-json all: 2 0 0",
  "go-json-prints-red": "go-json all: 1 1 0",
  "go-json-red": "go-json all: 2 3 1",
  "go-red": "go failed: 1 3 0",
  "go-v-crash": "go all: 1 4 1",
  "go-v-green": "go all: 5 0 1",
  "go-v-red": "go all: 2 3 1",
  "jest-crash": "jest all: 2 3 1",
  "jest-green": "jest failed: 5 0 2",
  "jest-red": "jest failed: 3 2 2",
  "jest-verbose-green": "jest all: 5 0 2",
  "jest-verbose-red": "jest all: 3 2 2",
  "mocha-crash": "unknown",
  "mocha-dot-green": "mocha failed: 5 0 1",
  "mocha-dot-red": "mocha failed: 2 3 1",
  "mocha-green": "mocha all: 5 0 1",
  "mocha-red": "mocha all: 2 3 1",
  "mocha-tap-green": "tap all: 5 0 1",
  "mocha-tap-red": "tap all: 2 3 1",
  "node20-dot-green": "unknown",
  "node20-dot-red": "unknown",
  "node20-junit-green": "junit all: 5 0 2",
  "node20-junit-red": "junit all: 3 2 2",
  "node20-spec-green": "node-spec all: 5 0 2",
  "node20-spec-red": "node-spec all: 3 2 2",
  "node20-tap-crash": "tap all: 2 3 1",
  "node20-tap-green": "tap all: 5 0 2",
  "node20-tap-load": "tap all: 2 3 0",
  "node20-tap-red": "tap all: 3 2 2",
  "node24-dot-green": "unknown",
  "node24-dot-red": "unknown",
  "node24-junit-green": "junit all: 5 0 2",
  "node24-junit-red": "junit all: 3 2 2",
  "node24-spec-crash": "node-spec all: 2 3 1",
  "node24-spec-green": "node-spec all: 5 0 2",
  "node24-spec-red": "node-spec all: 3 2 2",
  "node24-tap-green": "tap all: 5 0 2",
  "node24-tap-red": "tap all: 3 2 2",
  "pytest-crash": "pytest all: 0 1 0",
  "pytest-junit-green": "junit all: 5 0 2",
  "pytest-junit-red": "junit all: 3 2 2",
  "pytest-listed-green": "pytest all: 5 0 2",
  "pytest-listed-red": "pytest all: 3 2 2",
  "pytest-plain-green": "pytest failed: 5 0 2",
  "pytest-plain-red": "pytest failed: 3 2 2",
  "pytest-q-green": "pytest failed: 5 0 2",
  "pytest-q-red": "pytest failed: 3 2 2",
  "pytest-v-green": "pytest all: 5 0 2",
  "pytest-v-red": "pytest all: 3 2 2",
  "tape-green": "tap all: 3 0 0",
  "tape-red": "tap all: 1 2 0",
  "vitest-crash": "vitest all: 2 3 1",
  "vitest-green": "vitest failed: 5 0 2",
  "vitest-junit-green": "junit all: 5 0 2",
  "vitest-junit-red": "junit all: 3 2 2",
  "vitest-red": "vitest failed: 3 2 2",
  "vitest-verbose-green": "vitest all: 5 0 2",
  "vitest-verbose-red": "vitest all: 3 2 2",
};

test("every recording of a real tool is read as what that tool said", () => {
  expect(Object.fromEntries(NAMES.map((name) => [name, inShort(recorded(name).output)]))).toEqual(EXPECTED);
});

describe("the names of", () => {
  const lines = (name: string) =>
    [...(readResults(recorded(name).output)?.tests ?? [])].map(([test, outcome]) => `${outcome} ${test}`);
  const outline = [
    "fail sum › adds two numbers",
    "pass sum › adds, (with) odd: names ✔ 1 passing",
    "skip sum › is left out",
    "pass sum › of nothing › is zero",
    "fail sum › of nothing › is not one",
  ];
  const parents = ["parent sum › of nothing", "parent sum"];
  const inFile = outline.map((line) => line.replace(" ", " ./a.test.js › "));
  const cases: readonly [string, readonly string[]][] = [
    ["node20-tap-red", [...outline, "pass alone", "skip later"]],
    ["node24-tap-red", [...outline, "pass alone", "skip later"]],
    [
      "node20-tap-load",
      [
        "fail adds",
        "pass suite › inner ok",
        "fail suite › inner bad",
        "fail /project/test/b.test.js",
        "pass c",
      ],
    ],
    ["node20-spec-red", [...outline, ...parents, "pass alone", "skip later"]],
    ["node24-spec-red", [...outline, ...parents, "pass alone", "skip later"]],
    ["node24-spec-crash", [...outline, ...parents, "fail b.test.js"]],
    ["mocha-red", [...outline, 'fail hooks › "before all" hook for "needs it"']],
    [
      "mocha-dot-red",
      [outline[0] as string, outline[4] as string, 'fail hooks › "before all" hook for "needs it"'],
    ],
    ["jest-verbose-red", [...inFile, "pass ./b.test.js › alone", "skip ./b.test.js › later"]],
    ["jest-red", [inFile[0] as string, inFile[4] as string]],
    ["jest-crash", [...inFile, "fail ./b.test.js"]],
    ["tape-red", ["fail sum › adds two numbers", "pass sum › adds # odd", "fail zero › is zero"]],
    [
      "vitest-crash",
      [
        ...outline.map((line) => line.replace(" ", " a.test.js > ").replaceAll(" › ", " > ")),
        "fail b.test.js [ b.test.js ]",
      ],
    ],
    [
      "pytest-listed-red",
      [
        "pass tests/test_sum.py::test_many[x y]",
        "pass tests/test_sum.py::test_many[p - q]",
        "pass tests/test_sum.py::test_many[r::s]",
        "skip tests/test_sum.py::test_known",
        "fail tests/test_sum.py::test_adds",
        "fail tests/test_sum.py::TestZero::test_is_zero",
      ],
    ],
    [
      "go-v-crash",
      [
        "fail example.org/sum › TestAdds",
        "skip example.org/sum › TestLeftOut",
        "fail example.org/sum › TestMany",
        "pass example.org/sum › TestMany/x_y",
        "fail example.org/sum › TestMany/zero",
        "fail example.org/sum/b › TestAlone",
      ],
    ],
    [
      "go-build",
      [
        "fail example.org/sum/b",
        "fail example.org/sum › TestAdds",
        "fail example.org/sum › TestMany",
        "fail example.org/sum › TestMany/zero",
      ],
    ],
  ];
  for (const [name, expected] of cases) test(name, () => expect(lines(name)).toEqual([...expected]));
});

describe("an output that was cut", () => {
  /** After every line, and anywhere near the end, where the summaries stand. */
  const cuts = (output: string) => {
    const ends = [...output.matchAll(/\n/g)].map(({ index }) => index + 1);
    const tail = Array.from({ length: Math.min(300, output.length) }, (_, back) => output.length - back);
    return [...ends, ...tail].map((at) => output.slice(0, at));
  };
  for (const name of NAMES) {
    test(`${name} never claims a pass that was none`, () => {
      const { output, exitCode } = recorded(name);
      const whole = readResults(output)?.tests;
      const lies = cuts(output).filter((cut) => {
        const results = readResults(cut);
        if (results === null) return false;
        if (exitCode !== 0 && results.counts.failed === 0) return true;
        return [...results.tests].some(
          ([test, outcome]) => outcome === "pass" && whole?.get(test) !== "pass",
        );
      });
      expect(lies).toEqual([]);
    });
  }
});

test("lines of all tools in any order are read without an exception, and never as a summary that no tool wrote", () => {
  const lines = NAMES.flatMap((name) => recorded(name).output.split("\n"));
  const mixed = fc.array(fc.constantFrom(...lines), { maxLength: 60 });
  fc.assert(
    fc.property(mixed, (some) => {
      const results = readResults(`${some.join("\n")}\n`);
      if (results === null) return;
      const named = [...results.tests.values()].filter((outcome) => outcome === "fail").length;
      expect(named).toBe(results.counts.failed);
    }),
    { numRuns: 400 },
  );
});

describe("an output", () => {
  const { output: mocha } = recorded("mocha-green");
  test("of several tools has the tests of all of them", () => {
    expect(inShort(`${mocha}${recorded("node24-spec-red").output}`)).toBe("node-spec+mocha all: 8 2 3");
    expect(inShort(`${recorded("tape-green").output}${recorded("tape-red").output}`)).toBe("tap all: 4 2 0");
    expect(inShort(`${recorded("pytest-v-red").output}${recorded("pytest-q-green").output}`)).toBe(
      "pytest failed: 8 2 4",
    );
  });
  test("in colours, with carriage returns, is read the same", () => {
    const coloured = mocha.replaceAll("✔", "\u001b[32m✔\u001b[0m").replaceAll("\n", "\r\n");
    expect(inShort(coloured)).toBe(inShort(mocha));
  });
  test("whose names do not bear out its summary is unknown", () => {
    expect(inShort(recorded("jest-verbose-red").output.replaceAll("2 failed", "3 failed"))).toBe("unknown");
    expect(inShort(recorded("node20-tap-red").output.replace("\n1..3\n", "\n1..4\n"))).toBe("unknown");
  });
  test("with one name a hundred thousand times is read in time", () => {
    const same = Array.from({ length: 100_000 }, (_, at) => `ok ${at + 1} should be equal\n`).join("");
    const begun = cpuTimeMs();
    expect(inShort(`TAP version 13\n${same}1..100000\n`)).toBe("tap all: 100000 0 0");
    expect(cpuTimeMs() - begun).toBeLessThan(5000);
  });
  test("of nothing that is known is unknown, however long", () => {
    expect(inShort("")).toBe("unknown");
    expect(inShort("all good\nok\n5 passing\n")).toBe("unknown");
    expect(inShort(`${"a::b (".repeat(100_000)}\n`.repeat(20))).toBe("unknown");
  });
});

test("a package of Go whose module cannot be downloaded could not be set up", () => {
  const output = [
    "# example.com/p/q",
    "q/q_test.go:5:2: module lookup disabled by GOPROXY=off",
    "FAIL\texample.com/p/q [setup failed]",
    "=== RUN   TestOne",
    "--- PASS: TestOne (0.00s)",
    "PASS",
    "ok  \texample.com/p\t0.015s",
    "FAIL",
    "",
  ].join("\n");
  expect(readResults(output)?.counts).toEqual({ passed: 1, failed: 1, skipped: 0, unable: 1 });
});

test("a report in the form of JUnit: what is switched off did not pass, what has no program is not skipped, a class keeps its name", () => {
  const output = `${REPORTS}
<testsuite name="(empty)">
<testcase name="skips" classname="skips" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="off" classname="off" status="disabled"><system-out>Disabled</system-out></testcase>
<testcase name="gone" classname="gone" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>
<testsuite name="a.CalcTest$Inner">
<testcase name="adds" classname="a.CalcTest"/><testcase name="nests" classname="a.CalcTest$Inner"/>
</testsuite>
`;
  expect([...(readResults(output)?.tests ?? [])]).toEqual([
    ["skips", "skip"],
    ["off", "skip"],
    ["gone", "error"],
    ["a.CalcTest › adds", "pass"],
    ["a.CalcTest$Inner › nests", "pass"],
  ]);
});

describe("a test that the draft skips, and whose old version fails, is worse", () => {
  type Adds = "pass" | "skip" | "fail";
  const surefire = (adds: Adds) =>
    [
      REPORTS,
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<testsuite name="p.SumTest" tests="2">',
      '  <testcase name="one" classname="p.SumTest" time="0.01"/>',
      `  <testcase name="adds" classname="p.SumTest">${{ pass: "", skip: "<skipped/>", fail: '<failure type="E">&lt;3&gt;</failure>' }[adds]}</testcase>`,
      "</testsuite>",
      "",
    ].join("\n");
  const pytest = (adds: Adds) =>
    [
      "=========================== short test summary info ============================",
      "PASSED test_s.py::test_one",
      {
        pass: "PASSED test_s.py::test_adds",
        skip: "SKIPPED [1] test_s.py:4: no",
        fail: "FAILED test_s.py::test_adds",
      }[adds],
      { pass: "2 passed", skip: "1 passed, 1 skipped", fail: "1 failed, 1 passed" }[adds].concat(" in 0.01s"),
      "",
    ].join("\n");
  const check = (output: string, state: "green" | "red"): CheckResult => ({
    kind: "test",
    command: "test",
    state,
    results: readResults(output),
  });
  test.each([
    ["a report in the form of JUnit", surefire],
    ["pytest, which names its line", pytest],
  ])("%s", (_, print) => {
    const { verdict, worse } = judgeAll({
      baseline: [check(print("pass"), "green")],
      draft: [check(print("skip"), "green")],
      old: [check(print("fail"), "red")],
    });
    expect([verdict, worse.length]).toEqual(["worse", 1]);
  });
});

test("pytest's totals with subtests are read, and parts that failed have names of their own", () => {
  const read = readResults(
    [
      "=========================== short test summary info ============================",
      "PASSED test_s.py::T::test_ok",
      "PASSED test_s.py::T::test_sub",
      "SKIPPED [1] test_s.py:11: no",
      "FAILED test_s.py::T::test_bad - AssertionError: x",
      "SUBFAILED(i=0) test_s.py::T::test_sub - AssertionError: 0 != 1",
      "SUBFAILED(i=2) test_s.py::T::test_sub - AssertionError: 2 != 1",
      "ERROR test_s.py::test_fixture - fixture 'httpbin' not found",
      "3 failed, 2 passed, 1 skipped, 1 error, 4 subtests passed in 0.12s",
      "",
    ].join("\n"),
  );
  expect(read).toMatchObject({ listed: "all", counts: { passed: 2, failed: 4, skipped: 1, unable: 1 } });
  expect(read?.tests.get("test_s.py::T::test_sub (i=2)")).toBe("fail");
  expect(read?.tests.get("test_s.py::test_fixture")).toBe("error");
  expect(readResults("549 passed, 24 skipped, 1444 subtests passed in 3.20s\n")).toMatchObject({
    counts: { passed: 549, failed: 0, skipped: 24 },
  });
});

test("unittest is read test by test", () => {
  const read = readResults(
    [
      "test_bad (test_s.T.test_bad) ... FAIL",
      "test_ok (test_s.T.test_ok)",
      "doc of it ... ok",
      "test_skip (test_s.T.test_skip) ... skipped 'no'",
      "",
      "======================================================================",
      "FAIL: test_bad (test_s.T.test_bad)",
      "----------------------------------------------------------------------",
      "AssertionError: x",
      "",
      "----------------------------------------------------------------------",
      "Ran 3 tests in 0.002s",
      "",
      "FAILED (failures=1, skipped=1)",
      "",
    ].join("\n"),
  );
  expect(read).toMatchObject({
    formats: ["unittest"],
    listed: "all",
    counts: { passed: 1, failed: 1, skipped: 1 },
  });
  expect(read?.tests.get("test_ok (test_s.T.test_ok)")).toBe("pass");
});

test("unittest is read where tests print among the results", () => {
  const rule = "=".repeat(70);
  const read = readResults(
    [
      "test_a (t.T.test_a) ... usage: x",
      "ok",
      "test_b (t.T.test_b)",
      "Doc of it. ... usage: x",
      "x: error: unrecognized arguments",
      "ERROR",
      "test_c (t.T.test_c) ... no end of lineFAIL",
      "test_d (t.T.test_d) ... ok",
      "FAIL",
      "",
      rule,
      "ERROR: test_b (t.T.test_b)",
      "Doc of it.",
      rule,
      "FAIL: test_c (t.T.test_c)",
      rule,
      "FAIL: test_d (t.T.test_d)",
      "",
      "Ran 4 tests in 0.002s",
      "",
      "FAILED (failures=2, errors=1)",
      "",
    ].join("\n"),
  );
  expect(read).toMatchObject({ listed: "all", counts: { passed: 1, failed: 3, skipped: 0 } });
  expect([...(read?.tests ?? [])].map(([name, outcome]) => `${name.slice(0, 6)} ${outcome}`)).toEqual([
    "test_a pass",
    "test_d fail",
    "test_b fail",
    "test_c fail",
  ]);
});

describe("a line that a test of unittest prints", () => {
  const read = (lines: readonly string[], failed: readonly string[], ran: number) =>
    readResults(
      [
        ...lines,
        "",
        ...failed.flatMap((heading) => ["=".repeat(70), heading, "-".repeat(70), "skipped 'x'", ""]),
        "-".repeat(70),
        `Ran ${ran} tests in 0.002s`,
        "",
        failed.length === 0 ? "OK" : `FAILED (failures=${failed.length})`,
        "",
      ].join("\n"),
    );
  const inShort = (results: ReturnType<typeof read>) =>
    results && [results.listed, ...[...results.tests].map((test) => test.join(": ")).toSorted()];

  test.each(["ERROR", "FAIL", "ok", "skipped 3 rows", "elapsed (0.12)", "testing (fast) ... ok", "x (a.b)"])(
    "is neither an outcome nor a test: %s",
    (printed) => {
      const others = ["test_b (t.T.test_b) ... FAIL", "test_c (t.T.test_c)", "Doc. ... ok"];
      const wanted = ["a (t.T.test_a): pass", "b (t.T.test_b): fail", "c (t.T.test_c): pass"];
      const named = ["all", ...wanted.map((name) => `test_${name}`)];
      const failed = ["FAIL: test_b (t.T.test_b)"];
      const begins = "test_a (t.T.test_a) ...";
      expect(inShort(read([`${begins} ${printed}`, "ok", ...others], failed, 3))).toEqual(named);
      expect(inShort(read([`${begins} x`, printed, "ok", ...others], failed, 3))).toEqual(named);
    },
  );
  test("the outcome of a test without a known name is not that of the test before it", () => {
    const lines = ["test_a (t.T.test_a) ... expected failure", "unittest.case.FunctionTestCase (f) ... ok"];
    expect(inShort(read(lines, [], 2))).not.toContain("test_a (t.T.test_a): pass");
  });
  test("without an end hides its outcome, and no other test has it", () => {
    const lines = ["test_a (t.T.test_a) ... xok", "test_b (t.T.test_b) ... ok"];
    expect(inShort(read(lines, [], 2))).toEqual(["failed"]);
  });
});

test("unittest before Python 3.11: a test with failed parts has no outcome, and the next is on its line", () => {
  const output = [
    "test_a (t.T) ... test_b (t.T) ... ok",
    "test_c (t.T)",
    "Doc c ... test_d (t.T)",
    "Doc d ... ok",
    "add (calc)",
    "Doctest: calc.add ... ok",
    "",
    ...["a", "c"].flatMap((name) => ["=".repeat(70), `FAIL: test_${name} (t.T) (i=1)`, "-".repeat(70), "x"]),
    "",
    "Ran 5 tests in 0.002s",
    "",
    "FAILED (failures=2)",
    "",
  ].join("\n");
  expect([...(readResults(output)?.tests ?? [])].map((one) => one.join(": "))).toEqual([
    "test_b (t.T): pass",
    "test_d (t.T): pass",
    "add (calc): pass",
    "test_a (t.T) (i=1): fail",
    "test_c (t.T) (i=1): fail",
  ]);
});

test("a module that unittest cannot load is unable to run, also without -v", () => {
  const heading = "ERROR: test_new (unittest.loader._FailedTest.test_new)";
  for (const begins of ["E", "test_new (unittest.loader._FailedTest.test_new) ... ERROR"])
    expect(
      readResults(
        [begins, "=".repeat(70), heading, "", "Ran 1 test in 0.000s", "", "FAILED (errors=1)", ""].join("\n"),
      )?.counts,
    ).toEqual({ passed: 0, failed: 1, skipped: 0, unable: 1 });
});

test("node's spec reporter: the subtests of a test count, and a parent only where it fails by itself", () => {
  const output = `▶ parent
  ✔ one (0.742531ms)
  ✖ two (27.78724ms)
    AssertionError [ERR_ASSERTION]: 1 == 2

✖ parent (36.997706ms)
▶ fails by itself
  ✔ one (0.270615ms)
✖ fails by itself (0.690442ms)

  Error: late

▶ suite
  ✔ a (5.230926ms)
  ▶ b
    ✔ deep (0.426932ms)
  ✔ b (8.123052ms)
✔ suite (13.958439ms)
✔ plain (0.303074ms)
ℹ tests 9
ℹ suites 1
ℹ pass 6
ℹ fail 3
ℹ cancelled 0
ℹ skipped 0
ℹ todo 0
ℹ duration_ms 861.993452
`;
  const failed = [...(readResults(output)?.tests ?? [])].filter(([, outcome]) => outcome === "fail");
  expect([inShort(output), failed.map(([name]) => name)]).toEqual([
    "node-spec all: 5 2 0",
    ["parent › two", "fails by itself"],
  ]);
});

test("node's spec reporter: a parent that is fixed, or broken, by itself is judged under its own name", () => {
  const summary = (pass: number, fail: number, cancelled = 0) =>
    `ℹ tests 3\nℹ suites 2\nℹ pass ${pass}\nℹ fail ${fail}\nℹ cancelled ${cancelled}\nℹ duration_ms 432.8\n`;
  const green = `▶ parent
  ✔ sub (0.886619ms)
✔ parent (7.676482ms)
▶ outer
  ▶ inner
    ✔ b (0.216031ms)
  ✔ inner (0.56092ms)
✔ outer (2.542206ms)
${summary(3, 0)}`;
  const byParent = `${green.replace("✔ parent", "✖ parent").replace(/ℹ tests.*/s, summary(2, 1))}
✖ failing tests:

test at b.test.mjs:3:1
✖ parent (7.676482ms)
`;
  const byChild = green
    .replace("✔ sub", "✖ sub")
    .replace("✔ parent", "✖ parent")
    .replace(/ℹ tests.*/s, summary(1, 2));
  const byBoth = `${byChild}
✖ failing tests:

test at b.test.mjs:3:44
✖ sub (0.886619ms)

test at b.test.mjs:3:1
✖ parent (7.676482ms)
`;
  const byHook = `${green
    .replace(/✔ b .*/, "✖ b\n      'test did not finish before its parent and was cancelled'\n")
    .replace("✔ inner", "✖ inner")
    .replace("✔ outer", "✖ outer")
    .replace(/ℹ tests.*/s, summary(2, 0, 1))}
✖ failing tests:

test at b.test.mjs:7:5
✖ b
  'test did not finish before its parent and was cancelled'

test at b.test.mjs:6:3
✖ inner (0.56092ms)
`;
  const judge = (...outputs: readonly [string, string]) => {
    const [before, draft] = outputs.map(
      (output): CheckResult => ({
        kind: "test",
        command: "node --test",
        state: output === green ? "green" : "red",
        results: readResults(output),
      }),
    ) as [CheckResult, CheckResult];
    const { verdict, worse, mended } = judgeAll({ baseline: [before], draft: [draft], old: null });
    return [verdict, ...worse, "|", ...mended].join(" ");
  };
  expect([
    judge(byParent, green),
    judge(green, byParent),
    judge(green, byChild),
    judge(byChild, green),
    judge(byChild, byBoth),
    judge(byBoth, byParent),
    judge(byHook, green),
    judge(green, byHook),
  ]).toEqual([
    "better | parent",
    "worse parent |",
    "worse parent › sub |",
    "better | parent › sub",
    "worse parent |",
    "better | parent › sub",
    "better | outer › inner › b outer › inner",
    "worse outer › inner › b outer › inner |",
  ]);
  // A suite, or a subtest, that is new or goes is no test of its own.
  expect(inShort(green)).toBe("node-spec all: 2 0 0");
});

test("an output with a cut has no counts: tests or a summary may be missing", () => {
  const many = Array.from({ length: 900 }, (_, at) => `=== RUN   TestA${at}\n--- PASS: TestA${at} (0.00s)`);
  const whole = `${many.join("\n")}\nPASS\nok  \texample.com/a\t0.1s\n`;
  expect(readKeptCounts(whole)).toMatchObject({ passed: 900 });
  expect(readKeptCounts(cutMiddle(whole, 16_384))).toBeNull();
  const names = Array.from({ length: 100 }, (_, at) => `test tests::checks_the_case_number_${at} ... ok`);
  const crate = `running 100 tests\n${names.join("\n")}\n\ntest result: ok. 100 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\n`;
  expect(readKeptCounts(crate.repeat(5))).toMatchObject({ passed: 500 });
  expect(readKeptCounts(cutMiddle(crate.repeat(5), 16_384))).toBeNull();
});

test("a test whose name is longer than a screen is one test, and the others keep their names", () => {
  const long = `tests/test_a.py::test_deep[${"[{a = ".repeat(900)}]`;
  const printed = [
    `${long} PASSED [ 50%]`,
    "tests/test_a.py::test_b PASSED [100%]",
    "=========================== short test summary info ============================",
    `PASSED ${long}`,
    "PASSED tests/test_a.py::test_b",
    "============================== 2 passed in 0.02s ===============================",
    "",
  ].join("\n");
  const read = readResults(printed);
  expect([read?.listed, read?.counts.passed]).toEqual(["all", 2]);
  expect(read?.tests.get("tests/test_a.py::test_b")).toBe("pass");
});
