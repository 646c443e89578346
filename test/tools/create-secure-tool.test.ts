import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { z } from "zod";
import { createSecureTool } from "../../src/tools/create-secure-tool.ts";
import { policyVerdict } from "../../src/tools/tool-context.ts";
import { codeOf, createToolBench, dataOf, jobOf, type ToolBench } from "./tool-kit.ts";

let bench: ToolBench;
beforeEach(() => {
  bench = createToolBench();
});
afterEach(() => bench.remove());

describe("policy", () => {
  const names = ["execute_command", "exec_command"];
  test.each([
    ["the default holds for what is not named", { default: "allow", tools: {} }, "allow"],
    ["the default may deny", { default: "deny", tools: { read_file: "allow" } }, "deny"],
    ["a name wins over the default", { default: "deny", tools: { execute_command: "allow" } }, "allow"],
    ["an alias counts", { default: "allow", tools: { exec_command: "deny" } }, "deny"],
    [
      "a denial under any name wins",
      { default: "allow", tools: { execute_command: "allow", exec_command: "deny" } },
      "deny",
    ],
  ] as const)("%s", (_name, policy, expected) => {
    expect(policyVerdict(policy, names)).toBe(expected);
  });

  test("what the policy denies is not offered", async () => {
    const toolkit = await bench.toolkit({ policy: { default: "deny", tools: { read_file: "allow" } } });
    expect(toolkit.available().map(({ name }) => name)).toEqual(["read_file"]);
    expect(codeOf(await toolkit.tree({}))).toBe("denied POLICY_DENIED");
  });

  test("the configuration's lists make a policy", async () => {
    const toolkit = await bench.toolkit(
      {},
      { PICOCLAW_TOOLS_POLICY_DEFAULT: "deny", PICOCLAW_TOOLS_POLICY_ALLOW: "tree,search" },
    );
    expect(toolkit.available().map(({ name }) => name)).toEqual(["tree", "search"]);
  });
});

describe("write scope", () => {
  const WRITES: readonly (readonly [string, unknown])[] = [
    ["apply_patch", { filePath: "a.txt", patch: "" }],
    ["text_editor", { command: "create", path: "b.txt", file_text: "" }],
    ["text_editor", { command: "undo_edit", path: "a.txt" }],
    ["text_editor", { command: "no such", path: "a.txt" }],
    ["text_editor", undefined],
    ["write_file", { path: "b.txt", content: "" }],
    ["execute_command", { command: "true" }],
    ["command-executor_execute_command", { command: "true" }],
    ["undo_job", {}],
  ];
  test.each(WRITES)("read-only denies %s %p", async (name, args) => {
    bench.write("a.txt", "x");
    const toolkit = await bench.toolkit({ writeScope: "read-only" });
    expect(codeOf(await toolkit.invoke(name, args))).toBe("denied WRITE_DENIED");
    expect(bench.tree()).toEqual({ "a.txt": "x" });
  });

  test.each([
    ["read_file", { path: "a.txt" }],
    ["text_editor", { command: "view", path: "a.txt" }],
    ["tree", {}],
    ["search", { pattern: "x" }],
  ] as const)("read-only lets %s through", async (name, args) => {
    bench.write("a.txt", "x");
    const toolkit = await bench.toolkit({ writeScope: "read-only" });
    expect(codeOf(await toolkit.invoke(name, args))).toBe("success");
  });

  test("read-only offers the tools that it lets through, in whole or in part", async () => {
    const toolkit = await bench.toolkit({ writeScope: "read-only" });
    expect(toolkit.available().map(({ name }) => name)).toEqual([
      "text_editor",
      "read_file",
      "tree",
      "search",
      "git_status_summary",
      "explain_line",
    ]);
  });

  test("unrestricted writes elsewhere as a job of that folder, which undo_job undoes", async () => {
    const outside = `${bench.folder}/other/deep/a.txt`;
    const toolkit = await bench.toolkit({ writeScope: "unrestricted" });
    const written = await toolkit.writeFile({ path: outside, content: "x" });
    expect(written).toEqual({
      status: "success",
      data: { path: "other/deep/a.txt", bytes: 1 },
      job_id: expect.stringMatching(/^job_/),
      changes: [
        { path: "other", kind: "added" },
        { path: "other/deep", kind: "added" },
        { path: "other/deep/a.txt", kind: "added" },
      ],
      notes: [`outside the workspace: this is a job of ${bench.folder}`],
    });
    expect(dataOf(await toolkit.readFile({ path: "../other/deep/a.txt" }))).toMatchObject({ content: "x" });
    expect(codeOf(await toolkit.undoJob({ job_id: jobOf(written) }))).toBe("success");
    expect(codeOf(await toolkit.readFile({ path: outside }))).toBe("failure NOT_FOUND");
  });
});

