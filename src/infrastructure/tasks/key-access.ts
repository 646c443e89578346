import type { SandboxFailure, SandboxManager } from "../../application/ports/containers.ts";
import { type KeyQuota, startKeyProxy } from "../heads/key-proxy.ts";
import type { WorkerKind } from "../heads/kinds/worker-kind.ts";
import type { Credentials } from "./credentials.ts";

/** How a CLI is called so that its keys stay outside of the container. */
export interface KeyAccess {
  readonly ok: true;
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

export interface KeyAccessDeps {
  readonly sandbox: SandboxManager;
  readonly container: string;
  readonly kind: WorkerKind;
  readonly credentials: Credentials;
  readonly quota: KeyQuota;
  readonly onUsedUp: () => void;
  readonly signal: AbortSignal;
}

/** A proxy on this machine that has the keys, and a way to it from inside, for one run. Without keys, nothing is needed. */
export async function openKeyAccess(deps: KeyAccessDeps): Promise<KeyAccess | SandboxFailure> {
  const { sandbox, container, kind, credentials, quota, onUsedUp, signal } = deps;
  const { env, files, keys } = credentials;
  if (keys.size === 0) return { ok: true, argv: kind.argv, env, close: async () => {} };
  const decoder = new TextDecoder();
  const route = kind.route({
    env,
    textOf: (path) => {
      const file = files.find((one) => one.path === path);
      return file === undefined ? null : decoder.decode(file.bytes);
    },
  });
  const proxy = await startKeyProxy({ upstream: route.upstream, keys, quota, onUsedUp });
  const way = await sandbox.forward(container, { socket: proxy.socket, signal });
  if (!way.ok) {
    await proxy.close();
    return way;
  }
  const { pathname } = new URL(route.upstream);
  const led = route.lead(`http://127.0.0.1:${way.port}${pathname.replace(/\/$/, "")}`);
  return {
    ok: true,
    argv: led.argv,
    env: { ...env, ...led.env },
    async close() {
      way.close();
      await proxy.close();
    },
  };
}
