import { createServer, type Socket } from "node:net";
import type { ReachedHost, RefusedHost } from "../../application/ports/jobs-transaction.ts";
import {
  allowCommand,
  createNetworkPolicy,
  type Destination,
  type NetworkRules,
  type RefusedDestination,
} from "../../domain/policy/network.ts";
import { type DialDeps, dial, type UpstreamProxy } from "./dial.ts";
import { endTogether } from "./forward-port.ts";

/** The head of a proxied HTTP/1 message: parsed strictly and written again. */
interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
}

type Header = readonly [name: string, value: string];

/** How a body is delimited; anything that two readers could understand differently is refused. */
type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const HOP_BY_HOP = new Set(
  "connection proxy-connection keep-alive proxy-authorization proxy-authenticate te trailer transfer-encoding upgrade".split(
    " ",
  ),
);
/** Never dropped because `Connection` names them: their values are checked and kept. */
const FRAMING = new Set(["host", "content-length", "transfer-encoding"]);

/** Where the head ends in these bytes (behind its empty line); -1 while it does not. */
function endOfHead(bytes: Buffer): number {
  const at = bytes.indexOf("\r\n\r\n");
  return at === -1 ? -1 : at + 4;
}

function parseRequestHead(bytes: Uint8Array): RequestHead | undefined {
  const lines = splitHeadLines(bytes);
  const [, method, target] = /^([^ ]+) ([^ ]+) HTTP\/1\.[01]$/.exec(lines?.[0] ?? "") ?? [];
  const headers = lines && parseHeaders(lines.slice(1));
  if (method === undefined || target === undefined || !TOKEN.test(method) || headers === undefined)
    return undefined;
  return { method, target, headers };
}

function parseResponseHead(bytes: Uint8Array) {
  const lines = splitHeadLines(bytes);
  const line = lines?.[0] ?? "";
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: .*)?$/.exec(line) ?? [];
  const headers = lines && parseHeaders(lines.slice(1));
  return status === undefined || headers === undefined
    ? undefined
    : { status: Number(status), line, headers };
}

/** Undefined for a bare CR or LF, a NUL, or a line that continues another. */
function splitHeadLines(bytes: Uint8Array): string[] | undefined {
  const text = Buffer.from(bytes).toString("latin1").slice(0, -4);
  const lines = text.split("\r\n");
  return lines.every((line) => !/[\r\n\0]/.test(line)) ? lines : undefined;
}

function parseHeaders(lines: readonly string[]): Header[] | undefined {
  const headers: Header[] = [];
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon);
    if (colon < 1 || !TOKEN.test(name)) return undefined;
    headers.push([name, line.slice(colon + 1).trim()]);
  }
  return headers;
}

function headerValues(headers: readonly Header[], name: string): string[] {
  return headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);
}

function readFraming(headers: readonly Header[]): Framing | undefined {
  const encodings = headerValues(headers, "transfer-encoding");
  const lengths = headerValues(headers, "content-length");
  if (encodings.length > 0) {
    const isPlain = encodings.length === 1 && encodings[0]?.toLowerCase() === "chunked";
    return isPlain && lengths.length === 0 ? { kind: "chunked" } : undefined;
  }
  const [length] = lengths;
  if (length === undefined) return { kind: "none" };
  if (lengths.some((one) => one !== length) || !/^\d{1,15}$/.test(length)) return undefined;
  return { kind: "length", bytes: Number(length) };
}

/** Without headers that concern one connection only; the caller adds the framing again after checking it. */
function endToEndHeaders(headers: readonly Header[]): Header[] {
  const named = headerValues(headers, "connection").flatMap((value) =>
    value.split(",").map((one) => one.trim().toLowerCase()),
  );
  return headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return !HOP_BY_HOP.has(lower) && (FRAMING.has(lower) || !named.includes(lower));
  });
}