describe("paths", () => {
  const OUTSIDE: readonly (readonly [string, string])[] = [
    ["an absolute path", "/etc/passwd"],
    ["a way up", "../secret.txt"],
    ["a way up from below", "sub/../../secret.txt"],
    ["a sibling with the same beginning", "../ws-evil/a.txt"],
    ["a link out", "out"],
    ["a folder link out", "outdir/secret.txt"],
    ["a link to a link out", "twice"],
  ];
  test.each(OUTSIDE)("%s is denied to every tool, and nothing is shown or written", async (_name, path) => {
    bench.write("../secret.txt", "s3cret");
    bench.write("../ws-evil/a.txt", "s3cret");
    bench.write("sub/a.txt", "");
    bench.link("out", "../secret.txt");
    bench.link("outdir", "..");
    bench.link("twice", "out");
    const toolkit = await bench.toolkit();
    const results = [
      await toolkit.readFile({ path }),
      await toolkit.writeFile({ path, content: "x" }),
      await toolkit.textEditor({ command: "view", path }),
      await toolkit.textEditor({ command: "create", path, file_text: "x" }),
      await toolkit.tree({ path }),
      await toolkit.search({ pattern: "s3cret", path }),
      await toolkit.executeCommand({ command: "true", working_directory: path }),
    ];
    expect(results.map(codeOf)).toEqual(results.map(() => "denied OUTSIDE_WORKSPACE"));
    expect(bench.read("../secret.txt")).toBe("s3cret");
  });

  test("a search and a tree do not follow links out", async () => {
    bench.write("../secret.txt", "s3cret");
    bench.link("outdir", "..");
    bench.link("out", "../secret.txt");
    const toolkit = await bench.toolkit();
    expect(dataOf(await toolkit.search({ pattern: "s3cret" }))).toEqual({ matches: [], truncated: false });
    expect(dataOf(await toolkit.tree({}))).toMatchObject({ tree: "out -> ../secret.txt\noutdir -> .." });
  });
});

describe("arguments", () => {
  test("an unknown tool is reported by its name", async () => {
    expect(await (await bench.toolkit()).invoke("rm_rf", {})).toEqual({
      status: "failure",
      reason: "tool",
      message: "unknown tool: rm_rf",
      error: { code: "UNKNOWN_TOOL" },
    });
  });

  test.each(["constructor", "__proto__", "toString", ""])("%p is an unknown tool", async (name) => {
    expect(codeOf(await (await bench.toolkit()).invoke(name, {}))).toBe("failure UNKNOWN_TOOL");
  });

  test("100 MB of arguments are refused before anything is read or written", async () => {
    const toolkit = await bench.toolkit();
    const content = "x".repeat(100 * 1024 ** 2);
    expect(await toolkit.writeFile({ path: "a.txt", content })).toEqual({
      status: "failure",
      reason: "arguments",
      message: "the arguments are longer than 16777216 characters",
      error: { code: "ARGUMENT_TOO_LARGE" },
    });
    const many = Array.from({ length: 100_000 }, () => "x");
    expect(codeOf(await toolkit.invoke("write_file", { path: "a.txt", content: many }))).toBe(
      "failure ARGUMENT_TOO_LARGE",
    );
    expect(bench.tree()).toEqual({});
  });

  test("null counts as not given", async () => {
    bench.write("a.txt", "x\n");
    const toolkit = await bench.toolkit();
    expect(codeOf(await toolkit.invoke("read_file", { path: "a.txt", start_line: null }))).toBe("success");
    expect(codeOf(await toolkit.invoke("read_file", { path: null }))).toBe("failure INVALID_ARGUMENT");
  });

  test("every issue is named", async () => {
    expect(await (await bench.toolkit()).invoke("read_file", { path: 1, start_line: 0, more: 1 })).toEqual({
      status: "failure",
      reason: "arguments",
      message:
        'path: Invalid input: expected string, received number; start_line: Too small: expected number to be >=1; Unrecognized key: "more" (there are path, start_line, end_line, encoding)',
      error: { code: "INVALID_ARGUMENT" },
    });
  });
});

describe("a user's own tool", () => {
  const shout = createSecureTool({
    name: "shout",
    title: "Shout",
    description: "Says it loudly.",
    input: z.strictObject({ text: z.string() }),
    access: "read",
    async run({ args }) {
      if (args.text === "") throw new Error("token=ghp_0123456789abcdefghij0123456789abcdef");
      return { data: args.text.toUpperCase(), notes: ["", "loud"] };
    },
  });

  test("gets the same checks and the same envelope", async () => {
    const context = await bench.context();
    expect(await shout.invoke(context, { text: "a" })).toEqual({
      status: "success",
      data: "A",
      notes: ["loud"],
    });
    expect(codeOf(await shout.invoke(context, { text: 1 }))).toBe("failure INVALID_ARGUMENT");
  });

  test("a bug in it is INTERNAL, and its text is masked", async () => {
    const result = await shout.invoke(await bench.context(), { text: "" });
    expect(result).toMatchObject({ status: "failure", error: { code: "INTERNAL" } });
    expect(JSON.stringify(result)).not.toContain("0123456789abcdef");
  });
});
