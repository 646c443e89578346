import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  ErrorCode,
  McpError,
  type ServerNotification,
  type ServerRequest,
  type ServerResult,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

export type CallExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/**
 * Answers one method. The SDK would call parameters of a wrong shape an internal error; they are the client's, so the
 * schema is checked here.
 */
export function onRequest<Schema extends z.ZodType<{ method: string }>>(
  server: Server,
  method: z.output<Schema>["method"],
  schema: Schema,
  answer: (request: z.output<Schema>, extra: CallExtra) => ServerResult | Promise<ServerResult>,
): void {
  const anything = z.looseObject({ method: z.literal(method), params: z.unknown().optional() });
  server.setRequestHandler(anything, (request, extra) => {
    const parsed = schema.safeParse(request);
    if (parsed.success) return answer(parsed.data, extra);
    const [issue] = parsed.error.issues;
    const what = issue === undefined ? "" : `: ${issue.path.join(".")}: ${issue.message}`;
    throw new McpError(ErrorCode.InvalidParams, `Invalid ${method} request${what}`.slice(0, 500));
  });
}
