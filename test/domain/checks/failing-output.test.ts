import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { foldAccounts } from "../../../src/domain/checks/failures.ts";
import { createTestCounter, failingOutput, readResults } from "../../../src/domain/checks/read-results.ts";

const FIXTURES = join(import.meta.dir, "fixtures");
const read = (name: string) => readFileSync(join(FIXTURES, name), "utf8");
const WHOLE = 1_000_000;

describe("what a runner printed, without the tests that passed", () => {
  test("of a thousand lines of TAP the failing one is left with its details", () => {
    const passed = Array.from({ length: 1000 }, (_, i) => `# title ${i}\nok ${i + 1} should be equal`);
    const failed = [
      "# the bad one",
      "not ok 1001 should be equal",
      "  ---",
      "    expected: 1",
      "    actual: 2",
      "  ...",
    ];
    const output = ["TAP version 13", ...passed, ...failed, "", "1..1001", "# tests 1001", "# fail  1"];
    expect(failingOutput(output.join("\n"), WHOLE).split("\n")).toEqual([
      "TAP version 13",
      "… 2000 lines about tests that did not fail …",
      ...failed,
      "",
      "1..1001",
      "# tests 1001",
      "# fail  1",
    ]);
  });

  const red = readdirSync(FIXTURES).filter((name) => name.endsWith("-red.txt"));

  test.each(red)("%s: every line that tells of a failure stays", (name) => {
    const output = read(name);
    const kept = new Set(failingOutput(output, WHOLE).split("\n"));
    const telling = output
      .split("\n")
      .filter((line) => /not ok|[✗✖×✕]|\bFAIL|Error|expected|panicked/i.test(line))
      // Surefire lists passed tests of a red class at the level ERROR.
      .filter((line) => !/^\s*(?:ok \d|[✓✔√] |=== )|Time elapsed: [\d.]+ s$/.test(line));
    expect(telling.filter((line) => !kept.has(line))).toEqual([]);
  });

  test("of pytest neither skipped tests nor rows of dots stay, and a repeated failure stays once", () => {
    const account = (name: string, line: number) => [
      `___ test_pager[${name}] ___`,
      "",
      `name = '${name}'`,
      ">       subprocess.call(name)",
      "E       NameError: name 'subprocess' is not defined",
      "",
      `tests/test_termui.py:${line}: NameError`,
    ];
    const output = [
      "....ssss [ 50%]",
      "..FFFF.. [100%]",
      "=== FAILURES ===",
      ...[...account("a", 14), ...account("b", 14), ...account("c", 30), ...account("d", 30)],
      "=== short test summary info ===",
      "SKIPPED [16] tests/test_termui.py:385: Tests user-input using the msvcrt module.",
      "FAILED tests/test_termui.py::test_pager[a] - NameError...",
    ];
    expect(failingOutput(output.join("\n"), WHOLE).split("\n")).toEqual([
      "… 2 lines about tests that did not fail …",
      "..FFFF.. [100%]",
      "=== FAILURES ===",
      ...account("a", 14),
      "… the same failure 3 times more, also at tests/test_termui.py:30 …",
      "=== short test summary info ===",
      "FAILED tests/test_termui.py::test_pager[a] - NameError...",
    ]);
  });

  test("colours hide neither points nor tests that passed", () => {
    const points = `${"\u001b[32m.\u001b[0m".repeat(70)}\u001b[32m [ 20%]\u001b[0m`;
    const passed = "\u001b[32mPASSED\u001b[0m tests/test_a.py::\u001b[1mtest_one\u001b[0m";
    const failed = "\u001b[31mFAILED\u001b[0m tests/test_a.py::test_two - assert 1 == 2";
    expect(failingOutput([points, passed, failed, ""].join("\n"), 10_000)).toBe(
      "… 2 lines about tests that did not fail …\nFAILED tests/test_a.py::test_two - assert 1 == 2\n",
    );
  });

  test("comments of a source that a failure quotes stay", () => {
    const output = [
      "tests/test_a.py::test_one PASSED [ 50%]",
      "=== FAILURES ===",
      "___ test_two ___",
      "    def test_two():",
      "        # the first comment",
      "        # the second comment",
      ">       assert one() == 2",
      "E       assert 1 == 2",
      "tests/test_a.py:4: AssertionError",
    ];
    expect(failingOutput(output.join("\n"), WHOLE).split("\n")).toEqual([
      "… 1 line about tests that did not fail …",
      ...output.slice(1),
    ]);
  });

  test("failures that differ in their error or in their place stay, each of them", () => {
    const account = (error: string, line: number) => [
      `___ test_${line} ___`,
      `E       ${error}`,
      `a.py:${line}: x`,
    ];
    const output = [
      ...account("assert 1 == 2", 3),
      ...account("assert 1 == 3", 3),
      ...account("assert 1 == 3", 4),
    ];
    expect(failingOutput(output.join("\n"), WHOLE).split("\n")).toEqual(output);
  });

  test("a line that is too long for a runner says nothing about a test", () => {
    const line = `${"a::b".repeat(2_000)} PASSED`;
    expect(failingOutput(line, WHOLE)).toBe(line);
  });

  const suites = (details: readonly string[]) =>
    Array.from({ length: 300 }, (_, i) => {
      const mark = i === 150 ? "not ok" : "ok";
      const inner = ["  # Subtest: is right", `  ${mark} 1 - is right`, ...details, "  1..1"];
      return [`# Subtest: suite ${i}`, ...inner, `${mark} ${i + 1} - suite ${i}`];
    }).flat();

  test("of hundreds of suites within suites one line counts what passed, and the failure stays whole below its titles", () => {
    const details = ["    ---", "    duration_ms: 1", "    ..."];
    const tap = suites(details);
    expect(failingOutput(tap.join("\n"), 6000).split("\n")).toEqual([
      "… 2393 lines about tests that did not fail …",
      "# Subtest: suite 150",
      "  # Subtest: is right",
      "  not ok 1 - is right",
      ...details,
      "not ok 151 - suite 150",
    ]);
  });

  test("node's spec reporter: a suite that passed leaves neither its title nor a line between", () => {
    const suite = (name: string, mark: string) => [
      `▶ ${name}`,
      `  ${mark} is right (1ms)`,
      `${mark} ${name} (2ms)`,
      "",
    ];
    const output = [...suite("a", "✔"), ...suite("b", "✖"), ...suite("c", "✔"), "ℹ fail 1"];
    expect(failingOutput(output.join("\n"), WHOLE).split("\n")).toEqual([
      "… 8 lines about tests that did not fail …",
      ...suite("b", "✖"),
      "ℹ fail 1",
    ]);
  });

  test("output before the first failure gives way to it", () => {
    const noise = Array.from({ length: 500 }, (_, i) => `listening on port ${i}`);
    const failed = ["not ok 1 - is right", "  ---", "  error: 1 is not 2", "  ..."];
    expect(failingOutput([...noise, "ok 1 - a", ...failed, "# fail 1"].join("\n"), 500).split("\n")).toEqual([
      "… 501 lines before the first failure or about tests that did not fail …",
      ...failed,
      "# fail 1",
    ]);
  });

  test("output that is still too long keeps its head and its tail", () => {
    const cut = failingOutput(`first\n${"x".repeat(5000)}\nlast`, 1000);
    expect([cut.startsWith("first"), cut.endsWith("last"), cut.length < 1100]).toEqual([true, true, true]);
  });
});

