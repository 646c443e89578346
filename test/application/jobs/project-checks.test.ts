import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type CheckSettings, openChecks } from "../../../src/application/checks/baseline.ts";
import type { JudgeStep } from "../../../src/application/checks/judge-draft.ts";
import {
  createProjectChecks,
  type JudgedAttempt,
  type ProjectChecks,
} from "../../../src/application/checks/project-checks.ts";
import { createAdvise } from "../../../src/application/platform/advise.ts";
import type { CheckProgress } from "../../../src/application/ports/checks.ts";
import type { Draft } from "../../../src/application/ports/jobs-draft.ts";
import type { Workspace } from "../../../src/application/ports/jobs-workspace.ts";
import { toChecksRecord } from "../../../src/domain/checks/findings.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";
import { createCheckMemory } from "../../../src/infrastructure/checks/check-memory.ts";
import { requirePart } from "../../require.ts";
import { type Bench, createBench, edit, type Settings } from "./worker-kit.ts";

const SETTINGS: CheckSettings = {
  command: null,
  timeout: 60,
  auto_limit: 60,
  network: false,
  enabled: "auto",
};
const WORKER: Settings = { PICOCLAW_WORKER_TRANSACTION: "overlay", PICOCLAW_WORKER_CONFINE: "on" };

/** Tests of a small project: each line of `cases` is a test, which passes when `code` has its word. */
const RUNNER = `n=0; bad=0; echo "TAP version 13"
[ -f broken ] && exit 3
[ -f slow ] && sleep 5
[ -f endless ] && sleep 60
while read -r word; do n=$((n+1))
  if grep -q "$word" code; then echo "ok $n - $word"; else echo "not ok $n - $word"; bad=1; fi
done < test/cases
echo "1..$n"; echo written > left-behind; exit $bad
`;

const confines = requirePart("bwrap");
let bench: Bench;
let workspace: Workspace;
beforeEach(async () => {
  bench = createBench();
  bench.write("Makefile", ".PHONY: test\ntest:\n\t@sh run.sh\n");
  bench.write("run.sh", RUNNER);
  bench.write("code", "one two\n");
  bench.write("test/cases", "one\ntwo\n");
  workspace = await bench.open(WORKER);
});
afterEach(() => bench.remove());

const memory = () => createCheckMemory({ home: join(bench.folder, "home"), root: workspace.root });
const found = (settings: Partial<CheckSettings> = {}, now = () => 0) =>
  openChecks({ files: workspace.files, settings: { ...SETTINGS, ...settings }, memory: memory(), now });

function checksWith(
  settings: Partial<CheckSettings> = {},
  onProgress?: (progress: CheckProgress) => void,
  steps?: readonly JudgeStep[],
): ProjectChecks {
  const opened = found(settings);
  if (!opened.ok) throw new Error(opened.why);
  return createProjectChecks({
    checks: opened.checks,
    settings: { ...SETTINGS, ...settings },
    memory: memory(),
    texts: checksMessagesFor("en"),
    now: () => 0,
    advise: createAdvise(),
    signal: new AbortController().signal,
    ...(onProgress !== undefined && { onProgress }),
    ...(steps !== undefined && { steps }),
  });
}

async function draftOf(...edits: readonly object[]): Promise<Draft> {
  const opened = await workspace.openDraft({
    source: "test",
    startedBy: "user",
    checked: true,
    signal: new AbortController().signal,
  });
  if (!opened.ok) throw new Error(JSON.stringify(opened.refusal));
  if (edits.length > 0) await opened.draft.run({ attempt: 1, work: { patch: JSON.stringify(edits) } });
  return opened.draft;
}

/** Judges one draft from its beginning to its end. */
async function judged(checks: ProjectChecks, ...edits: readonly object[]): Promise<JudgedAttempt> {
  const draft = await draftOf(...edits);
  try {
    checks.begin(draft);
    return await checks.judge(draft, 1);
  } finally {
    await draft.discard("test");
  }
}

/** As JSON holds it: a finding is a field. */
const recordOf = ({ facts, ...attempt }: JudgedAttempt) => ({ ...attempt, facts: toChecksRecord(facts) });
const line = ({ facts }: JudgedAttempt) => checksMessagesFor("en").line(facts);

