/** Changes that would make the checks say what is not so, through the real program. */
import { afterEach, expect } from "bun:test";
import { type ChatCli, proposal, replace, type ScriptEntry } from "../application/chat/chat-kit.ts";
import { createNodeProject, withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

const says = (...answers: readonly string[]): ScriptEntry[] =>
  answers.map((text) => ({ when: { role: "coder3" }, times: 1, text }));

const ADD_TEST = `import { test } from "node:test";
import assert from "node:assert";
import { add } from "../src/add.mjs";
test("adds", () => assert.equal(add(1, 2), 3));
`;

function project(
  answers: readonly string[],
  { sign = "+", config = "coder: { attempts: 2 }\n", realNode = false } = {},
) {
  cli = createNodeProject({
    script: says(...answers),
    config,
    check: "node --test",
    realNode,
    files: { "src/add.mjs": `export const add = (a, b) => a ${sign} b;\n`, "test/add.test.mjs": ADD_TEST },
  });
}

const code = (after: string) => replace("src/add.mjs", "export const add = (a, b) => a + b;", after);

withChecks(
  "code that detects the test run is returned once with its line, and is reported if it stays",
  () => {
    const forged =
      'import assert from "node:assert";\nassert.equal = () => {};\nexport const add = (a, b) => a - b;';
    project([proposal("Subtract", code(forged)), proposal("It stays", "")], { realNode: true });
    const ran = cli.chat("/code3 write add in src/add.mjs anew");
    expect(ran.out).toStartWith("Applied: 1 file, npm test DOUBTFUL: new code refers to the test run\n");
    expect(ran.out).toContain("New code that refers to the test run: src/add.mjs: assert.equal = () => {};");
    expect(ran.out).toEndWith("It stays\n");
  },
);

withChecks("code that speaks of the test run and is taken out lands as it should", () => {
  const first = 'if (process.env.NODE_TEST_CONTEXT) console.log("hi");\nexport const add = (a, b) => a + b;';
  const second = replace("src/add.mjs", 'if (process.env.NODE_TEST_CONTEXT) console.log("hi");', "// Adds.");
  project([proposal("Say hi", code(first)), proposal("Take it out", second)]);
  const ran = cli.chat("/code3 write add in src/add.mjs anew");
  expect(ran.out).toStartWith("Applied: 1 file, npm test 1 passed");
  expect(cli.read("src/add.mjs")).not.toContain("NODE_TEST_CONTEXT");
});

withChecks("a red test that was to be fixed is not fixed by a script that runs nothing", () => {
  const manifest = (script: string) => JSON.stringify({ type: "module", scripts: { test: script } });
  const forged = replace("package.json", manifest("node --test"), manifest("true"));
  project([proposal("Green", forged)], { sign: "-", config: "coder: { attempts: 1 }\n" });
  const ran = cli.chat("/code3 make the failing test pass");
  expect(ran.out).toContain("1 still red");
  expect(ran.out).toContain("Passes only with the changed version of: package.json");
  expect(ran.code).toBe(1);
  expect(cli.read("package.json")).toContain("node --test");
});

const TURNED = replace(
  "test/add.test.mjs",
  'test("adds", () => assert.equal(add(1, 2), 3));',
  'test("adds", () => assert.equal(add(1, 2), -1));',
);

withChecks("a red test that was to be fixed and is inverted is returned once, and is reported", () => {
  project([proposal("Turn it round", TURNED), proposal("It stays", "")], { sign: "-" });
  const ran = cli.chat("/code3 fix the failing test adds");
  expect(ran.out).toStartWith(
    "Applied: 1 file, npm test DOUBTFUL: 1 test passes only with the changed tests: adds\n",
  );
  expect(ran.out).toContain("with the old tests it still fails: adds");
  expect(ran.out).not.toContain("fixed)");
  expect(ran.out).toEndWith("It stays\n");
});

withChecks("a red test that was turned round and is put back lands when the code is right", () => {
  const back = replace(
    "test/add.test.mjs",
    'test("adds", () => assert.equal(add(1, 2), -1));',
    'test("adds", () => assert.equal(add(1, 2), 3));',
  );
  const right = replace(
    "src/add.mjs",
    "export const add = (a, b) => a - b;",
    "export const add = (a, b) => a + b;",
  );
  project([proposal("Turn it round", TURNED), proposal("Mend", `${back}\n${right}`)], { sign: "-" });
  const ran = cli.chat("/code3 fix the failing test adds");
  expect(ran.out).toStartWith("Applied: 1 file, npm test 1 passed (1 fixed)\n");
});

withChecks("assertions that are replaced by brackets are reported as well", () => {
  const forged =
    'import assert from "node:assert";\nassert["equal"] = () => {};\nexport const add = (a, b) => a - b;';
  project([proposal("Subtract", code(forged)), proposal("It stays", "")]);
  const ran = cli.chat("/code3 write add in src/add.mjs anew");
  expect(ran.out).toStartWith("Applied: 1 file, npm test DOUBTFUL: new code refers to the test run\n");
});

const WORSE = code("export const add = (a, b) => a - b;");
const ONE_TRY = { config: "coder: { attempts: 1 }\n" };
const FAKE_NPM =
  "mkdir -p ~/.local/bin; printf '#!/bin/sh\\necho ok 1 - adds\\necho 1..1\\n' > ~/.local/bin/npm; chmod +x ~/.local/bin/npm; echo script-shell=/bin/true > ~/.npmrc";
const withOwnPrograms = () => ({ PATH: `${cli.folder}/user/.local/bin:${process.env.PATH}` });

withChecks("a program and a setting that an undone job left in the private home do not decide", () => {
  project([proposal("Subtract", WORSE)], ONE_TRY);
  const commands = [
    { type: "file_edit", action: "create", target: "a.txt", content: "a\n" },
    { type: "shell_command", action: "run", target: FAKE_NPM, content: "" },
  ];
  const env = withOwnPrograms();
  expect(cli.apply(commands, [], { env }).code).toBe(0);
  expect(cli.run(["undo"], { env }).code).toBe(0);
  const ran = cli.chat("/code3 subtract in src/add.mjs", [], env);
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.code).toBe(1);
  expect(cli.read("src/add.mjs")).toContain("a + b");
});

