/** A coder whose drafts are judged by the project's own tests, through the real program. */
import { afterEach, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ChatCli,
  createChatCli,
  proposal,
  replace,
  type ScriptEntry,
} from "../application/chat/chat-kit.ts";
import { createNodeProject, withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

const says = (...answers: readonly string[]): ScriptEntry[] =>
  answers.map((text) => ({ when: { role: "coder3" }, times: 1, text }));

const ADD = "export const add = (a, b) => a - b;\n";
const ADD_TEST = `import { test } from "node:test";
import assert from "node:assert";
import { add } from "../src/add.mjs";
test("adds", () => assert.equal(add(1, 2), 3));
`;
const ONE = `import { test } from "node:test";
import assert from "node:assert";
import { one } from "../src/one.mjs";
test("one is one", () => assert.equal(one, 1));
`;

/** One test that passes; with `red`, one more that does not. */
function project(
  answers: readonly string[],
  { red = false, script = "node --test", config = "", realNode = false } = {},
) {
  const files = { "src/one.mjs": "export const one = 1;\n", "test/one.test.mjs": ONE };
  const failing = { "src/add.mjs": ADD, "test/add.test.mjs": ADD_TEST };
  cli = createNodeProject({
    script: says(...answers),
    config,
    check: script,
    realNode,
    files: { ...files, ...(red && failing) },
  });
}

const line = (before: string, after: string) => replace("src/one.mjs", before, after);
const lastLine = ONE.trimEnd().split("\n").at(-1) ?? "";
const breaking = line("export const one = 1;", "export const one = 2;");
const renaming = line("export const one = 1;", "// The first.\nexport const one = 1;");

withChecks("what passes before and after lands, and the reply says what was checked", () => {
  project([proposal("Say what it is", renaming)], { realNode: true });
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.out).toStartWith("Applied: 1 file, npm test 1 passed\n");
  expect(ran.out).toContain("npm test 1 passed");
  expect(ran.code).toBe(0);
  expect(cli.read("src/one.mjs")).toContain("// The first.");
});

withChecks("red is returned to the coder and lands when it is green", () => {
  project(
    [proposal("Try", breaking), proposal("Mend", line("export const one = 2;", "export const one = 3 - 2;"))],
    { realNode: true },
  );
  const ran = cli.chat("/code3 compute one in src/one.mjs");
  expect(ran.out).toContain("npm test 1 passed");
  expect(ran.out).toContain("[Plan]\nTry\n→ Mend\n");
  expect(ran.out).toMatch(/^Attempts: 2$/m);
  expect(ran.code).toBe(0);
  expect(cli.read("src/one.mjs")).toBe("export const one = 3 - 2;\n");
  expect(cli.chat("/undo").code).toBe(0);
  expect(cli.git("status", "--porcelain")).toBe("");
});

withChecks("what makes the checks worse does not land, and one tap applies it", () => {
  project([
    proposal("Try", breaking),
    proposal("Try again", line("export const one = 2;", "export const one = 22;")),
    proposal("Leave", ""),
  ]);
  const before = cli.tree();
  const ran = cli.chat("/code3 make one two in src/one.mjs");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.out).toContain("Newly failing, skipped or missing: one is one");
  expect(ran.out).toMatch(
    /1 changed file is staged\. To apply exactly this: picoclaw apply --job (\d+)\nTo see it: picoclaw show \1 --diff\nTo discard it: picoclaw discard \1\n/,
  );
  expect(ran.code).toBe(1);
  expect(cli.tree()).toEqual(before);
  expect(cli.run(["jobs"]).out).toContain("Not applied: checks got worse");
  expect(cli.chat("/apply").code).toBe(0);
  expect(cli.run(["jobs"]).out).not.toContain("got worse");
  expect(cli.read("src/one.mjs")).toContain("one = 2");
});

withChecks(
  "what keeps the checks from ending does not land, and every list says so",
  () => {
    project([proposal("Try", breaking)], {
      script: "if grep -q 'one = 2' src/one.mjs; then exec sleep 600; fi",
      config: "coder: { attempts: 1 }\nchecks: { timeout: 10 }\n",
    });
    const ran = cli.chat("/code3 make one two in src/one.mjs");
    expect(ran.out).toStartWith("Not applied: checks did not end");
    expect(ran.out).toContain("The checks did not end: npm test did not end in 10 s");
    expect(ran.out).not.toContain("worse");
    expect(ran.out).toMatch(/1 changed file is staged\./);
    expect(ran.code).toBe(1);
    expect(cli.run(["jobs"]).out).toContain("Not applied: checks did not end");
    expect(cli.run(["jobs", "--all"]).out).toContain("Not applied: checks did not end");
  },
  300_000,
);