describe.if(confines)("a draft over a green project", () => {
  test("that stays green is green, and the reply has a line for it", async () => {
    const result = await judged(checksWith(), edit("update", "code", "one two three\n"));
    expect(result).toMatchObject({ verdict: "green", report: "" });
    expect(line(result)).toBe("make test: 2 passed");
  });

  test("is asked the questions in the list of steps, and no others", async () => {
    const knowing = edit("create", "lib/a.mjs", "export const a = process.env.VITEST ? 1 : 2;\n");
    expect((await judged(checksWith(), knowing)).facts.verdict).toBe("doubtful");
    expect((await judged(checksWith({}, undefined, []), knowing)).facts.verdict).toBe("same");
    // Over a red project the doubt hides neither the figures nor that tests fail.
    bench.write("test/cases", "one\ntwo\nsix\n");
    const { report, facts } = await judged(checksWith(), knowing);
    expect(report).toStartWith("The checks are no worse than before your change, but these new lines");
    expect(checksMessagesFor("en").headline(facts)).toBe(
      "make test DOUBTFUL: new code refers to the test run, 2 passed, 1 was red before and still is",
    );
  });

  test("has its seconds, and before a run of more than a few its length by the last one is said", async () => {
    const heard: string[] = [];
    const tell = (progress: CheckProgress) => heard.push(checksMessagesFor("en").progress(progress));
    const first = await judged(checksWith({}, tell), edit("update", "code", "one two three\n"));
    expect(toChecksRecord(first.facts).seconds).toBe(1);
    const record = memory().recall();
    if (record === null) throw new Error("nothing was measured");
    memory().keep({ ...record, durationMs: 45_000 });
    heard.length = 0;
    await judged(checksWith({}, tell), edit("update", "code", "one two four\n"));
    expect(heard.slice(0, 2)).toEqual([
      "make test (old code): 45 s the last time",
      "make test: 45 s the last time",
    ]);
  });

  test("has the seconds of all its attempts", async () => {
    let ms = 0;
    const opened = found();
    if (!opened.ok) throw new Error(opened.why);
    const checks = createProjectChecks({
      checks: opened.checks,
      settings: SETTINGS,
      memory: memory(),
      texts: checksMessagesFor("en"),
      now: () => ms,
      advise: createAdvise(),
      signal: new AbortController().signal,
      onOutput: (text) => {
        if (text.includes("TAP version")) ms += 30_000;
      },
    });
    const draft = await draftOf(edit("update", "code", "one two three\n"));
    const seconds = async (attempt: number) =>
      toChecksRecord((await checks.judge(draft, attempt)).facts).seconds ?? 0;
    const first = await seconds(1);
    await draft.run({
      attempt: 2,
      work: { patch: JSON.stringify([edit("update", "code", "one two four\n")]) },
    });
    expect(first).toBeGreaterThanOrEqual(30);
    expect(await seconds(2)).toBeGreaterThanOrEqual(first + 30);
    await draft.discard("test");
  });

  test("with a linter names that as well, with its own result", async () => {
    bench.write("Makefile", ".PHONY: test lint\ntest:\n\t@sh run.sh\nlint:\n\t@grep -q one code\n");
    const result = await judged(checksWith(), edit("update", "code", "one two three\n"));
    expect(line(result)).toBe("make test: 2 passed, make lint green");
  });

  test("that breaks a test is red, and the coder learns which and how", async () => {
    const result = await judged(checksWith(), edit("update", "code", "one\n"));
    expect(recordOf(result)).toMatchObject({
      verdict: "red",
      brief: "1 of 2 tests fail",
      facts: { worse: ["two"], isFlaky: false },
    });
    expect(result.report).toContain("Passed before; now they fail, are skipped or are missing:\n- two");
    expect(result.report).toContain("$ make test\nTAP version 13");
  });

  test("that keeps a check from ending is red, and said as that", async () => {
    const result = await judged(checksWith({ timeout: 6 }), edit("create", "endless", "x\n"));
    expect(result).toMatchObject({ verdict: "red", brief: "make test did not end in 6 s" });
    expect(line(result)).toBe("make test: did not end in 6 s");
    expect(result.report).toContain("did not end in 6 seconds");
  }, 300_000);

  test("that adds a failing test is returned until the coder declares that it is meant to fail", async () => {
    const checks = checksWith();
    const draft = await draftOf(edit("update", "test/cases", "one\ntwo\nthree\n"));
    expect(recordOf(await checks.judge(draft, 1))).toMatchObject({
      verdict: "red",
      facts: { newFailing: ["three"], worse: [] },
    });
    expect((await checks.judge(draft, 2)).verdict).toBe("red");
    expect(checks.declare("Show it.\nMeant to fail: three: shows the bug")).toBe("Show it.");
    expect(recordOf(await checks.judge(draft, 3))).toMatchObject({
      verdict: "green",
      facts: { verdict: "same", meantToFail: [{ test: "three", reason: "shows the bug" }] },
    });
    await draft.discard("test");
  });

  test("that changes what a test demands says so, and takes no test away unseen", async () => {
    const edits = [edit("update", "code", "one TWO\n"), edit("update", "test/cases", "one\nTWO\n")];
    const result = await judged(checksWith(), ...edits);
    expect(recordOf(result)).toMatchObject({
      verdict: "green",
      facts: { weakensTests: false, expectsElse: ["two"] },
    });
  });

  test("of documentation alone runs nothing", async () => {
    const result = await judged(checksWith(), edit("create", "README.md", "x\n"));
    expect(recordOf(result)).toMatchObject({ verdict: "unknown", facts: { notChecked: "documentation" } });
  });

  test("is judged without a trace in the draft", async () => {
    const draft = await draftOf(edit("update", "code", "one two three\n"));
    await checksWith().judge(draft, 1);
    expect(draft.changes()).toEqual([{ path: "code", kind: "modified" }]);
    await draft.discard("test");
  });
});

