import { describe, expect, test } from "bun:test";
import { listTitle, planTitle } from "../../../src/application/jobs/conclude-job.ts";

describe("the title of a job", () => {
  const cases: readonly (readonly [string, { plan?: string; patch: string }, string])[] = [
    ["is the first line of the plan", { plan: "Greet by name.\nThen try it.", patch: "x" }, "Greet by name."],
    ["is no heading that only says plan", { plan: "## Plan\nGreet", patch: "x" }, "Greet"],
    ["is no fence", { patch: "```bash\nnpm test\n```" }, "npm test"],
    ["is no bracket", { patch: '[\n  {"type": "shell_command"}\n]' }, '{"type": "shell_command"}'],
    ["is no mark of a patch", { patch: "*** Begin Patch\n*** Add File: a.txt" }, "*** Add File: a.txt"],
    ["is what there is where nothing says more", { patch: "```" }, "```"],
    ["is cut by characters", { plan: "日".repeat(80), patch: "" }, "日".repeat(50)],
  ];
  for (const [name, given, title] of cases) test(name, () => expect(planTitle(given)).toBe(title));
});

describe("what a list calls a job", () => {
  const json = JSON.stringify([{ type: "file_edit", action: "update", target: "src/a.ts", content: "x" }]);
  const cases: readonly (readonly [string, { request?: string; plan?: string; patch: string }, string])[] = [
    ["is the request", { request: "\nGreet me\nplease", plan: "p", patch: json }, "Greet me"],
    ["is the plan where nobody asked", { plan: "Greet", patch: json }, "Greet"],
    ["is the first edit of a patch in JSON", { patch: json }, "update src/a.ts"],
    [
      "is the command of one",
      { patch: JSON.stringify([{ type: "shell_command", action: "run", target: "npm test\nls" }]) },
      "run npm test",
    ],
    ["is the files of a diff", { patch: "--- a/x\n+++ b/x\n--- /dev/null\n+++ b/y z.ts\n" }, "x, y z.ts"],
    ["is the files of V4A", { patch: "*** Begin Patch\n*** Update File: src/a.ts\n@@\n" }, "src/a.ts"],
    ["is the files of fences", { patch: "```txt:a.txt\nhello\n```\n~~~c++:b.cc\n~~~" }, "a.txt, b.cc"],
    ["is the first line of any other patch", { patch: "```sh\nnpm test\n```" }, "npm test"],
  ];
  for (const [name, given, title] of cases) test(name, () => expect(listTitle(given)).toBe(title));
});