function writeHead(line: string, headers: readonly Header[]): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${line}\r\n${lines.join("")}\r\n`, "latin1");
}

const STATUS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** Read by programs and models, so in English alone. */
const REASONS: Readonly<Record<RefusedDestination, string>> = {
  "bad-host": "is not a host",
  "not-allowed": "is not among the allowed domains",
  port: "is allowed, but not on this port",
  denied: "is denied",
  address: "has no address that may be reached: private, loopback and link-local ones are not",
};

/** Programs show the status line of a refused tunnel, and none of them its body. */
function refusalStatus({ host, port }: Destination, reason: RefusedDestination): string {
  return `Refused by picoclaw: ${host.replace(/[^\x21-\x7e]/g, "?").slice(0, 300)}:${port} ${REASONS[reason]}`;
}

function refusalText({ host, port }: Destination, reason: RefusedDestination): string {
  return `${host}:${port} ${REASONS[reason]}`;
}

function answerText(status: number, text: string, phrase: string = STATUS[status] ?? "Error"): string {
  const body = `picoclaw: ${text}\n`;
  return [
    `HTTP/1.1 ${status} ${phrase}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}

/** The words behind a refusal that say how the host is allowed; empty where the proxy does not know. */
type AllowHint = (refusal: Refusal) => string;

/** Says how a person allows the host of a refusal to commands of a model. */
export function modelAllowHint(refusal: Refusal): string {
  const command = allowCommand(refusal);
  return command === null ? "" : `; the user allows it with: ${command}`;
}

export interface Refusal extends Destination {
  readonly reason: RefusedDestination;
}

/** Counts by host for the result of a job. Names are a stranger's: their number and length are bounded. */
function createHostCount<Counted extends { readonly host: string; readonly count: number }, Added>(
  read: (added: Added) => Omit<Counted, "count">,
) {
  const counts = new Map<string, Counted>();
  return {
    add(added: Added): void {
      const one = read(added) as Counted;
      const keyOf = (host: string) => JSON.stringify({ ...one, host, port: undefined });
      const name = printable(one.host);
      const host = counts.has(keyOf(name)) || counts.size < MOST_HOSTS ? name : OTHERS;
      counts.set(keyOf(host), { ...one, host, count: (counts.get(keyOf(host))?.count ?? 0) + 1 });
    },
    /** Most frequent first; forgets what it returns. */
    take(): readonly Counted[] {
      const taken = [...counts.values()];
      counts.clear();
      return taken.sort((x, y) => y.count - x.count || (x.host < y.host ? -1 : 1));
    },
  };
}

/** Counts the connections that were made. */
export const createReachedCount = () => createHostCount<ReachedHost, string>((host) => ({ host }));

/** Counts refusals. */
export const createRefusalCount = () =>
  createHostCount<RefusedHost, Refusal>(({ host, port, reason }) => ({ host, reason, port }));

const MOST_HOSTS = 50;
const MOST_CHARACTERS = 100;
const OTHERS = "…";

function printable(host: string): string {
  const plain = host.replace(/[^\x21-\x7e]/g, "?");
  return plain.length > MOST_CHARACTERS ? `${plain.slice(0, MOST_CHARACTERS)}…` : plain;
}

const LOOK_MS = 2000;

/**
 * Connections by how long nothing has gone through them: the one silent longest is closed for the next one, so that unused
 * connections block no client. The sockets count their bytes themselves.
 */
