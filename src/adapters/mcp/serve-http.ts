import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import {
  type EventStore,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  ErrorCode,
  isJSONRPCRequest,
  type JSONRPCMessage,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { untilAborted } from "../../application/platform/waiting.ts";
import { readUpTo } from "../../domain/platform/file-bytes.ts";
import { escapeUnseen } from "../../domain/platform/json-text.ts";
import type { McpHost } from "./host.ts";
import { createMcpServer, createRunningCalls, type RunningCalls, withConnection } from "./mcp-server.ts";
import { type BadMessage, MESSAGE_BYTES, parseJson, toErrorResponse, tooLong } from "./read-message.ts";

/** Since this version a client has an id to come back with from the first moment of a stream on. */
const RESUMABLE_SINCE = "2025-11-25";
const RESUME_MS = 10_000;

/** Whether the client of a session is still there, though its connections break and others take their place. */
export type Connections = ReturnType<typeof createConnections>;

export function createConnections(resumeMs = RESUME_MS) {
  /** Calls without a connection, each with how it follows another one. */
  const waiting = new Map<(next: AbortSignal) => void, ReturnType<typeof setTimeout>>();
  let latest: AbortSignal | null = null;

  function follow(connection: AbortSignal, gone: AbortController): void {
    const onBreak = () => {
      // The client may have come back before we noticed that it had gone.
      if (latest !== null && latest !== connection && !latest.aborted) return follow(latest, gone);
      const resume = (next: AbortSignal) => {
        clearTimeout(waiting.get(resume));
        waiting.delete(resume);
        follow(next, gone);
      };
      const giveUp = () => {
        waiting.delete(resume);
        gone.abort();
      };
      waiting.set(resume, setTimeout(giveUp, resumeMs));
    };
    if (connection.aborted) onBreak();
    else connection.addEventListener("abort", onBreak, { once: true });
  }

  return {
    /** Aborted when the connection of this request broke and its client did not come back in time. */
    goneAfter({ headers, signal }: Request): AbortSignal {
      if ((headers.get("mcp-protocol-version") ?? "") < RESUMABLE_SINCE) return signal;
      const gone = new AbortController();
      follow(signal, gone);
      return gone.signal;
    },
    /** The client returned with this request; calls whose connection broke continue. */
    resumed({ signal }: Request): void {
      latest = signal;
      for (const resume of [...waiting.keys()]) resume(signal);
    },
    close(): void {
      for (const timer of waiting.values()) clearTimeout(timer);
      waiting.clear();
    },
  };
}

/** Kept of a session for a client that reconnects; the latest event always stays. */
const MOST_EVENTS = 1_000;
const MOST_CHARS = 4_000_000;

interface KeptEvent {
  readonly id: string;
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly chars: number;
}

/** The events sent in one session, so that a client whose connection broke gets the rest of its stream. */
export function createEventStore(): EventStore {
  const kept: KeptEvent[] = [];
  let chars = 0;
  let count = 0;
  return {
    async storeEvent(stream, message) {
      count += 1;
      const event = { id: `${count}`, stream, message, chars: JSON.stringify(message).length };
      kept.push(event);
      chars += event.chars;
      while (kept.length > 1 && (kept.length > MOST_EVENTS || chars > MOST_CHARS))
        chars -= kept.shift()?.chars ?? 0;
      return event.id;
    },
    async replayEventsAfter(lastEventId, { send }) {
      const at = kept.findIndex(({ id }) => id === lastEventId);
      const last = kept[at];
      if (last === undefined) throw new Error(`event ${lastEventId.slice(0, 100)} is not kept`);
      // The first event of a stream only gives it an id; it holds no message.
      for (const { id, stream, message } of kept.slice(at + 1))
        if (stream === last.stream && "jsonrpc" in message) await send(id, message);
      return last.stream;
    },
  };
}

export interface Session {
  /** The client that began it; no other client can continue it. */
  readonly owner: string;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly connections: Connections;
  /** Calls whose answer is still on its way. */
  readonly calls: Set<symbol>;
  readonly openIds: Set<RequestId>;
}

export type Sessions = ReturnType<typeof createSessions>;

/** A client that disappears leaves its session behind; of the sessions without a call, the one unused for longest is closed. */
const MOST_SESSIONS = 100;
/** When a client whose connection broke should come back. */
const RETRY_MS = 1_000;

/** Each client has a server of its own; all of them work with the same tools. */
export function createSessions(host: McpHost, calls: RunningCalls) {
  const sessions = new Map<string, Session>();

  async function begin(owner: string): Promise<Session> {
    const connections = createConnections();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      retryInterval: RETRY_MS,
      onsessioninitialized: async (id) => {
        sessions.set(id, session);
        const idle = [...sessions.values()].find((one) => one !== session && one.calls.size === 0);
        if (sessions.size > MOST_SESSIONS) await idle?.transport.close();
      },
    });
    const session: Session = { owner, transport, connections, calls: new Set(), openIds: new Set() };
    const send = transport.send.bind(transport);
    transport.send = async (message, options) => {
      if (!("method" in message) && message.id !== undefined) session.openIds.delete(message.id);
      await send(message, options);
    };
    transport.onclose = () => {
      connections.close();
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
    };
    await createMcpServer(host, calls).connect(transport);
    return session;
  }

  return {
    /** A known session of theirs, or one that is about to begin; null for an unknown id, "full" where all that there may be are at work. */
    async find(sessionId: string | undefined, owner: string) {
      if (sessionId === undefined) {
        const isFull =
          sessions.size >= MOST_SESSIONS && [...sessions.values()].every((one) => one.calls.size > 0);
        return isFull ? "full" : begin(owner);
      }
      const session = sessions.get(sessionId);
      if (session === undefined || session.owner !== owner) return null;
      sessions.delete(sessionId);
      sessions.set(sessionId, session);
      return session;
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
    },
  };
}

