import type { McpServerEntry } from "../../domain/chat/mcp-servers.ts";

/** The MCP servers that PicoClaw itself calls, for `mcp add|list|test|remove`. */
export interface McpServers {
  list(): readonly ListedMcpServer[];
  /** Servers that are named and cannot be used, and why: a file that is not trusted, a variable that is not set. */
  readonly unavailable: readonly { readonly server: string; readonly detail: string }[];
  /** Starts one, or all of them, asks for their tools and ends them. Never rejects. */
  test(name: string | null): Promise<readonly McpServerReport[]>;
  /** Writes one into the user's file, in the place of one of that name; else why not. */
  add(
    name: string,
    entry: Partial<McpServerEntry>,
  ): Promise<{ readonly file: string } | { readonly why: string }>;
  /** False: the user's file has none of that name. */
  remove(name: string): Promise<boolean>;
}

export interface ListedMcpServer {
  readonly name: string;
  /** The program with its arguments, or the address. */
  readonly what: string;
  readonly coders: McpServerEntry["coders"];
}

export type McpServerReport =
  | {
      readonly ok: true;
      readonly server: string;
      readonly tools: readonly { readonly name: string; readonly isReadOnly: boolean }[];
    }
  | { readonly ok: false; readonly server: string; readonly detail: string };