function createSilentFirst() {
  const seen = new Map<Socket, { bytes: number; at: number }>();
  const look = () => {
    const now = performance.now();
    for (const [client, known] of seen) {
      const bytes = client.bytesRead + client.bytesWritten;
      if (bytes !== known.bytes) seen.set(client, { bytes, at: now });
    }
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return {
    add: (client: Socket) => void seen.set(client, { bytes: 0, at: performance.now() }),
    remove: (client: Socket) => void seen.delete(client),
    endSilent(): void {
      look();
      let longest: { readonly client: Socket; readonly at: number } | null = null;
      for (const [client, { at }] of seen) if (longest === null || at < longest.at) longest = { client, at };
      longest?.client.destroy();
    },
    close: () => clearInterval(timer),
  };
}

interface ForwardTarget extends Destination {
  /** The path in the request line that is sent on. */
  readonly path: string;
  readonly authority: string;
}

/** Accepts only the two request forms of a proxy; a path alone, or `https://` without a tunnel, is neither. */
function readForwardTarget({ method, target }: RequestHead): ForwardTarget | undefined {
  if (method === "CONNECT") {
    const [, host = "", port] = /^(\[[^\]]+\]|[^:/@]+):(\d{1,5})$/.exec(target) ?? [];
    return port === undefined ? undefined : { host, port: Number(port), path: "", authority: target };
  }
  const [, authority = "", path = ""] = /^http:\/\/([^/?#]+)([^#]*)$/i.exec(target) ?? [];
  const [, host = "", port] = /^(\[[^\]]+\]|[^:@[\]]+)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  if (host === "" || /[^\x21-\x7e]/.test(path)) return undefined;
  return { host, port: Number(port ?? 80), path: path.startsWith("/") ? path : `/${path}`, authority };
}

function writeForwardedRequest(
  { method, headers }: RequestHead,
  { path, authority }: ForwardTarget,
  framing: Framing,
  through: UpstreamProxy | undefined,
): Buffer {
  const kept = endToEndHeaders(headers).filter(([name]) => name.toLowerCase() !== "host");
  const coding: Header[] = framing.kind === "chunked" ? [["Transfer-Encoding", "chunked"]] : [];
  const target = through === undefined ? path : `http://${authority}${path}`;
  const credentials: Header[] = through?.authorization
    ? [["Proxy-Authorization", through.authorization]]
    : [];
  return writeHead(`${method} ${target} HTTP/1.1`, [
    ["Host", authority],
    ...credentials,
    ...kept,
    ...coding,
    ["Connection", "close"],
  ]);
}

/** Forwards exactly one body. */
function sendBody(client: Socket, upstream: Socket, framing: Framing, first: Buffer): void {
  const cutter = createBodyCutter(framing);
  let over = false;
  const onData = (bytes: Buffer) => {
    if (over) return;
    const { body, ended, broken } = cutter.take(bytes);
    if (broken) {
      upstream.destroy();
      return answerAndClose(client, 400, "the body of the request is broken");
    }
    over = ended;
    if (body.length > 0 && !upstream.write(body)) {
      client.pause();
      upstream.once("drain", () => client.resume());
    }
  };
  onData(first);
  client.on("data", onData);
  client.once("end", () => {
    if (!over) upstream.destroy();
  });
  client.resume();
}

/** Relays the answer, with a head that announces the end of the connection. */
function relayAnswer(client: Socket, upstream: Socket, headBytes: number): void {
  let held: Buffer = Buffer.alloc(0);
  let begun = false;
  const fail = () => {
    upstream.destroy();
    answerAndClose(client, 502, "the answer of the host is not HTTP");
  };
  const onData = (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    for (;;) {
      const end = endOfHead(held);
      if (end === -1) return held.length > headBytes ? fail() : undefined;
      const head = parseResponseHead(held.subarray(0, end));
      if (head === undefined || head.status === 101) return fail();
      const rest = held.subarray(end);
      const isInterim = head.status < 200;
      const isChunked = readFraming(head.headers)?.kind === "chunked";
      client.write(
        writeHead(head.line, [
          ...endToEndHeaders(head.headers),
          ...(isChunked ? [["Transfer-Encoding", "chunked"] as const] : []),
          ...(isInterim ? [] : [["Connection", "close"] as const]),
        ]),
      );
      held = rest;
      if (isInterim) continue;
      begun = true;
      upstream.off("data", onData);
      if (rest.length > 0) client.write(rest);
      upstream.pipe(client);
      return;
    }
  };
  upstream.on("data", onData);
  upstream.once("end", () => {
    if (!begun) fail();
  });
}

function answerAndClose(client: Socket, status: number, text: string, phrase?: string): void {
  if (client.destroyed || client.writableEnded) return;
  client.end(answerText(status, text, phrase));
  // Its remaining data is read and discarded for a while: closing at once could lose the answer.
  client.resume();
  client.setTimeout(LINGER_MS, () => client.destroy());
}

const LINGER_MS = 2000;

/** Lets through exactly one body: `take` returns the part that belongs to it. The bytes that follow are another request, not validated. */
interface BodyCutter {
  take(bytes: Buffer): { readonly body: Buffer; readonly ended: boolean; readonly broken: boolean };
}

const LONGEST_LINE = 8192;

function createBodyCutter(framing: Framing): BodyCutter {
  return framing.kind === "chunked"
    ? createChunkedCutter()
    : createCountedCutter(framing.kind === "length" ? framing.bytes : 0);
}

function createCountedCutter(total: number): BodyCutter {
  let left = total;
  return {
    take(bytes) {
      const body = bytes.subarray(0, left);
      left -= body.length;
      return { body, ended: left === 0, broken: false };
    },
  };
}

/** Follows the chunks without changing them; a trailer section ends with its empty line. */
function createChunkedCutter(): BodyCutter {
  let state: "size" | "data" | "data-end" | "trailer" | "ended" = "size";
  let left = 0;
  let line = "";
  return {
    take(bytes) {
      let at = 0;
      const broken = { body: bytes.subarray(0, 0), ended: false, broken: true };
      while (at < bytes.length && state !== "ended") {
        if (state === "data") {
          const step = Math.min(left, bytes.length - at);
          at += step;
          left -= step;
          if (left === 0) state = "data-end";
          continue;
        }
        const end = bytes.indexOf(0x0a, at);
        line += bytes.toString("latin1", at, end === -1 ? bytes.length : end + 1);
        at = end === -1 ? bytes.length : end + 1;
        if (line.length > LONGEST_LINE) return broken;
        if (end === -1) continue;
        if (!/^[^\r\n\0]*\r\n$/.test(line)) return broken;
        const text = line.slice(0, -2);
        line = "";
        if (state === "size") {
          const [, size] = /^([0-9a-fA-F]{1,12})(?:[ \t]*;.*)?$/.exec(text) ?? [];
          if (size === undefined) return broken;
          left = Number.parseInt(size, 16);
          state = left === 0 ? "trailer" : "data";
        } else if (state === "data-end") {
          if (text !== "") return broken;
          state = "size";
        } else if (text === "") state = "ended";
      }
      return { body: bytes.subarray(0, at), ended: state === "ended", broken: false };
    },
  };
}

/**
 * An HTTP forward and CONNECT proxy that reaches only what its rules allow. It resolves names and connects itself; a client needs
 * neither a resolver nor a route. One request per connection; each is judged separately. Answers: 403 with the reason if the rules
 * refuse (`onRefused` receives each); 400 for anything but one plain request; 502, 504 if the host cannot be reached; 431, 408
 * at its limits. At the limit of connections the one that has been silent longest ends.
 */
export interface ProxyDeps extends Pick<DialDeps, "resolve" | "connect" | "ownAddresses" | "upstream"> {
  readonly rules: NetworkRules;
  readonly onRefused: (refusal: Refusal) => void;
  /** Receives the host of each connection that was made. */
  readonly onReached?: (host: string) => void;
  readonly hint?: AllowHint;
  readonly limits?: Partial<ProxyLimits>;
}

interface ProxyLimits {
  readonly headBytes: number;
  readonly connections: number;
  /** For the head of a request. */
  readonly headMs: number;
  /** For a look-up, and for each attempt to connect. */
  readonly dialMs: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
}

const LIMITS: ProxyLimits = {
  headBytes: 32 * 1024,
  connections: 512,
  headMs: 10_000,
  dialMs: 10_000,
  idleMs: 300_000,
};

export type ListenAt =
  | { readonly path: string }
  /** Port 0 is any free one. */
  | { readonly host: string; readonly port: number };

/** A proxy for clients that another server takes. */
function createProxy(deps: ProxyDeps) {
  const limits = { ...LIMITS, ...deps.limits };
  const { resolve, connect, ownAddresses, upstream } = deps;
  const dialling: DialDeps = {
    policy: createNetworkPolicy(deps.rules),
    timeoutMs: limits.dialMs,
    ...(resolve && { resolve }),
    ...(connect && { connect }),
    ...(ownAddresses && { ownAddresses }),
    ...(upstream && { upstream }),
  };
  const clients = new Set<Socket>();
  const used = { at: performance.now() };
  const silent = createSilentFirst();
  const serve = (client: Socket) => {
    // Before it is counted itself, because the newest connection has sent nothing yet either.
    if (clients.size >= limits.connections) silent.endSilent();
    clients.add(client);
    silent.add(client);
    client.once("close", () => {
      clients.delete(client);
      silent.remove(client);
      used.at = performance.now();
    });
    serveClient({ ...deps, client, dialling, limits });
  };
  return {
    serve,
    /** For how long it has been unused, in milliseconds; 0 while it is in use. */
    idleMs: () => (clients.size > 0 ? 0 : performance.now() - used.at),
    /** Ends every connection through it. */
    end(): void {
      silent.close();
      for (const client of clients) client.destroy();
    },
  };
}

/** Rejects with the system's error when it cannot listen there. */
export async function startProxy(deps: ProxyDeps, at: ListenAt) {
  const { serve, idleMs, end } = createProxy(deps);
  const server = createServer({ allowHalfOpen: true }, serve);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => resolve());
  });
  const address = server.address();
  let stopped: Promise<void> | null = null;
  return {
    /** Where it listens; 0 for a socket with a path. */
    port: typeof address === "object" && address !== null ? address.port : 0,
    idleMs,
    /** Ends it and every connection through it. Idempotent. */
    stop(): Promise<void> {
      stopped ??= new Promise<void>((resolve) => {
        server.close(() => resolve());
        end();
      });
      return stopped;
    },
  };
}

