import type { ContainerNetwork, ContainerSpec, SandboxFailure } from "../../application/ports/containers.ts";
import { isNetworkEntry, proxyEnvironment } from "../../domain/policy/network.ts";
import { hashHex } from "../platform/hash.ts";
import { findInstallation, readProxyFiles } from "../platform/installation.ts";
import {
  LABEL,
  LOG,
  NO_ROOT_POWERS,
  PROXY_FOLDER,
  PROXY_PORT,
  PROXY_SOCKET,
  volumeMount,
} from "./container-body.ts";
import { createStreamReader } from "./container-frames.ts";
import { inspectContainer, inspectImage } from "./container-state.ts";
import { type Engine, sandboxFailure } from "./docker-engine.ts";
import { type ArchiveEntry, archiveStream } from "./tar-archive.ts";

/** The proxy as files: the runtime that this program runs on, and the bundled script. */
export interface ProxyProgram {
  /** Changes with the content of either. */
  readonly version: string;
  readonly runtime: { readonly size: number; readonly content: () => AsyncIterable<Uint8Array> };
  readonly script: Uint8Array;
}

const PROXY_UID = 65_534;
const PROXY_RUNTIME = "opt/picoclaw/bun";
const PROXY_SCRIPT = "opt/picoclaw/proxy.js";

/**
 * The proxy's image: any image with a C library, plus two files, made once per version by committing a container that never ran.
 * Its `/run/picoclaw-proxy`, and so a volume first mounted there, belongs to the proxy's user.
 */
