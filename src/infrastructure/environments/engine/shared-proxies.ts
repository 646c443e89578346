import type { ContainerSpec, SandboxFailure } from "../../../application/ports/sandbox.ts";
import { failed } from "./failures.ts";
import { ensureProxy, type ProxySidecar, type SidecarParts } from "./proxy-sidecar.ts";

/** Many starts at once make one proxy. An abort of the one that makes it does not fail the others. */
export interface SharedProxies {
  readonly proxyFor: (
    spec: ContainerSpec,
    signal: AbortSignal | undefined,
  ) => Promise<ProxySidecar | SandboxFailure>;
}

export function createSharedProxies(parts: SidecarParts): SharedProxies {
  const making = new Map<string, ReturnType<typeof ensureProxy>>();
  return {
    async proxyFor({ network, image }, signal) {
      if (network.mode === "none") return failed("bad-spec", "no proxy without a network");
      const key = JSON.stringify(network);
      const under = making.get(key) ?? ensureProxy(parts, network, image, undefined);
      making.set(key, under);
      const made = await under;
      making.delete(key);
      return signal?.aborted ? failed("aborted", "aborted") : made;
    },
  };
}
