import type { Toolbox, ToolboxRequest, ToolOutcome } from "../application/chat/chat-turn.ts";
import type { WebTools } from "../application/chat/web-tools.ts";
import type { Opened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { LoadedConfig } from "../config/config.ts";
import { cutMiddle } from "../domain/texts/format-text.ts";
import type { McpPool } from "../infrastructure/chat/mcp-pool.ts";
import type { McpTools } from "../infrastructure/chat/mcp-tools.ts";
import { definitionOf } from "../tools/registry/definitions.ts";
import type { ToolResult } from "../tools/tool-result.ts";
import { createAgentToolkit } from "../tools/toolkit.ts";
import { contextOf } from "./toolkit.ts";

/** Characters of a tool's result that a model is given; local windows are small. */
const RESULT_CHARS = 12_000;

interface ToolboxDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly opened: Opened;
  readonly options: OpenOptions;
  readonly loaded: LoadedConfig;
  readonly version: string;
  readonly pool: McpPool;
}

/** PicoClaw's own tools and those of the configured MCP servers, for one message. */
export async function openToolbox(parts: ToolboxDeps, request: ToolboxRequest): Promise<Toolbox> {
  const { opened, env, options, loaded } = parts;
  const { workspace } = opened;
  const { groupId, sessionKey, readOnly } = request;
  const own =
    request.toolkit === false
      ? null
      : createAgentToolkit(
          contextOf(env, opened, options, {
            groupId,
            sessionKey,
            ...(readOnly && { writeScope: "read-only" as const }),
          }),
        );
  const servers = Object.entries(loaded.config.mcp_servers).filter(
    ([name]) => !readOnly && (request.servers === undefined || request.servers.includes(name)),
  );
  const key = [sessionKey, ...servers.map(([name]) => name)].join(" ");
  let mcp: McpTools | null = null;
  if (servers.length > 0) {
    const { openMcpTools } = await import("../infrastructure/chat/mcp-tools.ts");
    const open = () =>
      openMcpTools({
        servers: servers.map(([name, { command, args, env: variables, url }]) => ({
          name,
          args,
          env: Object.fromEntries(
            Object.entries(variables).flatMap(([key, value]) => {
              const resolved = loaded.secrets.resolve(value);
              return resolved === undefined ? [] : [[key, resolved]];
            }),
          ),
          ...(command !== undefined && { command }),
          ...(url !== undefined && { url }),
        })),
        hostEnv: env,
        workspace: workspace.root,
        version: parts.version,
      });
    mcp = await parts.pool.take(key, open);
  }
  const web = request.web === true && !readOnly ? await openWebTools(parts) : null;
  const ownTools = own === null ? [] : own.available().map((tool) => definitionOf(tool));
  const shorten = (text: string) => cutMiddle(workspace.mask(text), RESULT_CHARS);
  return {
    tools: [...ownTools, ...(web?.tools ?? []), ...(mcp?.tools ?? [])] as unknown as Toolbox["tools"],
    unavailable: mcp?.unavailable ?? [],
    async call(name, args, { signal, onOutput }): Promise<ToolOutcome> {
      if (mcp?.tools.some((tool) => tool.name === name)) {
        const called = await mcp.call(name, args, signal);
        return { ok: called.ok, text: shorten(called.text), server: called.server };
      }
      const read = web?.call(name, args, signal) ?? null;
      if (read !== null) {
        const outcome = await read;
        return { ...outcome, text: shorten(outcome.text) };
      }
      if (own === null) return { ok: false, text: `unknown tool: ${name.slice(0, 100)}` };
      return outcomeOf(await own.invoke(name, args, { signal, onOutput }), shorten);
    },
    close: () => parts.pool.release(key),
  };
}

/** Characters of a page that a local window takes. */
const PAGE_CHARS = 10_000;
const PAGE_BYTES = 4 * 1024 ** 2;

async function openWebTools({ opened, loaded, version }: ToolboxDeps): Promise<WebTools | null> {
  const { fetch, allowed, denied, search_url: searchUrl, timeout } = loaded.config.research;
  if (!fetch) return null;
  const [{ createWeb }, { createNetworkPolicy }, { createWebTools }] = await Promise.all([
    import("../infrastructure/engine/read-web.ts"),
    import("../domain/policy/network.ts"),
    import("../application/chat/web-tools.ts"),
  ]);
  // A search of one's own is often on one's own machine.
  const own = searchUrl === null ? [] : endpointOf(searchUrl);
  const web = createWeb({
    policy: createNetworkPolicy({ allowed: [...allowed, ...own], denied }),
    timeoutMs: timeout * 1_000,
    limitBytes: PAGE_BYTES,
    userAgent: `PicoClaw/${version}`,
  });
  return createWebTools({ web, searchUrl, limit: PAGE_CHARS, mask: opened.workspace.mask });
}

function endpointOf(searchUrl: string): string[] {
  const url = URL.parse(searchUrl);
  return url === null ? [] : [`${url.hostname}:${url.port || (url.protocol === "https:" ? "443" : "80")}`];
}

function outcomeOf(result: ToolResult, shorten: (text: string) => string): ToolOutcome {
  if (result.status !== "success")
    return { ok: false, text: shorten(`${result.error.code}: ${result.message}`) };
  const { status: _, job_id: jobId, ...rest } = result;
  const { data, notes, changes } = rest;
  const said = [
    typeof data === "string" ? data : data === undefined ? "done" : JSON.stringify(data),
    ...(changes === undefined ? [] : [`changed: ${changes.map(({ path }) => path).join(", ")}`]),
    ...(notes ?? []),
  ].join("\n");
  return { ok: true, text: shorten(said), ...(jobId !== undefined && { jobId }) };
}
