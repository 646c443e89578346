/**
 * The tools over MCP on stdio, next to an echo tool of the SDK's own server: the same client, the same pipes, answers
 * of the same size. Run by itself, this file is that echo server.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
import { openToolkit } from "../src/wiring/toolkit.ts";
import { inTurns, milliseconds, type Row, type Sample } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const PROGRAM = join(import.meta.dir, "../bin/picoclaw");
const CALLS = 300;
const WORKSPACES = 10;
const PATCHES = 10;
const TEXT = "a line of an ordinary file\n".repeat(40);

export async function mcpServer(): Promise<Row[]> {
  const folder = tempFolder("mcp");
  try {
    return [...(await singleCalls(folder)), await manyPatches(folder)];
  } finally {
    remove(folder);
  }
}

async function singleCalls(folder: string): Promise<Row[]> {
  const workspace = join(folder, "single");
  mkdirSync(workspace);
  writeFileSync(join(workspace, "a.txt"), TEXT);
  writeFileSync(join(workspace, "b.txt"), "n 0\n");
  writeFileSync(join(workspace, "c.txt"), "n 0\n");
  const tools = await serve(folder, workspace);
  const opened = await openToolkit(environment(folder), { cwd: workspace });
  if (!opened.ok) throw new Error(opened.message);
  const echo = await connect(process.execPath, ["--no-env-file", import.meta.path], { cwd: workspace });
  const edits = { "b.txt": 0, "c.txt": 0 };
  const nextEdit = (path: keyof typeof edits) => {
    const n = edits[path]++;
    return { command: "str_replace", path, old_str: `n ${n}\n`, new_str: `n ${n + 1}\n` };
  };
  const times = await inTurns(
    CALLS,
    {
      echo: () => call(echo, "echo", { text: TEXT }),
      read: () => call(tools, "read_file", { path: "a.txt" }),
      view: () => call(tools, "text_editor", { command: "view", path: "a.txt" }),
      replace: () => call(tools, "text_editor", nextEdit("b.txt")),
      direct: async () => {
        const { status } = await opened.toolkit.invoke("text_editor", nextEdit("c.txt"));
        if (status !== "success") throw new Error(status);
      },
    },
    30,
  );
  await Promise.all([tools.close(), echo.close()]);
  const writing = (times.replace.median / times.echo.median).toFixed(0);
  return [
    against("read_file over MCP / an echo tool of the SDK", times.read, times.echo),
    against("text_editor view over MCP / the same", times.view, times.echo),
    against(
      `text_editor str_replace over MCP / the same call in this process (a job on disk: ${writing} × the echo)`,
      times.replace,
      times.direct,
    ),
  ];
}

function against(name: string, mine: Sample, other: Sample): Row {
  const ratio = mine.median / other.median;
  return {
    name,
    figure: `${ratio.toFixed(2)} (${precise(mine)} / ${precise(other)})`,
    target: "≤ 1.5",
    ok: ratio <= 1.5,
  };
}

const precise = ({ median, low, high }: Sample) =>
  `${median.toFixed(2)} ms (${low.toFixed(2)}–${high.toFixed(2)})`;

/** Each call changes its own line of its workspace's one file, so a lost one is seen. */
async function manyPatches(folder: string): Promise<Row> {
  const workspaces = Array.from({ length: WORKSPACES }, (_, n) => join(folder, `w${n}`));
  const clients: Client[] = [];
  for (const workspace of workspaces) {
    mkdirSync(workspace);
    clients.push(await serve(folder, workspace));
  }
  const fresh = () => {
    for (const workspace of workspaces)
      for (let n = 0; n < PATCHES; n++) writeFileSync(join(workspace, `${n}.txt`), "a\nb\nc\n");
  };
  const patchOf = (n: number) => ({
    filePath: `${n}.txt`,
    patch: `--- a/${n}.txt\n+++ b/${n}.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+patched\n c\n`,
  });
  let lost = 0;
  const count = () => {
    for (const workspace of workspaces)
      for (let n = 0; n < PATCHES; n++)
        if (readFileSync(join(workspace, `${n}.txt`), "utf8") !== "a\npatched\nc\n") lost += 1;
  };
  const { serial, atOnce } = await inTurns(
    3,
    {
      serial: {
        prepare: fresh,
        async run() {
          for (const client of clients)
            for (let n = 0; n < PATCHES; n++) await call(client, "apply_patch", patchOf(n));
        },
      },
      atOnce: {
        prepare() {
          count();
          fresh();
        },
        async run() {
          await Promise.all(
            clients.flatMap((client) =>
              Array.from({ length: PATCHES }, (_, n) => call(client, "apply_patch", patchOf(n))),
            ),
          );
        },
      },
    },
    1,
  );
  count();
  await Promise.all(clients.map((client) => client.close()));
  const ratio = atOnce.median / (serial.median / cpus().length);
  return {
    name: "100 apply_patch at once on 10 workspaces / (one after the other / cores)",
    figure: `${ratio.toFixed(2)} (${milliseconds(atOnce)} / ${milliseconds(serial)} on ${cpus().length} cores; ${lost} lost)`,
    target: "≤ 1.3, none lost",
    ok: ratio <= 1.3 && lost === 0,
  };
}

const serve = (folder: string, workspace: string) =>
  connect(PROGRAM, ["mcp"], {
    cwd: workspace,
    env: environment(folder),
  });

const environment = (folder: string) => ({
  PATH: process.env.PATH ?? "",
  HOME: folder,
  PICOCLAW_HOME: join(folder, "home"),
});

async function connect(
  command: string,
  args: string[],
  place: { readonly cwd: string; readonly env?: Record<string, string> },
): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, ...place }));
  return client;
}

async function call(client: Client, name: string, args: Record<string, unknown>): Promise<void> {
  const { isError, content } = await client.callTool({ name, arguments: args });
  if (isError) throw new Error(JSON.stringify(content));
}

if (import.meta.main) {
  const server = new McpServer({ name: "echo", version: "1" });
  server.registerTool("echo", { inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: "text", text: JSON.stringify({ text }) }],
    structuredContent: { text },
  }));
  await server.connect(new StdioServerTransport());
}