describe.if(confines)("a draft over a red project", () => {
  beforeEach(() => bench.write("code", "two\n"));
  test("that fixes it is green", async () => {
    expect(line(await judged(checksWith(), edit("update", "code", "one two\n")))).toBe(
      "make test: 2 passed (1 fixed)",
    );
  });
  test("that leaves it as it is, is not worse", async () => {
    const result = await judged(checksWith(), edit("create", "other", "x\n"));
    expect(recordOf(result)).toMatchObject({ verdict: "green", facts: { verdict: "red-before" } });
  });
  test("that fixes one and breaks another is red", async () => {
    const result = await judged(checksWith(), edit("update", "code", "one\n"));
    expect(recordOf(result)).toMatchObject({ verdict: "red", facts: { worse: ["two"], mended: ["one"] } });
  });
  test("whose output says nothing is not checked", async () => {
    const silent = { command: "test -f green" };
    const result = await judged(checksWith(silent), edit("create", "other", "x\n"));
    expect(recordOf(result)).toMatchObject({ verdict: "unknown", facts: { notChecked: "red-before" } });
  });
});

test.if(confines)("a check that is red by chance is run again, and that is said", async () => {
  const checks = checksWith();
  const draft = await draftOf(edit("update", "code", "one two three\n"));
  let runs = 0;
  const unlucky = {
    changes: () => draft.changes(),
    diff: () => draft.diff(),
    files: draft.files,
    check: (request: Parameters<Draft["check"]>[0]) => {
      const isFirst = request.over === "draft" && runs++ === 0;
      return draft.check(isFirst ? { ...request, commands: ["false"] } : request);
    },
  } as Draft;
  const result = await checks.judge(unlucky, 1);
  expect(recordOf(result)).toMatchObject({
    verdict: "green",
    facts: { isFlaky: true, counts: { passed: 2, failed: 0 } },
  });
  expect(runs).toBe(2);
  await draft.discard("test");
});

describe.if(confines)("the baseline", () => {
  test("is remembered until the workspace changes", async () => {
    await judged(checksWith(), edit("create", "other", "x\n"));
    const first = memory().recall();
    expect(first?.results?.[0]?.state).toBe("green");
    await judged(checksWith(), edit("create", "other", "x\n"));
    expect(memory().recall()).toEqual(first as NonNullable<typeof first>);
    bench.write("code", "two\n");
    await judged(checksWith(), edit("create", "other", "x\n"));
    expect(memory().recall()?.results?.[0]?.state).toBe("red");
  });

  test("is measured again when the user edits meanwhile, and a commit is confirmed by it", async () => {
    const checks = checksWith();
    const draft = await draftOf(edit("create", "other", "x\n"));
    const before = await checks.judge(draft, 1);
    expect(await checks.confirm(draft, 1)).toBe(before);
    bench.write("code", "two\n");
    expect(await checks.confirm(draft, 1)).toMatchObject({ facts: { verdict: "red-before" } });
    await draft.discard("test");
  });

  test("that takes longer than checks.auto_limit is ended, and is not tried again for a day", async () => {
    bench.write("slow", "");
    const result = await judged(checksWith({ auto_limit: 1 }), edit("create", "other", "x\n"));
    expect(recordOf(result)).toMatchObject({ verdict: "unknown", facts: { notChecked: "slow" } });
    expect(found({ auto_limit: 1 })).toMatchObject({ ok: false, why: "slow", commands: ["make test"] });
    expect(found({ auto_limit: 60 }).ok).toBe(true);
    expect(found({ auto_limit: 1, enabled: "always" }).ok).toBe(true);
    expect(found({ auto_limit: 1 }, () => 25 * 60 * 60 * 1000).ok).toBe(true);
  });
});

describe.if(confines)("which checks are going to judge", () => {
  test("the project's own, or the configured one", () => {
    expect(found()).toMatchObject({ ok: true, checks: [{ command: "make test" }] });
    expect(found({ command: "sh run.sh" })).toMatchObject({ ok: true, checks: [{ command: "sh run.sh" }] });
  });
  test("none, and why", async () => {
    expect(found({ enabled: "never" })).toMatchObject({ ok: false, why: "never" });
    bench.write("Makefile", "all:\n");
    expect(found()).toMatchObject({ ok: false, why: "no-checks" });
    bench.write("package.json", '{"scripts":{"test":"x"},"devDependencies":{"x":"1"}}');
    expect(found()).toMatchObject({ ok: false, why: "dependencies-missing", commands: ["npm test"] });
    expect(
      await judged(checksWith({ command: "no-such-program" }), edit("create", "other", "x\n")),
    ).toMatchObject({
      verdict: "unknown",
      facts: { notChecked: "cannot-run" },
    });
  });
});
