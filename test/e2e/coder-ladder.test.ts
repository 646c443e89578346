/** Projects whose declared check cannot judge, through the real program. */
import { afterEach, expect } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ChatCli, createChatCli, proposal, replace } from "../application/chat/chat-kit.ts";
import { QUICK_NPM_PATH } from "../quick-npm.ts";
import { withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

function project(
  patch: string,
  files: Readonly<Record<string, string>>,
  { check = "", system = "" }: { readonly check?: string; readonly system?: string } = {},
) {
  const text = proposal("Do it", patch, { more: check === "" ? "" : `\n## Check\n${check}\n` });
  const when = { role: "coder3", ...(system !== "" && { system }) };
  cli = createChatCli([{ when, times: 1, text }], "coder: { attempts: 1 }\n", QUICK_NPM_PATH);
  const config = join(cli.home, "config.yaml");
  // A small model is told less.
  writeFileSync(config, readFileSync(config, "utf8").replace("model: demo,", "model: demo-70b,"));
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
    "Applied: 1 file, NOT CHECKED: rake is not installed here, so rake test cannot run; checks.command in picoclaw.yaml can name others\n",
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

/** Loads every file into one process, as tape does: one that cannot be loaded takes the others with it. */
const TAPE = `#!/usr/bin/env node
const { resolve } = require("node:path");
const tests = [];
module.exports = (name, run) => tests.push({ name, run });
require.cache[resolve("node_modules/tape/index.js")] = { exports: module.exports, loaded: true };
for (const file of process.argv.slice(2)) require(resolve(file));
console.log("TAP version 13");
let failed = 0;
for (const [at, { name, run }] of tests.entries()) {
  try { run(); console.log("ok " + (at + 1) + " " + name); }
  catch { failed++; console.log("not ok " + (at + 1) + " " + name); }
}
console.log("1.." + tests.length);
process.exit(failed === 0 ? 0 : 1);
`;
const tapeTest = (name: string, needs = "") =>
  `const test = require("tape");\n${needs}const one = require("../one");\ntest("${name}", () => { if (one !== 1) throw new Error("not one"); });\n`;
const ONE_FILE_LACKS = {
  "package.json": JSON.stringify({ scripts: { test: "tape 'test/*.js'" }, devDependencies: { tape: "1" } }),
  "node_modules/.bin/tape": TAPE,
  "node_modules/tape/index.js": "",
  "one.js": "module.exports = 1;\n",
  "test/a.js": tapeTest("a is one"),
  "test/b.js": tapeTest("b is one", 'require("not-installed");\n'),
  "test/helper.js": "module.exports = 1;\n",
};

withChecks("if one file lacks a module, the others judge in a process each, and the reply says so", () => {
  project(replace("one.js", "module.exports = 1;", "// One.\nmodule.exports = 1;"), ONE_FILE_LACKS);
  chmodSync(join(cli.workspace, "node_modules/.bin/tape"), 0o755);
  const ran = cli.chat("/code3 comment one.js");
  expect(ran.out).toStartWith(
    'Applied: 1 file, for f in test/*.js; do tape "$f"; done 1 passed, 1 cannot run here',
  );
  expect(ran.out).toMatch(/npm test cannot run here \(.*Cannot find module .*\), so for f in test\/\*\.js/);
  expect(ran.out).toContain("Cannot run here, now as before: test/b.js");
  expect(ran.code).toBe(0);
});

withChecks("a change that breaks a file of those is worse, though another one was red before", () => {
  project(replace("one.js", "module.exports = 1;", "module.exports = 2;"), ONE_FILE_LACKS);
  chmodSync(join(cli.workspace, "node_modules/.bin/tape"), 0o755);
  const ran = cli.chat("/code3 make it two in one.js");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.out).toContain("test/a.js > a is one");
  expect(ran.code).toBe(1);
});

const UNKNOWN = {
  "one.mjs": "export const one = 1;\n",
  "verify.mjs":
    'import { one } from "./one.mjs";\nif (one !== 1) { console.log("one is", one); process.exit(1); }\n',
};
const comment = replace("one.mjs", "export const one = 1;", "// One.\nexport const one = 1;");

withChecks("where the project has no check, one that the coder proposes judges, and that is said", () => {
  project(comment, UNKNOWN, { check: "node verify.mjs", system: "## Check" });
  const ran = cli.chat("/code3 comment one.mjs");
  expect(ran.out).toStartWith("Applied: 1 file, node verify.mjs (the coder's own check) green\n");
  expect(ran.out).toContain("The coder proposed the check node verify.mjs");
  expect(ran.code).toBe(0);
});

withChecks("a proposed check that gets worse keeps the change from landing", () => {
  project(replace("one.mjs", "export const one = 1;", "export const one = 2;"), UNKNOWN, {
    check: "`node verify.mjs`",
  });
  const ran = cli.chat("/code3 make it two in one.mjs");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.code).toBe(1);
  expect(cli.read("one.mjs")).toBe("export const one = 1;\n");
});

withChecks("a proposed check that sees nothing of the change is refused", () => {
  project(comment, UNKNOWN, { check: "true" });
  const ran = cli.chat("/code3 comment one.mjs");
  expect(ran.out).toStartWith("Applied: 1 file, NOT CHECKED: no tests or linters were found");
  expect(ran.out).toContain(
    "The coder proposed the check true, which cannot be used either: the tests do not notice when the changed code is broken.",
  );
});

withChecks("the coder gets the state of the checks before it writes", () => {
  const files = {
    "package.json": JSON.stringify({ type: "module", scripts: { test: "node --test" } }),
    "one.mjs": "export const one = 1;\n",
    "test/one.test.mjs":
      'import { test } from "node:test";\nimport assert from "node:assert";\nimport { one } from "../one.mjs";\ntest("one is one", () => assert.equal(one, 1));\n',
    "test/two.test.mjs":
      'import { test } from "node:test";\nimport assert from "node:assert";\ntest("one is two", () => assert.equal(1, 2));\n',
  };
  project(comment, files, { system: "`npm test`, not tried here yet." });
  expect(cli.chat("/code3 comment one.mjs").code).toBe(0);
  const again = replace("one.mjs", "// One.", "// The one.");
  const system = "`npm test` (currently: 1 passed, 1 failed: one is two;";
  cli.rewrite([{ when: { role: "coder3", system }, times: 1, text: proposal("Again", again) }]);
  const ran = cli.chat("/code3 reword the comment in one.mjs");
  expect(ran.out).toStartWith("Applied: 1 file, npm test 1 passed, 1 was red before and still is");
  expect(ran.code).toBe(0);
});

withChecks("nothing is promised to the coder that cannot run here", () => {
  project(
    replace("one.rb", "ONE = 1", "ONE = 2"),
    { Rakefile: "task(:test) { }\n", "one.rb": "ONE = 1\n", "test/one_test.rb": "require 'one'\n" },
    { system: "Not checked: rake is not installed here" },
  );
  expect(cli.chat("/code3 make ONE two in one.rb", [], { PATH: "/usr/bin:/bin" }).code).toBe(0);
});
