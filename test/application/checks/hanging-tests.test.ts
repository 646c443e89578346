import { expect, test } from "bun:test";
import { checkResult } from "../../../src/application/checks/baseline.ts";
import {
  type JudgeDraftDeps,
  type JudgedDraft,
  judgeDraft,
} from "../../../src/application/checks/judge-draft.ts";
import type { CheckRequest, CheckRun } from "../../../src/application/ports/jobs-draft.ts";
import { toChecksRecord } from "../../../src/domain/checks/findings.ts";

const FILES = new Map([
  ["src/a.py", "def give():\n    while True:\n        pass\n"],
  ["tests/test_a.py", "from src.a import give\n\n\ndef test_a():\n    give()\n"],
  ["tests/test_b.py", "def test_b():\n    pass\n"],
]);
const CHECK = { kind: "test", command: "pytest", line: "python -m pytest -v -rA" } as const;
const PASSED = [
  "============ test session starts ============",
  "tests/test_a.py::test_a PASSED",
  "tests/test_b.py::test_b PASSED",
  "============ 2 passed in 20.00s ============\n",
].join("\n");

/** A draft whose tests hang: every run over it is ended after 90 seconds. */
function hangingDraft(lines: string[]): JudgedDraft {
  const run = { outcome: "timed-out", exitCode: null, output: "", whole: "", durationMs: 90_000 } as const;
  return {
    changes: () => [{ path: "src/a.py", kind: "modified" }],
    diff: () => [{ path: "src/a.py", before: new Uint8Array(), after: new TextEncoder().encode("x") }],
    files: {
      list: (folder: string) =>
        folder === ""
          ? ["src", "tests"]
          : [...FILES.keys()].flatMap((path) => path.split(`${folder}/`)[1] ?? []),
      look: (path: string) => {
        const size = FILES.get(path)?.length;
        return size === undefined ? { kind: "directory" } : { kind: "file", size };
      },
      read: (path: string) => new TextEncoder().encode(FILES.get(path)),
    },
    check: async ({ commands }: Pick<CheckRequest, "commands">) => {
      lines.push(...commands);
      return { ok: true, runs: commands.map((command) => ({ ...run, command }) as CheckRun) };
    },
  } as unknown as JudgedDraft;
}

/** Everything but the checks, the draft and what the checks showed before the change. */
const about: Omit<JudgeDraftDeps, "checks" | "baseline"> = {
  settings: { enabled: "auto", timeout: 300, auto_limit: 60, network: false, command: null },
  memory: { recall: () => null, keep: () => {}, fingerprint: () => "", running: new Map() } as never,
  now: () => 0,
  signal: new AbortController().signal,
  declarations: [],
  advise: (_step, _otherwise, run) => run() as never,
};

test("a linter that did not end before the change either is not why the tests are worse", async () => {
  const lint = { kind: "lint", command: "npm run lint", line: "eslint ." } as const;
  const before = [
    checkResult(CHECK, { outcome: "exited", exitCode: 0, whole: PASSED }),
    checkResult(lint, { outcome: "timed-out", exitCode: null, whole: "" }),
  ];
  const red = PASSED.replace("test_a PASSED", "test_a FAILED").replace("2 passed", "1 failed, 1 passed");
  const draft = hangingDraft([]);
  const judged = await judgeDraft(
    {
      ...about,
      checks: [CHECK, lint],
      baseline: async () => ({ ok: true, fingerprint: "", results: before, isFlaky: false }),
    },
    {
      ...draft,
      check: async (request) => {
        const ran = await draft.check(request);
        if (!ran.ok) return ran;
        const failed = { outcome: "exited", exitCode: 1, whole: red, durationMs: 1000 } as const;
        return {
          ok: true,
          runs: ran.runs.map((run) => (run.command.includes("eslint") ? run : { ...run, ...failed })),
        };
      },
    },
    1,
  );
  const { verdict, worse, unended } = toChecksRecord(judged.facts);
  expect({ verdict, worse, unended }).toEqual({
    verdict: "worse",
    worse: ["tests/test_a.py::test_a"],
    unended: undefined,
  });
});

test("tests that hang since the change are begun once in an attempt, and the seconds after which they were ended are named", async () => {
  const lines: string[] = [];
  const results = [checkResult(CHECK, { outcome: "exited", exitCode: 0, whole: PASSED })];
  const judged = await judgeDraft(
    {
      ...about,
      checks: [CHECK],
      baseline: async () => ({ ok: true, fingerprint: "", results }),
    },
    hangingDraft(lines),
    1,
  );
  expect(toChecksRecord(judged.facts)).toMatchObject({
    verdict: "worse",
    unended: { commands: ["pytest"], seconds: 90 },
  });
  expect(lines).toHaveLength(1);
});
