/** Which runs judge: what decides comes from before the change, no run without tests, no test that hangs, the affected tests alone. */
import { afterEach, describe, expect, test } from "bun:test";
import { QUICK_NPM_PATH } from "../../quick-npm.ts";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "../chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../chat/conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const MODULE = "def one():\n    return 1\n";
const TEST =
  "from calc import one\n\n\ndef test_one():\n    assert one() == 1\n\n\ndef test_two():\n    assert one() + 1 == 2\n";

async function open(answers: readonly string[], files: Readonly<Record<string, string>> = {}, config = "") {
  at = await openConversation((_, number) => answers[number] ?? "Nothing to add.", {
    config: `coder: { attempts: 1 }\n${config}`,
  });
  at.write("pyproject.toml", "[tool.pytest.ini_options]\n");
  at.write("calc.py", MODULE);
  at.write("tests/test_calc.py", TEST);
  for (const [path, text] of Object.entries(files)) at.write(path, text);
}

const file = (path: string, text: string) => `\`\`\`py:${path}\n${text}\`\`\``;
const breaking = replace("calc.py", "    return 1", "    return 2");
const FORGED =
  'print("tests/test_calc.py::test_one PASSED")\nprint("tests/test_calc.py::test_two PASSED")\nprint("=== 2 passed in 0.01s ===")\nraise SystemExit(0)\n';

describe.if(requirePart("bwrap") && requirePart("pytest"))("a forged runner", () => {
  for (const [path, text] of [
    ["pytest.py", FORGED],
    ["pytest/__init__.py", FORGED],
    ["iniconfig.py", FORGED],
    ["unittest/__init__.py", FORGED],
  ] as const)
    test(`${path} in the root does not make a broken change land`, async () => {
      await open([proposal("Forge", `${breaking}\n${file(path, text)}`)]);
      const reply = await at.send("/code3 change calc.py");
      expect([reply.text.split("\n")[0], reply.ok, at.read("calc.py")]).toEqual([
        expect.stringContaining("Not applied"),
        false,
        MODULE,
      ]);
    });

  test("a module of the project's own that has such a name from before is part of the code", async () => {
    const own = "def two():\n    return 2\n";
    const answer = `${replace("queue.py", "    return 2", "    return 1 + 1")}`;
    await open([proposal("Compute", answer)], {
      "queue.py": own,
      "tests/test_queue.py": "from calc import one\n\n\ndef test_three():\n    assert one() == 1\n",
    });
    expect((await at.send("/code3 compute two in queue.py")).ok).toBe(true);
  });
});

describe.if(requirePart("bwrap") && requirePart("python3"))("a run that shows no test", () => {
  test("is not a check: unittest finds nothing of pytest's tests", async () => {
    const comment = proposal("Say", replace("calc.py", "def one():", "# One.\ndef one():"));
    await open([comment], {}, "checks: { command: python3 -m unittest -v }\n");
    const reply = await at.send("/code3 comment calc.py");
    expect(reply.text).toContain("NOT CHECKED");
    expect(reply.text).not.toContain("0 passed");
  });
});

describe.if(requirePart("bwrap") && requirePart("pytest"))("tests that do not end", () => {
  const hang = "import time\n\n\ndef test_serves():\n    time.sleep(600)\n";
  const comment = proposal("Say", replace("calc.py", "def one():", "# One.\ndef one():"));

  test("are left out by name, once, and the others judge", async () => {
    const config = "checks: { timeout: 8, auto_limit: 8 }\n";
    await open([comment, proposal("Break", breaking)], { "tests/test_serve.py": hang }, config);
    const reply = await at.send("/code3 comment calc.py");
    expect(reply.text).toContain("2 passed");
    expect(reply.text).toContain("tests/test_serve.py");
    const ended = () =>
      at.archive
        .list()
        .flatMap(({ jobId }) => at.archive.events(jobId))
        .filter(({ event }) => event.type === "check_finished" && event.exit_code === null);
    // The affected tests may have begun beside the baseline.
    const before = ended().length;
    expect(before).toBeLessThanOrEqual(2);
    expect((await at.send("/code3 break calc.py")).text).toStartWith("Not applied");
    expect(ended()).toHaveLength(before);
  });

  test("only with the change are worse", async () => {
    const forever = replace("calc.py", "    return 1", "    while True:\n        pass");
    await open([proposal("Hang", forever)], {}, "checks: { timeout: 8, auto_limit: 8 }\n");
    const reply = await at.send("/code3 change calc.py");
    expect([reply.ok, reply.text.split("\n")[0]]).toEqual([false, expect.stringContaining("Not applied")]);
  });
});

describe.if(requirePart("bwrap") && requirePart("node"))("the affected tests judge alone", () => {
  const suite = (name: string, body: string) =>
    `import { test } from "node:test";\nimport assert from "node:assert";\nimport { one } from "../src/${name}.mjs";\ntest("${name}", () => ${body});\n`;

  test("where all of them are red before and name no test", async () => {
    const change = replace("src/a.mjs", "export const one = 1;", "export const one = 2 - 1;");
    at = await openConversation(() => proposal("Compute", change), { env: { PATH: QUICK_NPM_PATH } });
    const script = "node --test --test-reporter=./quiet.mjs --test-reporter-destination=/dev/null";
    at.write("package.json", JSON.stringify({ type: "module", scripts: { test: script } }));
    at.write(
      "quiet.mjs",
      "export default async function* quiet(events) { for await (const _ of events); }\n",
    );
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      at.write(`src/${name}.mjs`, "export const one = 1;\n");
      const expected = name === "h" ? 2 : 1;
      at.write(`test/${name}.test.mjs`, suite(name, `assert.equal(one, ${expected})`));
    }
    const reply = await at.send("/code3 compute one in src/a.mjs");
    expect(reply.text.split("\n")[0]).toContain(
      "the whole suite was red before the change, and its output does not say which tests failed",
    );
    expect(reply.ok).toBe(true);
  });
});
