/** The price of a verdict: the time of all checks of a message, against one run of the whole suite in the same conversation. */
import { proposal, replace } from "../test/application/chat/chat-kit.ts";
import { openConversation } from "../test/application/chat/conversation-kit.ts";
import type { Row } from "./measure.ts";

/** A suite of known length: its tests sleep, so that a busy machine changes the figures little. */
interface Suite {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  readonly source: string;
  readonly test: string;
  readonly before: string;
  readonly broken: string;
  readonly right: string;
  readonly newTest: readonly [string, string];
}

const MODULES = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
const SLEEP_MS = 1000;

function pytestSuite(): Suite {
  const files: Record<string, string> = { "pyproject.toml": "[tool.pytest.ini_options]\n" };
  for (const name of MODULES) {
    files[`src/mod_${name}.py`] = "def give():\n    return 1\n";
    files[`tests/test_${name}.py`] =
      `import time\nfrom mod_${name} import give\n\n\ndef test_${name}():\n    time.sleep(${SLEEP_MS / 1000})\n    assert give() == 1\n`;
  }
  return {
    name: "pytest",
    files,
    source: "src/mod_a.py",
    test: "tests/test_a.py",
    before: "    return 1",
    broken: "    return 2",
    right: "    return 2 - 1\n\n\ndef more():\n    return give() + 1",
    newTest: [
      "    assert give() == 1",
      "    assert give() == 1\n\n\ndef test_more():\n    from mod_a import more\n    assert more() == 2",
    ],
  };
}

function nodeSuite(): Suite {
  const script = "node --test --test-concurrency=1";
  const files: Record<string, string> = {
    "package.json": JSON.stringify({ type: "module", scripts: { test: script } }),
  };
  for (const name of MODULES) {
    files[`src/${name}.mjs`] = "export const give = () => 1;\n";
    files[`test/${name}.test.mjs`] = [
      'import { test } from "node:test";',
      'import assert from "node:assert";',
      `import * as own from "../src/${name}.mjs";`,
      `test("${name}", async () => {`,
      `  await new Promise((resolve) => setTimeout(resolve, ${SLEEP_MS}));`,
      "  assert.equal(own.give(), 1);",
      "});\n",
    ].join("\n");
  }
  return {
    name: "node --test",
    files,
    source: "src/a.mjs",
    test: "test/a.test.mjs",
    before: "export const give = () => 1;",
    broken: "export const give = () => 2;",
    right: "export const give = () => 2 - 1;\nexport const more = () => give() + 1;",
    newTest: ["});", '});\ntest("more", () => assert.equal(own.more(), 2));'],
  };
}

interface Price {
  /** Seconds of all runs of checks, and their number. */
  readonly seconds: number;
  readonly runs: number;
  /** Of the longest run over the code as it was: the whole suite. */
  readonly wholeSeconds: number;
}

async function priceOf(suite: Suite, answers: readonly string[], config = ""): Promise<Price> {
  const at = await openConversation((_, number) => answers[number] ?? "Nothing to add.", { config });
  try {
    for (const [path, text] of Object.entries(suite.files)) at.write(path, text);
    const reply = await at.send(`/code3 change ${suite.source}`);
    if (!reply.ok) throw new Error(reply.text);
    const runs = at.archive
      .list()
      .flatMap(({ jobId }) => at.archive.events(jobId))
      .flatMap(({ event }) => (event.type === "check_finished" ? [event] : []));
    const baselines = runs.filter(({ over }) => over === "baseline").map(({ duration }) => duration);
    return {
      seconds: runs.reduce((sum, { duration }) => sum + duration, 0) / 1000,
      runs: runs.length,
      wholeSeconds: Math.max(0, ...baselines) / 1000,
    };
  } finally {
    await at.close();
  }
}

export async function verdictPrice(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const suite of [pytestSuite(), nodeSuite()]) {
    const { source, before, broken, right, test, newTest } = suite;
    const feature = `${replace(source, before, right)}\n${replace(test, ...newTest)}`;
    const green = await priceOf(suite, [proposal("Add", feature)]);
    const repaired = await priceOf(suite, [
      proposal("Try", replace(source, before, broken)),
      proposal("Add", `${replace(source, broken, right)}\n${replace(test, ...newTest)}`),
    ]);
    const whole = green.wholeSeconds;
    const slow = "checks: { auto_limit: 5 }\n";
    const alone = await priceOf(suite, [proposal("Add", feature)], slow);
    const row = (name: string, { seconds, runs }: Price, ratio: number, most: number): Row => ({
      name: `${suite.name}, ${name}`,
      figure: `${ratio.toFixed(2)} (${runs} runs, ${seconds.toFixed(1)} s; whole ${whole.toFixed(1)} s)`,
      target: `≤ ${most}`,
      ok: ratio <= most,
    });
    rows.push(
      row("all checks of a green change with a test / one run", green, green.seconds / whole, 2.2),
      row("… where the affected tests decide", alone, alone.seconds / whole, 1.3),
      row(
        "… a red attempt more",
        repaired,
        repaired.seconds / repaired.wholeSeconds - green.seconds / whole,
        0.5,
      ),
    );
  }
  return rows;
}
