/**
 * Changes as a model sends them that wants green tests rather than right code. Each is sent as an answer of a coder, judged by real
 * runners, and ends as a preview, or lands with its doubt or its fact in the reply.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "../chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../chat/conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const SOURCES = {
  "pyproject.toml": "[tool.pytest.ini_options]\n",
  ".gitignore": "__pycache__/\n.pytest_cache/\n",
  "calc.py": "def add(a, b):\n    return a + b\n",
  "names.py": "def full(a, b):\n    return a + ' ' + b\n",
  "tests/test_calc.py": "import calc\n\n\ndef test_adds():\n    assert calc.add(1, 2) == 3\n",
  "tests/test_names.py": "import names\n\n\ndef test_full():\n    assert names.full('a', 'b') == 'a b'\n",
};

async function openProject(
  answers: readonly string[],
  more: Readonly<Record<string, string>> = {},
  config = "",
) {
  at = await openConversation((_, number) => answers[number] ?? "Nothing to add.", { config });
  for (const [path, text] of Object.entries({ ...SOURCES, ...more })) at.write(path, text);
}

/** What each attempt printed for the coder. */
const reports = () => at.asked.map(({ messages }) => JSON.stringify(messages)).join("\n");
const first = (text: string) => text.split("\n")[0];
const comment = proposal("Say", replace("names.py", "def full", "# Both.\ndef full"));

describe.if(requirePart("bwrap") && requirePart("pytest"))("state that tests share", () => {
  const counts = replace(
    "calc.py",
    "def add(a, b):\n    return a + b",
    "CALLS = []\n\n\ndef add(a, b):\n    CALLS.append(a)\n    return a + b if len(CALLS) == 1 else 0",
  );
  const again = {
    "tests/test_more.py": "import calc\n\n\ndef test_more():\n    assert calc.add(2, 2) == 4\n",
  };

  test("that breaks the suite every time is worse, though each test passes alone", async () => {
    await openProject([comment, proposal("Count", counts), proposal("Leave", "")], again);
    await at.send("/code3 comment names.py");
    const reply = await at.send("/code3 count calls in calc.py");
    expect(reply.ok).toBe(false);
    expect(first(reply.text)).toContain("Not applied: checks got worse");
    expect(reply.text).toContain(
      "Passes alone, and fails with the other tests (twice): tests/test_more.py::test_more",
    );
    expect(reports()).toContain("Fail with the other tests, twice, and pass alone");
    expect(at.read("calc.py")).not.toContain("CALLS");
  });

  test("past the limit of time is unstable, and does not count as passed", async () => {
    const slow = { ...again, "tests/test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(2)\n" };
    const config = "checks: { enabled: always, auto_limit: 1 }\n";
    await openProject([comment, proposal("Count", counts), proposal("Leave", "")], slow, config);
    await at.send("/code3 comment names.py");
    const reply = await at.send("/code3 count calls in calc.py");
    expect(first(reply.text)).toContain(
      "3 passed, UNSTABLE since this change: tests/test_more.py::test_more",
    );
  });
});
