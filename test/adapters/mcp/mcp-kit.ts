/** The MCP server as a real process, with the official client or with bare bytes at its other end. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type CallToolResult, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createCli, PROGRAM, until } from "../../e2e/cli-kit.ts";

export const TOKEN = "a-token-for-tests";

interface ClientOptions {
  readonly args?: readonly string[];
  /** Folders that the client offers as its roots. */
  readonly roots?: readonly string[];
}

export function createMcp() {
  const cli = createCli();
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: join(cli.folder, "user"),
    PICOCLAW_HOME: cli.home,
    PICOCLAW_LOCALE: "en",
  };
  const ends: (() => Promise<unknown>)[] = [];

  function clientWith(roots: readonly string[] | undefined): Client {
    const capabilities = roots === undefined ? {} : { roots: { listChanged: true } };
    const client = new Client({ name: "test", version: "1" }, { capabilities });
    if (roots !== undefined)
      client.setRequestHandler(ListRootsRequestSchema, () => ({
        roots: roots.map((folder) => ({ uri: pathToFileURL(folder).href })),
      }));
    ends.push(() => client.close());
    return client;
  }

  function spawnServer(args: readonly string[]): ChildProcessWithoutNullStreams {
    const server = spawn(PROGRAM, ["mcp", ...args], {
      cwd: cli.workspace,
      env: { ...env, PICOCLAW_MCP_TOKEN: TOKEN },
    });
    ends.push(async () => server.kill("SIGKILL"));
    return server;
  }

  return {
    ...cli,
    async stdio({ args = [], roots }: ClientOptions = {}): Promise<Client> {
      const client = clientWith(roots);
      await client.connect(
        new StdioClientTransport({ command: PROGRAM, args: ["mcp", ...args], cwd: cli.workspace, env }),
      );
      return client;
    },
    /** The server without a client library; `next` waits for the message that fits. */
    async bare(args: readonly string[] = []) {
      const server = spawnServer(args);
      const messages = linesOf(server);
      const write = (bytes: string | Uint8Array) => void server.stdin.write(bytes);
      const next = (fits: (message: Message) => boolean) => until(() => messages.find(fits));
      write(`${JSON.stringify(INITIALIZE)}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n`);
      await next(({ id }) => id === INITIALIZE.id);
      const ended = new Promise<number | null>((resolve) => server.once("close", resolve));
      return { server, messages, write, next, ended };
    },
    async http(args: readonly string[] = []) {
      const server = spawnServer(["--http", "0", ...args]);
      let said = "";
      server.stderr.on("data", (data) => (said += data));
      const url = await until(() => /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(said)?.[0]);
      return {
        server,
        url,
        said: () => said,
        ended: new Promise<number | null>((resolve) => server.once("close", resolve)),
        async connect(roots?: readonly string[]): Promise<Client> {
          const client = clientWith(roots);
          const headers = { authorization: `Bearer ${TOKEN}` };
          const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
          await client.connect(transport as Parameters<Client["connect"]>[0]);
          return client;
        },
      };
    },
    async remove() {
      for (const end of ends.reverse()) await end().catch(() => {});
      await cli.remove();
    },
  };
}

export type Mcp = ReturnType<typeof createMcp>;

export interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

export const INITIALIZE = {
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bare", version: "1" } },
} as const;

/** Everything the server wrote to standard output; a line that is not JSON breaks the test. */
function linesOf(server: ChildProcessWithoutNullStreams): Message[] {
  const messages: Message[] = [];
  let rest = "";
  server.stdout.on("data", (data) => {
    const lines = (rest + data).split("\n");
    rest = lines.pop() as string;
    messages.push(...lines.map((line) => JSON.parse(line) as Message));
  });
  return messages;
}

export const request = (id: string | number, name: string, args: unknown, meta?: object) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args, ...(meta && { _meta: meta }) } })}\n`;

export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown>,
): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: args })) as CallToolResult;
}

export function codeOf({ structuredContent }: CallToolResult): unknown {
  return (structuredContent?.error as { code?: string } | undefined)?.code;
}

/** A command that runs until it is killed, with a child that left its session; `processes` counts what runs of it. */
export function longCommand() {
  const seconds = `${3000 + Math.floor(Math.random() * 6000)}.${process.pid}`;
  return {
    command: `echo begun; touch made; setsid sh -c 'exec sleep ${seconds}' & sleep ${seconds}; true`,
    processes: () => readdirSync("/proc").filter((pid) => commandOf(pid) === `sleep\0${seconds}\0`).length,
  };
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
