/**
 * Changes as an honest coder sends them, judged by real runners. Code and tests with other names, and nothing else, expect what they
 * expected, and a change of a value beside the names is reported. Many changed files, of which tests need some, are checked.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "../chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../chat/conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const FULL = "def full(a, b):\n    return a + ' ' + b\n";
const FULL_TEST = `from names import full


def test_full():
    assert full('a', 'b') == 'a b'


def test_full_of_nothing():
    assert full('', '') == ' '
`;
const PYTHON = {
  "pyproject.toml": "[tool.pytest.ini_options]\n",
  ".gitignore": "__pycache__/\n.pytest_cache/\n",
  "names.py": FULL,
  "tests/test_names.py": FULL_TEST,
};

async function change(patch: string, files: Readonly<Record<string, string>>): Promise<string> {
  at = await openConversation((_, number) => (number === 0 ? proposal("Rename", patch) : "Nothing to add."));
  for (const [path, text] of Object.entries(files)) at.write(path, text);
  const { text } = await at.send("/code3 give it another name");
  return text;
}

const first = (text: string) => text.split("\n")[0];
const whole = (path: string, text: string) => `\`\`\`${path.split(".").at(-1)}:${path}\n${text}\`\`\``;
const renamed = FULL_TEST.replaceAll("full", "joined");
const moves = `${replace("names.py", "def full", "def joined")}\n`;

describe.if(requirePart("bwrap") && requirePart("pytest"))(
  "a function and its tests with another name",
  () => {
    test.each([
      ["in the tests' names, too", renamed],
      ["under the old names of the tests", renamed.replaceAll("test_joined", "test_full")],
    ])("expect what they expected, %s", async (_, tests) => {
      const text = await change(`${moves}${whole("tests/test_names.py", tests)}`, PYTHON);
      expect(first(text)).toStartWith("Applied: 2 files, python -m pytest -q 2 passed");
      expect(text).not.toMatch(/expects? something else|weakens|new/);
    });

    test("beside a new test count that one alone as new", async () => {
      const more = `${renamed}\n\ndef test_long():\n    assert joined('ab', 'c') == 'ab c'\n`;
      const text = await change(`${moves}${whole("tests/test_names.py", more)}`, PYTHON);
      expect(first(text)).toContain("3 passed (1 new)");
      expect(text).not.toContain("something else");
    });

    test("and another value expect something else", async () => {
      const kept = renamed.replaceAll("test_joined", "test_full");
      const other = kept.replace("== 'a b'", "== 'a, b'");
      const patch = `${replace("names.py", FULL, FULL.replace("full", "joined").replace("' '", "', '"))}\n${whole("tests/test_names.py", other.replace("== ' '", "== ', '"))}`;
      const text = await change(patch, PYTHON);
      expect(first(text)).toContain("2 expect something else");
    });
  },
);

const MUL = "exports.mul = (a, b) => a * b;\n";
const MUL_TEST = `const assert = require("node:assert");
const { test } = require("node:test");
const { mul } = require("../lib/mul.js");

test("mul of two", () => {
  assert.equal(mul(2, 3), 6);
});
`;

describe.if(requirePart("bwrap") && requirePart("node"))("a file and its test file with another name", () => {
  const files = {
    "package.json": JSON.stringify({ scripts: { test: "node --test test/*.test.js" } }),
    "lib/mul.js": MUL,
    "lib/add.js": "exports.add = (a, b) => a + b;\n",
    "test/mul.test.js": MUL_TEST,
    "test/add.test.js": MUL_TEST.replaceAll("mul", "add").replace("2, 3), 6", "2, 3), 5"),
  };
  const moved = (source: string, tests: string) =>
    `\`\`\`bash\nrm lib/mul.js test/mul.test.js\n\`\`\`\n${whole("lib/times.js", source)}\n${whole("test/times.test.js", tests)}`;

  test("expect what they expected", async () => {
    const text = await change(moved(MUL.replace("mul", "times"), MUL_TEST.replaceAll("mul", "times")), files);
    expect(first(text)).toMatch(/^Applied: \d files, npm test 2 passed/);
    expect(text).not.toMatch(/something else|weakens|Removed|new/);
  });

  test("and another value expect something else", async () => {
    const text = await change(
      moved(
        MUL.replace("mul", "times").replace("a * b", "a * b + 1"),
        MUL_TEST.replaceAll("mul", "times").replace("times of two", "mul of two").replace("6", "7"),
      ),
      files,
    );
    expect(first(text)).toContain("1 expects something else");
  });
});

describe.if(requirePart("bwrap") && requirePart("node"))(
  "more changed files than are broken one by one",
  () => {
    const names = ["a", "b", "c", "d", "e"];
    const source = (name: string) => `exports.name = "${name}";\n`;
    const files = (needed: string) => ({
      "package.json": JSON.stringify({ scripts: { test: "node --test test/*.test.js" } }),
      ...Object.fromEntries(names.map((name) => [`src/${name}.js`, source(name)])),
      // A test that loads a file by a name that no reader of imports follows.
      "test/all.test.js": `const { test } = require("node:test");\nconst file = "${needed}";\ntest("loads", () => void require("../src/" + file + ".js"));\n`,
      "src/f.js": source("f"),
    });
    const patch = names
      .map((name) => replace(`src/${name}.js`, source(name).trim(), `// Its name.\n${source(name).trim()}`))
      .join("\n");

    test("are checked where the tests need one of the others, and those that were broken are named", async () => {
      const text = await change(patch, files("e"));
      expect(first(text)).toStartWith("Applied: 5 files, npm test 1 passed (3 changed files not noticed)");
      expect(text).not.toContain("NOT CHECKED");
    });

    test("are not checked where the tests need none", async () => {
      const text = await change(patch, files("f"));
      expect(first(text)).toContain("NOT CHECKED");
      for (const name of names) expect(text).toContain(`src/${name}.js`);
    });
  },
);
