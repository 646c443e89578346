import { createMcpServers } from "../adapters/mcp/manage-servers.ts";
import type { NotOpened, OpenOptions } from "../application/ports/jobs-workspace.ts";
import type { McpServers } from "../application/ports/mcp.ts";
import { homeConfigFile } from "../config/environment.ts";
import { readTextFile, replaceFile } from "../infrastructure/platform/text-files.ts";
import { VERSION } from "../version.ts";
import { type Environment, openServices } from "./services.ts";
import { nameServersOf } from "./toolbox.ts";

export async function openMcpServers(
  env: Environment,
  options: OpenOptions,
): Promise<{ readonly ok: true; readonly servers: McpServers } | NotOpened> {
  const services = await openServices(env, options);
  if (!services.ok) return services;
  const { config, home, workspace } = services;
  const servers = createMcpServers({
    ...services,
    ...nameServersOf(services, workspace),
    place: { env, ...options },
    file: options.configFile ?? homeConfigFile(home),
    configured: Object.keys(config.mcp_servers),
    openTools: async (server) =>
      (await import("../infrastructure/chat/mcp-tools.ts")).openMcpTools({
        servers: [server],
        hostEnv: env,
        workspace,
        version: VERSION,
        home,
      }),
    logins: async () => {
      const { loginToMcpServer, openMcpLogins, readLoginState } = await import(
        "../infrastructure/chat/mcp-login.ts"
      );
      const logins = openMcpLogins(home);
      return {
        read: (server) => readLoginState(server, logins),
        forget: (url) => logins.forget(url),
        open: (server, request) => loginToMcpServer(server, logins, request),
      };
    },
    readText: readTextFile,
    replaceFile,
  });
  return { ok: true, servers };
}
