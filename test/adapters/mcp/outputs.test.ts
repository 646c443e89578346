/** Every result of a tool is what its output schema says; the official client checks each one itself. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { call, createMcp, type Mcp } from "./mcp-kit.ts";

let mcp: Mcp;
let client: Client;
let tools: Tool[];
beforeAll(async () => {
  mcp = createMcp();
  mcp.write("a.txt", "one\ntwo\n");
  mcp.git("init", "-q");
  client = await mcp.stdio();
  ({ tools } = await client.listTools());
});
afterAll(() => mcp.remove());

const PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
/** In this order: each tool at least once, and each way to fail. */
const CALLS: readonly [string, Record<string, unknown>][] = [
  ["apply_patch", { filePath: "a.txt", patch: PATCH }],
  ["apply_patch", { filePath: "a.txt", patch: PATCH }],
  ["text_editor", { command: "view", path: "a.txt" }],
  ["text_editor", { command: "view", path: "." }],
  ["text_editor", { command: "create", path: "new.txt", file_text: "x\n" }],
  ["text_editor", { command: "str_replace", path: "a.txt", old_str: "two", new_str: "2" }],
  ["text_editor", { command: "insert", path: "a.txt", insert_line: 0, insert_text: "0" }],
  ["text_editor", { command: "undo_edit", path: "a.txt" }],
  ["text_editor", { command: "create", path: "new.txt", file_text: "x\n" }],
  ["execute_command", { command: "echo out; echo err >&2; exit 3" }],
  ["execute_command", { command: "sleep 60", timeout: 0.2 }],
  ["read_file", { path: "a.txt" }],
  ["read_file", { path: "a.txt", start_line: 2, end_line: 2 }],
  ["read_file", { path: "missing.txt" }],
  ["read_file", { path: "../outside" }],
  ["write_file", { path: "b.txt", content: "b\n" }],
  ["write_file", { path: "b.txt", content: "b\n" }],
  ["write_file", { path: ".env", content: "SECRET=1\n" }],
  ["tree", { path: "." }],
  ["tree", { path: ".", max_entries: 1 }],
  ["search", { pattern: "2|b", path: "." }],
  ["search", { pattern: "(" }],
  ["git_status_summary", {}],
  ["git_status_summary", { max_paths: 1 }],
  ["explain_line", { path: "a.txt", line: 1 }],
  ["explain_line", { path: "a.txt", line: 99 }],
  ["undo_job", {}],
  ["undo_job", { job_id: "job_1_aaaaaaaa" }],
];

test("every tool says what its results look like", () => {
  expect(tools.filter(({ outputSchema }) => outputSchema === undefined).map(({ name }) => name)).toEqual([]);
  expect(tools.map(({ name }) => name).sort()).toEqual([...new Set(CALLS.map(([name]) => name))].sort());
});

test("real results match it: the data is there, and no member that it does not name", async () => {
  const ajv = new AjvJsonSchemaValidator();
  const ends = new Map<string, Set<boolean>>();
  for (const [name, args] of CALLS) {
    const { structuredContent = {}, isError = false } = await call(client, name, args);
    const schema = tools.find((tool) => tool.name === name)?.outputSchema as { properties: object };
    const { valid, errorMessage } = ajv.getValidator(schema as never)(structuredContent);
    expect({ name, args, valid, errorMessage }).toEqual({ name, args, valid: true, errorMessage: undefined });
    const unnamed = Object.keys(structuredContent).filter((key) => !(key in schema.properties));
    expect({ name, args, unnamed }).toEqual({ name, args, unnamed: [] });
    ends.set(name, (ends.get(name) ?? new Set()).add(isError));
  }
  expect([...(ends.get("read_file") ?? [])]).toEqual([false, true]);
}, 300_000);

test("a result without its data is not what the schema says", () => {
  const ajv = new AjvJsonSchemaValidator();
  const schema = tools.find(({ name }) => name === "read_file")?.outputSchema;
  const validate = ajv.getValidator(schema as never);
  expect([validate({}).valid, validate({ path: "a", content: 1 }).valid]).toEqual([false, false]);
});
