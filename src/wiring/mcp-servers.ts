import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { McpServerReport, McpServers } from "../application/ports/mcp.ts";
import { homeConfigFile } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { areCommandsTrusted } from "../config/trust.ts";
import { readMcpFileOf } from "../infrastructure/chat/own-commands.ts";
import { nameServers } from "../infrastructure/chat/toolbox.ts";
import { readTextFile, replaceFile } from "../infrastructure/platform/text-files.ts";
import { VERSION } from "../version.ts";
import { type Environment, openServices } from "./services.ts";

/** The MCP servers of the configuration and of the workspace. */
export async function openMcpServers(
  env: Environment,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly servers: McpServers } | NotOpened> {
  const services = await openServices(env, options);
  if (!services.ok) return services;
  const { config, home, workspace, messages } = services;
  const isTrusted = () => areCommandsTrusted({ home, workspace });
  const { servers, unavailable } = nameServers(
    { configured: config.mcp_servers, file: readMcpFileOf(workspace, isTrusted), editor: [] },
    (name) => env[name],
  );
  const file = options.configFile ?? homeConfigFile(home);

  async function write(name: string, value: unknown): Promise<string | null> {
    const { editYaml } = await import("../config/edit-yaml.ts");
    const text = editYaml(readTextFile(file) ?? "", [{ path: ["mcp_servers", name], value }]);
    if (text === null) return file;
    const loaded = await loadConfig({ env, ...options, instead: { file, text } });
    if (!loaded.ok) return loaded.errors.map(messages.configProblem).join("\n");
    replaceFile(file, text);
    return null;
  }

  async function forgetLogin(name: string): Promise<boolean | null> {
    const server = servers.find((one) => one.name === name);
    if (server === undefined) return null;
    const { openMcpLogins } = await import("../infrastructure/chat/mcp-login.ts");
    return server.url === undefined ? false : openMcpLogins(home).forget(server.url);
  }

  return {
    ok: true,
    servers: {
      unavailable,
      async list() {
        const { openMcpLogins, readLoginState } = await import("../infrastructure/chat/mcp-login.ts");
        const logins = openMcpLogins(home);
        return Promise.all(
          servers.map(async (server) => ({
            name: server.name,
            what: services.mask(server.url ?? [server.command, ...server.args].join(" ")),
            coders: server.coders,
            login: await readLoginState(server, logins),
          })),
        );
      },
      async test(name) {
        const { openMcpTools } = await import("../infrastructure/chat/mcp-tools.ts");
        const reports: McpServerReport[] = unavailable
          .filter(({ server }) => name === null || server === name)
          .map((one) => ({ ok: false, ...one }));
        for (const server of servers.filter((one) => name === null || one.name === name)) {
          const tools = await openMcpTools({
            servers: [server],
            hostEnv: env,
            workspace,
            version: VERSION,
            home,
          });
          const [trouble] = tools.unavailable;
          if (trouble === undefined) reports.push({ ok: true, server: server.name, tools: tools.tools });
          else reports.push({ ok: false, ...trouble, detail: services.mask(trouble.detail) });
          await tools.close();
        }
        return reports;
      },
      async add(name, entry) {
        const why = await write(name, entry);
        return why === null ? { file } : { why };
      },
      async remove(name) {
        if (!Object.hasOwn(config.mcp_servers, name)) return false;
        if ((await write(name, undefined)) !== null) return false;
        await forgetLogin(name);
        return true;
      },
      async login(name, request) {
        const server = servers.find((one) => one.name === name);
        if (server === undefined) return null;
        const { loginToMcpServer, openMcpLogins } = await import("../infrastructure/chat/mcp-login.ts");
        return loginToMcpServer(server, openMcpLogins(home), request);
      },
      logout: forgetLogin,
    },
  };
}
