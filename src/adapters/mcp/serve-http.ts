import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { ErrorCode, isJSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import { withConnection } from "./client-gone.ts";
import type { McpHost } from "./host.ts";
import { createSessions } from "./http-sessions.ts";
import { MESSAGE_BYTES, parseJson, tooLong } from "./mcp-server-read-message.ts";
import { createRunningCalls } from "./running-calls.ts";

export interface McpEndpoint {
  /** Whoever may come in was decided before. Never rejects. */
  handle(request: Request): Promise<Response>;
  /** Ends the sessions; what was running is taken back before it resolves. */
  close(): Promise<void>;
}

/** MCP over HTTP, by web standards: `picoclaw mcp --http` and `serve` put it on their servers. */
export function createMcpEndpoint(host: McpHost): McpEndpoint {
  const calls = createRunningCalls();
  const sessions = createSessions(host, calls);

  async function answer(request: Request): Promise<Response> {
    const body = await readBody(request);
    if (body instanceof Response) return body;
    const session = await sessions.find(request.headers.get("mcp-session-id") ?? undefined);
    if (session === null) return refusalResponse(404, { code: -32001, message: "Session not found" });
    const { transport, connections } = session;
    if (request.method === "GET" && request.headers.has("last-event-id")) connections.resumed(request);
    const answered = await transport.handleRequest(request, {
      authInfo: withConnection(request.method === "POST" ? connections.goneAfter(request) : request.signal),
      ...(body.value !== undefined && { parsedBody: body.value }),
    });
    endCancelled(transport, body.value);
    return answered;
  }

  return {
    handle: (request) =>
      answer(request).catch((error: Error) => {
        host.log(`mcp: ${error.message}`);
        return refusalResponse(500, { code: ErrorCode.InternalError, message: "Internal error" });
      }),
    async close() {
      await sessions.close();
      await calls.settled();
    },
  };
}

/** A refusal in the protocol's own form. */
export function refusalResponse(
  status: number,
  error: { readonly code: number; readonly message: string },
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ jsonrpc: "2.0", id: null, error }, { status, headers });
}

/** Its message, or why it is refused; undefined where a request has none. */
async function readBody(request: Request): Promise<{ readonly value: unknown } | Response> {
  if (request.method !== "POST") return { value: undefined };
  const bytes = await readUpTo(request, MESSAGE_BYTES);
  // The rest was not read, so the connection is of no use.
  if (bytes === null) return refusalResponse(413, tooLong(MESSAGE_BYTES, null), { connection: "close" });
  const parsed = parseJson(bytes);
  return parsed.ok ? { value: parsed.value } : refusalResponse(400, parsed.bad);
}

/** Null when it is longer; reading then stops. */
async function readUpTo(request: Request, limitBytes: number): Promise<Uint8Array | null> {
  if (Number(request.headers.get("content-length") ?? 0) > limitBytes) return null;
  if (request.body === null) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > limitBytes) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** A cancelled request gets no answer; the stream that waited for it would stay open. */
function endCancelled(transport: WebStandardStreamableHTTPServerTransport, body: unknown): void {
  for (const message of Array.isArray(body) ? body : [body])
    if (!isJSONRPCRequest(message) && message?.method === "notifications/cancelled") {
      const id: unknown = message.params?.requestId;
      if (typeof id === "string" || typeof id === "number") transport.closeSSEStream(id);
    }
}
