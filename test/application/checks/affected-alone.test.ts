import { expect, test } from "bun:test";
import { type Affected, type AffectedDeps, judgeAffected } from "../../../src/application/checks/affected.ts";
import type { CheckRun } from "../../../src/application/ports/jobs-draft.ts";

const CRASH =
  "error: unknown option '--verbose'\n  ●  process.exit called with \"1\"\n      at lib/command.js:539:13\n";
const PASSED =
  "PASS tests/a.test.js\n  ✓ adds (2 ms)\n\nTest Suites: 1 passed, 1 total\nTests:       1 passed, 1 total\n";

const affected: Affected = {
  files: ["tests/a.test.js"],
  of: 9,
  texts: new Map([["tests/a.test.js", 'test("adds", () => {});\n']]),
  narrow: (check, files) =>
    files.length === 0 ? null : { ...check, line: `jest --verbose ${files.join(" ")}` },
};

/** A runner that prints one text over the draft and another over the old code. */
function runner(draft: string, older: string): AffectedDeps {
  return {
    checks: [{ kind: "test", command: "npm test", line: "npm test" }],
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
