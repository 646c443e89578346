import {
  type CallToolRequest,
  type CallToolResult,
  ErrorCode,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { toCallResult } from "./call-result.ts";
import { clientGone } from "./client-gone.ts";
import type { McpHost } from "./host.ts";
import type { CallExtra } from "./on-request.ts";
import { startProgress } from "./progress.ts";

/** One `tools/call`: refused outside of the client's roots, told how far it is, ended when the client says or goes. */
export async function callTool(
  host: McpHost,
  { name, arguments: args }: CallToolRequest["params"],
  extra: CallExtra,
  refused: string | null,
): Promise<CallToolResult> {
  if (refused !== null)
    return toCallResult({
      status: "denied",
      reason: "path",
      message: refused,
      error: { code: "OUTSIDE_ROOTS" },
    });
  const signal = clientGone(extra);
  if (signal.aborted)
    return toCallResult({
      status: "failure",
      reason: "tool",
      message: "the call was aborted",
      error: { code: "ABORTED" },
    });
  const token = extra._meta?.progressToken;
  const progress =
    token === undefined
      ? null
      : startProgress({
          mask: host.mask,
          now: () => performance.now(),
          send: (params) =>
            extra.sendNotification({
              method: "notifications/progress",
              params: { progressToken: token, ...params },
            }),
        });
  try {
    const envelope = await host.invoke(name, args, {
      signal,
      onOutput: progress?.onOutput ?? (() => {}),
    });
    if (envelope.status === "failure" && envelope.error.code === "UNKNOWN_TOOL")
      throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`, {
        code: "UNKNOWN_TOOL",
      });
    return toCallResult(envelope);
  } finally {
    progress?.stop();
  }
}
