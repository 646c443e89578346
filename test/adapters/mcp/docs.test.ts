import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createMcp, TOKEN } from "./mcp-kit.ts";

const mcp = createMcp();
afterAll(() => mcp.remove());
const page = readFileSync(join(import.meta.dir, "../../../docs/mcp.md"), "utf8");

test("the configuration for Cursor starts a server", async () => {
  const json = /```json\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const { command, args } = JSON.parse(json).mcpServers.picoclaw as { command: string; args: string[] };
  expect([command, args[0]]).toEqual(["picoclaw", "mcp"]);
  const filledIn = args.slice(1).map((each) => each.replace(/^\$\{workspaceFolder\}$/, mcp.workspace));
  const client = await mcp.stdio({ args: filledIn });
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
});

test("each line that adds the server names a command that exists", () => {
  const lines = [...page.matchAll(/^(?:claude|codex|gemini) mcp add .*?(picoclaw mcp|http\S+)/gm)];
  expect(lines.length).toBe(5);
  expect(mcp.run(["mcp", "--help"])).toMatchObject({ code: 0 });
});

test("the server over HTTP starts as it is written, and does not tell a token it was given", async () => {
  expect(page).toContain("picoclaw mcp --http 8391");
  const http = await mcp.http();
  expect(http.said()).toStartWith("PicoClaw MCP: http://127.0.0.1:");
  expect(http.said()).not.toContain(TOKEN);
});
