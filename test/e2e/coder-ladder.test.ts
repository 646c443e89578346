/** Projects whose declared check cannot judge as it stands, through the real program. */
import { afterEach, expect } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { type ChatCli, createChatCli, proposal, replace } from "../application/chat/chat-kit.ts";
import { withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

function project(patch: string, files: Readonly<Record<string, string>>) {
  const script = [{ when: { role: "coder3" }, times: 1, text: proposal("Do it", patch) }];
  cli = createChatCli(script, "coder: { attempts: 1 }\n");
  for (const [path, text] of Object.entries(files)) cli.write(path, text);
  cli.git("init", "-q");
  cli.git("add", "-A");
  cli.git("-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", "sample");
}

const CASE = `import unittest
from one import ONE


class Ones(unittest.TestCase):
    def test_one(self):
        self.assertEqual(ONE, 1)
`;

withChecks("the package below src is tested, also where another copy of it can be imported", () => {
  project(replace("src/one/__init__.py", "ONE = 1", "ONE = 2"), {
    "pyproject.toml": "",
    "src/one/__init__.py": "ONE = 1\n",
    "installed/one/__init__.py": "ONE = 1\n",
    ".venv/bin/python": '#!/bin/sh\nexport PYTHONPATH="$PYTHONPATH:$PWD/installed"\nexec python3 "$@"\n',
    "tests/test_one.py": CASE,
  });
  chmodSync(join(cli.workspace, ".venv/bin/python"), 0o755);
  const ran = cli.chat("/code3 make ONE two in src/one/__init__.py");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.code).toBe(1);
});

withChecks("a test target of a Makefile is built and run", () => {
  project(replace("one.txt", "1", "1 # one"), {
    Makefile: "one-test: one.txt\n\t@grep -q 1 one.txt\n",
    "one.txt": "1\n",
  });
  const ran = cli.chat("/code3 comment one.txt");
  expect(ran.out).toStartWith("Applied: 1 file, make one-test green\n");
  expect(ran.code).toBe(0);
});

withChecks("a language that is not installed is named in the first line", () => {
  project(replace("one.rb", "ONE = 1", "ONE = 2"), {
    Rakefile: "task(:test) { }\n",
    "one.rb": "ONE = 1\n",
    "test/one_test.rb": "require 'one'\n",
  });
  const ran = cli.chat("/code3 make ONE two in one.rb", [], { PATH: "/usr/bin:/bin" });
  expect(ran.out).toStartWith(
    "Applied: 1 file, NOT CHECKED: rake is not installed here, so rake test cannot run\n",
  );
  expect(ran.code).toBe(0);
});

withChecks("where nothing but unittest is there, it judges test by test", () => {
  project(replace("one.py", "ONE = 1", "ONE = 1  # one"), {
    "tox.ini": "[tox]\n",
    "one.py": "ONE = 1\n",
    "test_one.py": CASE,
    "pytest.py": "raise SystemExit(4)\n",
  });
  const ran = cli.chat("/code3 comment one.py");
  expect(ran.out).toStartWith("Applied: 1 file, python -m unittest -v 1 passed\n");
  expect(ran.out).toContain("python -m pytest -q cannot run here");
  expect(ran.code).toBe(0);
});
