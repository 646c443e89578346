import type {
  ContainerSpec,
  SandboxFailure,
  StartedContainer,
  StartOptions,
} from "../../application/ports/containers.ts";
import { createContainerBody, LABEL, ownVolumes, toContainerSettings } from "./container-body.ts";
import { claimText } from "./container-owners.ts";
import { type RemoveContainerDeps, removeContainer, removeVolumes } from "./container-removal.ts";
import { inspectContainer } from "./container-state.ts";
import { sandboxFailure } from "./docker-engine.ts";
import type { ProxySidecar } from "./proxy-sidecar.ts";
import { archiveStream } from "./tar-archive.ts";

export interface StartContainerDeps extends RemoveContainerDeps {
  readonly installation: string;
  readonly owner: () => string;
  readonly newId: () => string;
  readonly socketAllowed: boolean;
  readonly socket: () => { readonly path: string; readonly group: number | undefined };
  /** Undefined where the network is off. */
  readonly proxyFor: (spec: ContainerSpec, options: StartOptions) => Promise<ProxySidecar | SandboxFailure>;
  /** Called as soon as it exists, before it runs. */
  readonly onCreated: (id: string, spec: ContainerSpec) => void;
  /**
   * Makes `/workspace/project` and `/workspace/tmp` as the container's user; false when that user may not. Where there is
   * a way out, it is open afterwards.
   */
  readonly makeFolders: (
    id: string,
    hasRelay: boolean,
    signal: AbortSignal | undefined,
  ) => Promise<boolean | SandboxFailure>;
}

export type ContainerRole = "task" | "warm";

/** Makes and starts one container. A failure or an abort removes what was made. */
export async function startColdContainer(
  deps: StartContainerDeps,
  spec: ContainerSpec,
  role: ContainerRole,
  options: StartOptions,
): Promise<StartedContainer | SandboxFailure> {
  const { engine } = deps;
  const { signal, onProgress } = options;
  if (spec.mountDockerSocket && !deps.socketAllowed)
    return sandboxFailure("not-allowed", "command_executor.docker.mount_docker_socket is false");
  const proxy = spec.network.mode === "none" ? undefined : await deps.proxyFor(spec, options);
  if (proxy && "ok" in proxy) return proxy;
  onProgress?.({ step: "creating", name: spec.name, image: spec.image });
  const volume = `picoclaw-workspace-${deps.newId()}`;
  const createWith = (cpus: number) =>
    engine.call<{ Id: string }>("POST", "/containers/create", {
      query: { name: spec.name },
      body: createContainerBody({
        spec: { ...spec, limits: { ...spec.limits, cpus } },
        volume,
        proxy,
        stopGraceSeconds: deps.stopGraceSeconds,
        labels: labelsOf(deps, spec, role, ownVolumes(spec, volume), proxy?.name),
        ...(spec.mountDockerSocket && { socket: deps.socket() }),
      }),
      signal,
    });
  const first = await createWith(spec.limits.cpus);
  // More cores than the machine has are refused, and mean all of them.
  const there = first.ok ? null : /only (\d+) CPUs? available/.exec(first.detail)?.[1];
  const created = there ? await createWith(Number(there)) : first;
  if (!created.ok) return clearUp(deps, spec, volume, created);
  const id = created.value.Id;
  const giveUp = async (failure: SandboxFailure) => {
    await removeContainer(deps, id, { force: true });
    return failure;
  };
  deps.onCreated(id, spec);
  onProgress?.({ step: "starting", name: spec.name });
  const started = await engine.call("POST", `/containers/${id}/start`, { signal });
  // The first process of a container, and all that PicoClaw runs in it, is in Perl.
  if (!started.ok)
    return giveUp(
      /"perl": executable file not found/.test(started.detail)
        ? sandboxFailure("bad-spec", `${spec.image} has no perl, and was not made fit for an environment`)
        : started,
    );
  const ready = await prepareFolders(deps, id, spec, signal);
  if (ready !== undefined) return giveUp(ready);
  const inspected = await inspectContainer(engine, id, signal);
  if (!inspected.ok) return giveUp(inspected);
  if (!inspected.value.State.Running)
    return giveUp(sandboxFailure("container-stopped", `${spec.image} ended at once`));
  return { ok: true, id, name: spec.name, from: "cold", createdAt: inspected.value.Created };
}

/** A creation that failed may have left its volumes; an aborted one may even have succeeded. */
async function clearUp(
  deps: StartContainerDeps,
  spec: ContainerSpec,
  volume: string,
  failure: SandboxFailure,
) {
  if (failure.code === "name-taken") return failure;
  if (failure.code === "aborted" || failure.code === "engine-timeout") {
    // The container with this name may now be another's; this volume has no other owner.
    const there = await inspectContainer(deps.engine, spec.name, undefined);
    const volumes = there.ok ? there.value.Config.Labels?.[LABEL.volumes]?.split(",") : undefined;
    if (there.ok && volumes?.includes(volume)) await removeContainer(deps, there.value.Id, { force: true });
  }
  await removeVolumes(deps, ownVolumes(spec, volume));
  return failure;
}

