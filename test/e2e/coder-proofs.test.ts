/** Tests that are tested, and the tests that belong to a change before the others, through the real program. */
import { afterEach, expect } from "bun:test";
import { type ChatCli, proposal, replace, type ScriptEntry } from "../application/chat/chat-kit.ts";
import { createNodeProject, withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

const says = (...answers: readonly string[]): ScriptEntry[] =>
  answers.map((text) => ({ when: { role: "coder3" }, times: 1, text }));

const testOf = (name: string, body: string) => `import { test } from "node:test";
import assert from "node:assert";
${body.includes(`${name}(`) || body.includes(`${name},`) ? `import { ${name} } from "../src/${name}.mjs";\n` : ""}test("${name} works", () => ${body});
`;
const ONE = testOf("one", "assert.equal(one, 1)");

function project(
  answers: readonly string[],
  more: { files?: Record<string, string>; check?: string; config?: string } = {},
) {
  cli = createNodeProject({
    script: says(...answers),
    ...(more.check !== undefined && { check: more.check }),
    ...(more.config !== undefined && { config: more.config }),
    files: { "src/one.mjs": "export const one = 1;\n", "test/one.test.mjs": ONE, ...more.files },
  });
}

const comment = replace("src/one.mjs", "export const one = 1;", "// The first.\nexport const one = 1;");
const second = replace(
  "src/one.mjs",
  "export const one = 1;",
  "export const one = 1;\nexport const two = 2;",
);
const newTest = (...tests: readonly string[]) =>
  `\`\`\`js:test/two.test.mjs\nimport { test } from "node:test";\nimport assert from "node:assert";\nimport * as all from "../src/one.mjs";\n${tests.join("\n")}\n\`\`\``;
const PROVES = 'test("two is two", () => assert.equal(all.two, 2));';
const SHOWS_NOTHING = 'test("one stays", () => assert.equal(all.one, 1));';

withChecks("a new test that fails without the change is told as a proof", () => {
  project([proposal("Two", `${second}\n${newTest(PROVES)}`)]);
  const ran = cli.chat("/code3 export two from src/one.mjs, with a test");
  expect(ran.out).toStartWith("Applied: 2 files, npm test 2 passed (1 new)\n");
  expect(ran.out).toContain("1 new test, fails without the change");
  expect(ran.code).toBe(0);
});

withChecks("new tests that pass without the change as well are told as such", () => {
  project([proposal("Two", `${second}\n${newTest(PROVES, SHOWS_NOTHING)}`)]);
  const ran = cli.chat("/code3 export two from src/one.mjs, with a test");
  expect(ran.out).toContain("1 of 2 new tests pass without the change as well: they show nothing of it.");
  expect(ran.code).toBe(0);
});

withChecks("tests that do not load what was changed do not count as a check of it", () => {
  project([proposal("Say what it is", comment)], {
    files: { "test/one.test.mjs": testOf("one", "assert.ok(true)") },
  });
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.out).toStartWith(
    "Applied: 1 file, NOT CHECKED: the tests (npm test) do not notice when src/one.mjs is broken\n",
  );
  expect(ran.code).toBe(0);
});

withChecks("a copy from an earlier build does not pass for the code that was changed", () => {
  project([proposal("Say what it is", comment)], {
    files: {
      "test/one.test.mjs": ONE.replace("../src/one.mjs", "../dist/one.mjs"),
      "dist/one.mjs": "export const one = 1;\n",
    },
  });
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.out).toContain("NOT CHECKED: the tests (npm test) do not notice when src/one.mjs is broken");
});

withChecks("where one of two changed files is noticed, the other one is named", () => {
  project(
    [
      proposal(
        "Comment both",
        `${comment}\n${replace("src/tool.mjs", "export const tool = 1;", "// A tool.\nexport const tool = 1;")}`,
      ),
    ],
    {
      files: { "src/tool.mjs": "export const tool = 1;\n" },
    },
  );
  const ran = cli.chat("/code3 comment src/one.mjs and src/tool.mjs");
  expect(ran.out).toStartWith("Applied: 2 files, npm test 1 passed\n");
  expect(ran.out).toContain("The tests do not notice when it is broken: src/tool.mjs");
});
