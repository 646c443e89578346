import type { Toolbox, ToolboxRequest } from "../application/chat/chat-turn.ts";
import type { ProcessesDoor } from "../application/chat/process-tools.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import { areCommandsTrusted } from "../config/trust.ts";
import type { McpServerSettings } from "../domain/chat/mcp-servers.ts";
import type { McpPool } from "../infrastructure/chat/mcp-pool.ts";
import { readMcpFileOf } from "../infrastructure/chat/own-commands.ts";
import { nameServers, openToolbox } from "../infrastructure/chat/toolbox.ts";
import { modelTools } from "../tools/registry/definitions.ts";
import { createAgentToolkit } from "../tools/toolkit.ts";
import { VERSION } from "../version.ts";
import type { Services } from "./services.ts";
import { contextOf } from "./toolkit.ts";
import type { OpenedFolder } from "./workspace.ts";

interface ToolboxWiring {
  readonly opened: OpenedFolder;
  readonly processes: ProcessesDoor;
  readonly options: OpenOptions;
  readonly pool: McpPool;
}

/** The tools of a workspace for one message. */
export function openWorkspaceToolbox(
  { opened, options, ...shared }: ToolboxWiring,
  request: ToolboxRequest,
): Promise<Toolbox> {
  const { workspace, services } = opened;
  const { env, home, config } = services;
  const { root, mask } = workspace;
  return openToolbox(
    {
      ...shared,
      home,
      workspace: root,
      hostEnv: env,
      version: VERSION,
      research: config.research,
      mask,
      nameServers: (editor) => nameServersOf(services, root, editor),
      openOwnTools({ groupId, sessionKey, readOnly }) {
        const choices = { groupId, sessionKey, ...(readOnly && { writeScope: "read-only" as const }) };
        return modelTools(createAgentToolkit(contextOf(env, opened, options, choices)));
      },
    },
    request,
  );
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
