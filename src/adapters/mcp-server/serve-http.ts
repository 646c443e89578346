import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { ErrorCode, isJSONRPCRequest } from "@modelcontextprotocol/sdk/types.js";
import { withConnection } from "./client-gone.ts";
import type { McpHost } from "./host.ts";
import { readBody, sendError, sendWebResponse, toWebRequest } from "./http-exchange.ts";
import { refuseRequest } from "./http-guard.ts";
import { createSessions, type Sessions } from "./http-sessions.ts";
import { MESSAGE_BYTES, parseJson, tooLong } from "./read-message.ts";
import { createRunningCalls } from "./running-calls.ts";

export interface HttpOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly token: string;
  readonly onListening: (url: string) => void;
}

/** Serves clients of this machine until `stop` says so. Rejects when the port cannot be had. */
export async function serveHttp(host: McpHost, options: HttpOptions, stop: AbortSignal): Promise<void> {
  const calls = createRunningCalls();
  const sessions = createSessions(host, calls);
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: Error) => {
      host.log(`mcp: ${error.message}`);
      if (response.headersSent) response.destroy();
      else sendError(response, 500, { code: ErrorCode.InternalError, message: "Internal error" });
    });
  });
  const port = await listen(server, options.port);
  options.onListening(`http://127.0.0.1:${port}/mcp`);
  if (!stop.aborted)
    await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
  await sessions.close();
  server.close();
  server.closeAllConnections();
  await calls.settled();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused = refuseRequest(request, port, options.token);
    if (refused !== null) {
      const headers = refused.status === 401 ? { "www-authenticate": "Bearer" } : undefined;
      sendError(response, refused.status, { code: -32000, message: refused.message }, headers);
      return;
    }
    const body = await bodyOf(request, response);
    if (body !== null) await exchange(sessions, request, response, body.value);
  }
}

/** Null when it was refused; undefined where there is none. */
async function bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<{ readonly value: unknown } | null> {
  if (request.method !== "POST") return { value: undefined };
  const bytes = await readBody(request, MESSAGE_BYTES);
  if (bytes === null) {
    sendError(response, 413, tooLong(MESSAGE_BYTES, null));
    return null;
  }
  const parsed = parseJson(bytes);
  if (parsed.ok) return { value: parsed.value };
  sendError(response, 400, parsed.bad);
  return null;
}

async function exchange(
  sessions: Sessions,
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
): Promise<void> {
  const id = request.headers["mcp-session-id"];
  const transport = await sessions.transportFor(Array.isArray(id) ? id[0] : id);
  if (transport === null) {
    sendError(response, 404, { code: -32001, message: "Session not found" });
    return;
  }
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  const answer = await transport.handleRequest(toWebRequest(request), {
    authInfo: withConnection(gone.signal),
    ...(body !== undefined && { parsedBody: body }),
  });
  if (request.method === "POST") endCancelled(transport, body);
  await sendWebResponse(answer, response);
}

/** A cancelled request gets no answer; the stream that waited for it would stay open. */
function endCancelled(transport: WebStandardStreamableHTTPServerTransport, body: unknown): void {
  for (const message of Array.isArray(body) ? body : [body])
    if (!isJSONRPCRequest(message) && message?.method === "notifications/cancelled") {
      const id: unknown = message.params?.requestId;
      if (typeof id === "string" || typeof id === "number") transport.closeSSEStream(id);
    }
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}
