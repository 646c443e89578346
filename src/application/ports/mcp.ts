import type {
  McpLoginOutcome,
  McpLoginRequest,
  McpLoginState,
  McpServerEntry,
} from "../../domain/chat/mcp-servers.ts";

/** The MCP servers that PicoClaw itself calls, for `mcp add|list|test|login|logout|remove`. */
export interface McpServers {
  /** Asks an address without a kept login, for three seconds at most, whether it wants one. */
  list(): Promise<readonly ListedMcpServer[]>;
  /** Servers that are named and cannot be used, and why: a file that is not trusted, a variable that is not set. */
  readonly unavailable: readonly { readonly server: string; readonly detail: string }[];
  /** Starts one, or all of them, asks for their tools and ends them. Never rejects. */
  test(name: string | null): Promise<readonly McpServerReport[]>;
  /** Writes one into the user's file, in the place of one of that name; else why not. */
  add(
    name: string,
    entry: Partial<McpServerEntry>,
  ): Promise<{ readonly file: string } | { readonly why: string }>;
  /** False: the user's file has none of that name. A kept login is removed with it. */
  remove(name: string): Promise<boolean>;
  /** Null: there is no server of that name. Never rejects. */
  login(name: string, request: McpLoginRequest): Promise<McpLoginOutcome | null>;
  /** False: no login of that server is kept. Null: there is no server of that name. */
  logout(name: string): Promise<boolean | null>;
}

export interface ListedMcpServer {
  readonly name: string;
  /** The program with its arguments, or the address. */
  readonly what: string;
  readonly coders: McpServerEntry["coders"];
  readonly login: McpLoginState;
}

export type McpServerReport =
  | {
      readonly ok: true;
      readonly server: string;
      readonly tools: readonly { readonly name: string; readonly isReadOnly: boolean }[];
    }
  | { readonly ok: false; readonly server: string; readonly detail: string; readonly needsLogin?: boolean };
