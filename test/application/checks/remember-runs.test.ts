import { expect, test } from "bun:test";
import type { JudgedDraft } from "../../../src/application/checks/judge-draft.ts";
import { createRunMemory } from "../../../src/application/checks/remember-runs.ts";
import type { CheckRequest } from "../../../src/application/ports/jobs-draft.ts";
import { readResults } from "../../../src/domain/checks/read-results.ts";

const REQUEST: CheckRequest = {
  commands: ["go test ./..."],
  over: "draft",
  attempt: 1,
  network: false,
  timeoutSeconds: 300,
  home: "bare",
};

test("a line that ended late over the draft gets the time to end over the old code", async () => {
  const limits: number[] = [];
  const draft: JudgedDraft = {
    files: { look: () => ({ kind: "file", mode: 0o644, size: 1 }) } as unknown as JudgedDraft["files"],
    changes: () => [{ path: "a.go", kind: "modified" }],
    diff: () => [{ path: "a.go", before: Buffer.from("1"), after: Buffer.from("2") }],
    check({ timeoutSeconds }) {
      limits.push(timeoutSeconds);
      const printed = { output: "", whole: "", wholeStdout: "" };
      const run = { command: "", exitCode: 0, outcome: "exited" as const, durationMs: 146_000, ...printed };
      return Promise.resolve({ ok: true, runs: [run] });
    },
  };
  const runs = createRunMemory({ fingerprint: () => "w", now: () => 0, usualMs: 0, hung: [] }).over(draft);
  await runs.check(REQUEST);
  await runs.check({ ...REQUEST, asBefore: ["a.go"], timeoutSeconds: 60 });
  expect(limits).toEqual([300, 292]);
});

test.each([
  ["none", [["a"], ["b"]], 2],
  ["all", [["a"], ["a", "b"]], 2],
  [
    "some",
    [
      ["a", "b"],
      ["b", "c"],
      ["a", "b", "c"],
    ],
    3,
  ],
] as const)("each test counts once where the rest of a line repeats %s", async (_, printed, passed) => {
  const outputs = printed.map(
    (names) =>
      `${names.map((name) => `tests/test_a.py::${name} PASSED\n`).join("")}=== ${names.length} passed in 0.01s ===\n`,
  );
  const lines: string[] = [];
  const draft: JudgedDraft = {
    files: { look: () => ({ kind: "file", mode: 0o644, size: 1 }) } as unknown as JudgedDraft["files"],
    changes: () => [{ path: "a.py", kind: "modified" }],
    diff: () => [{ path: "a.py", before: Buffer.from("1"), after: Buffer.from("2") }],
    check({ commands }) {
      lines.push(...commands);
      const whole = outputs.shift() ?? "";
      const run = { command: commands[0] ?? "", exitCode: 0, outcome: "exited" as const, durationMs: 1 };
      return Promise.resolve({ ok: true, runs: [{ ...run, output: whole, whole, wholeStdout: whole }] });
    },
  };
  const runs = createRunMemory({ fingerprint: () => "w", now: () => 0, usualMs: 0, hung: [] }).over(draft);
  await runs.check({ ...REQUEST, commands: ["python3 -m pytest -v tests/test_a.py"] });
  const checked = await runs.check({ ...REQUEST, commands: ["python3 -m pytest -v"] });
  expect(lines).toEqual(
    [
      "python3 -m pytest -v tests/test_a.py",
      "python3 -m pytest -v --ignore=tests/test_a.py",
      "python3 -m pytest -v",
    ].slice(0, printed.length),
  );
  const [run] = checked.ok ? checked.runs : [];
  expect(run?.command).toBe("python3 -m pytest -v");
  expect(readResults(run?.whole ?? "")?.tests.size).toBe(passed);
  expect(readResults(run?.whole ?? "")?.counts.passed).toBe(passed);
});
