/**
 * The socket of a job's proxy. In: the job's folder, and how its rules are found. Out: what the proxy saw, and its end.
 * Invariant: it listens at once, and a command that opens no connection pays nothing else: the proxy (and `node:net` with it) is
 * loaded, and its rules are found, with the first connection, which is led to a second socket in the same folder.
 */
import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { NetworkTraffic } from "../../application/ports/jobs-transaction.ts";
import type { NetworkRules } from "../../domain/policy/network.ts";
import { forwardSocket } from "../platform/forward-socket.ts";

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

/** Throws the system's error when it cannot listen there. */
export function openLazyProxy({ folder: job, name, env, findRules }: LazyProxyDeps) {
  // The name of a socket has room for 107 bytes, and the path of a job's folder may be longer: it is named by its descriptor.
  const folder = openSync(job, "r");
  const at = (one: string) => `/proc/self/fd/${folder}/${one}`;
  const behind = `${name}-behind`;
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
    const { stop } = await proxies.startProxy(
      {
        rules,
        onRefused: refused.add,
        onReached: reached.add,
        upstream: upstreamProxy(env),
        ...(isModels && { hint: proxies.modelAllowHint }),
      },
      { path: at(behind) },
    );
    return { stop, take: (): NetworkTraffic => ({ refused: refused.take(), reached: reached.take() }) };
  }

  const forwarder = forwardSocket({ unix: at(name) }, async () => {
    opening ??= open();
    opened = await opening;
    return at(behind);
  });
  let released: Promise<void> | null = null;
  const release = async () => {
    forwarder.close();
    await (await opening?.catch(() => null))?.stop();
    closeSync(folder);
    for (const one of [name, behind]) rmSync(join(job, one), { force: true });
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
