import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import fc from "fast-check";
import { cases } from "../../require.ts";
import { call, codeOf, createMcp, type Mcp } from "./mcp-kit.ts";

let mcp: Mcp;
beforeEach(() => {
  mcp = createMcp();
});
afterEach(() => mcp.remove());

const COUNT = process.env.TEST_NIGHTLY === "1" ? 1000 : 200;

test.each(["stdio", "http"] as const)(
  `${COUNT} calls at once over %s: each is answered, no edit of one file is lost`,
  async (way) => {
    mcp.write("shared.txt", "end\n");
    const client = way === "stdio" ? await mcp.stdio() : await (await mcp.http()).connect();
    const options = { timeout: 280_000 };
    const results = await Promise.all(
      Array.from({ length: COUNT }, (_, n) =>
        client.callTool(
          { name: n % 2 ? "read_file" : "text_editor", arguments: argumentsOf(n) },
          undefined,
          options,
        ),
      ),
    );
    expect(results.filter(({ isError }) => isError)).toEqual([]);
    const lines = mcp.read("shared.txt").trimEnd().split("\n");
    const inserted = Array.from({ length: COUNT / 2 / 5 }, (_, n) => `line ${n * 10}`);
    expect([...lines].sort()).toEqual(["end", ...inserted].sort());
    expect(Object.keys(mcp.tree()).length).toBe(1 + COUNT / 2 - COUNT / 10);
  },
  300_000,
);

test("120 sessions of others end no call that runs", async () => {
  const http = await mcp.http();
  const first = await http.connect();
  const running = first.callTool({
    name: "execute_command",
    arguments: { command: "sleep 8; echo went" },
  });
  for (let n = 0; n < 120; n += 1) await http.connect();
  expect(JSON.stringify(await running)).toContain("went");
}, 300_000);

/** Of ten calls five read, four create a file each, one inserts into the same file as all others. */
function argumentsOf(n: number): Record<string, unknown> {
  if (n % 2) return { path: "shared.txt" };
  if (n % 10 === 0) return { command: "insert", path: "shared.txt", insert_line: 0, new_str: `line ${n}\n` };
  return { command: "create", path: `file-${n}.txt`, file_text: `${n}\n` };
}

test("for any arguments, a call ends with a result or an error, and nothing outside changes", async () => {
  const client = await mcp.stdio();
  const { tools } = await client.listTools();
  const key = fc.oneof(
    fc.constantFrom(...tools.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties ?? {}))),
    fc.string(),
  );
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      "view",
      "create",
      "../x",
      "/etc/passwd",
      "a\0b",
      "\ud800",
      "",
      ".git/config",
      "~",
      1e308,
      -1,
    ),
    fc.string({ unit: "binary" }),
  );
  const name = fc.constantFrom(
    ...tools.map((tool) => tool.name).filter((each) => each !== "execute_command"),
  );
  await fc.assert(
    fc.asyncProperty(name, fc.dictionary(key, value, { maxKeys: 5 }), async (tool, args) => {
      const result = await call(client, tool, args);
      const code = codeOf(result);
      expect(typeof code).toBe(result.isError ? "string" : "undefined");
      expect(code).not.toBe("INTERNAL");
    }),
    { numRuns: cases(300) },
  );
  expect(await client.ping()).toEqual({});
  expect(readdirSync(mcp.folder).sort()).toEqual(["home", "user", "ws"]);
}, 300_000);
