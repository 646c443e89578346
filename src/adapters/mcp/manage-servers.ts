import type { ListedMcpServer, McpServerReport, McpServers } from "../../application/ports/mcp.ts";
import type { LoadInput } from "../../config/config.ts";
import { loadEdited } from "../../config/load.ts";
import type { McpServerSettings } from "../../domain/chat/mcp-servers.ts";
import { listProblems } from "../../domain/texts/config-problem.ts";
import type { Messages } from "../../domain/texts/jobs.ts";

export interface ManageServersDeps {
  readonly place: LoadInput;
  readonly file: string;
  readonly configured: readonly string[];
  readonly servers: readonly McpServerSettings[];
  readonly unavailable: McpServers["unavailable"];
  /** Starts one server and asks for its tools. */
  readonly openTools: (server: McpServerSettings) => Promise<{
    readonly tools: Extract<McpServerReport, { ok: true }>["tools"];
    readonly unavailable: McpServers["unavailable"];
    close(): Promise<void>;
  }>;
  /** The logins of servers that ask for one; loaded when they are asked for. */
  readonly logins: () => Promise<{
    read(server: McpServerSettings): Promise<ListedMcpServer["login"]>;
    forget(url: string): boolean | Promise<boolean>;
    open(
      server: McpServerSettings,
      request: Parameters<McpServers["login"]>[1],
    ): ReturnType<McpServers["login"]>;
  }>;
  /** Null: there is no file. */
  readonly readText: (file: string) => string | null;
  readonly replaceFile: (file: string, text: string) => void;
  readonly messages: Messages;
  readonly mask: (text: string) => string;
}

export function createMcpServers(deps: ManageServersDeps): McpServers {
  const { place, file, servers, unavailable, mask } = deps;

  async function write(name: string, value: unknown): Promise<string | null> {
    const edits = [{ path: ["mcp_servers", name], value }];
    const edited = await loadEdited(place, file, deps.readText(file) ?? "", edits);
    if (edited === null) return file;
    if (!edited.loaded.ok) return listProblems(deps.messages, edited.loaded.errors).join("\n");
    deps.replaceFile(file, edited.text);
    return null;
  }

  async function test(server: McpServerSettings): Promise<McpServerReport> {
    const opened = await deps.openTools(server);
    const [trouble] = opened.unavailable;
    await opened.close();
    return trouble === undefined
      ? { ok: true, server: server.name, tools: opened.tools }
      : { ok: false, ...trouble, detail: mask(trouble.detail) };
  }

  async function forgetLogin(name: string): Promise<boolean | null> {
    const server = servers.find((one) => one.name === name);
    if (server === undefined) return null;
    return server.url === undefined ? false : (await deps.logins()).forget(server.url);
  }

  return {
    unavailable,
    async list() {
      const logins = await deps.logins();
      return Promise.all(
        servers.map(async (server) => ({
          name: server.name,
          what: mask(server.url ?? [server.command, ...server.args].join(" ")),
          coders: server.coders,
          login: await logins.read(server),
        })),
      );
    },
    async test(name) {
      const isAsked = (server: string) => name === null || server === name;
      const reports: McpServerReport[] = unavailable
        .filter(({ server }) => isAsked(server))
        .map((one) => ({ ok: false, ...one }));
      for (const server of servers) if (isAsked(server.name)) reports.push(await test(server));
      return reports;
    },
    async add(name, entry) {
      const why = await write(name, entry);
      return why === null ? { file } : { why };
    },
    async remove(name) {
      if (!deps.configured.includes(name) || (await write(name, undefined)) !== null) return false;
      await forgetLogin(name);
      return true;
    },
    async login(name, request) {
      const server = servers.find((one) => one.name === name);
      return server === undefined ? null : (await deps.logins()).open(server, request);
    },
    logout: forgetLogin,
  };
}
