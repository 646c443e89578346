import { closeSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { RefusedHost } from "../../application/ports/jobs-transaction.ts";
import type { SandboxNetwork } from "./sandbox-plan.ts";

/** `worker.network` as the configuration has it. */
export interface NetworkSettings {
  readonly mode: "on" | "off" | "allow_list";
  readonly allowed_domains: readonly string[];
  readonly denied_domains: readonly string[];
}

export interface OpenNetwork {
  readonly plan: SandboxNetwork;
  readonly takeRefused?: () => readonly RefusedHost[];
  /** Idempotent. */
  readonly release: () => Promise<void>;
}

/** What a sandbox is going to have; the proxy's socket is not there yet. */
export function networkPlan({ mode }: NetworkSettings, wanted: boolean): SandboxNetwork {
  if (!wanted || mode === "off") return "none";
  return mode === "on" ? "host" : { proxy: SOCKET };
}

/** The network of one job. With an allow-list that is a proxy of its own, on a socket in the job's folder. */
export async function openNetwork(
  settings: NetworkSettings,
  job: string,
  wanted: boolean,
): Promise<OpenNetwork> {
  const plan = networkPlan(settings, wanted);
  if (typeof plan === "string") return { plan, release: async () => {} };
  const [{ startProxy }, { createRefusalCount }] = await Promise.all([
    import("./network-proxy.ts"),
    import("./refusals.ts"),
  ]);
  const refusals = createRefusalCount();
  const path = join(job, SOCKET);
  // The name of a socket has room for 107 bytes, and a job's folder may lie deep: it is named by its descriptor.
  const folder = openSync(job, "r");
  const proxy = await startProxy(
    {
      rules: { allowed: settings.allowed_domains, denied: settings.denied_domains },
      onRefused: refusals.add,
    },
    { path: `/proc/self/fd/${folder}/${SOCKET}` },
  );
  let released: Promise<void> | null = null;
  const release = async () => {
    await proxy.stop();
    closeSync(folder);
    rmSync(path, { force: true });
  };
  return {
    plan: { proxy: path },
    takeRefused: refusals.take,
    release: () => {
      released ??= release();
      return released;
    },
  };
}

const SOCKET = "proxy";
