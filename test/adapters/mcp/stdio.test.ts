import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { call, codeOf, createMcp, type Mcp } from "./mcp-kit.ts";

let mcp: Mcp;
let client: Client;
beforeAll(async () => {
  mcp = createMcp();
  mcp.write("a.txt", "one\ntwo\n");
  client = await mcp.stdio();
});
afterAll(() => mcp.remove());

describe("the official client over stdio", () => {
  test("lists every tool as `picoclaw tools --format mcp` does, with hints for who asks a person", async () => {
    const { tools } = await client.listTools();
    expect(tools as unknown).toEqual(JSON.parse(mcp.run(["tools", "--format", "mcp"]).out));
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]));
    expect(hints).toMatchObject({
      read_file: true,
      search: true,
      text_editor: false,
      execute_command: false,
    });
    expect(tools.find(({ name }) => name === "write_file")?.annotations?.destructiveHint).toBe(true);
  });

  test("calls each tool and gets its data as structure and as text", async () => {
    const calls: readonly [string, Record<string, unknown>, object][] = [
      ["read_file", { path: "a.txt" }, { path: "a.txt", content: "one\ntwo\n", total_lines: 2 }],
      ["write_file", { path: "b.txt", content: "b\n" }, { path: "b.txt", changes: [{ path: "b.txt" }] }],
      ["text_editor", { command: "view", path: "a.txt" }, {}],
      ["text_editor", { command: "str_replace", path: "a.txt", old_str: "two", new_str: "2" }, {}],
      [
        "apply_patch",
        { filePath: "a.txt", patch: PATCH },
        { changes: [{ path: "a.txt", kind: "modified" }] },
      ],
      ["execute_command", { command: "echo out; exit 3" }, { exit_code: 3, stdout: "out\n" }],
      ["exec_command", { command: "true" }, { exit_code: 0 }],
      ["tree", { path: "." }, {}],
      ["search", { pattern: "one", path: "." }, {}],
    ];
    for (const [name, args, data] of calls) {
      const result = await call(client, name, args);
      expect({ name, isError: result.isError, text: codeOf(result) }).toEqual({
        name,
        isError: undefined,
        text: undefined,
      });
      expect(result.structuredContent).toMatchObject(data);
      const [text] = result.content;
      expect(JSON.parse(text?.type === "text" ? text.text : "")).toEqual(result.structuredContent);
    }
    expect(mcp.read("a.txt")).toBe("1\n2\n");
  });

  test("takes a job back by the id that its result gave", async () => {
    const { structuredContent } = await call(client, "write_file", { path: "c.txt", content: "c" });
    const jobId = structuredContent?.job_id as string;
    const undone = await call(client, "undo_job", { job_id: jobId });
    expect(undone.structuredContent).toMatchObject({ undone: [jobId] });
    expect(Object.keys(mcp.tree())).not.toContain("c.txt");
  });

  test("reads jobs and their diffs as resources; secrets in them are masked", async () => {
    const secret = `ghp_${"a1B2".repeat(9)}`;
    const { structuredContent } = await call(client, "write_file", {
      path: "d.txt",
      content: `d\ntoken ${secret}\n`,
    });
    const jobId = structuredContent?.job_id as string;
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri).slice(0, 3)).toEqual([
      "picoclaw://jobs",
      `picoclaw://jobs/${jobId}`,
      `picoclaw://jobs/${jobId}/diff`,
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "picoclaw://jobs/{id}",
      "picoclaw://jobs/{id}/diff",
    ]);
    const read = async (uri: string) =>
      ((await client.readResource({ uri })).contents[0] as { text: string }).text;
    expect(JSON.parse(await read("picoclaw://jobs")).jobs[0]).toMatchObject({
      job_id: jobId,
      undo: "available",
    });
    expect(JSON.parse(await read(`picoclaw://jobs/${jobId}`))).toMatchObject({
      job_id: jobId,
      changes: [{ path: "d.txt", kind: "added" }],
    });
    const diff = await read(`picoclaw://jobs/${jobId}/diff`);
    expect(diff).toStartWith("--- /dev/null\n+++ b/d.txt\n@@ -0,0 +1,2 @@\n+d\n+token ");
    expect(diff).not.toContain(secret);
  });

  test("a large job stays readable: its diff and its details are cut, and say where the rest is", async () => {
    const content = "0123456789\n".repeat(200_000);
    const { structuredContent } = await call(client, "write_file", { path: "large.txt", content });
    const jobId = structuredContent?.job_id as string;
    for (const uri of [`picoclaw://jobs/${jobId}`, `picoclaw://jobs/${jobId}/diff`, "picoclaw://jobs"]) {
      const [resource] = (await client.readResource({ uri })).contents;
      expect((resource as { text: string }).text.length).toBeLessThan(1_100_000);
      if (uri.endsWith("/diff"))
        expect(resource).toMatchObject({ text: expect.stringMatching(/more characters|too large to show/) });
    }
  });

  test.each([
    "picoclaw://jobs/job_1_aaaaaaaa",
    "picoclaw://jobs/../..",
    "picoclaw://jobs/",
    "file:///etc/passwd",
    "x",
  ])("a resource that is not there is an error of its own: %s", async (uri) => {
    expect(await codeFrom(client.readResource({ uri }))).toBe(-32002);
  });

  test("an unknown tool and wrong parameters are errors of the protocol", async () => {
    expect(await codeFrom(call(client, "nope", {}))).toBe(-32602);
    expect(await codeFrom(client.callTool({ name: 5 } as never))).toBe(-32602);
    expect(await codeFrom(client.callTool({ name: "tree", arguments: "x" } as never))).toBe(-32602);
  });

  test.each<[string, string, Record<string, unknown>, string]>([
    ["a path outside", "write_file", { path: "../x", content: "" }, "OUTSIDE_WORKSPACE"],
    ["a missing argument", "write_file", { path: "x" }, "INVALID_ARGUMENT"],
    ["an argument too many", "read_file", { path: "a.txt", more: 1 }, "INVALID_ARGUMENT"],
    ["a wrong type", "read_file", { path: ["a.txt"] }, "INVALID_ARGUMENT"],
    ["a missing file", "read_file", { path: "nope" }, "NOT_FOUND"],
  ])("%s is a failed result with a code", async (_, name, args, code) => {
    const result = await call(client, name, args);
    expect([result.isError, codeOf(result)]).toEqual([true, code]);
  });
});

const PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n 2\n";

function codeFrom(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => "no error",
    (error: { code?: number }) => error.code,
  );
}
