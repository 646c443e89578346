import { statSync } from "node:fs";
import type {
  ContainerClaim,
  ContainerSpec,
  SandboxFacts,
  SandboxFailure,
  SandboxManager,
  StaleRule,
  StartedContainer,
  StartOptions,
} from "../../application/ports/containers.ts";
import { LABEL, PROXY_PORT } from "./container-body.ts";
import { claimText, createLeases, createOwners, isOfSuccessor, readClaim } from "./container-owners.ts";
import { cleanUpStale, removeIdleProxies, removeOwnContainer } from "./container-removal.ts";
import {
  freezeContainer,
  inspectContainer,
  inspectedContainerFacts,
  listedContainerFacts,
  listOwnContainers,
  thawContainer,
} from "./container-state.ts";
import { type Engine, readEngineFacts, sandboxFailure } from "./docker-engine.ts";
import { openPortForward } from "./port-forward.ts";
import { createSharedProxies, type ProxyProgram } from "./proxy-sidecar.ts";
import { createCommandChannels, readContainerUsage } from "./run-command.ts";
import {
  type ContainerRole,
  createWarmPool,
  type StartContainerDeps,
  startColdContainer,
} from "./start-container.ts";

export interface DockerSandboxDeps {
  readonly engine: Engine;
  /** This PicoClaw's own name on the engine; nothing of another one is ever touched. */
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
  /** Milliseconds that never go back. */
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
  const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const removing = { engine, stopGraceSeconds, pause };
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
        stuck: "even KILL did not end a command",
        crowded: "what commands left behind uses up every process",
      }[why];
      warn(`${container}: ${text}; the container is restarted`);
      await engine.call("POST", `/containers/${container}/restart`, { query: { t: 0 } });
    },
  });
  const proxies = createSharedProxies({
    engine,
    installation,
    owner: owners.own,
    program: deps.proxyProgram,
    hash: deps.hash,
    baseImage: deps.baseImage,
    readyTimeoutMs: PROXY_READY_MS,
  });
  const remove = (
    container: string,
    how: { readonly force: boolean; readonly claim?: ContainerClaim | undefined },
  ) =>
    removeOwnContainer(
      {
        ...removing,
        installation,
        owner: owners.own,
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
    ...removing,
    installation,
    owner: owners.own,
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
  const claim = async (spec: ContainerSpec, options: StartOptions): Promise<StartedContainer | undefined> => {
    if (deps.poolSize === 0) return undefined;
    const image = await engine.call<{ Id: string }>("GET", `/images/${spec.image}/json`, {
      signal: options.signal,
    });
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
    async listProcesses(container) {
      const id = await idOf(container);
      return typeof id === "string" ? channels.list(id) : id;
    },
    async endProcess(container, pid) {
      const id = await idOf(container);
      return typeof id === "string" ? channels.end(id, pid) : id;
    },
    async forward(container, options) {
      const id = await idOf(container);
      return typeof id === "string" ? openPortForward({ engine, container: id, ...options }) : id;
    },
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
