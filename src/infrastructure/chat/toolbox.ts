import type { Toolbox, ToolboxRequest, ToolGroup, ToolOutcome } from "../../application/chat/chat-turn.ts";
import type { ProcessesDoor } from "../../application/chat/process-tools.ts";
import type { ModelTool } from "../../application/ports/models.ts";
import {
  type McpServerEntry,
  type McpServerSettings,
  type ReadVariable,
  readMcpFile,
  resolveMcpServer,
} from "../../domain/chat/mcp-servers.ts";
import { MCP_FILE } from "../../domain/config/configured-kinds.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { WebDeps } from "../sandbox/read-web.ts";
import type { McpPool } from "./mcp-pool.ts";
import type { McpToolsOptions } from "./mcp-tools.ts";

/** Characters of a tool's result that a model is given; local windows are small. */
const RESULT_CHARS = 12_000;

export interface OwnTools {
  readonly tools: readonly ModelTool[];
  invoke(name: string, args: unknown, options: CallOptions): Promise<ToolOutcome>;
}

type CallOptions = Parameters<Toolbox["call"]>[2];

export interface ToolboxDeps extends Pick<McpToolsOptions, "home" | "workspace" | "hostEnv" | "version"> {
  readonly research: ResearchSettings;
  readonly mask: (text: string) => string;
  /** The servers of every source, those of an editor among them. */
  readonly nameServers: (editor: readonly McpServerSettings[]) => NamedServers;
  readonly openOwnTools: (request: ToolboxRequest) => OwnTools;
  readonly processes: Pick<ProcessesDoor, "openTools" | "isOwnPort">;
  readonly pool: McpPool;
}

export async function openToolbox(deps: ToolboxDeps, request: ToolboxRequest): Promise<Toolbox> {
  const { home, workspace, hostEnv, version, research, mask, processes, pool } = deps;
  const { readOnly, servers: wanted, web = false, editorServers = [], forCoder = false } = request;
  const named = deps.nameServers(editorServers);
  const servers = readOnly ? [] : named.servers.filter(({ name }) => wanted?.includes(name) ?? true);
  const key = [request.sessionKey, ...servers.map(({ name }) => name)].join(" ");
  const open = async () => {
    const { openMcpTools } = await import("./mcp-tools.ts");
    return openMcpTools({ servers, hostEnv, workspace, version, home });
  };
  const own = request.toolkit === false ? null : deps.openOwnTools(request);
  const pages =
    web && !readOnly ? await openWebTools(research, mask, `PicoClaw/${version}`, processes.isOwnPort) : null;
  const kept = request.toolkit === false ? null : await processes.openTools(readOnly);
  const mcp = servers.length === 0 ? null : await pool.take(key, open);
  const offered = mcp?.tools.filter(forCoder ? mayCoderCall(servers) : () => true) ?? [];
  const call = async (name: string, args: unknown, options: CallOptions): Promise<ToolOutcome> => {
    if (mcp !== null && offered.some((tool) => tool.name === name))
      return mcp.call(name, args, options.signal);
    const outcome = pages?.call(name, args, options.signal) ?? kept?.call(name, args, options.signal) ?? null;
    if (outcome !== null) return outcome;
    return own?.invoke(name, args, options) ?? { ok: false, text: `unknown tool: ${name.slice(0, 100)}` };
  };
  return {
    tools: [
      ...(own?.tools ?? []),
      ...(pages?.tools ?? []),
      ...(kept?.tools ?? []),
      ...offered.map(({ name, description, parameters }) => ({ name, description, parameters })),
    ],
    unavailable: [
      ...(!readOnly && wanted === undefined ? named.unavailable : []),
      ...(mcp?.unavailable ?? []),
    ],
    async call(name, args, options) {
      const outcome = await call(name, args, options);
      const text = mask(outcome.text);
      return { ...outcome, text: options.whole === true ? text : cutMiddle(text, RESULT_CHARS) };
    },
    close: () => pool.release(key),
  };
}

export type McpFile =
  | { readonly kind: "none" }
  | { readonly kind: "untrusted" }
  | { readonly kind: "read"; readonly text: string };

export interface NamedServers {
  readonly servers: readonly McpServerSettings[];
  readonly unavailable: Toolbox["unavailable"];
}

/** Every server that a message may use: the configuration's go before the workspace's, and those before the editor's. */
export function nameServers(
  sources: {
    readonly configured: Readonly<Record<string, McpServerEntry>>;
    readonly file: McpFile;
    readonly editor: readonly McpServerSettings[];
  },
  read: ReadVariable,
): NamedServers {
  const unavailable: { server: string; detail: string }[] = [];
  const servers = new Map<string, McpServerSettings>();
  const add = (name: string, entry: McpServerEntry) => {
    if (servers.has(name)) return;
    const resolved = resolveMcpServer(name, entry, read);
    if (resolved.ok) servers.set(name, resolved.server);
    else unavailable.push({ server: name, detail: resolved.detail });
  };
  for (const [name, entry] of Object.entries(sources.configured)) add(name, entry);
  if (sources.file.kind === "untrusted") unavailable.push({ server: MCP_FILE, detail: "picoclaw trust" });
  if (sources.file.kind === "read") {
    const found = readMcpFile(sources.file.text);
    if (!found.ok) unavailable.push({ server: MCP_FILE, detail: "mcpServers?" });
    else {
      for (const [name, entry] of Object.entries(found.servers)) add(name, entry);
      for (const name of found.unusable)
        unavailable.push({ server: name, detail: `${MCP_FILE}: command? url?` });
    }
  }
  for (const server of sources.editor) if (!servers.has(server.name)) servers.set(server.name, server);
  return { servers: [...servers.values()], unavailable };
}

/** Whether a coder may call a tool: the server's own word counts only where the configuration says no more. */
function mayCoderCall(
  servers: readonly McpServerSettings[],
): (tool: { readonly server: string; readonly isReadOnly: boolean }) => boolean {
  const policy = new Map(servers.map(({ name, coders }) => [name, coders]));
  return ({ server, isReadOnly }) => {
    const allowed = policy.get(server) ?? "off";
    return allowed === "all" || (allowed === "read-only" && isReadOnly);
  };
}

/** Characters of a page that a local window takes. */
const PAGE_CHARS = 10_000;
const PAGE_BYTES = 4 * 1024 ** 2;

interface ResearchSettings {
  readonly fetch: boolean;
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
  readonly search_url: string | null;
  readonly timeout: number;
}

/** Tools that read the web, loaded with the first message that may use them; null where they are switched off. */
async function openWebTools(
  settings: ResearchSettings,
  mask: (text: string) => string,
  userAgent: string,
  isOwnPort: WebDeps["isOwnPort"],
): Promise<ToolGroup | null> {
  const { fetch, allowed, denied, search_url: searchUrl, timeout } = settings;
  if (!fetch) return null;
  const [{ createWeb }, { addressEndpoint, createNetworkPolicy }, { createWebTools }] = await Promise.all([
    import("../sandbox/read-web.ts"),
    import("../../domain/policy/network.ts"),
    import("../../application/chat/web-tools.ts"),
  ]);
  // A user's own search engine often runs on the user's machine.
  const own = searchUrl === null ? [] : addressEndpoint(searchUrl);
  const web = createWeb({
    policy: createNetworkPolicy({ allowed: [...allowed, ...own], denied }),
    timeoutMs: timeout * 1_000,
    limitBytes: PAGE_BYTES,
    userAgent,
    ...(isOwnPort !== undefined && { isOwnPort }),
  });
  return createWebTools({ web, searchUrl, limit: PAGE_CHARS, mask });
}