function labelsOf(
  { installation, owner }: StartContainerDeps,
  spec: ContainerSpec,
  role: ContainerRole,
  volumes: readonly string[],
  proxy: string | undefined,
): Readonly<Record<string, string>> {
  const given = Object.entries(spec.labels ?? {}).map(([name, value]) => [`picoclaw.${name}`, value]);
  return {
    ...Object.fromEntries(given),
    [LABEL.installation]: installation,
    [LABEL.owner]: owner(),
    [LABEL.role]: role,
    [LABEL.task]: role === "warm" ? "" : spec.taskId,
    ...(role === "task" && spec.claim !== undefined && { [LABEL.claim]: claimText(spec.claim) }),
    [LABEL.lease]: spec.lease ?? "process",
    [LABEL.volumes]: volumes.join(","),
    ...(proxy !== undefined && { [LABEL.proxy]: proxy }),
  };
}

/** An image of ours has the folders in a volume that its user owns; for any other the engine puts them there. */
async function prepareFolders(
  deps: StartContainerDeps,
  id: string,
  spec: ContainerSpec,
  signal: AbortSignal | undefined,
): Promise<SandboxFailure | undefined> {
  const made = await deps.makeFolders(id, spec.network.mode !== "none", signal);
  if (typeof made !== "boolean") return made;
  if (made) return undefined;
  const { uid, gid } = toContainerSettings(spec);
  const folder = (path: string) => ({ kind: "directory", path, mode: 0o755, uid, gid }) as const;
  const mounted = new Set((spec.mounts ?? []).map(({ target }) => target));
  const paths = ["workspace", "workspace/project", "workspace/tmp"].filter(
    (path) => !mounted.has(`/${path}`),
  );
  const put = await deps.engine.call("PUT", `/containers/${id}/archive`, {
    query: { path: "/" },
    body: archiveStream(paths.map(folder)),
    contentType: "application/x-tar",
    signal,
  });
  return put.ok ? undefined : put;
}

export interface WarmPoolDeps {
  readonly size: number;
  /** Before it fills up: a process that ends at once need not have begun. */
  readonly delayMs: number;
  readonly newName: () => string;
  readonly make: (spec: ContainerSpec, imageId: string) => Promise<StartedContainer | SandboxFailure>;
  readonly onFailure: (failure: SandboxFailure) => void;
}

/**
 * Started containers that no task has used, ready to be claimed once. The key is everything that cannot change later:
 * image, limits, user, network, environment, labels. A used one is never returned.
 */
export function createWarmPool({ size, delayMs, newName, make, onFailure }: WarmPoolDeps) {
  const shelves = new Map<string, StartedContainer[]>();
  const making = new Map<string, Promise<void>>();
  const waiting = new Map<string, ReturnType<typeof setTimeout>>();
  const state = { closed: false };

  const fill = async (key: string, spec: ContainerSpec, imageId: string) => {
    const shelf = shelves.get(key) ?? [];
    shelves.set(key, shelf);
    while (!state.closed && shelf.length < size) {
      const made = await make({ ...spec, name: newName(), taskId: "" }, imageId);
      if (!made.ok) return onFailure(made);
      shelf.push(made);
    }
  };
  const refill = (key: string, spec: ContainerSpec, imageId: string) => {
    if (state.closed || making.has(key) || waiting.has(key)) return;
    const timer = setTimeout(() => {
      waiting.delete(key);
      making.set(
        key,
        fill(key, spec, imageId).finally(() => making.delete(key)),
      );
    }, delayMs);
    timer.unref();
    waiting.set(key, timer);
  };
  return {
    /** One that fits, no longer the pool's; or none. Either way the pool fills up again in the background. */
    claim(spec: ContainerSpec, imageId: string): StartedContainer | undefined {
      // A container that was made before its spec was known has no mounts.
      if (size === 0 || (spec.mounts ?? []).length > 0 || spec.mountDockerSocket) return undefined;
      const key = warmPoolKey(spec, imageId);
      const claimed = shelves.get(key)?.shift();
      refill(key, spec, imageId);
      return claimed;
    },
    /** All that is left, no longer the pool's. */
    async drain(): Promise<readonly StartedContainer[]> {
      state.closed = true;
      for (const timer of waiting.values()) clearTimeout(timer);
      await Promise.all(making.values());
      const left = [...shelves.values()].flat();
      shelves.clear();
      return left;
    },
  };
}

function warmPoolKey(spec: ContainerSpec, imageId: string): string {
  const sorted = (given: Readonly<Record<string, string>> = {}) => Object.entries(given).sort();
  return JSON.stringify([
    imageId,
    toContainerSettings(spec),
    spec.network,
    sorted(spec.env),
    sorted(spec.labels),
  ]);
}
