/** A small MCP server on stdio, or on HTTP when a port is asked for: `add`, `fail`, and `where` that tells what it sees. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

function create(): Server {
  const server = new Server({ name: "sums", version: "1.0.0" }, { capabilities: { tools: {} } });
  const inputSchema = {
    type: "object" as const,
    properties: { a: { type: "number" }, b: { type: "number" } },
  };
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: ["add", "fail", "where", "a.b/c", "long"].map((name) => ({
      name,
      description: `Does ${name}. More.`,
      inputSchema,
      ...(["add", "long"].includes(name) && { annotations: { readOnlyHint: true } }),
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {} } }) => {
    if (name === "add") return { content: [{ type: "text", text: String(Number(args.a) + Number(args.b)) }] };
    if (name === "long")
      return {
        content: [{ type: "text", text: Array.from({ length: 3_000 }, (_, n) => `line ${n}`).join("\n") }],
      };
    if (name === "where")
      return {
        content: [
          { type: "text", text: JSON.stringify({ pid: process.pid, cwd: process.cwd(), env: process.env }) },
        ],
      };
    return { isError: true, content: [{ type: "text", text: `${name} did not work` }] };
  });
  return server;
}

if (process.argv[2] === "--http") {
  const http = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const wanted = process.env.SUMS_HEADER;
      if (wanted !== undefined && request.headers.get("x-token") !== wanted)
        return new Response("no", { status: 403 });
      const transport = new WebStandardStreamableHTTPServerTransport({});
      await create().connect(transport);
      return transport.handleRequest(request);
    },
  });
  console.log(`http://127.0.0.1:${http.port}/mcp`);
} else await create().connect(new StdioServerTransport());
