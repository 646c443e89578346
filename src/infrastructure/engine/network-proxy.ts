import { createServer, type Socket } from "node:net";
import { createNetworkPolicy, type NetworkRules } from "../../domain/policy/network.ts";
import { type DialDeps, dial } from "./dial.ts";
import {
  answerAndClose,
  readForwardTarget,
  relayAnswer,
  sendBody,
  writeForwardedRequest,
} from "./proxy.ts";
import { refusalStatus, refusalText } from "./proxy-answers.ts";
import type { Refusal } from "./refusals.ts";
import { endOfHead, parseRequestHead, readFraming } from "./request-head.ts";
import { createSilentFirst } from "./silent-first.ts";

/**
 * An HTTP forward and CONNECT proxy that reaches only what its rules allow. It looks names up and dials itself; a
 * client needs neither a resolver nor a route. One request per connection; each is judged on its own.
 *
 * Answers: 403 with the reason for what the rules refuse; 400 for what is not one plain request; 502, 504 when the
 * host cannot be reached; 431, 408 at its limits. At the limit of connections the one that has been silent longest ends. `onRefused` hears of every 403.
 */
export interface ProxyDeps extends Pick<DialDeps, "resolve" | "connect" | "ownAddresses"> {
  readonly rules: NetworkRules;
  readonly onRefused: (refusal: Refusal) => void;
  readonly limits?: Partial<ProxyLimits>;
}

export interface ProxyLimits {
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

export interface Proxy {
  /** Where it listens; 0 for a socket with a path. */
  readonly port: number;
  /** Since when nobody has used it, in milliseconds; 0 while somebody does. */
  readonly idleMs: () => number;
  /** Ends it and every connection through it. Idempotent. */
  readonly stop: () => Promise<void>;
}

/** Rejects with the system's error when it cannot listen there. */
export async function startProxy(parts: ProxyDeps, at: ListenAt): Promise<Proxy> {
  const limits = { ...LIMITS, ...parts.limits };
  const { resolve, connect, ownAddresses } = parts;
  const dialling: DialDeps = {
    policy: createNetworkPolicy(parts.rules),
    timeoutMs: limits.dialMs,
    ...(resolve && { resolve }),
    ...(connect && { connect }),
    ...(ownAddresses && { ownAddresses }),
  };
  const clients = new Set<Socket>();
  const used = { at: performance.now() };
  const silent = createSilentFirst();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    // Before it is counted itself: the newest has said nothing yet either.
    if (clients.size >= limits.connections) silent.endSilent();
    clients.add(client);
    silent.add(client);
    client.once("close", () => {
      clients.delete(client);
      silent.remove(client);
      used.at = performance.now();
    });
    serveClient({ client, dialling, limits, onRefused: parts.onRefused });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => resolve());
  });
  const address = server.address();
  let stopped: Promise<void> | null = null;
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    idleMs: () => (clients.size > 0 ? 0 : performance.now() - used.at),
    stop() {
      stopped ??= new Promise<void>((resolve) => {
        silent.close();
        server.close(() => resolve());
        for (const client of clients) client.destroy();
      });
      return stopped;
    },
  };
}

interface ServeClient {
  readonly client: Socket;
  readonly dialling: DialDeps;
  readonly limits: ProxyLimits;
  readonly onRefused: (refusal: Refusal) => void;
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
  const dialled = await dial(parts.dialling, asked);
  if (!dialled.ok) {
    if ("failed" in dialled)
      return answerAndClose(client, dialled.failed === "timeout" ? 504 : 502, dialled.failed);
    parts.onRefused({ host: asked.host, port: asked.port, reason: dialled.refused });
    return answerAndClose(
      client,
      403,
      refusalText(asked, dialled.refused),
      refusalStatus(asked, dialled.refused),
    );
  }
  const upstream = dialled.socket;
  joinSockets(client, upstream, parts.limits.idleMs);
  if (client.destroyed) return void upstream.destroy();
  if (head.method === "CONNECT") {
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (rest.length > 0) upstream.write(rest);
    client.pipe(upstream);
    upstream.pipe(client);
    return;
  }
  upstream.write(writeForwardedRequest(head, asked, framing));
  sendBody(client, upstream, framing, rest);
  relayAnswer(client, upstream, parts.limits.headBytes);
}

/** The end of one is the end of the other; so is a long silence. */
function joinSockets(client: Socket, upstream: Socket, idleMs: number): void {
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.on("error", () => other.destroy());
    one.once("close", () => other.destroySoon());
    one.setTimeout(idleMs, () => {
      client.destroy();
      upstream.destroy();
    });
  }
}