withChecks("coder.on_red: apply lands it, and says that it is worse", () => {
  project([proposal("Try", breaking), proposal("Leave", "")], { config: "coder: { on_red: apply }\n" });
  const ran = cli.chat("/code3 make one two in src/one.mjs");
  expect(ran.out).toStartWith("Applied: 1 file, 1 of 1 tests fail\n");
  expect(ran.out).toContain("The checks got worse");
  expect(ran.code).toBe(1);
  expect(cli.read("src/one.mjs")).toContain("one = 2");
});

withChecks("worker.transaction: none has no draft to check, and the first line says so", () => {
  project([proposal("Try", breaking)], { config: "worker: { transaction: none }\n" });
  const ran = cli.chat("/code3 make one two in src/one.mjs");
  expect(ran.out).toStartWith(
    "Applied: 1 file, NOT CHECKED: the checks could not be run separately from the workspace\n",
  );
});

withChecks("coder.on_red: discard keeps nothing", () => {
  project([proposal("Try", breaking), proposal("Leave", "")], { config: "coder: { on_red: discard }\n" });
  const before = cli.tree();
  const ran = cli.chat("/code3 make one two in src/one.mjs");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.out).toContain("The draft was discarded after 1 attempt (coder.on_red: discard).");
  expect(ran.code).toBe(1);
  expect(cli.tree()).toEqual(before);
});

withChecks("if a test was red before, the change that fixes it is named", () => {
  project([proposal("Add", replace("src/add.mjs", ADD.trimEnd(), ADD.trimEnd().replace("-", "+")))], {
    red: true,
    realNode: true,
  });
  const ran = cli.chat("/code3 add in src/add.mjs is wrong");
  expect(ran.out).toContain("npm test 2 passed (1 fixed)");
  expect(ran.code).toBe(0);
});

withChecks("where a test was red before and stays so, nothing is worse and it lands", () => {
  project([proposal("Say what it is", renaming)], { red: true });
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.out).toStartWith(
    "Applied: 1 file, npm test 1 passed, 1 was red before and still is, nothing is worse\n",
  );
  expect(ran.out).toContain("Still red as before: adds");
  expect(ran.code).toBe(0);
});

const addTestLine = ADD_TEST.trimEnd().split("\n").at(-1) ?? "";
const wrong = (text: string) => replace("src/add.mjs", ADD.trimEnd(), `${ADD.trimEnd()} // ${text}`);
const again = (before: string, text: string) =>
  replace("src/add.mjs", `${ADD.trimEnd()} // ${before}`, `${ADD.trimEnd()} // ${text}`);
const right = (before: string) =>
  replace("src/add.mjs", `${ADD.trimEnd()} // ${before}`, ADD.trimEnd().replace("-", "+"));

withChecks("a red test that the change is connected with and that stays red never lands", () => {
  project([proposal("A", wrong("a")), proposal("B", again("a", "b")), proposal("C", again("b", "c"))], {
    red: true,
  });
  const before = cli.tree();
  const ran = cli.chat("/code3 make the failing test pass");
  expect(ran.out).toStartWith("Preview, nothing applied: npm test 1 passed, 1 still red\n");
  expect(ran.out).toContain("Red before and still red: adds");
  expect(ran.out).not.toContain("Still red:");
  expect(ran.out).not.toContain("Transaction:");
  expect(ran.code).toBe(1);
  expect(cli.tree()).toEqual(before);
});

withChecks("a red test that the change is connected with lands when the second answer fixes it", () => {
  project([proposal("A", wrong("a")), proposal("B", right("a"))], { red: true });
  const ran = cli.chat("/code3 make the failing test pass");
  expect(ran.out).toStartWith("Applied: 1 file, npm test 2 passed (1 fixed)\n");
  expect(ran.out).toContain("Attempts: 2\n");
  expect(ran.code).toBe(0);
});

withChecks("a proposal that changes nothing does not fix what it declares", () => {
  const nothing = "```bash\ntrue\n```";
  project([proposal("A\nFixes: adds", nothing), proposal("B", nothing)], { red: true });
  const ran = cli.chat("/code3 make the failing test pass");
  expect(ran.out.split("\n")[0]).toContain("npm test 1 passed, 1 still red");
  expect(ran.out).toContain("Red before and still red: adds");
  expect(ran.out).not.toContain("staged");
  expect(ran.code).toBe(1);
});

withChecks("a proposal that changes nothing is returned, and the next one lands", () => {
  const mended = replace("src/add.mjs", ADD.trimEnd(), ADD.trimEnd().replace("-", "+"));
  project([proposal("Fixes: adds", "```bash\ntrue\n```"), proposal("B", mended)], { red: true });
  const ran = cli.chat("/code3 make the failing test pass");
  expect(ran.out).toStartWith("Applied: 1 file, npm test 2 passed (1 fixed)\n");
});

