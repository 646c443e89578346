/** Tests that load compiled output: what judges is built from the draft's sources, in the check's own layer. */
import { afterEach, describe, expect } from "bun:test";
import { type ChatCli, proposal, replace, type ScriptEntry } from "../application/chat/chat-kit.ts";
import { createNodeProject, withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => (cli as ChatCli | undefined)?.remove());

const says = (...answers: readonly string[]): ScriptEntry[] =>
  answers.map((text) => ({ when: { role: "coder3" }, times: 1, text }));

const head = 'import { test } from "node:test";\nimport assert from "node:assert";\n';
const names = ["add", "double", "half", "negate"] as const;
const BODY = { add: "a + b", double: "a * 2", half: "a / 2", negate: "-a" } as const;
const code = (name: keyof typeof BODY) => `export const ${name} = (a, b) => ${BODY[name]};\n`;
const BUILD = `import { cpSync, rmSync } from "node:fs";
rmSync(process.argv[2] ?? "dist", { recursive: true, force: true });
cpSync("src", process.argv[2] ?? "dist", { recursive: true });
`;
const FILES = {
  ".gitignore": "dist/\n",
  "make.mjs": BUILD,
  ...Object.fromEntries(
    names.flatMap((name) => [
      [`src/${name}.mjs`, code(name)],
      [`dist/${name}.mjs`, code(name)],
      [
        `test/${name}.test.mjs`,
        `${head}import { ${name} } from "../dist/${name}.mjs";\ntest("${name}s", () => assert.equal(${name}(4, 2), ${{ add: 6, double: 8, half: 2, negate: -4 }[name]}));\n`,
      ],
    ]),
  ),
};
const edit = (from: string, to: string) =>
  replace("src/add.mjs", `export const add = (a, b) => ${from};`, `export const add = (a, b) => ${to};`);
const wrong = edit("a + b", "a - b");
const again = edit("a - b", "a - b - 0");
const right = edit("a - b - 0", "b + a");
const same = edit("a + b", "b + a");

function project(scripts: Readonly<Record<string, string>>, answers: readonly string[]) {
  cli = createNodeProject({ script: says(...answers), files: FILES, scripts });
}

describe.each([
  [
    "the script before the tests builds",
    { pretest: "npm run build -- dist", build: "node make.mjs" },
    "npm test",
  ],
  ["the tests do not build", { build: "node make.mjs" }, "npm run build && npm test"],
])("%s", (_, more, command) => {
  const scripts = { test: "node --test test/*.test.mjs", ...more };
  withChecks("a broken change of a source is worse, however stale the built one is", () => {
    project(scripts, [proposal("A", wrong), proposal("B", again), proposal("C", right)]);
    const ran = cli.chat("/code3 turn the operands of add around");
    expect(ran.out).toStartWith(`Applied: 1 file, ${command} 4 passed`);
    expect(ran.out).toContain("Attempts: 3");
    expect(ran.code).toBe(0);
    expect(cli.read("dist/add.mjs")).toBe(code("add"));
  });
  withChecks("a right one lands at once", () => {
    project(scripts, [proposal("A", same)]);
    const ran = cli.chat("/code3 turn the operands of add around");
    expect(ran.out).toStartWith(`Applied: 1 file, ${command} 4 passed`);
  });
});

withChecks(
  "where nothing confines and the folder is not trusted, the first line says why and what helps",
  () => {
    const config = "worker: { confine: off }\n";
    cli = createNodeProject({ script: says(proposal("A", wrong)), files: FILES, config });
    const ran = cli.chat("/code3 turn the operands of add around");
    expect(ran.out.split("\n")[0]).toBe(
      "Applied: 1 file, NOT CHECKED: nothing confines commands here, and tests are the project's own code; install bubblewrap, or run `picoclaw trust` in that folder",
    );
  },
);
