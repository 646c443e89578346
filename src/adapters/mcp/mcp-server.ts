import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  RootsListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { callTool } from "./call-tool.ts";
import type { McpHost } from "./host.ts";
import { type CallExtra, onRequest } from "./on-request.ts";
import { getPrompt, listPrompts } from "./prompts.ts";
import { listResources, RESOURCE_TEMPLATES, readResource } from "./resources-and-prompts.ts";
import { type AskRoots, createRoots } from "./roots.ts";
import type { RunningCalls } from "./running-calls.ts";

const ROOTS_TIMEOUT_MS = 10_000;
const RESOURCE_NOT_FOUND = -32002;

const INSTRUCTIONS =
  "Tools over one workspace. Every write and every command is a job that can be taken back exactly: " +
  "undo_job with the job_id of a result, or without one for the last job. Paths are relative to the workspace.";

/**
 * One client's server, on any transport. The low-level class, since tools check their own arguments, in their own
 * order, and their definitions exist already.
 */
export function createMcpServer(host: McpHost, calls: RunningCalls): Server {
  const server = new Server(
    { name: "picoclaw", title: "PicoClaw", version: host.version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
  );
  const roots = createRoots(host);
  const askThrough =
    (extra: CallExtra): AskRoots =>
    () =>
      server.getClientCapabilities()?.roots === undefined
        ? null
        : extra
            .sendRequest({ method: "roots/list" }, ListRootsResultSchema, { timeout: ROOTS_TIMEOUT_MS })
            .then((result) => result.roots.map(({ uri }) => uri));

  async function mustBeInRoots(extra: CallExtra): Promise<void> {
    const refused = await roots.check(askThrough(extra));
    if (refused !== null) throw new McpError(ErrorCode.InvalidRequest, refused);
  }

  server.onerror = (error) => host.log(`mcp: ${error.message.slice(0, 500)}`);
  server.setNotificationHandler(RootsListChangedNotificationSchema, () => roots.forget());
  onRequest(server, "tools/list", ListToolsRequestSchema, () => ({ tools: host.tools.map(toSdkTool) }));
  onRequest(server, "tools/call", CallToolRequestSchema, ({ params }, extra) =>
    calls.track(roots.check(askThrough(extra)).then((refused) => callTool(host, params, extra, refused))),
  );
  onRequest(server, "resources/list", ListResourcesRequestSchema, async (_, extra) => {
    await mustBeInRoots(extra);
    return { resources: listResources(host) };
  });
  onRequest(server, "resources/templates/list", ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [...RESOURCE_TEMPLATES],
  }));
  onRequest(server, "resources/read", ReadResourceRequestSchema, async ({ params: { uri } }, extra) => {
    await mustBeInRoots(extra);
    const resource = await readResource(uri, host);
    if (resource === null) throw new McpError(RESOURCE_NOT_FOUND, "Resource not found", { uri });
    return { contents: [resource] };
  });
  onRequest(server, "prompts/list", ListPromptsRequestSchema, () => ({ prompts: listPrompts() }));
  onRequest(server, "prompts/get", GetPromptRequestSchema, async ({ params }, extra) => {
    await mustBeInRoots(extra);
    const prompt = await getPrompt(params.name, params.arguments ?? {}, host);
    if (prompt === null)
      throw new McpError(ErrorCode.InvalidParams, `Unknown prompt: ${params.name.slice(0, 100)}`);
    if (typeof prompt === "string") throw new McpError(ErrorCode.InvalidParams, prompt);
    return prompt;
  });
  return server;
}

/** The SDK's types want to own their arrays and objects. */
function toSdkTool({ inputSchema, outputSchema, ...rest }: McpHost["tools"][number]) {
  const { required, properties } = inputSchema;
  return {
    ...rest,
    inputSchema: {
      type: inputSchema.type,
      properties: properties as Record<string, object>,
      ...(required !== undefined && { required: [...required] }),
    },
    ...(outputSchema !== undefined && {
      outputSchema: { ...outputSchema, properties: outputSchema.properties as Record<string, object> },
    }),
  };
}
