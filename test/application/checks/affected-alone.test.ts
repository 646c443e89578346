import { expect, test } from "bun:test";
import { type Affected, type AffectedDeps, judgeAffected } from "../../../src/application/checks/affected.ts";
import type { CheckRun } from "../../../src/application/ports/jobs-draft.ts";

const CRASH =
  "error: unknown option '--verbose'\n  ●  process.exit called with \"1\"\n      at lib/command.js:539:13\n";
const PASSED =
  "PASS tests/a.test.js\n  ✓ adds (2 ms)\n\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n";

const affected: Affected = {
  files: ["tests/a.test.js"],
  touched: [],
  readers: new Map(),
  near: [],
  ranked: [],
  of: 9,
  texts: new Map([["tests/a.test.js", 'test("adds", () => {});\n']]),
  narrow: (check, files) =>
    files.length === 0 ? null : { ...check, line: `jest --verbose ${files.join(" ")}` },
  cheaply: () => null,
  cheaper: () => [],
};

/** A runner that prints one text over the draft and another over the old code. */
function runner(draft: string, older: string): AffectedDeps {
  return {
    checks: [{ kind: "test", command: "npm test", line: "npm test" }],
    repeatedMs: 60_000,
    draft: { changes: () => [{ path: "lib/command.js", kind: "modified" }], diff: () => [] } as never,
    check: async (checks, more) => {
      const whole = more?.asBefore === undefined ? draft : older;
      const exitCode = whole === PASSED ? 0 : 1;
      const run = { outcome: "completed", exitCode, output: whole, whole, durationMs: 1 };
      return { ok: true, runs: checks.map(({ line }) => ({ ...run, command: line })) as CheckRun[] };
    },
  };
}

test("affected tests whose own command line fails, with the change and without it, judge nothing", async () => {
  expect(await judgeAffected(runner(CRASH, CRASH), affected)).toBeNull();
});

test("affected tests that can be read on one side judge", async () => {
  expect((await judgeAffected(runner(PASSED, CRASH), affected))?.judgement.verdict).toBeDefined();
  expect((await judgeAffected(runner(CRASH, PASSED), affected))?.judgement.verdict).toBe("worse");
});

test("an old test that is flaky beside a failing test of a new file passes", async () => {
  const files = ["tests/a.test.js", "tests/n.test.js"];
  const ran = (title: string, passes: boolean) =>
    `${passes ? "PASS" : "FAIL"} tests/x.test.js\n  ${passes ? "✓" : "✕"} ${title} (2 ms)\n\nTest Suites: 1 ${passes ? "passed" : "failed"}, 1 total\nTests:       1 ${passes ? "passed" : "failed"}, 1 total\n`;
  let runs = 0;
  const judged = await judgeAffected(
    {
      ...runner("", ""),
      draft: {
        changes: () => [
          { path: "lib/command.js", kind: "modified" },
          { path: "tests/n.test.js", kind: "added" },
        ],
        diff: () => [],
      } as never,
      check: async (checks, more) => {
        if (more?.asBefore === undefined) runs++;
        const printed = checks.map(({ line }) =>
          line.includes("n.test")
            ? ran("is new", false)
            : ran("adds", more?.asBefore !== undefined || runs > 1),
        );
        return {
          ok: true,
          runs: printed.map((whole) => ({
            outcome: "completed",
            exitCode: whole.startsWith("PASS") ? 0 : 1,
            whole,
            durationMs: 1,
          })) as never,
        };
      },
    },
    {
      ...affected,
      files,
      texts: new Map([
        ["tests/a.test.js", 'test("adds", () => {});\n'],
        ["tests/n.test.js", 'test("is new", () => {});\n'],
      ]),
    },
  );
  const { verdict, worse, newFailing } = judged?.judgement ?? {};
  expect({ verdict, worse, newFailing, flaky: judged?.flaky }).toEqual({
    verdict: "new-failing",
    worse: [],
    newFailing: ["tests/x.test.js › is new"],
    flaky: ["tests/x.test.js › adds"],
  });
});

test.each([
  [
    "passes in a second run with the others, is flaky and counts as passed",
    [false, true, true],
    60_000,
    { verdict: "same", flaky: ["adds"], together: [], unrepeated: [] },
  ],
  [
    "fails in a second run with the others, is worse",
    [false, true, false],
    60_000,
    { verdict: "worse", flaky: [], together: ["adds"], unrepeated: [] },
  ],
  [
    "is in a run too long to repeat, passed in none",
    [false, true],
    0,
    { verdict: "same", flaky: ["adds"], together: [], unrepeated: ["adds"] },
  ],
])("a test that fails with others, passes alone and %s", async (_, outcomes, repeatedMs, expected) => {
  const left = [...outcomes];
  const ran = (passes: boolean) =>
    `${passes ? "PASS" : "FAIL"} a.js\n  ${passes ? "✓" : "✕"} adds (2 ms)\n\nTest Suites: 1 total\nTests:       1 ${passes ? "passed" : "failed"}, 1 total\n`;
  const deps: AffectedDeps = {
    ...runner("", ""),
    repeatedMs,
    check: async (checks, more) => {
      const passes = more?.asBefore !== undefined || left.shift() === true;
      const run = {
        outcome: "completed",
        exitCode: passes ? 0 : 1,
        output: "",
        whole: ran(passes),
        durationMs: 1,
      };
      return { ok: true, runs: checks.map(({ line }) => ({ ...run, command: line })) as never };
    },
  };
  const judged = await judgeAffected(deps, affected);
  const { flaky, together, unrepeated } = judged ?? {};
  const bare = (names: readonly string[] = []) => names.map((name) => name.replace("a.js › ", ""));
  const found = { flaky: bare(flaky), together: bare(together), unrepeated: bare(unrepeated) };
  expect({ verdict: judged?.judgement.verdict, ...found }).toEqual(expected as never);
  expect(left).toEqual([]);
});
