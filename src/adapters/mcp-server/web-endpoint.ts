import { isJSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import { withConnection } from "./client-gone.ts";
import type { McpHost } from "./host.ts";
import { createSessions } from "./http-sessions.ts";
import { MESSAGE_BYTES, parseJson, tooLong } from "./read-message.ts";
import { createRunningCalls } from "./running-calls.ts";

export interface McpEndpoint {
  /** Whoever may come in was decided before. */
  handle(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** The protocol over web standards, for a server that has other pages as well. */
export function createMcpEndpoint(host: McpHost): McpEndpoint {
  const calls = createRunningCalls();
  const sessions = createSessions(host, calls);
  const refuse = (status: number, error: { readonly code: number; readonly message: string }) =>
    Response.json({ jsonrpc: "2.0", id: null, error }, { status });

  return {
    async handle(request) {
      let parsedBody: unknown;
      if (request.method === "POST") {
        const bytes = new Uint8Array(await request.clone().arrayBuffer());
        if (bytes.length > MESSAGE_BYTES) return refuse(413, tooLong(MESSAGE_BYTES, null));
        const parsed = parseJson(bytes);
        if (!parsed.ok) return refuse(400, parsed.bad);
        parsedBody = parsed.value;
      }
      const transport = await sessions.transportFor(request.headers.get("mcp-session-id") ?? undefined);
      if (transport === null) return refuse(404, { code: -32001, message: "Session not found" });
      const answer = await transport.handleRequest(request, {
        authInfo: withConnection(request.signal),
        ...(parsedBody !== undefined && { parsedBody }),
      });
      // A cancelled request gets no answer; the stream that waited for it would stay open.
      for (const message of Array.isArray(parsedBody) ? parsedBody : [parsedBody])
        if (!isJSONRPCRequest(message) && message?.method === "notifications/cancelled") {
          const id: unknown = message.params?.requestId;
          if (typeof id === "string" || typeof id === "number") transport.closeSSEStream(id);
        }
      return answer;
    },
    async close() {
      await sessions.close();
      await calls.settled();
    },
  };
}