/** The token itself is not kept. */
function ownerOf(request: Request): string {
  return createHash("sha256")
    .update(request.headers.get("authorization") ?? "")
    .digest("hex");
}

/** MCP over HTTP, by web standards: `picoclaw mcp --http` and `serve` put it on their servers. */
export function createMcpEndpoint(host: McpHost) {
  const calls = createRunningCalls();
  const sessions = createSessions(host, calls);

  async function answer(request: Request): Promise<Response> {
    const body = await readBody(request);
    if (body instanceof Response) return body;
    const session = await sessions.find(request.headers.get("mcp-session-id") ?? undefined, ownerOf(request));
    if (session === "full") {
      const error = { code: -32000, message: "Every session is at work; try again later" };
      return refusalResponse(503, error, { "retry-after": "10" });
    }
    if (session === null) return refusalResponse(404, { code: -32001, message: "Session not found" });
    const { transport, connections, openIds } = session;
    const ids = (Array.isArray(body.value) ? body.value : [body.value])
      .filter(isJSONRPCRequest)
      .map(({ id }) => id);
    // The library would give the first call's answer to the second, and leave the first without one.
    const taken = ids.find((id, at) => openIds.has(id) || ids.indexOf(id) !== at);
    if (taken !== undefined) {
      const message =
        "Invalid Request: a request with this id has no answer yet; each needs an id of its own";
      // It names the id: it answers the second request, on a connection of its own.
      return Response.json(toErrorResponse({ code: ErrorCode.InvalidRequest, message, id: taken }), {
        status: 400,
      });
    }
    for (const id of ids) openIds.add(id);
    const release = () => ids.forEach((id) => void openIds.delete(id));
    if (request.method === "GET" && request.headers.has("last-event-id")) connections.resumed(request);
    const call = Symbol("call");
    const isCall = request.method === "POST";
    if (isCall) session.calls.add(call);
    const over = () => void session.calls.delete(call);
    const answered = await transport
      .handleRequest(request, {
        authInfo: withConnection(request.method === "POST" ? connections.goneAfter(request) : request.signal),
        ...(body.value !== undefined && { parsedBody: body.value }),
      })
      .catch((error: unknown) => {
        over();
        release();
        throw error;
      });
    // Refused before it reached the server, which therefore answers nothing.
    if (!answered.ok) release();
    endCancelled(session, body.value);
    return watchEnd(answered, over);
  }

  return {
    /** Access was decided before this call. Never rejects. */
    handle: (request: Request): Promise<Response> =>
      answer(request).catch((error: Error) => {
        host.log(`mcp: ${error.message}`);
        return refusalResponse(500, { code: ErrorCode.InternalError, message: "Internal error" });
      }),
    /** Ends the sessions; what was running is taken back before it resolves. */
    async close(): Promise<void> {
      await sessions.close();
      await calls.settled();
    },
  };
}

