/** An undo that has to be merged out of files changed since is checked, and says what the checks show, through the real program. */
import { afterEach, expect } from "bun:test";
import { type ChatCli, proposal, replace } from "../application/chat/chat-kit.ts";
import { createNodeProject, withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

const VALUES =
  "export const one = 1;\n\n\nexport const two = 2;\n\n\nexport const three = 3;\n\n\nexport const four = 4;\n";
const test = (expected: string) => `import { test } from "node:test";
import assert from "node:assert";
import * as values from "../values.mjs";
test("one", () => assert.ok(${expected}));
`;

function project(expected: string): string {
  const edits = ["one = 1;", "four = 4;"].map((line) => ({
    when: { role: "coder3" },
    times: 1,
    text: proposal("Set", replace("values.mjs", `export const ${line}`, `export const ${line} // set`)),
  }));
  cli = createNodeProject({
    script: edits,
    files: { "values.mjs": VALUES, "test/values.test.mjs": test(expected) },
  });
  const first = cli.chat("/code3 set one in values.mjs");
  expect(first.code).toBe(0);
  // Another job changes other lines of the same file.
  expect(cli.chat("/code3 set four in values.mjs").code).toBe(0);
  return /picoclaw undo (\d+)/.exec(first.out)?.[1] ?? "";
}

withChecks("the checks run over it, and it can itself be undone", () => {
  const job = project("values.one === 1");
  const undone = cli.run(["undo", job]);
  expect(undone.out).toContain(`#${job} was merged out of them as #`);
  expect(undone.out).toContain("npm test: 1 passed");
  expect(undone.code).toBe(0);
  expect(cli.read("values.mjs")).toBe(VALUES.replace("four = 4;", "four = 4; // set"));
  expect(cli.run(["redo", job]).code).toBe(0);
  expect(cli.read("values.mjs")).toContain("one = 1; // set");
});

withChecks("what gets worse by it is named", () => {
  const job = project("values.one === 1");
  cli.write(
    "test/values.test.mjs",
    test('String(values.one) === "1"').replace(
      'import * as values from "../values.mjs";',
      'import * as values from "../values.mjs";\nimport { readFileSync } from "node:fs";\ntest("is set", () => assert.ok(readFileSync("values.mjs", "utf8").includes("one = 1; // set")));',
    ),
  );
  const undone = cli.run(["undo", job]);
  expect(undone.out).toContain("1 worse");
  expect(undone.out).toContain("Newly failing, skipped or missing: is set");
  expect(undone.code).toBe(0);
});