withChecks("a check that names no tests is one test", () => {
  project([proposal("A", wrong("a")), proposal("B", "")], {
    red: true,
    script: "grep -q 'a + b' src/add.mjs",
  });
  const ran = cli.chat("/code3 make the failing test pass");
  expect(ran.out).toStartWith("Preview, nothing applied: npm test still red\n");
  expect(ran.code).toBe(1);
});

withChecks(
  "a red test of a changed file is returned once, and lands when the coder says why it is unrelated",
  () => {
    project(
      [
        proposal("A", replace("test/add.test.mjs", addTestLine, `// First.\n${addTestLine}`)),
        proposal("Not mine: adds: src/add.mjs subtracts since last week", ""),
      ],
      {
        red: true,
      },
    );
    const ran = cli.chat("/code3 comment test/add.test.mjs");
    expect(ran.out).toStartWith(
      "Applied: 1 file, npm test 1 passed, 1 was red before and still is (the coder: src/add.mjs subtracts since last week), nothing is worse\n",
    );
    expect(ran.code).toBe(0);
  },
);

withChecks("code that ends the test run as it is loaded does not pass for green", () => {
  project([proposal("A", line("export const one = 1;", "export const one = 1;\nprocess.exit(0);"))], {
    script: "node test/one.test.mjs",
    config: "coder: { attempts: 1 }\n",
  });
  const ran = cli.chat("/code3 tidy src/one.mjs");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.code).toBe(1);
});

withChecks("a test that demands something else now is mentioned without an alarm", () => {
  project([
    proposal(
      "Two",
      `${breaking}\n${replace("test/one.test.mjs", lastLine, lastLine.replace("one, 1", "one, 2"))}`,
    ),
  ]);
  const ran = cli.chat("/code3 make one two in src/one.mjs");
  expect(ran.out).toStartWith("Applied: 2 files, npm test 1 passed (1 expects something else)\n");
  expect(ran.out).toContain("1 test expects something else now: one is one");
  expect(ran.out).not.toContain("weakens");
  expect(cli.read("src/one.mjs")).toContain("one = 2");
});

withChecks("a test whose import alone follows a moved file expects what it expected", () => {
  const moved = `\`\`\`bash\nmv src/one.mjs src/uno.mjs\n\`\`\`\n${replace("test/one.test.mjs", 'import { one } from "../src/one.mjs";', 'import { one } from "../src/uno.mjs";')}`;
  project([proposal("Move", moved)]);
  const ran = cli.chat("/code3 rename src/one.mjs to src/uno.mjs");
  expect(ran.out).toMatch(/^Applied: [23] files, npm test 1 passed\n/);
  expect(ran.out).not.toContain("something else");
});

withChecks("a V4A patch that deletes a file and its only test file lands without a warning", () => {
  const patch = `\`\`\`patch
*** Begin Patch
*** Delete File: lib/mul.js
*** Delete File: test/mul.test.js
*** End Patch
\`\`\``;
  const files = {
    "lib/mul.js": "export default (a, b) => a * b;\n",
    "test/mul.test.js": `import assert from "node:assert";
import { test } from "node:test";
test("multiplies", async () => {
  const { default: times } = await import("../lib/mul.js");
  assert.equal(times(2, 3), 6);
});
`,
    "test/one.test.js": 'import { test } from "node:test";\ntest("one is one", () => {});\n',
  };
  cli = createNodeProject({
    script: says(proposal("Remove mul", patch)),
    check: "node --test",
    realNode: true,
    files,
  });
  const ran = cli.chat("/code3 remove mul");
  expect(ran.out).toStartWith("Applied: 2 files, npm test 1 passed");
  expect(ran.out).toContain("Removed with the code that they test: multiplies");
  expect(ran.out).not.toMatch(/worse|something else|weakens/);
  expect(ran.code).toBe(0);
  expect(cli.git("status", "--porcelain")).toBe(" D lib/mul.js\n D test/mul.test.js\n");
});

withChecks("what tests write never reaches the change, nor when the coder runs them itself", () => {
  project([proposal("Comment", `${renaming}\n\`\`\`bash\nnpm test\n\`\`\``)], {
    script: "mkdir -p coverage && echo x > coverage/report && node --test",
  });
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.code).toBe(0);
  expect(cli.git("status", "--porcelain")).toBe(" M src/one.mjs\n");
});