interface ServeClient extends Pick<ProxyDeps, "onRefused" | "onReached" | "hint"> {
  readonly client: Socket;
  readonly dialling: DialDeps;
  readonly limits: ProxyLimits;
}

/** One connection: head → judge and dial → a tunnel, or one request and its answer → end. */
function serveClient(parts: ServeClient): void {
  const { client, limits } = parts;
  client.on("error", () => client.destroy());
  let held: Buffer = Buffer.alloc(0);
  const onData = (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    const end = endOfHead(held);
    if (end === -1 && held.length <= limits.headBytes) return;
    clearTimeout(slow);
    client.off("data", onData);
    client.pause();
    if (end === -1 || end > limits.headBytes)
      return answerAndClose(client, 431, "the head of the request is too long");
    void carryOut(parts, held.subarray(0, end), held.subarray(end));
  };
  const slow = setTimeout(() => {
    client.off("data", onData);
    answerAndClose(client, 408, "no request came");
  }, limits.headMs);
  client.once("close", () => clearTimeout(slow));
  client.on("data", onData);
  client.once("end", () => {
    if (endOfHead(held) === -1) client.destroy();
  });
}

async function carryOut(parts: ServeClient, headBytes: Buffer, rest: Buffer): Promise<void> {
  const { client } = parts;
  const head = parseRequestHead(headBytes);
  const asked = head && readForwardTarget(head);
  const framing = head && readFraming(head.headers);
  if (head === undefined || asked === undefined || framing === undefined)
    return answerAndClose(client, 400, "not a request that a proxy can carry out");
  const dialled = await dial(parts.dialling, { ...asked, isTunnel: head.method === "CONNECT" });
  if (!dialled.ok) {
    if ("failed" in dialled)
      return answerAndClose(client, dialled.failed === "timeout" ? 504 : 502, dialled.failed);
    const refusal = { host: asked.host, port: asked.port, reason: dialled.refused };
    parts.onRefused(refusal);
    const hint = parts.hint?.(refusal).replace(/[^\x20-\x7e]/g, "?") ?? "";
    return answerAndClose(
      client,
      403,
      refusalText(asked, dialled.refused) + hint,
      refusalStatus(asked, dialled.refused) + hint,
    );
  }
  parts.onReached?.(dialled.host);
  const upstream = dialled.socket;
  endTogether(client, upstream);
  endWhenSilent([client, upstream], parts.limits.idleMs);
  if (client.destroyed) return void upstream.destroy();
  if (head.method === "CONNECT") {
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (rest.length > 0) upstream.write(rest);
    client.pipe(upstream);
    upstream.pipe(client);
    return;
  }
  upstream.write(writeForwardedRequest(head, asked, framing, dialled.through));
  sendBody(client, upstream, framing, rest);
  relayAnswer(client, upstream, parts.limits.headBytes);
}

function endWhenSilent(sockets: readonly Socket[], idleMs: number): void {
  const end = () => {
    for (const each of sockets) each.destroy();
  };
  for (const one of sockets) one.setTimeout(idleMs, end);
}
