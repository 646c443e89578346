import { randomBytes } from "node:crypto";
import { limitLog, type McpHost } from "../adapters/mcp/host.ts";
import type { HttpOptions } from "../adapters/mcp/serve-http.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import { realPathOf } from "../infrastructure/platform/text-files.ts";
import { toolDefinitions } from "../tools/registry/definitions.ts";
import { createAgentToolkit } from "../tools/toolkit.ts";
import { VERSION } from "../version.ts";
import type { Environment } from "./services.ts";
import { openToolContext } from "./toolkit.ts";

export async function openMcp(env: Environment, options: OpenOptions, log: (text: string) => void) {
  const opened = await openToolContext(env, options);
  if (!opened.ok) return opened;
  const { workspace, context } = opened;
  const toolkit = createAgentToolkit(context);
  const host: McpHost = {
    version: VERSION,
    root: workspace.root,
    archive: workspace.archive,
    mask: workspace.mask,
    workspaceIsGiven: options.workspace !== undefined,
    tools: toolDefinitions("mcp", toolkit.available()),
    invoke: (name, args, call) => toolkit.invoke(name, args, call),
    realPath: realPathOf,
    log: limitLog(log),
  };
  return {
    ...opened,
    async endpoint() {
      return (await import("../adapters/mcp/serve-http.ts")).createMcpEndpoint(host);
    },
    async serveStdio(stop: AbortSignal) {
      const { serveStdio } = await import("../adapters/mcp/serve-stdio.ts");
      await serveStdio(host, { input: process.stdin, output: process.stdout }, stop);
    },
    async serveHttp(port: number, stop: AbortSignal) {
      const { serveHttp } = await import("../adapters/mcp/serve-http.ts");
      const token = env.PICOCLAW_MCP_TOKEN || null;
      const newToken = () => randomBytes(32).toString("base64url");
      const { listenHttp } = await import("../infrastructure/platform/http-server.ts");
      const listen: HttpOptions["listen"] = (on) =>
        listenHttp({ ...on, host: "127.0.0.1", limitBytes: MOST_BODY_BYTES });
      await serveHttp(host, { port, token, newToken, tell: log, listen }, stop);
    },
  };
}

/** Far above the longest message, so that the endpoint itself refuses what is too long, in the protocol's form. */
const MOST_BODY_BYTES = 1024 ** 3;