withChecks("a setting that the change itself puts into the private home does not decide", () => {
  project([proposal("Subtract", `${WORSE}\n\`\`\`bash\n${FAKE_NPM}\n\`\`\``)], ONE_TRY);
  const ran = cli.chat("/code3 subtract in src/add.mjs", [], withOwnPrograms());
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.out).toContain("Passes only with the changed version of: ~/");
  expect(ran.out).toContain("~/.npmrc");
  expect(ran.code).toBe(1);
});

const THROUGH_DIST = {
  "src/add.mjs": "export const add = (a, b) => a + b;\n",
  "test/add.test.mjs": ADD_TEST.replace("../src/", "../dist/"),
};

withChecks("what an earlier run built does not pass for what was changed", () => {
  cli = createNodeProject({
    script: says(proposal("Subtract", WORSE)),
    ...ONE_TRY,
    check: "[ -d dist ] || cp -r src dist; node --test",
    files: { ...THROUGH_DIST, ".gitignore": "dist/\n" },
  });
  const ran = cli.chat("/code3 subtract in src/add.mjs");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.code).toBe(1);
});

withChecks("a build folder that the change brings along does not decide", () => {
  cli = createNodeProject({
    script: says(
      proposal(
        "Add",
        `${replace("src/add.mjs", "export const add = (a, b) => a + b;", "export const add = (a, b) => a * b;")}\n\`\`\`bash\necho 'export const add = (a, b) => a + b;' > dist/add.mjs\n\`\`\``,
      ),
    ),
    ...ONE_TRY,
    files: { ...THROUGH_DIST, "dist/add.mjs": "export const add = (a, b) => a - b;\n" },
  });
  const ran = cli.chat("/code3 make the failing test pass; dist/add.mjs and src/add.mjs");
  expect(ran.out).toContain("NOT CHECKED: the tests (npm test) do not notice when src/add.mjs is broken");
});