async function ensureProxyImage(
  engine: Engine,
  program: ProxyProgram,
  bases: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string | SandboxFailure> {
  const image = `picoclaw-proxy:${program.version}`;
  const known = await inspectImage(engine, image, signal);
  if (known.ok) return image;
  if (known.code !== "image-missing" && !/no such image/i.test(known.detail)) return known;
  let last: SandboxFailure = sandboxFailure("no-proxy", "no image for the proxy");
  for (const base of bases) {
    const made = await makeProxyImage(engine, program, base, signal);
    if (made === undefined) {
      await removeOlder(engine, image);
      return image;
    }
    last = made;
    if (made.code !== "image-missing") break;
  }
  return last;
}

/** Versions before this one, unless a container still uses them: the engine refuses that by itself. */
async function removeOlder(engine: Engine, current: string): Promise<void> {
  const images = await engine.call<
    readonly { readonly Id: string; readonly RepoTags: readonly string[] | null }[]
  >("GET", "/images/json", {
    query: { filters: JSON.stringify({ label: [LABEL.proxy], before: [current] }) },
  });
  if (!images.ok) return;
  for (const { RepoTags } of images.value)
    for (const tag of RepoTags ?? [])
      if (tag.startsWith("picoclaw-proxy:")) await engine.call("DELETE", `/images/${tag}`);
}

async function makeProxyImage(
  engine: Engine,
  program: ProxyProgram,
  base: string,
  signal: AbortSignal | undefined,
): Promise<SandboxFailure | undefined> {
  const created = await engine.call<{ Id: string }>("POST", "/containers/create", {
    body: { Image: base, Entrypoint: ["/bin/false"], Cmd: [], HostConfig: { NetworkMode: "none" } },
    signal,
  });
  if (!created.ok) return created;
  const { Id: id } = created.value;
  try {
    const put = await engine.call("PUT", `/containers/${id}/archive`, {
      query: { path: "/" },
      body: archiveStream(proxyImageEntries(program)),
      contentType: "application/x-tar",
      timeoutMs: 300_000,
      signal,
    });
    if (!put.ok) return put;
    const committed = await engine.call("POST", "/commit", {
      query: { container: id, repo: "picoclaw-proxy", tag: program.version, pause: false },
      body: {
        User: `${PROXY_UID}:${PROXY_UID}`,
        WorkingDir: "/",
        Entrypoint: [`/${PROXY_RUNTIME}`, "--no-env-file", `/${PROXY_SCRIPT}`],
        Cmd: [],
        Labels: { [LABEL.proxy]: program.version },
      },
      timeoutMs: 300_000,
      signal,
    });
    return committed.ok ? undefined : committed;
  } finally {
    await engine.call("DELETE", `/containers/${id}`, { query: { force: true, v: true } });
  }
}

function proxyImageEntries({ runtime, script }: ProxyProgram): readonly ArchiveEntry[] {
  const root = { uid: 0, gid: 0 };
  return [
    { kind: "directory", path: "opt/picoclaw", mode: 0o755, ...root },
    { kind: "file", path: PROXY_RUNTIME, mode: 0o755, size: runtime.size, content: runtime.content, ...root },
    { kind: "file", path: PROXY_SCRIPT, mode: 0o644, size: script.length, content: script, ...root },
    { kind: "directory", path: "run/picoclaw-proxy", mode: 0o755, uid: PROXY_UID, gid: PROXY_UID },
  ];
}

/**
 * The one way out of a container: a proxy in its own container on the engine's usual network, listening on a socket in a volume.
 * Containers with the same rules share it, and cannot reach each other: it refuses private addresses.
 */
export interface ProxySidecar {
  readonly name: string;
  readonly volume: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface ProxySidecarDeps {
  readonly engine: Engine;
  readonly installation: string;
  readonly owner: () => string;
  readonly program: () => Promise<ProxyProgram | SandboxFailure>;
  readonly hash: (text: string) => string;
  /** Tried in this order for a missing proxy image, after the task's own. */
  readonly baseImage: string;
  readonly readyTimeoutMs: number;
}

/** Without a connection for a week it ends: its installation may be gone. A process that needs it starts it. */
const IDLE_HOURS = 7 * 24;

type OpenNetwork = Exclude<ContainerNetwork, { mode: "none" }>;

/** The proxy's rules. Every public host on every port, or the listed domains; and the exact exceptions. */
function rulesOf(network: OpenNetwork): { readonly allowed: readonly string[] } {
  const domains = network.mode === "open" ? ["*:*"] : network.allowedDomains;
  return { allowed: [...new Set([...domains, ...network.allowedHosts])].sort() };
}

async function ensureProxy(
  deps: ProxySidecarDeps,
  network: OpenNetwork,
  taskImage: string,
  signal: AbortSignal | undefined,
): Promise<ProxySidecar | SandboxFailure> {
  const { engine, installation, hash } = deps;
  const wrong = rulesOf(network).allowed.find((entry) => !isNetworkEntry(entry));
  if (wrong !== undefined) return sandboxFailure("bad-spec", `no host or domain: ${wrong}`);
  const program = await deps.program();
  if ("ok" in program) return program;
  const settings = JSON.stringify({
    listen: { path: PROXY_SOCKET },
    ...rulesOf(network),
    denied: [],
    idle_hours: IDLE_HOURS,
  });
  const name = `picoclaw-proxy-${hash(`${installation}\n${program.version}\n${settings}`).slice(0, 16)}`;
  const sidecar = { name, volume: name, env: proxyEnvironment(`http://127.0.0.1:${PROXY_PORT}`) };
  const known = await inspectContainer(engine, name, signal);
  if (known.ok && known.value.State.Running) return sidecar;
  if (!known.ok) {
    if (known.code !== "container-missing") return known;
    const image = await ensureProxyImage(engine, program, [deps.baseImage, taskImage], signal);
    if (typeof image !== "string") return image;
    const created = await engine.call("POST", "/containers/create", {
      query: { name },
      body: sidecarBody(deps, { name, image, settings }),
      signal,
    });
    // Another process makes the same one at the same time.
    if (!created.ok && created.code !== "name-taken") return created;
  }
  const started = await engine.call("POST", `/containers/${name}/start`, { signal });
  if (!started.ok) return started;
  const problem = await untilReady(engine, name, deps.readyTimeoutMs, signal);
  return problem ?? sidecar;
}

function sidecarBody(
  { installation, owner }: ProxySidecarDeps,
  { name, image, settings }: { readonly name: string; readonly image: string; readonly settings: string },
): object {
  const labels = { [LABEL.installation]: installation, [LABEL.owner]: owner(), [LABEL.role]: "proxy" };
  return {
    Image: image,
    User: `${PROXY_UID}:${PROXY_UID}`,
    Env: [`PICOCLAW_PROXY=${settings}`],
    Labels: { ...labels, [LABEL.volumes]: name },
    HostConfig: {
      ...NO_ROOT_POWERS,
      Init: true,
      ReadonlyRootfs: true,
      ExtraHosts: ["host.docker.internal:host-gateway"],
      Memory: 512 * 1024 ** 2,
      MemorySwap: 512 * 1024 ** 2,
      PidsLimit: 128,
      LogConfig: LOG,
      RestartPolicy: { Name: "on-failure" },
      Mounts: [volumeMount(name, PROXY_FOLDER, labels)],
    },
  };
}

/** It says `ready` in its log once it listens. */
async function untilReady(
  engine: Engine,
  name: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<SandboxFailure | undefined> {
  const patience = AbortSignal.timeout(timeoutMs);
  const log = await engine.stream("GET", `/containers/${name}/logs`, {
    query: { follow: true, stdout: true, stderr: true },
    signal: signal ? AbortSignal.any([signal, patience]) : patience,
  });
  if (!log.ok) return log;
  const said: string[] = [];
  const read = createStreamReader((_, bytes) => said.push(bytes.toString()));
  try {
    for await (const chunk of log.body) {
      read(chunk);
      if (said.some((text) => text.includes('"ready"'))) return undefined;
    }
  } catch (error) {
    if (signal?.aborted) return sandboxFailure("aborted", "aborted", error);
  }
  return sandboxFailure("no-proxy", `the network proxy did not start: ${said.join("").trim().slice(-500)}`);
}

/** Many starts at once make one proxy. An abort of the one that makes it does not fail the others. */
export function createSharedProxies(deps: ProxySidecarDeps) {
  const making = new Map<string, ReturnType<typeof ensureProxy>>();
  return {
    async proxyFor(
      { network, image }: ContainerSpec,
      signal: AbortSignal | undefined,
    ): Promise<ProxySidecar | SandboxFailure> {
      if (network.mode === "none") return sandboxFailure("bad-spec", "no proxy without a network");
      const key = JSON.stringify(network);
      const under = making.get(key) ?? ensureProxy(deps, network, image, undefined);
      making.set(key, under);
      const made = await under;
      making.delete(key);
      return signal?.aborted ? sandboxFailure("aborted", "aborted") : made;
    },
  };
}

/** This installation's network proxy for a sidecar, read at the first question. */
export function createProxyProgram(): () => Promise<ProxyProgram | SandboxFailure> {
  const state: { made?: ReturnType<typeof proxyProgram> } = {};
  return async () => {
    state.made ??= proxyProgram();
    const made = await state.made;
    // Asked again only after a failure.
    if ("ok" in made) delete state.made;
    return made;
  };
}

async function proxyProgram(): Promise<ProxyProgram | SandboxFailure> {
  if (process.platform !== "linux")
    return sandboxFailure(
      "no-proxy",
      "the network proxy runs on this machine's own runtime, which is not for Linux",
    );
  const { folder, runtime, executor } = findInstallation();
  try {
    const files = await readProxyFiles({ folder, runtime, bundled: executor.startsWith("dist/") });
    const version = hashHex("sha256", `${process.versions.bun} ${process.arch}\n`, files.script).slice(0, 16);
    return {
      version,
      script: files.script,
      runtime: { size: files.runtimeSize, content: files.runtime },
    };
  } catch (error) {
    return sandboxFailure(
      "no-proxy",
      `the network proxy could not be created: ${(error as Error).message}`,
      error,
    );
  }
}
