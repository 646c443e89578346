import type { SandboxFacts, SandboxFailure } from "../../application/ports/containers.ts";
import type { Engine } from "./docker-engine.ts";

interface EngineInfo {
  readonly ServerVersion: string;
  readonly CgroupVersion?: string;
  readonly Driver: string;
  readonly DriverStatus?: readonly (readonly [string, string])[];
  readonly SecurityOptions?: readonly string[];
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly MemoryLimit?: boolean;
  readonly SwapLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  readonly PidsLimit?: boolean;
}

/** What engine this is, and what it says it can enforce. */
export async function readEngineFacts(
  engine: Engine,
  signal: AbortSignal | undefined,
): Promise<SandboxFacts | SandboxFailure> {
  const [info, version] = await Promise.all([
    engine.call<EngineInfo>({ method: "GET", path: "/info", signal }),
    engine.call<{ ApiVersion: string }>({ method: "GET", path: "/version", signal }),
  ]);
  if (!info.ok) return info;
  if (!version.ok) return version;
  const it = info.value;
  const security = it.SecurityOptions ?? [];
  const lacks = {
    memory: it.MemoryLimit === false,
    swap: it.SwapLimit === false,
    cpu: it.CpuCfsQuota === false,
    pids: it.PidsLimit === false,
  };
  return {
    ok: true,
    engineVersion: it.ServerVersion,
    apiVersion: version.value.ApiVersion,
    host: engine.host,
    cgroup: it.CgroupVersion === "2" ? 2 : 1,
    storageDriver: it.Driver,
    backingFilesystem: it.DriverStatus?.find(([name]) => name === "Backing Filesystem")?.[1] ?? "unknown",
    disk: "watchdog",
    rootless: security.some((option) => option.includes("name=rootless")),
    seccomp: security.some((option) => option.includes("name=seccomp")),
    cpus: it.NCPU,
    memoryBytes: it.MemTotal,
    missing: (Object.keys(lacks) as (keyof typeof lacks)[]).filter((name) => lacks[name]),
  };
}