withChecks(
  "a test command of the patch is a command of the job, and the check's result is its result",
  () => {
    project([proposal("Comment", `${renaming}\n\`\`\`bash\nnpm test\n\`\`\``)], { red: true });
    const ran = cli.chat("/code3 comment src/one.mjs");
    expect(ran.out).toStartWith("Applied, 1 command failed: 1 file, npm test 1 passed");
    expect(ran.out).toContain("Run: 2, succeeded: 1, failed: 1");
    expect(ran.out).not.toContain("Undo does not cover");
    expect(ran.code).toBe(1);
    const shown = cli.json(cli.run(["show", "--json"]));
    expect(shown).toMatchObject({ executed_cmds: 1, failed_cmds: 1, success: false });
    const log = readFileSync(join(cli.home, "logs/picoclaw.log"), "utf8");
    expect(log).toMatch(/"event":"worker\.patch_parse".*"commands":2,/);
    expect(log.split('"event":"worker.command_failed"')).toHaveLength(2);
  },
);

withChecks("documentation alone runs no checks", () => {
  project([proposal("Read me", "```md:README.md\n# One\n```")], { script: "sleep 30" });
  const ran = cli.chat("/code3 add a README.md", [], { PICOCLAW_CHECKS_AUTO_LIMIT: "1" });
  expect(ran.out).toContain("not checked: only documentation was changed");
  expect(ran.code).toBe(0);
});

withChecks("checks that are too slow do not judge, and that is said", () => {
  project([proposal("Comment", renaming)], { script: "sleep 30" });
  const ran = cli.chat("/code3 comment src/one.mjs", [], { PICOCLAW_CHECKS_AUTO_LIMIT: "1" });
  expect(ran.out).toContain("NOT CHECKED: the checks take too long to run automatically");
  expect(ran.code).toBe(0);
});

withChecks("a project without checks is not checked, in one request", () => {
  cli = createChatCli(says(proposal("Write", "```txt:a.txt\nx\n```")));
  const ran = cli.chat("/code3 write a.txt");
  expect(ran.out).toContain("NOT CHECKED: no tests or linters were found");
  expect(ran.code).toBe(0);
});

withChecks(
  "a Japanese request without a file name finds the file, and a question of the coder leaves nothing",
  () => {
    project(["どの数にしますか？\n変更なし: 質問です", proposal("1 の説明を書く", renaming)]);
    const asked = cli.chat("/code3 one に説明を付けて", [], { PICOCLAW_LOCALE: "ja" });
    expect(asked).toMatchObject({
      code: 0,
      out: "どの数にしますか？\n\n何も変更していません。コーダーの言葉: 質問です\n",
    });
    expect(cli.git("status", "--porcelain")).toBe("");
    cli.rewrite(says(proposal("1 の説明を書く", renaming)));
    const done = cli.chat("/code3 one に説明を付けて", [], { PICOCLAW_LOCALE: "ja" });
    expect(done.out).toStartWith("実行完了 (1/1 コマンド成功)");
    expect(done.code).toBe(0);
  },
);

withChecks(
  "words that claim work which was not done are returned once, and then follow a line of fact",
  () => {
    const claim = "I have fixed the bug in src/add.mjs; all tests pass now. Applied!";
    project([claim, claim], { red: true });
    const ran = cli.chat("/code3 fix the failing test adds");
    expect(ran.out).toStartWith("Nothing was changed: the coder's answer has neither a patch nor the line");
    expect(ran.out).toEndWith("Applied!\n");
    expect(ran.code).toBe(3);
    expect(cli.git("status", "--porcelain")).toBe("");
  },
);

withChecks("a test script that is set to true is judged as it was", () => {
  const manifest = (test: string) => JSON.stringify({ type: "module", scripts: { test } });
  const easy = replace("package.json", manifest("node --test"), manifest("true"));
  project([proposal("Easy", `${breaking}\n${easy}`)], { config: "coder: { attempts: 1 }\n" });
  const ran = cli.chat("/code3 make one two in src/one.mjs");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.code).toBe(1);
});

withChecks("a script that a missing package manager runs is judged by its parts", () => {
  project([proposal("Say what it is", renaming)], { script: "pnpm lint && node --test" });
  cli.write("node_modules/.bin/anything", "");
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.out).toStartWith("Applied: 1 file, node --test 1 passed, pnpm lint cannot run here\n");
  expect(ran.code).toBe(0);
});

withChecks("another call of a runner than the project's is run, and its output is given to the coder", () => {
  project(
    [proposal("A", `${renaming}\n\`\`\`bash\nnode --test test/none.test.mjs\n\`\`\``), proposal("Leave", "")],
    {},
  );
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.out).toContain("The command failed: exit status 1\n");
  expect(ran.out).toContain("✗ [2] shell_command run node --test test/none.test.mjs (");
});