/** The same answer, with nothing in it that a terminal would obey; `over` is called when all of it was sent, or the reader is gone. */
function watchEnd(answered: Response, over: () => void): Response {
  const words = new TextDecoder();
  // Text outside of JSON is the library's own: names of fields, ids of events.
  const show = (controller: TransformStreamDefaultController<Uint8Array>, bytes?: Uint8Array) =>
    controller.enqueue(Buffer.from(escapeUnseen(words.decode(bytes, { stream: bytes !== undefined }))));
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    transform: (bytes, controller) => show(controller, bytes),
    flush: (controller) => show(controller),
  });
  const sent = answered.body?.pipeTo(writable) ?? Promise.resolve();
  void sent.catch(() => {}).finally(over);
  const { status, headers } = answered;
  return new Response(answered.body === null ? null : readable, { status, headers });
}

function refusalResponse(
  status: number,
  { id = null, ...error }: Omit<BadMessage, "id"> & Partial<BadMessage>,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(toErrorResponse({ ...error, id }), { status, headers });
}

/** Its message, or why it is refused; undefined where a request has none. */
async function readBody(request: Request): Promise<{ readonly value: unknown } | Response> {
  if (request.method !== "POST") return { value: undefined };
  const isDeclaredLonger = Number(request.headers.get("content-length") ?? 0) > MESSAGE_BYTES;
  const { bytes, isWhole } = await readUpTo(isDeclaredLonger ? null : request.body, MESSAGE_BYTES);
  // The rest was not read, so the connection is of no use.
  if (isDeclaredLonger || !isWhole)
    return refusalResponse(413, tooLong(MESSAGE_BYTES, null), { connection: "close" });
  const parsed = parseJson(bytes);
  return parsed.ok ? { value: parsed.value } : refusalResponse(400, parsed.bad);
}

/** A cancelled request gets no answer; the stream that waited for it would stay open. */
function endCancelled({ transport, openIds }: Session, body: unknown): void {
  for (const message of Array.isArray(body) ? body : [body])
    if (!isJSONRPCRequest(message) && message?.method === "notifications/cancelled") {
      const id: unknown = message.params?.requestId;
      if (typeof id !== "string" && typeof id !== "number") continue;
      transport.closeSSEStream(id);
      openIds.delete(id);
    }
}

const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Only programs of this machine that know the token. `Host` must be a loopback name with our port, so that a web page
 * whose name was pointed here (DNS rebinding) is refused; so is a page from elsewhere, by its `Origin`.
 */
function refuseRequest({ url, headers }: Request, port: number, token: string): Response | null {
  const refuse = (status: number, message: string, more = {}) =>
    refusalResponse(status, { code: -32000, message }, more);
  const origin = headers.get("origin");
  if (!isOurHost(headers.get("host"), port)) return refuse(403, "Forbidden: the Host is not this server");
  if (origin !== null && !isLoopback(origin))
    return refuse(403, "Forbidden: the Origin is not of this machine");
  if (!sameSecret(/^Bearer +(\S+) *$/i.exec(headers.get("authorization") ?? "")?.[1] ?? "", token)) {
    const message = "Unauthorized: send the bearer token of this server";
    return refuse(401, message, { "www-authenticate": "Bearer" });
  }
  return new URL(url).pathname === "/mcp" ? null : refuse(404, "Not found: the endpoint is /mcp");
}

function isOurHost(host: string | null, port: number): boolean {
  if (host === null) return false;
  const name = host.toLowerCase();
  return [...LOOPBACK].some((ours) => name === `${ours}:${port}` || (port === 80 && name === ours));
}

function isLoopback(origin: string): boolean {
  const url = URL.parse(origin);
  return (url?.protocol === "http:" || url?.protocol === "https:") && LOOPBACK.has(url.hostname);
}

/** Takes the same time for every kind of mistake. */
function sameSecret(given: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

export interface HttpOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /** Null: one is generated and printed. */
  readonly token: string | null;
  readonly newToken: () => string;
  readonly tell: (text: string) => void;
  /** Listens on 127.0.0.1; throws with a `code` when the port cannot be had. */
  readonly listen: (options: {
    readonly port: number;
    readonly fetch: (request: Request) => Promise<Response>;
  }) => { readonly port: number; close(): Promise<void> };
}

/** Serves clients of this machine until `stop` says so. Rejects when the port cannot be had. */
export async function serveHttp(
  host: McpHost,
  { listen, tell, ...options }: HttpOptions,
  stop: AbortSignal,
): Promise<void> {
  const endpoint = createMcpEndpoint(host);
  const token = options.token ?? options.newToken();
  const server = listen({
    port: options.port,
    fetch: async (request) => refuseRequest(request, server.port, token) ?? endpoint.handle(request),
  });
  tell(`PicoClaw MCP: http://127.0.0.1:${server.port}/mcp`);
  if (options.token === null) tell(`Authorization: Bearer ${token}`);
  await untilAborted(stop);
  await endpoint.close();
  await server.close();
}
