import type { ContainerUsage, SandboxFailure } from "../../application/ports/containers.ts";
import { inspectContainer } from "./container-state.ts";
import { DISK_COMMAND, readDisk } from "./disk-watch.ts";
import type { Engine } from "./docker-engine.ts";
import { sandboxFailure } from "./failures.ts";
import { readContainerSettings } from "./labels.ts";
import type { CommandChannels } from "./run-command.ts";

/** As the engine counts; only what is read here. */
interface ContainerStats {
  readonly memory_stats?: {
    readonly usage?: number;
    readonly stats?: Readonly<Record<string, number>>;
  };
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly pids_stats?: { readonly current?: number };
}

export async function readContainerUsage(
  { engine, channels }: { readonly engine: Engine; readonly channels: Pick<CommandChannels, "runOwn"> },
  container: string,
  signal: AbortSignal | undefined,
): Promise<ContainerUsage | SandboxFailure> {
  const inspected = await inspectContainer(engine, container, signal);
  if (!inspected.ok) return inspected;
  const { Id, Config, State } = inspected.value;
  const settings = readContainerSettings(Config.Labels ?? {});
  if (!settings) return sandboxFailure("not-allowed", `${container} is no container of PicoClaw's`);
  if (!State.Running)
    return sandboxFailure("container-stopped", `${container} is not running (${State.Status})`);
  const asked = await engine.call<ContainerStats>({
    method: "GET",
    path: `/containers/${Id}/stats`,
    query: { stream: false, "one-shot": true },
    signal,
  });
  if (!asked.ok) return asked;
  const { memory_stats: memory, cpu_stats: cpu, pids_stats: pids } = asked.value;
  const measured = await channels.runOwn(Id, DISK_COMMAND, signal);
  const { limits } = settings;
  // As `docker stats` shows it: what the kernel keeps of files and can give back does not count.
  const cache = memory?.stats?.inactive_file ?? memory?.stats?.total_inactive_file ?? 0;
  return {
    ok: true,
    memoryBytes: Math.max(0, (memory?.usage ?? 0) - cache),
    memoryLimitBytes: limits.memoryBytes,
    cpuSeconds: (cpu?.cpu_usage?.total_usage ?? 0) / 1e9,
    processes: pids?.current ?? 0,
    processLimit: limits.pids,
    diskBytes: readDisk(measured.stdout),
    diskLimitBytes: limits.diskBytes,
  };
}
