import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isOlderServer, type McpServerSettings } from "../../domain/chat/mcp-servers.ts";

export interface McpToolsOptions {
  readonly servers: readonly McpServerSettings[];
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly workspace: string;
  readonly version: string;
  readonly home: string;
}

interface McpTool {
  /** `<server>_<tool>`, in letters that every model accepts. */
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly server: string;
  /** The server itself says that it changes nothing. */
  readonly isReadOnly: boolean;
}

/** The tools of all servers that answered. Neither opening nor calling rejects: failures are values. */
export interface McpTools {
  readonly tools: readonly McpTool[];
  readonly unavailable: readonly UnavailableServer[];
  call(
    name: string,
    args: unknown,
    signal: AbortSignal,
  ): Promise<{ readonly ok: boolean; readonly text: string; readonly server: string }>;
  /** False once a server that had answered is gone. */
  alive(): boolean;
  close(): Promise<void>;
}

interface UnavailableServer {
  readonly server: string;
  readonly detail: string;
  readonly needsLogin?: boolean;
}

const START_MS = 30_000;
const CALL_MS = 120_000;
/** The variables of this environment that a server's program gets; keys only through its own `env`. */
const PASSED_VARIABLES = "PATH HOME USER LANG LC_ALL TMPDIR TERM DISPLAY XDG_RUNTIME_DIR".split(" ");

export async function openMcpTools(options: McpToolsOptions): Promise<McpTools> {
  const opened = await Promise.all(options.servers.map((server) => openServer(server, options)));
  const routes = new Map<
    string,
    { readonly client: Client; readonly tool: string; readonly server: string }
  >();
  const tools: McpTool[] = [];
  const unavailable: UnavailableServer[] = [];
  for (const one of opened) {
    if (!one.ok) {
      unavailable.push(one.unavailable);
      continue;
    }
    for (const { name, description, inputSchema, annotations } of one.tools) {
      const safe = uniqueName(`${one.server}_${name}`, routes);
      routes.set(safe, { client: one.client, tool: name, server: one.server });
      tools.push({
        name: safe,
        description: description ?? "",
        parameters: inputSchema,
        server: one.server,
        isReadOnly: annotations?.readOnlyHint === true,
      });
    }
  }
  return {
    tools,
    unavailable,
    alive: () => opened.every((one) => !one.ok || one.isUp()),
    async call(name, args, signal) {
      const route = routes.get(name);
      if (route === undefined) return { ok: false, text: `unknown tool: ${name}`, server: "" };
      const { client, tool, server } = route;
      try {
        const result = await client.callTool(
          { name: tool, arguments: typeof args === "object" && args !== null ? { ...args } : {} },
          undefined,
          { signal, timeout: CALL_MS, resetTimeoutOnProgress: true },
        );
        return { ok: result.isError !== true, text: toolResultText(result), server };
      } catch (error) {
        return { ok: false, text: errorMessage(error), server };
      }
    },
    async close() {
      await Promise.allSettled(opened.map(async (one) => (one.ok ? one.client.close() : undefined)));
    },
  };
}

type OpenedServer =
  | {
      readonly ok: true;
      readonly server: string;
      readonly client: Client;
      readonly isUp: () => boolean;
      readonly tools: Awaited<ReturnType<Client["listTools"]>>["tools"];
    }
  | { readonly ok: false; readonly unavailable: UnavailableServer };

async function openServer(settings: McpServerSettings, options: McpToolsOptions): Promise<OpenedServer> {
  const { name: server } = settings;
  const ways = await transportsOf(settings, options);
  const troubles: unknown[] = [];
  for (const way of ways.inOrder) {
    const client = new Client({ name: "picoclaw", version: options.version });
    let gone = false;
    client.onclose = () => {
      gone = true;
    };
    try {
      await client.connect(await way(), { timeout: START_MS });
      const tools: Extract<OpenedServer, { ok: true }>["tools"] = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: START_MS });
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor !== undefined && tools.length < 1000);
      return { ok: true, server, client, tools, isUp: () => !gone };
    } catch (error) {
      await client.close().catch(() => undefined);
      troubles.push(error);
      if (ways.needsLogin() || !isOlderServer((error as { code?: number }).code)) break;
    }
  }
  const unavailable = ways.needsLogin()
    ? { server, detail: `401: picoclaw mcp login ${server}`, needsLogin: true }
    : { server, detail: errorMessage(troubles[0]) };
  return { ok: false, unavailable };
}

interface TransportWays {
  /** Streamable HTTP is tried before the older HTTP+SSE; a program has its standard streams. */
  readonly inOrder: readonly (() => Promise<Transport>)[];
  needsLogin(): boolean;
}

async function transportsOf(settings: McpServerSettings, options: McpToolsOptions): Promise<TransportWays> {
  const { url, headers } = settings;
  if (url === undefined) return { inOrder: [() => programOf(settings, options)], needsLogin: () => false };
  const { createAuthorisedFetch, openMcpLogins } = await import("./mcp-login.ts");
  const { fetch, needsLogin } = createAuthorisedFetch({ ...settings, url }, openMcpLogins(options.home));
  const how = { requestInit: { headers: { ...headers } }, fetch };
  return {
    needsLogin,
    inOrder: [
      async () => {
        const { StreamableHTTPClientTransport } = await import(
          "@modelcontextprotocol/sdk/client/streamableHttp.js"
        );
        return new StreamableHTTPClientTransport(new URL(url), how) as Transport;
      },
      async () => {
        const { SSEClientTransport } = await import("@modelcontextprotocol/sdk/client/sse.js");
        return new SSEClientTransport(new URL(url), how);
      },
    ],
  };
}

async function programOf(
  { command, args, env }: McpServerSettings,
  { hostEnv, workspace }: McpToolsOptions,
): Promise<Transport> {
  if (command === undefined) throw new Error("neither command nor url is set");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const passed = Object.fromEntries(
    PASSED_VARIABLES.flatMap((name) => (hostEnv[name] === undefined ? [] : [[name, hostEnv[name]]])),
  );
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...passed, ...env },
    cwd: workspace,
    stderr: "ignore",
  });
}

function uniqueName(wanted: string, taken: ReadonlyMap<string, unknown>): string {
  const safe = wanted.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 60);
  let name = safe;
  for (let again = 2; taken.has(name); again++) name = `${safe}_${again}`;
  return name;
}

/** Text as it is; pictures and other things by what they are. */
function toolResultText(result: Awaited<ReturnType<Client["callTool"]>>): string {
  const content = Array.isArray(result.content) ? (result.content as readonly ContentPart[]) : [];
  const parts = content.map((part) => {
    if (part.type === "text") return part.text ?? "";
    if (part.type === "resource") return part.resource?.text ?? `(resource ${part.resource?.uri ?? ""})`;
    return `(${part.type}${part.mimeType === undefined ? "" : `, ${part.mimeType}`})`;
  });
  if (parts.length === 0 && result.structuredContent !== undefined)
    parts.push(JSON.stringify(result.structuredContent));
  return parts.join("\n");
}

interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly mimeType?: string;
  readonly resource?: { readonly text?: string; readonly uri?: string };
}

function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
