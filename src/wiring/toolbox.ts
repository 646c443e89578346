import type { Toolbox, ToolboxRequest } from "../application/chat/chat-turn.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import { areCommandsTrusted } from "../config/trust.ts";
import type { McpServerSettings } from "../domain/chat/mcp-servers.ts";
import type { McpPool } from "../infrastructure/chat/mcp-pool.ts";
import { readMcpFileOf } from "../infrastructure/chat/own-commands.ts";
import {
  createToolbox,
  mayCoderCall,
  nameServers,
  type OwnTools,
  openWebTools,
} from "../infrastructure/chat/toolbox.ts";
import { modelTools } from "../tools/registry/definitions.ts";
import { createAgentToolkit } from "../tools/toolkit.ts";
import { VERSION } from "../version.ts";
import type { WorkspaceProcessesDoor } from "./processes.ts";
import type { Services } from "./services.ts";
import { contextOf } from "./toolkit.ts";
import type { OpenedFolder } from "./workspace.ts";

interface ToolboxWiring {
  readonly opened: OpenedFolder;
  readonly processes: WorkspaceProcessesDoor;
  readonly options: OpenOptions;
  readonly pool: McpPool;
}

/** PicoClaw's own tools and those of the configured MCP servers, for one message. */
export async function openToolbox(wiring: ToolboxWiring, request: ToolboxRequest): Promise<Toolbox> {
  const { opened, pool } = wiring;
  const { workspace, services } = opened;
  const { readOnly, servers: wanted, web = false, editorServers = [], forCoder = false } = request;
  const named = nameServersOf(services, workspace.root, editorServers);
  const servers = readOnly ? [] : named.servers.filter(({ name }) => wanted?.includes(name) ?? true);
  const key = [request.sessionKey, ...servers.map(({ name }) => name)].join(" ");
  const open = async () => {
    const { openMcpTools } = await import("../infrastructure/chat/mcp-tools.ts");
    return openMcpTools({
      servers,
      hostEnv: services.env,
      workspace: workspace.root,
      version: VERSION,
      home: services.home,
    });
  };
  return createToolbox({
    own: request.toolkit === false ? null : ownTools(wiring, request),
    web:
      web && !readOnly
        ? await openWebTools(
            services.config.research,
            workspace.mask,
            `PicoClaw/${VERSION}`,
            wiring.processes.isOwnPort,
          )
        : null,
    processes: request.toolkit === false ? null : await wiring.processes.openTools(readOnly),
    mcp: servers.length === 0 ? null : await pool.take(key, open),
    ...(forCoder && { offers: mayCoderCall(servers) }),
    ...(!readOnly && wanted === undefined && { unavailable: named.unavailable }),
    mask: workspace.mask,
    close: () => pool.release(key),
  });
}

/** The servers of the configuration, of a workspace's trusted `.mcp.json`, and of an editor. */
export function nameServersOf(
  { config, home, env }: Services,
  workspace: string,
  editor: readonly McpServerSettings[] = [],
) {
  const file = readMcpFileOf(workspace, () => areCommandsTrusted({ home, workspace }));
  return nameServers({ configured: config.mcp_servers, file, editor }, (name) => env[name]);
}

function ownTools({ opened, options }: ToolboxWiring, request: ToolboxRequest): OwnTools {
  const { groupId, sessionKey, readOnly } = request;
  const choices = { groupId, sessionKey, ...(readOnly && { writeScope: "read-only" as const }) };
  return modelTools(createAgentToolkit(contextOf(opened.services.env, opened, options, choices)));
}
