import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { call, createMcp, type Mcp } from "./mcp-kit.ts";

let mcp: Mcp;
let client: Client;
beforeAll(async () => {
  mcp = createMcp();
  mcp.write("a.txt", "one\n");
  client = await mcp.stdio();
});
afterAll(() => mcp.remove());

const textOf = (content: unknown) => (content as { text: string }).text;

test("a client lists the prompts and fills them in", async () => {
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(["change_safely", "review_job", "take_back"]);
  const asked = await client.getPrompt({
    name: "change_safely",
    arguments: { request: "Rename foo to bar" },
  });
  expect(textOf(asked.messages[0]?.content)).toStartWith("Rename foo to bar\n\n");
  const all = textOf(asked.messages[0]?.content).match(/[a-z]+_[a-z]+/g) ?? [];
  const { tools } = await client.listTools();
  expect(all.filter((name) => !tools.some((tool) => tool.name === name))).toEqual([]);
});

test("a review brings the difference of the job along", async () => {
  await expect(client.getPrompt({ name: "review_job" })).rejects.toThrow("there is no job yet");
  const { structuredContent } = await call(client, "write_file", { path: "a.txt", content: "two\n" });
  const jobId = String(structuredContent?.job_id);
  for (const args of [{}, { job_id: jobId }]) {
    const { messages } = await client.getPrompt({ name: "review_job", arguments: args });
    expect(textOf(messages[0]?.content)).toContain(jobId);
    expect(messages[1]?.content).toMatchObject({
      type: "resource",
      resource: { uri: `picoclaw://jobs/${jobId}/diff`, mimeType: "text/x-diff" },
    });
    expect(JSON.stringify(messages[1])).toContain("-one\\n+two\\n");
  }
});

test("unknown prompts, missing arguments and unknown jobs are the client's mistake", async () => {
  const bad = [
    { name: "nothing" },
    { name: "change_safely" },
    { name: "review_job", arguments: { job_id: "x" } },
  ];
  for (const params of bad) await expect(client.getPrompt(params)).rejects.toThrow("-32602");
});
