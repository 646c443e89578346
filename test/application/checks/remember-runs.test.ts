import { expect, test } from "bun:test";
import { measureBaseline } from "../../../src/application/checks/baseline.ts";
import type { JudgedDraft } from "../../../src/application/checks/judge-draft.ts";
import { createProjectChecks } from "../../../src/application/checks/project-checks.ts";
import { createRunMemory } from "../../../src/application/checks/remember-runs.ts";
import { createAdvise } from "../../../src/application/platform/advise.ts";
import type { CheckRecord } from "../../../src/application/ports/checks.ts";
import type { CheckRequest } from "../../../src/application/ports/jobs-draft.ts";
import { readResults } from "../../../src/domain/checks/read-results.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";

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
      const printed = { output: "", whole: "" };
      const run = { command: "", exitCode: 0, outcome: "exited" as const, durationMs: 146_000, ...printed };
      return Promise.resolve({ ok: true, runs: [run] });
    },
  };
  const runs = createRunMemory({ fingerprint: () => "w", now: () => 0, usualMs: 0, hung: [] }).over(draft);
  await runs.check(REQUEST);
  await runs.check({ ...REQUEST, asBefore: ["a.go"], timeoutSeconds: 60 });
  expect(limits).toEqual([300, 292]);
});

test("a line of which nothing is known is ended no later than the baseline would be, and not before a minute", async () => {
  const { draft, clock, before } = openHanging(["a.test.mjs"], { "node --test": [] });
  const limitOf = async (unknownSeconds: number) => {
    const runs = createRunMemory({
      fingerprint: () => "w",
      now: () => 0,
      usualMs: 0,
      unknownSeconds,
      hung: [],
    });
    const from = clock.ms;
    await runs.over(draft).check({ ...before, commands: ["node --test"] });
    return (clock.ms - from) / 1000;
  };
  expect([await limitOf(90), await limitOf(5), await limitOf(900)]).toEqual([90, 60, 300]);
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
      return Promise.resolve({ ok: true, runs: [{ ...run, output: whole, whole }] });
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

test("the rest of a Go suite leaves out what ran first, unless another package has a test of that name", async () => {
  const texts: Record<string, string> = {
    "a_test.go": "func TestOne(t *testing.T) {}\n",
    "sub/b_test.go": "func TestTwo(t *testing.T) {}\n",
  };
  const lines: string[] = [];
  const draft: JudgedDraft = {
    files: {
      list: (folder: string) => (folder === "" ? ["a_test.go", "sub"] : ["b_test.go"]),
      look: (path: string) => ({ kind: path === "sub" ? "directory" : "file", mode: 0o644, size: 1 }),
      read: (path: string) => Buffer.from(texts[path] ?? ""),
    } as unknown as JudgedDraft["files"],
    changes: () => [{ path: "a.go", kind: "modified" }],
    diff: () => [{ path: "a.go", before: Buffer.from("1"), after: Buffer.from("2") }],
    check({ commands: [command = ""] }) {
      lines.push(command);
      const printed = { output: "", whole: "" };
      const run = { command, exitCode: 0, outcome: "exited" as const, durationMs: 1, ...printed };
      return Promise.resolve({ ok: true, runs: [run] });
    },
  };
  const run = async () => {
    const memory = createRunMemory({ fingerprint: () => "w", now: () => 0, usualMs: 0, hung: [] });
    const runs = memory.over(draft);
    await runs.check({ ...REQUEST, commands: ["go test -v ./ -run '^(TestOne)$'"] });
    await runs.check({ ...REQUEST, commands: ["go test -v ./..."] });
    return lines.splice(0).at(-1);
  };
  expect(await run()).toBe("go test -v ./... -skip '^(TestOne)$'");
  texts["sub/b_test.go"] = "func TestOne(t *testing.T) {}\n";
  expect(await run()).toBe("go test -v ./...");
});

/** A project of these test files, where some lines hang with these processes. */
function openHanging(names: readonly string[], hanging: Readonly<Record<string, readonly string[]>>) {
  const files = {
    list: () => names,
    look: () => ({ kind: "file", mode: 0o644, size: 1 }),
    read: () => Buffer.from('test("holds", () => {});\n'),
  };
  const lines: string[] = [];
  const clock = { ms: 0 };
  const draft: JudgedDraft = {
    files: files as unknown as JudgedDraft["files"],
    changes: () => [],
    diff: () => [],
    check({ commands: [command = ""], timeoutSeconds }) {
      lines.push(command);
      clock.ms += timeoutSeconds * 1000;
      const printed = { output: "", whole: "", durationMs: 1, command, directory: "/w" };
      const running = hanging[command];
      const ended =
        running === undefined
          ? { outcome: "exited" as const, exitCode: 0 }
          : { outcome: "timed-out" as const, exitCode: null, running };
      return Promise.resolve({ ok: true, runs: [{ ...printed, ...ended }] });
    },
  };
  const memory = createRunMemory({ fingerprint: () => "w", now: () => clock.ms, usualMs: 0, hung: [] });
  return { memory, draft, lines, clock, before: { ...REQUEST, over: "baseline" as const } };
}

test("a file that hangs in a run which names no files is left out of those that do", async () => {
  const { memory, draft, lines, before } = openHanging(["a.test.mjs", "serves.test.mjs"], {
    "npm test": ["node /w/serves.test.mjs"],
  });
  const runs = memory.over(draft);
  await runs.check({ ...before, commands: ["npm test"] });
  await runs.check({ ...before, commands: ["node --test a.test.mjs serves.test.mjs"] });
  expect(lines).toEqual(["npm test", "node --test a.test.mjs"]);
  expect([memory.hung().map(({ file }) => file), memory.named()]).toEqual([
    ["serves.test.mjs"],
    ["serves.test.mjs"],
  ]);
  const next = createRunMemory({ fingerprint: () => "w", now: () => 0, usualMs: 0, hung: memory.hung() });
  await next.over(draft).check({ ...before, commands: ["node --test a.test.mjs"] });
  expect(next.named()).toEqual([]);
});

test("a file that hung is run again once it, or what it imports, changed, or after a day", async () => {
  const texts: Record<string, string> = {
    "a.test.mjs": 'test("holds", () => {});\n',
    "serves.test.mjs": 'import "./port.mjs";\ntest("serves", () => {});\n',
    "port.mjs": "export const port = 80;\n",
    "other.mjs": "export const other = 1;\n",
  };
  const line = "node --test a.test.mjs serves.test.mjs";
  const { memory, draft, before } = openHanging(Object.keys(texts), { [line]: ["node /w/serves.test.mjs"] });
  const files = { ...draft.files, read: (path: string) => Buffer.from(texts[path] ?? "") };
  const project = { ...draft, files } as JudgedDraft;
  await memory.over(project).check({ ...before, commands: [line] });
  const hung = memory.hung();
  const linesOf = async (now: number, over: "baseline" | "draft" = "baseline") => {
    const lines: string[] = [];
    const check: JudgedDraft["check"] = (request) => {
      lines.push(...request.commands);
      return draft.check(request);
    };
    const changes: JudgedDraft["changes"] = () => [{ path: "port.mjs", kind: "modified" }];
    const diff = () => [{ path: "port.mjs", before: Buffer.from("80"), after: Buffer.from("81") }];
    const next = createRunMemory({ fingerprint: () => "w", now: () => now, usualMs: 0, hung });
    const judged = over === "draft" ? { ...project, changes, diff, check } : { ...project, check };
    await next.over(judged).check({ ...before, over, commands: [line] });
    return lines;
  };
  const left = ["node --test a.test.mjs"];
  const at = hung[0]?.at ?? 0;
  expect(await linesOf(at)).toEqual(left);
  texts["other.mjs"] = "export const other = 2;\n";
  expect(await linesOf(at)).toEqual(left);
  expect(await linesOf(at + 25 * 60 * 60 * 1000)).toContain(line);
  texts["port.mjs"] = "export const port = 81;\n";
  expect(await linesOf(at)).toContain(line);
  // Without a run over the workspace there is nothing to compare it with.
  expect(await linesOf(at, "draft")).toEqual(left);
});

test("a file that hangs again after a day is left out for another day", async () => {
  const line = "node --test a.test.mjs serves.test.mjs";
  const { draft, lines, clock } = openHanging(["a.test.mjs", "serves.test.mjs"], {
    [line]: ["node /w/serves.test.mjs"],
  });
  let [record, workspace]: [CheckRecord | null, string] = [null, ""];
  const runsOfJob = async (named: string) => {
    workspace = named;
    lines.length = 0;
    const checks = createProjectChecks({
      checks: [{ kind: "test", command: line, line }],
      settings: { command: null, timeout: 60, auto_limit: 60, network: false, enabled: "auto" },
      memory: {
        fingerprint: () => workspace,
        recall: () => record,
        keep: (kept) => {
          record = kept;
        },
        running: new Map(),
      },
      texts: checksMessagesFor("en"),
      now: () => clock.ms,
      advise: createAdvise(),
      signal: new AbortController().signal,
    });
    checks.declare("Fixes: serves");
    await checks.judge(draft, 1);
    return [...lines];
  };
  const left = "node --test a.test.mjs";
  expect(await runsOfJob("first")).toEqual([line, left]);
  expect(await runsOfJob("second")).toEqual([left]);
  clock.ms += 25 * 60 * 60 * 1000;
  expect(await runsOfJob("third")).toEqual([line, left]);
  expect(await runsOfJob("fourth")).toEqual([left]);
});

test("checks that took far longer than the last time are ended by their own limit, so that the affected tests judge alone", async () => {
  const line = "node --test a.test.mjs b.test.mjs";
  const { memory, draft } = openHanging(["a.test.mjs", "b.test.mjs"], { [line]: [] });
  const quick = { lines: [line], fingerprint: "old", at: 0, durationMs: 9, wasEnded: false };
  const kept: CheckRecord[] = [{ ...quick, results: null }];
  const baseline = await measureBaseline(
    {
      checks: [{ kind: "test", command: line, line }],
      settings: { command: null, timeout: 300, auto_limit: 1500, network: false, enabled: "auto" },
      memory: {
        fingerprint: () => "new",
        recall: () => kept.at(-1) ?? null,
        keep: (record) => void kept.push(record),
        running: new Map(),
      },
      now: () => 0,
      signal: new AbortController().signal,
    },
    memory.over(draft),
  );
  expect([baseline, kept.at(-1)?.wasEnded]).toEqual([{ ok: false, why: "unended" }, false]);
});

test("a check whose only file hangs is ended by its time limit, and the next check is run", async () => {
  const line = "node --test app.test.mjs";
  const { memory, draft, lines, before } = openHanging(["app.test.mjs"], {
    [line]: [`bash -c ${line}`, line, "/usr/bin/node /w/app.test.mjs"],
  });
  const checked = await memory.over(draft).check({ ...before, commands: [line, "eslint ."] });
  expect(checked.ok && checked.runs.map(({ outcome }) => outcome)).toEqual(["timed-out", "exited"]);
  expect([lines, memory.named()]).toEqual([[line, "eslint ."], []]);
  const next = createRunMemory({ fingerprint: () => "w", now: () => 0, usualMs: 0, hung: memory.hung() });
  const again = await next.over(draft).check({ ...before, commands: [line] });
  expect(again.ok && again.runs.map(({ outcome }) => outcome)).toEqual(["timed-out"]);
});

test("a check whose files hang one after the other is not run a third time", async () => {
  const { memory, draft, lines, before } = openHanging(["a.test.mjs", "b.test.mjs"], {
    "node --test a.test.mjs b.test.mjs": ["node /w/a.test.mjs"],
    "node --test b.test.mjs": ["node /w/b.test.mjs"],
  });
  const checked = await memory
    .over(draft)
    .check({ ...before, commands: ["node --test a.test.mjs b.test.mjs"] });
  expect(checked.ok && checked.runs.map(({ outcome }) => outcome)).toEqual(["timed-out"]);
  expect(lines).toEqual(["node --test a.test.mjs b.test.mjs", "node --test b.test.mjs"]);
});

test("a command that fails by our own options, because its tests read them, is run without them", async () => {
  const lines: string[] = [];
  const named = "npm test -- --reporters=default --verbose";
  const draft: JudgedDraft = {
    files: {} as JudgedDraft["files"],
    changes: () => [],
    diff: () => [],
    check({ commands: [line = ""] }) {
      lines.push(line);
      const whole =
        line === named
          ? "error: unknown option '--reporters=default'\n"
          : "PASS tests/a.test.js\n\nTests:       1 passed, 1 total\n";
      const exitCode = line === named ? 1 : 0;
      const run = {
        command: line,
        exitCode,
        outcome: "exited" as const,
        durationMs: 10,
        output: whole,
        whole,
      };
      return Promise.resolve({ ok: true, runs: [run] });
    },
  };
  const baseline = await measureBaseline(
    {
      checks: [{ kind: "test", command: "npm test", line: named, script: "jest" }],
      settings: { command: null, timeout: 300, auto_limit: 60, network: false, enabled: "auto" },
      memory: { fingerprint: () => "w", recall: () => null, keep: () => {}, running: new Map() },
      now: () => 0,
      signal: new AbortController().signal,
    },
    draft,
  );
  expect(lines).toEqual([named, "npm test"]);
  expect(baseline.ok && baseline.results.map(({ state, rung }) => [state, rung?.line, rung?.why])).toEqual([
    ["green", "npm test", "options"],
  ]);
});
