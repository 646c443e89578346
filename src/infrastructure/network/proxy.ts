import { createServer, type Socket } from "node:net";
import { createNetworkPolicy, type NetworkRules } from "../../domain/policy/network.ts";
import type { DialParts } from "./dial.ts";
import type { Refusal } from "./refusals.ts";
import { serveClient } from "./serve-client.ts";

/**
 * An HTTP forward and CONNECT proxy that reaches only what its rules allow. It looks names up and dials itself; a
 * client needs neither a resolver nor a route. One request per connection; each is judged on its own.
 *
 * Answers: 403 with the reason for what the rules refuse; 400 for what is not one plain request; 502, 504 when the
 * host cannot be reached; 431, 408, 503 at its limits. `onRefused` hears of every 403.
 */
export interface ProxyParts extends Pick<DialParts, "resolve" | "connect" | "ownAddresses"> {
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
export async function startProxy(parts: ProxyParts, at: ListenAt): Promise<Proxy> {
  const limits = { ...LIMITS, ...parts.limits };
  const { resolve, connect, ownAddresses } = parts;
  const dialling: DialParts = {
    policy: createNetworkPolicy(parts.rules),
    timeoutMs: limits.dialMs,
    ...(resolve && { resolve }),
    ...(connect && { connect }),
    ...(ownAddresses && { ownAddresses }),
  };
  const clients = new Set<Socket>();
  const used = { at: performance.now() };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client);
    client.once("close", () => {
      clients.delete(client);
      used.at = performance.now();
    });
    serveClient({
      client,
      dialling,
      limits,
      isFull: clients.size > limits.connections,
      onRefused: parts.onRefused,
    });
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
        server.close(() => resolve());
        for (const client of clients) client.destroy();
      });
      return stopped;
    },
  };
}
