import { closeSync, openSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { NetworkTraffic } from "../../application/ports/jobs-transaction.ts";
import type { NetworkRules } from "../../domain/policy/network.ts";
import type { createProxy } from "./proxy.ts";

/** The rules of a proxy, with the words behind a refusal that say how a host is allowed. */
export interface FoundRules {
  readonly rules: NetworkRules;
  readonly isModels: boolean;
}

interface LazyProxyDeps {
  /** The job's folder, and the name of the socket in it. */
  readonly folder: string;
  readonly name: string;
  /** Of the user: a proxy in it is the way out. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly findRules: () => Promise<FoundRules>;
}

/** Listens on a socket at once; the proxy behind it is loaded, and its rules are found, with the first connection. */
export async function openLazyProxy({ folder: job, name, env, findRules }: LazyProxyDeps) {
  const path = join(job, name);
  // The name of a socket has room for 107 bytes, and the path of a job's folder may be longer: it is named by its descriptor.
  const folder = openSync(job, "r");
  const waiting = new Set<Socket>();
  let opened: Awaited<ReturnType<typeof open>> | null = null;
  let opening: ReturnType<typeof open> | null = null;

  async function open() {
    const [{ rules, isModels }, proxies, { upstreamProxy }] = await Promise.all([
      findRules(),
      import("./proxy.ts"),
      import("./dial.ts"),
    ]);
    const refused = proxies.createRefusalCount();
    const reached = proxies.createReachedCount();
    const proxy: ReturnType<typeof createProxy> = proxies.createProxy({
      rules,
      onRefused: refused.add,
      onReached: reached.add,
      upstream: upstreamProxy(env),
      ...(isModels && { hint: proxies.modelAllowHint }),
    });
    return { proxy, take: (): NetworkTraffic => ({ refused: refused.take(), reached: reached.take() }) };
  }

  async function serve(client: Socket): Promise<void> {
    opening ??= open();
    opened = await opening;
    waiting.delete(client);
    if (client.destroyed) return;
    opened.proxy.serve(client);
    client.resume();
  }

  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    waiting.add(client);
    client.on("error", () => client.destroy());
    serve(client).catch(() => client.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path: `/proc/self/fd/${folder}/${name}` }, () => resolve());
  });
  let released: Promise<void> | null = null;
  const release = async () => {
    const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
    for (const client of waiting) client.destroy();
    opened?.proxy.end();
    await closed;
    closeSync(folder);
    rmSync(path, { force: true });
  };
  return {
    takeTraffic: (): NetworkTraffic => opened?.take() ?? { refused: [], reached: [] },
    /** Ends it and every connection through it. Idempotent. */
    release(): Promise<void> {
      released ??= release();
      return released;
    },
  };
}