test("tests are counted while the runner still prints, for any pieces", () => {
  const counter = createTestCounter();
  for (const piece of ["TAP version 13\nok 1 - fi", "rst\nnot ok 2 - second\n  ---\n", "  ...\n"])
    counter.add(piece);
  expect([counter.done, counter.latest]).toEqual([2, "second"]);
  counter.add("=== RUN   TestThird\n");
  expect([counter.done, counter.latest]).toEqual([2, "TestThird"]);
  counter.add("[INFO] p.q.OtherTest.fine -- Time elapsed: 0.365 s\n");
  expect([counter.done, counter.latest]).toEqual([3, "p.q.OtherTest.fine"]);
  counter.add("fails(p.SumTest)  Time elapsed: 0.011 sec  <<< FAILURE!\n");
  expect([counter.done, counter.latest]).toEqual([4, "fails(p.SumTest)"]);
});

describe("the accounts of tests that cannot pass without the change either", () => {
  const fold = (lines: readonly string[], others: readonly string[]) =>
    foldAccounts(lines.join("\n"), readResults(`${lines.join("\n")}\n`)?.tests ?? new Map(), others).split(
      "\n",
    );

  test("end in pytest's output where the account of a test begins whose name is not clear", () => {
    const pytest = [
      "t.py::test_red FAILED [ 33%]",
      "t.py::TestA::test_same FAILED [ 66%]",
      "t.py::TestB::test_same PASSED [100%]",
      "=================================== FAILURES ===================================",
      "___________________________________ test_red ___________________________________",
      "E   assert 1 == 2",
      "_______________________________ TestX.test_same ________________________________",
      "E   assert 3 == 4",
      "==================== 2 failed, 1 passed in 0.10s ====================",
    ];
    const shown = fold(pytest, ["t.py::test_red"]);
    expect(shown).toContain("E   assert 3 == 4");
    expect(shown).not.toContain("E   assert 1 == 2");
  });

  test("are folded in pytest's output, with their lines of the summary", () => {
    const pytest = [
      "tests/test_a.py::test_a FAILED [ 50%]",
      "tests/test_b.py::TestB::test_b ERROR [100%]",
      "==================================== ERRORS ====================================",
      "___________________ ERROR collecting tests/test_3rd_party.py ___________________",
      "Traceback:",
      "E   ModuleNotFoundError: No module named 'hypothesis'",
      "________________ ERROR at setup of TestB.test_b ________________",
      "E   fixture 'mocker' not found",
      "=================================== FAILURES ===================================",
      "____________________________________ test_a ____________________________________",
      "E   assert 1 == 2",
      "=========================== short test summary info ============================",
      "FAILED tests/test_a.py::test_a - assert 1 == 2",
      "ERROR tests/test_3rd_party.py",
      "ERROR tests/test_b.py::TestB::test_b",
      "==================== 1 failed, 2 errors in 0.10s ====================",
    ];
    expect(fold(pytest, ["tests/test_3rd_party.py", "tests/test_b.py::TestB::test_b"])).toEqual([
      "tests/test_a.py::test_a FAILED [ 50%]",
      pytest[2] as string,
      "… the output of 2 tests that cannot pass without your change either …",
      ...pytest.slice(8, 13),
      pytest.at(-1) as string,
    ]);
  });

  test("are folded in node's, as far as lines are below their title", () => {
    const node = [
      "TAP version 13",
      "not ok 1 - greets",
      "  ---",
      "  error: 'ENOENT'",
      "  ...",
      "a line of its own",
      "not ok 2 - adds",
      "  ---",
      "  error: '2 !== 5'",
      "  ...",
      "1..2",
      "# tests 2",
      "# pass 0",
      "# fail 2",
      "# skipped 0",
    ];
    expect(fold(node, ["greets"])).toEqual([
      "TAP version 13",
      "… the output of 1 test that cannot pass without your change either …",
      ...node.slice(5),
    ]);
    expect(fold(node, ["another"])).toEqual(node);
  });
});
