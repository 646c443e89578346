import { statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import type {
  ContainerClaim,
  ContainerSpec,
  Forward,
  SandboxFacts,
  SandboxFailure,
  SandboxManager,
  StaleRule,
  StartedContainer,
  StartOptions,
} from "../../application/ports/containers.ts";
import { pause } from "../platform/timers.ts";
import { createContainerBody, LABEL, ownVolumes, PROXY_PORT, toContainerSettings } from "./container-body.ts";
import { claimText, createLeases, createOwners, isOfSuccessor, readClaim } from "./container-owners.ts";
import {
  cleanUpStale,
  type RemoveContainerDeps,
  removeContainer,
  removeIdleProxies,
  removeOwnContainer,
  removeVolumes,
} from "./container-removal.ts";
import {
  freezeContainer,
  inspectContainer,
  inspectedContainerFacts,
  inspectImage,
  listedContainerFacts,
  listOwnContainers,
  thawContainer,
} from "./container-state.ts";
import { type Engine, readEngineFacts, sandboxFailure } from "./docker-engine.ts";
import program from "./inside/forward.pl" with { type: "text" };
import { openInsideProgram } from "./inside-program.ts";
import { createSharedProxies, type ProxyProgram, type ProxySidecar } from "./proxy-sidecar.ts";
import { createCommandChannels, readContainerUsage } from "./run-command.ts";
import { archiveStream } from "./tar-archive.ts";

export interface DockerSandboxDeps {
  readonly engine: Engine;
  /** This installation's name on the engine; resources of another one are never touched. */
  readonly installation: string;
  /** For locks and leases. */
  readonly folder: string;
  readonly stopGraceSeconds: number;
  readonly mountDockerSocket: boolean;
  readonly baseImage: string;
  readonly poolSize: number;
  /** Clean-up before the first start and then on an interval, as long as this process lives. */
  readonly cleanUp: { readonly thresholdMs: number; readonly intervalMs: number };
  readonly proxyProgram: () => Promise<ProxyProgram | SandboxFailure>;
  readonly newId: () => string;
  readonly hash: (text: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed: () => number;
  readonly warn: (message: string) => void;
}

const PROXY_READY_MS = 30_000;
/** Makes folders, and waits until the first process listens for connections to the proxy: at most ten seconds. */
const FOLDERS_AND_RELAY = `
my $failed = system("mkdir", "-p", @ARGV);
for (1 .. 500) {
  open my $table, "<", "/proc/net/tcp" or last;
  last if grep { /^ *\\d+: 0100007F:${PROXY_PORT.toString(16).toUpperCase().padStart(4, "0")} \\S+ 0A / } <$table>;
  select undef, undef, undef, 0.02;
}
exit($failed ? 1 : 0);`;
const WARM_DELAY_MS = 1000;

export function createDockerSandbox(deps: DockerSandboxDeps): SandboxManager {
  const { engine, installation, folder, stopGraceSeconds, newId, now, elapsed, warn } = deps;
  const owners = createOwners({ folder: `${folder}/owners`, newId });
  const leases = createLeases(`${folder}/leases`);
  const removing = { engine, stopGraceSeconds, pause };
  const own = { ...removing, installation, owner: owners.own };
  const state: {
    facts?: SandboxFacts;
    tidied?: ReturnType<typeof cleanUpStale>;
    timer?: ReturnType<typeof setInterval>;
    /** A container with a proxy was started or stopped here: the proxy may be unused at the end. */
    proxies: boolean;
  } = { proxies: false };
  const channels = createCommandChannels({
    engine,
    now: elapsed,
    onUse: (container) => leases.touch(container, now()),
    async restart(container, why) {
      const text = {
        stuck: "a command could not be ended, even by SIGKILL",
        crowded: "processes that commands left behind use up the process limit",
      }[why];
      warn(`${container}: ${text}; the container is restarted`);
      await engine.call("POST", `/containers/${container}/restart`, { query: { t: 0 } });
    },
  });
  const proxies = createSharedProxies({
    ...deps,
    ...own,
    program: deps.proxyProgram,
    readyTimeoutMs: PROXY_READY_MS,
  });
  const remove = (
    container: string,
    how: { readonly force: boolean; readonly claim?: ContainerClaim | undefined },
  ) =>
    removeOwnContainer(
      {
        ...own,
        leases,
        warn,
        onRemoving(id, labels) {
          if (labels[LABEL.proxy]) state.proxies = true;
          channels.close(id);
        },
      },
      container,
      how,
    );
  const starting: StartContainerDeps = {
    ...own,
    newId,
    socketAllowed: deps.mountDockerSocket,
    socket: () => socketOf(engine.host),
    async proxyFor(spec, { signal, onProgress }) {
      onProgress?.({ step: "network", image: spec.image });
      state.proxies = true;
      return proxies.proxyFor(spec, signal);
    },
    onCreated: (id, spec) => keep(id, spec, "preparing"),
    async makeFolders(id, hasRelay, signal) {
      const folders = ["/workspace/project", "/workspace/tmp"];
      const argv: [string, ...string[]] = hasRelay
        ? ["perl", "-e", FOLDERS_AND_RELAY, ...folders]
        : ["mkdir", "-p", ...folders];
      const made = await channels.runOwn(id, argv, signal);
      if (made.outcome === "exited") return made.exitCode === 0;
      return (
        made.failure ?? sandboxFailure(made.outcome === "aborted" ? "aborted" : "disconnected", made.stderr)
      );
    },
  };
  const keep = (id: string, spec: ContainerSpec, at: "preparing" | "ready") => {
    if (spec.taskId === "") return;
    const lease = {
      taskId: spec.taskId,
      name: spec.name,
      lease: spec.lease ?? "process",
      ...(spec.claim !== undefined && { claim: claimText(spec.claim) }),
    } as const;
    leases.write({ ...lease, container: id, owner: owners.own(), state: at });
  };
  const start = async (spec: ContainerSpec, role: ContainerRole, options: StartOptions) => {
    const started = await startColdContainer(starting, spec, role, options);
    if (started.ok && spec.network.mode !== "none") {
      // Its proxy may have been removed while it seemed unused.
      const proxy = await proxies.proxyFor(spec, options.signal);
      if ("ok" in proxy) {
        await remove(started.id, { force: true });
        return proxy;
      }
    }
    return started;
  };
  const pool = createWarmPool({
    size: deps.poolSize,
    delayMs: WARM_DELAY_MS,
    newName: () => `picoclaw-warm-${newId()}`,
    make: (spec) => start(spec, "warm", {}),
    onFailure: (failure) => warn(`no warm container: ${failure.detail}`),
  });
  const idOf = async (container: string): Promise<string | SandboxFailure> => {
    if (/^[0-9a-f]{64}$/.test(container)) return container;
    const inspected = await inspectContainer(engine, container, undefined);
    return inspected.ok ? inspected.value.Id : inspected;
  };
  const withId = async <T>(
    container: string,
    use: (id: string) => Promise<T>,
  ): Promise<T | SandboxFailure> => {
    const id = await idOf(container);
    return typeof id === "string" ? use(id) : id;
  };
  const claim = async (spec: ContainerSpec, options: StartOptions): Promise<StartedContainer | undefined> => {
    if (deps.poolSize === 0) return undefined;
    const image = await inspectImage(engine, spec.image, options.signal);
    const warm = image.ok ? pool.claim(spec, image.value.Id) : undefined;
    if (!warm) return undefined;
    keep(warm.id, spec, "ready");
    const renamed = await engine.call("POST", `/containers/${warm.id}/rename`, {
      query: { name: spec.name },
      signal: options.signal,
    });
    if (renamed.ok && (await channels.open(warm.id, options.signal)) === undefined) {
      options.onProgress?.({ step: "claimed-warm", name: spec.name });
      return { ...warm, name: spec.name, from: "warm" };
    }
    await remove(warm.id, { force: true });
    return undefined;
  };

  const cleaning = { engine, installation, owners, leases, now, removing, remove } as const;
  const cleanUp = (rule: StaleRule) => cleanUpStale(cleaning, rule);
  /** Remains of dead processes are removed before the first container is made: it may have the same name. */
  const tidy = async () => {
    state.timer ??= setInterval(() => void cleanUp(deps.cleanUp), deps.cleanUp.intervalMs);
    state.timer.unref();
    state.tidied ??= cleanUp(deps.cleanUp);
    const { ok } = await state.tidied;
    if (!ok) delete state.tidied;
  };

  return {
    async describe(signal) {
      if (state.facts) return state.facts;
      const facts = await readEngineFacts(engine, signal);
      if (facts.ok) state.facts = facts;
      return facts;
    },
    async startContainer(spec, options = {}) {
      await tidy();
      const existing = await inspectContainer(engine, spec.name, options.signal);
      if (existing.ok) {
        if (existing.value.Config.Labels?.[LABEL.installation] !== installation)
          return sandboxFailure("name-taken", `${spec.name} already exists and belongs to another process`);
        const made = readClaim(existing.value.Config.Labels ?? {}, leases.read(existing.value.Id));
        if (isOfSuccessor(made, spec.claim))
          return sandboxFailure("name-taken", `${spec.name} was made for a later claim of its task`);
        options.onProgress?.({ step: "removing-existing", name: spec.name });
        const removal = await remove(existing.value.Id, { force: true });
        if (!removal.removed) return sandboxFailure("name-taken", removal.leftovers[0]?.reason ?? spec.name);
      } else if (existing.code !== "container-missing") return existing;
      const warm = await claim(spec, options);
      if (warm) return warm;
      const started = await start(spec, "task", options);
      if (started.ok) keep(started.id, spec, "ready");
      return started;
    },
    async exec(container, request) {
      const id = await idOf(container);
      return channels.run(typeof id === "string" ? id : container, request);
    },
    listProcesses: (container) => withId(container, channels.list),
    endProcess: (container, pid) => withId(container, (id) => channels.end(id, pid)),
    forward: (container, options) =>
      withId(container, (id) => openPortForward({ engine, container: id, ...options })),
    usage: (container, signal) => readContainerUsage({ engine, channels }, container, signal),
    freeze: (container) => freezeContainer({ engine, pause }, container),
    thaw: (container) => thawContainer({ engine, pause }, container),
    stopContainer: (container, { force = false, claim } = {}) => remove(container, { force, claim }),
    async listContainers(signal) {
      const listed = await listOwnContainers(engine, installation, signal);
      if (!Array.isArray(listed)) return listed as SandboxFailure;
      return listed
        .filter(({ Labels, Id }) => {
          const role = Labels[LABEL.role];
          return role === "task" || (role === "warm" && leases.read(Id) !== undefined);
        })
        .map(listedContainerFacts);
    },
    async findContainer(nameOrId, signal) {
      const inspected = await inspectContainer(engine, nameOrId, signal);
      if (!inspected.ok) return inspected.code === "container-missing" ? undefined : inspected;
      if (inspected.value.Config.Labels?.[LABEL.installation] !== installation) return undefined;
      return inspectedContainerFacts(inspected.value);
    },
    cleanupStaleContainers: cleanUp,
    async close() {
      clearInterval(state.timer);
      for (const warm of await pool.drain()) await remove(warm.id, { force: true });
      if (state.proxies) await removeIdleProxies(cleaning);
      channels.closeAll();
      owners.close();
    },
  };
}

function socketOf(host: string): { readonly path: string; readonly group: number | undefined } {
  if (!host.startsWith("unix://")) return { path: "/var/run/docker.sock", group: undefined };
  const path = host.slice("unix://".length);
  return { path, group: statSync(path, { throwIfNoEntry: false })?.gid };
}

const LONGEST_FRAME = 65_536;
const MOST_CONNECTIONS = 128;

interface PortForwardDeps {
  readonly engine: Engine;
  readonly container: string;
  /** A Unix socket of this machine. */
  readonly socket: string;
  readonly signal: AbortSignal;
}

const NOTHING = new Uint8Array();

/** A small program listens inside; its streams carry every connection. */
async function openPortForward(deps: PortForwardDeps): Promise<Forward | SandboxFailure> {
  const { engine, container, socket, signal } = deps;
  const sockets = new Map<number, Socket>();
  const tell: { send?: (type: "d" | "c", id: number, bytes: Uint8Array) => void } = {};

  function connectTo(id: number): void {
    if (sockets.has(id) || sockets.size >= MOST_CONNECTIONS) throw new RangeError("no such connection");
    const one = connect({ path: socket, allowHalfOpen: true });
    sockets.set(id, one);
    one.on("data", (bytes) => tell.send?.("d", id, Buffer.from(bytes)));
    one.on("error", () => one.destroy());
    one.on("close", () => {
      sockets.delete(id);
      tell.send?.("c", id, NOTHING);
    });
    one.on("end", () => one.destroy());
  }

  const opened = await openInsideProgram({
    engine,
    container,
    program,
    longestFrame: LONGEST_FRAME,
    onFrame({ type, id, payload }) {
      switch (type) {
        case "o":
          return connectTo(id);
        case "d":
          return void sockets.get(id)?.write(Buffer.from(payload));
        case "c":
          return void sockets.get(id)?.end();
        default:
          throw new RangeError(`no such frame: ${type}`);
      }
    },
    onEnd() {
      for (const each of sockets.values()) each.destroy();
      sockets.clear();
    },
    signal,
  });
  if ("ok" in opened) return opened;
  tell.send = opened.send;
  const port = Number(opened.hello.toString());
  if (port > 0) return { ok: true, port, close: opened.close };
  opened.close();
  return sandboxFailure("disconnected", "the forwarder has no port");
}

interface StartContainerDeps extends RemoveContainerDeps {
  readonly installation: string;
  readonly owner: () => string;
  readonly newId: () => string;
  readonly socketAllowed: boolean;
  readonly socket: () => { readonly path: string; readonly group: number | undefined };
  /** Undefined if the network is off. */
  readonly proxyFor: (spec: ContainerSpec, options: StartOptions) => Promise<ProxySidecar | SandboxFailure>;
  /** Called as soon as it exists, before it runs. */
  readonly onCreated: (id: string, spec: ContainerSpec) => void;
  /** Creates `/workspace/project` and `/workspace/tmp` as the container's user; false if it may not. The network is open afterwards. */
  readonly makeFolders: (
    id: string,
    hasRelay: boolean,
    signal: AbortSignal | undefined,
  ) => Promise<boolean | SandboxFailure>;
}

type ContainerRole = "task" | "warm";

/** Makes and starts one container. A failure or an abort removes what was made. */
async function startColdContainer(
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
  // The engine refuses more cores than the machine has; such a number means all of them.
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
        ? sandboxFailure("bad-spec", `${spec.image} has no perl, and was not prepared for an environment`)
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

/** In an image of ours the folders are in a volume that its user owns; in any other the engine creates them. */
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

interface WarmPoolDeps {
  readonly size: number;
  /** The delay before the pool is filled: a process that ends at once need not start containers. */
  readonly delayMs: number;
  readonly newName: () => string;
  readonly make: (spec: ContainerSpec, imageId: string) => Promise<StartedContainer | SandboxFailure>;
  readonly onFailure: (failure: SandboxFailure) => void;
}

/** Unused started containers, claimed once by what cannot change later: image, limits, user, network, environment, labels. */
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
    /** Takes a matching container out of the pool, if there is one. Either way the pool is refilled in the background. */
    claim(spec: ContainerSpec, imageId: string): StartedContainer | undefined {
      // A container that was made before its spec was known has no mounts.
      if (size === 0 || (spec.mounts ?? []).length > 0 || spec.mountDockerSocket) return undefined;
      const key = warmPoolKey(spec, imageId);
      const claimed = shelves.get(key)?.shift();
      refill(key, spec, imageId);
      return claimed;
    },
    /** Takes all containers out of the pool. */
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
