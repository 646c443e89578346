import { attemptOr } from "../platform/error-text.ts";
import { isJsonObject } from "../platform/json-members.ts";

/** An MCP server as a file names it; values may refer to variables. */
export interface McpServerEntry {
  readonly command?: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Which of its tools coders may call. */
  readonly coders: McpForCoders;
  /** For a login at the address where the server does not register clients by itself. */
  readonly oauth?: McpOauthSettings | undefined;
}

export interface McpOauthSettings {
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly scope?: string | undefined;
  /** The port of this machine that the browser is redirected to; any free one if it is unset. */
  readonly callback_port?: number | undefined;
}

/** `read-only`: tools that the server itself calls so. */
export type McpForCoders = "off" | "read-only" | "all";

/** The same with every reference resolved. */
export interface McpServerSettings extends McpServerEntry {
  readonly name: string;
}

export type ResolvedMcpServer =
  | { readonly ok: true; readonly server: McpServerSettings }
  | { readonly ok: false; readonly server: string; readonly detail: string };

/** `needed`: it refuses clients without a login. `kept`: a login is there, and is renewed when it runs out. */
export type McpLoginState = "none" | "kept" | "needed" | "unreachable";

export interface McpLoginRequest {
  /** Shows the address to open. Resolves to the address the user pastes by hand; null if the browser is redirected here. */
  announce(address: string): Promise<string | null>;
  readonly page: { readonly done: string; readonly failed: string };
  readonly signal: AbortSignal;
}

export type McpLoginOutcome =
  | { readonly kind: "done" | "not-needed" | "no-address" | "has-header" | "too-late" | "stopped" }
  /** `no-registration`: `oauth.client_id` must name a client. `bad-server`: its answers cannot be used. */
  | { readonly kind: "no-registration" | "bad-server" }
  /** `denied`: the server's own reason. `bad-paste`: the beginning of the expected address. */
  | { readonly kind: "silent" | "denied" | "bad-paste" | "failed"; readonly detail: string };

/** Whether a server speaks only the older HTTP+SSE transport, by its answer to the first request of the present one. */
export function isOlderServer(status: number | undefined): boolean {
  return status === 400 || status === 404 || status === 405;
}

export type ReadVariable = (name: string) => string | undefined;

/** Resolves `env:NAME`, `${NAME}` and `${NAME:-default}`. Without its variable, a header or `env` entry is left out, a server unusable. */
export function resolveMcpServer(name: string, entry: McpServerEntry, read: ReadVariable): ResolvedMcpServer {
  const missing = new Set<string>();
  const must = (text: string): string => {
    const value = expandVariables(text, read);
    if (typeof value === "string") return value;
    missing.add(value.unset);
    return "";
  };
  const may = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(values).flatMap(([key, text]) => {
        const value = expandVariables(text, read);
        return typeof value === "string" ? [[key, value]] : [];
      }),
    );
  const { command, args, url, coders, oauth } = entry;
  const server: McpServerSettings = {
    name,
    coders,
    args: args.map(must),
    env: may(entry.env),
    headers: may(entry.headers),
    ...(command !== undefined && { command: must(command) }),
    ...(url !== undefined && { url: must(url) }),
    ...(oauth !== undefined && {
      oauth: {
        ...oauth,
        ...(oauth.client_id !== undefined && { client_id: must(oauth.client_id) }),
        ...(oauth.client_secret !== undefined && { client_secret: must(oauth.client_secret) }),
      },
    }),
  };
  if (missing.size > 0) return { ok: false, server: name, detail: `${[...missing].join(", ")} is not set` };
  return { ok: true, server };
}

function expandVariables(text: string, read: ReadVariable): string | { readonly unset: string } {
  const whole = /^env:([A-Za-z_]\w*)$/.exec(text)?.[1];
  if (whole !== undefined) return read(whole) ?? { unset: whole };
  let unset: string | undefined;
  const value = text.replace(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (_, name: string, instead?: string) => {
    const found = read(name) ?? instead;
    if (found === undefined) unset ??= name;
    return found ?? "";
  });
  return unset === undefined ? value : { unset };
}

export type McpFileReading =
  | {
      readonly ok: true;
      readonly servers: Readonly<Record<string, McpServerEntry>>;
      /** Entries that are neither a program nor an address. */
      readonly unusable: readonly string[];
    }
  | { readonly ok: false };

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$/;

/** `.mcp.json`, as several agents share it: `{"mcpServers": {"name": {"command", "args", "env"} or {"url", "headers"}}}`. */
export function readMcpFile(text: string): McpFileReading {
  const value: unknown = attemptOr(undefined, () => JSON.parse(text));
  if (!isJsonObject(value) || !isJsonObject(value.mcpServers)) return { ok: false };
  const servers: [string, McpServerEntry][] = [];
  const unusable: string[] = [];
  for (const [name, entry] of Object.entries(value.mcpServers)) {
    const read = NAME.test(name) && isJsonObject(entry) ? readEntry(entry) : null;
    if (read === null) unusable.push(name.slice(0, 60));
    else servers.push([name, read]);
  }
  return { ok: true, servers: Object.fromEntries(servers), unusable };
}

function readEntry(entry: Readonly<Record<string, unknown>>): McpServerEntry | null {
  const { command, url, args = [], env = {}, headers = {} } = entry;
  const isProgram = typeof command === "string" && command !== "";
  const isAddress = typeof url === "string" && /^(?:https?:\/\/|\$\{)/.test(url);
  if (isProgram === isAddress) return null;
  if (!Array.isArray(args) || !args.every((one) => typeof one === "string")) return null;
  if (!isTexts(env) || !isTexts(headers)) return null;
  return {
    args,
    env,
    headers,
    coders: "read-only",
    ...(isProgram ? { command } : { url: String(url) }),
  };
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((one) => typeof one === "string");
}
