/** Suites that fork, need a terminal, write into the home or over the project, or print without measure: they judge, or say why not. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CheckSettings, openChecks } from "../../../src/application/checks/baseline.ts";
import { createProjectChecks } from "../../../src/application/checks/project-checks.ts";
import { createAdvise } from "../../../src/application/platform/advise.ts";
import type { Workspace } from "../../../src/application/ports/jobs-workspace.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";
import { createCheckMemory } from "../../../src/infrastructure/checks/check-memory.ts";
import { requirePart } from "../../require.ts";
import { type Bench, createBench, edit } from "../jobs/worker-kit.ts";

const SETTINGS: CheckSettings = {
  command: null,
  timeout: 60,
  auto_limit: 60,
  network: false,
  enabled: "auto",
};

let bench: Bench;
let workspace: Workspace;
beforeEach(async () => {
  bench = createBench();
  bench.write("Makefile", ".PHONY: test\ntest:\n\t@sh run.sh\n");
  bench.write("code", "one\n");
  workspace = await bench.open({ PICOCLAW_WORKER_TRANSACTION: "overlay", PICOCLAW_WORKER_CONFINE: "on" });
});
afterEach(() => bench.remove());

/** One test, which passes while `code` has the word. */
const SUITE =
  'echo "TAP version 13"; echo "1..1"\nif grep -q one code; then echo "ok 1 - one"; else echo "not ok 1 - one"; exit 1; fi\n';

async function judge(run: string, change: string | readonly object[]) {
  const edits = typeof change === "string" ? [edit("update", "code", change)] : change;
  bench.write("run.sh", run);
  const memory = createCheckMemory({ home: join(bench.folder, "home"), root: workspace.root });
  const opened = openChecks({ files: workspace.files, settings: SETTINGS, memory, now: () => 0 });
  if (!opened.ok) throw new Error(opened.why);
  const { signal } = new AbortController();
  const texts = checksMessagesFor("en");
  const about = { settings: SETTINGS, memory, texts, now: () => 0, advise: createAdvise(), signal };
  const checks = createProjectChecks({ ...about, checks: opened.checks, steps: [] });
  const begun = await workspace.openDraft({ source: "test", startedBy: "user", checked: true, signal });
  if (!begun.ok) throw new Error(JSON.stringify(begun.refusal));
  await begun.draft.run({ attempt: 1, work: { patch: JSON.stringify(edits) } });
  try {
    const { verdict, facts } = await checks.judge(begun.draft, 1);
    return [verdict, texts.line(facts)];
  } finally {
    await begun.draft.discard("test");
  }
}

const GREEN = ["green", "make test: 1 passed"];

describe.if(requirePart("bwrap"))("a suite that", () => {
  test.each([
    ["leaves processes behind that hold its output", "sleep 300 & sh -c 'sleep 300 & sleep 300' &\n"],
    ["reads from a terminal that is not there", "read -r answer; read -r answer < /dev/tty\n"],
    ["prints 100 MB", "yes 'a line of nothing in particular' | head -c 100000000\n"],
    ["breaks the project's files behind itself", "trap 'echo broken > code; rm -f run.sh' EXIT\n"],
  ])("%s judges, and finds a broken change", async (_, before) => {
    expect(await judge(before + SUITE, "one two\n")).toEqual(GREEN);
    expect((await judge(before + SUITE, "two\n"))[0]).toBe("red");
    expect(bench.read("code")).toBe("one\n");
  });

  test("writes into the home leaves nothing there, and does not see it in its next run", async () => {
    const writes = '[ -e "$HOME/.left-by-suite" ] && exit 9\necho x > "$HOME/.left-by-suite"\n';
    expect(await judge(writes + SUITE, "one two\n")).toEqual(GREEN);
    expect(await judge(writes + SUITE, "one three\n")).toEqual(GREEN);
    expect(existsSync(join(process.env.HOME ?? "", ".left-by-suite"))).toBe(false);
  });
});

describe.if(requirePart("bwrap") && requirePart("node"))(
  "two test files whose names differ only in case",
  () => {
    const suite = (name: string, word: string) =>
      `import test from "node:test";\nimport assert from "node:assert";\nimport { words } from "../src/words.mjs";\ntest("${name}", () => assert.ok(words.includes("${word}")));\n`;

    test("are two: the broken one is named, and the other one counts", async () => {
      bench.write("package.json", JSON.stringify({ scripts: { test: "node --test test" } }));
      bench.write("Makefile", "");
      bench.write("src/words.mjs", 'export const words = ["one", "two"];\n');
      bench.write("test/Words.test.mjs", suite("has one", "one"));
      bench.write("test/words.test.mjs", suite("has two", "two"));
      const change = (text: string) => [edit("update", "src/words.mjs", `export const words = ${text};\n`)];
      expect(await judge("", change('["two", "one"]'))).toEqual(["green", "npm test: 2 passed"]);
      const [verdict, line] = await judge("", change('["one"]'));
      expect([verdict, line]).toEqual(["red", expect.stringContaining("1 passed, 1 failed, 1 worse")]);
    });
  },
);
