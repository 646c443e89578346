import type { Toolbox, ToolOutcome } from "../../application/chat/chat-turn.ts";
import type { WebTools } from "../../application/chat/web-tools.ts";
import type { ModelTool } from "../../application/ports/models.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { McpTools, McpToolsOptions } from "./mcp-tools.ts";

/** Characters of a tool's result that a model is given; local windows are small. */
const RESULT_CHARS = 12_000;

/** PicoClaw's own tools, as a model calls them. */
export interface OwnTools {
  readonly tools: readonly ModelTool[];
  invoke(name: string, args: unknown, options: CallOptions): Promise<ToolOutcome>;
}

type CallOptions = Parameters<Toolbox["call"]>[2];

export interface ToolboxDeps {
  readonly own: OwnTools | null;
  readonly web: WebTools | null;
  readonly mcp: McpTools | null;
  readonly mask: (text: string) => string;
  close(): Promise<void>;
}

/** Tools of every kind as one box; results are masked and cut. */
export function createToolbox({ own, web, mcp, mask, close }: ToolboxDeps): Toolbox {
  const shorten = (text: string) => cutMiddle(mask(text), RESULT_CHARS);
  const call = async (name: string, args: unknown, options: CallOptions): Promise<ToolOutcome> => {
    if (mcp?.tools.some((tool) => tool.name === name)) return mcp.call(name, args, options.signal);
    const read = web?.call(name, args, options.signal) ?? null;
    if (read !== null) return read;
    return own?.invoke(name, args, options) ?? { ok: false, text: `unknown tool: ${name.slice(0, 100)}` };
  };
  return {
    tools: [...(own?.tools ?? []), ...(web?.tools ?? []), ...(mcp?.tools ?? [])],
    unavailable: mcp?.unavailable ?? [],
    async call(name, args, options) {
      const outcome = await call(name, args, options);
      return { ...outcome, text: shorten(outcome.text) };
    },
    close,
  };
}

/** The servers of the configuration whose references are resolved; those without a value are left out. */
export function resolveServers(
  servers: Readonly<
    Record<
      string,
      {
        readonly command?: string | undefined;
        readonly args: readonly string[];
        readonly env: Readonly<Record<string, string>>;
        readonly url?: string | undefined;
      }
    >
  >,
  names: readonly string[],
  resolve: (value: string) => string | undefined,
): McpToolsOptions["servers"] {
  return names.flatMap((name) => {
    const server = servers[name];
    if (server === undefined) return [];
    const { command, args, env, url } = server;
    const variables = Object.entries(env).flatMap(([key, value]) => {
      const resolved = resolve(value);
      return resolved === undefined ? [] : [[key, resolved] as const];
    });
    return [
      {
        name,
        args,
        env: Object.fromEntries(variables),
        ...(command !== undefined && { command }),
        ...(url !== undefined && { url }),
      },
    ];
  });
}

/** Characters of a page that a local window takes. */
const PAGE_CHARS = 10_000;
const PAGE_BYTES = 4 * 1024 ** 2;

/** `research:` of the configuration. */
interface ResearchSettings {
  readonly fetch: boolean;
  readonly allowed: readonly string[];
  readonly denied: readonly string[];
  readonly search_url: string | null;
  readonly timeout: number;
}

/** Tools that read the web, loaded with the first message that may use them; null where they are switched off. */
export async function openWebTools(
  settings: ResearchSettings,
  mask: (text: string) => string,
  userAgent: string,
): Promise<WebTools | null> {
  const { fetch, allowed, denied, search_url: searchUrl, timeout } = settings;
  if (!fetch) return null;
  const [{ createWeb }, { addressEndpoint, createNetworkPolicy }, { createWebTools }] = await Promise.all([
    import("../engine/read-web.ts"),
    import("../../domain/policy/network.ts"),
    import("../../application/chat/web-tools.ts"),
  ]);
  // A search of one's own is often on one's own machine.
  const own = searchUrl === null ? [] : addressEndpoint(searchUrl);
  const web = createWeb({
    policy: createNetworkPolicy({ allowed: [...allowed, ...own], denied }),
    timeoutMs: timeout * 1_000,
    limitBytes: PAGE_BYTES,
    userAgent,
  });
  return createWebTools({ web, searchUrl, limit: PAGE_CHARS, mask });
}
