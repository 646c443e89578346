import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openChecks } from "../../../src/application/checks/baseline.ts";
import {
  createProjectChecks,
  type JudgedAttempt,
  NOTHING_KNOWN,
  readChecksState,
  wordStateForCoder,
} from "../../../src/application/checks/project-checks.ts";
import { createAdvise } from "../../../src/application/platform/advise.ts";
import type { Workspace } from "../../../src/application/ports/jobs-workspace.ts";
import { findingsByCode } from "../../../src/domain/checks/findings.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";
import { createCheckMemory } from "../../../src/infrastructure/checks/check-memory.ts";
import { requirePart } from "../../require.ts";
import { type Bench, createBench, edit } from "../jobs/worker-kit.ts";

const SETTINGS = { command: null, timeout: 60, auto_limit: 60, network: false, enabled: "auto" } as const;
const LOST = "Could not transfer artifact example:plugin:1.0";

const confines = requirePart("bwrap");
let bench: Bench;
let workspace: Workspace;
/** A check that ends before its tests, as a build does whose plug-in cannot be downloaded. */
beforeEach(async () => {
  bench = createBench();
  bench.write("Makefile", ".PHONY: test\ntest:\n\t@sh run.sh\n");
  bench.write(
    "run.sh",
    `grep -q broken code.c && { echo "code.c:1:1: error: broken"; exit 1; }\necho "${LOST}"; exit 1\n`,
  );
  bench.write("code.c", "int one;\n");
  workspace = await bench.open({ PICOCLAW_WORKER_TRANSACTION: "overlay", PICOCLAW_WORKER_CONFINE: "on" });
});
afterEach(() => bench.remove());

const memory = () => createCheckMemory({ home: join(bench.folder, "home"), root: workspace.root });
const found = () =>
  openChecks({ files: workspace.files, settings: SETTINGS, memory: memory(), now: () => 0 });

async function judged(declared: string, ...edits: readonly object[]): Promise<JudgedAttempt> {
  const opened = found();
  if (!opened.ok) throw new Error(opened.why);
  const texts = checksMessagesFor("en");
  const signal = new AbortController().signal;
  const advise = createAdvise();
  const about = { settings: SETTINGS, memory: memory(), texts, now: () => 0, advise, signal };
  const checks = createProjectChecks({ checks: opened.checks, ...about });
  checks.declare(declared);
  const draft = await workspace.openDraft({ source: "test", startedBy: "user", checked: true, signal });
  if (!draft.ok) throw new Error(JSON.stringify(draft.refusal));
  await draft.draft.run({ attempt: 1, work: { patch: JSON.stringify(edits) } });
  checks.begin(draft.draft);
  const attempt = await checks.judge(draft.draft, 1);
  await draft.draft.discard("test");
  return attempt;
}

const headline = ({ facts }: JudgedAttempt) => checksMessagesFor("en").headline(facts);

describe.if(confines)("a check that ends before any test for a cause outside the sources", () => {
  test("holds no change back, and the first line says NOT CHECKED with the cause", async () => {
    const attempt = await judged("", edit("update", "code.c", "int two;\n"));
    expect(attempt).toMatchObject({ verdict: "unknown", report: "" });
    expect(findingsByCode(attempt.facts).cannotRun).toEqual([{ command: "make test", cause: LOST }]);
    expect(headline(attempt)).toStartWith(
      `NOT CHECKED: make test cannot run here, with this change or without it: ${LOST}`,
    );
  });

  test("is known to the next coder before its first answer", async () => {
    await judged("", edit("update", "code.c", "int two;\n"));
    const words = wordStateForCoder(readChecksState(found(), memory().recall()), NOTHING_KNOWN);
    expect(words).toContain("make test cannot run here");
    expect(words).toContain(LOST);
  });

  test("is red where the draft fails at a place in its sources instead", async () => {
    const attempt = await judged("", edit("update", "code.c", "int broken;\n"));
    expect(attempt.facts.verdict).toBe("still-red");
    expect(attempt.brief).toContain("make test");
  });

  test("is red for a change of the build that leaves it so: a wrong fix of a build does not land", async () => {
    const makefile = ".PHONY: test\n# fixed\ntest:\n\t@sh run.sh\n";
    const attempt = await judged("Fixes: make test", edit("update", "Makefile", makefile));
    expect(attempt).toMatchObject({ verdict: "red" });
    const undeclared = await judged("", edit("update", "Makefile", makefile));
    expect(undeclared.facts.notChecked).toBe("red-before");
    expect(findingsByCode(undeclared.facts).cannotRun).toBeUndefined();
    const declared = await judged("Fixes: make test", edit("update", "code.c", "int two;\n"));
    expect(declared).toMatchObject({ verdict: "red" });
  });
});
