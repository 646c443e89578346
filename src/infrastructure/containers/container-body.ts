import { basename } from "node:path";
import type { ContainerMount, ContainerSpec } from "../../application/ports/containers.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import keeper from "./inside/keeper.pl" with { type: "text" };

/** Everything that another process of this installation must know of a container. Labels cannot change later. */
export const LABEL = {
  installation: "picoclaw.installation",
  owner: "picoclaw.owner",
  role: "picoclaw.role",
  task: "picoclaw.task",
  claim: "picoclaw.claim",
  lease: "picoclaw.lease",
  volumes: "picoclaw.volumes",
  settings: "picoclaw.settings",
  proxy: "picoclaw.proxy",
} as const;

export type ContainerSettings = ReturnType<typeof toContainerSettings>;

export function toContainerSettings(spec: ContainerSpec) {
  return {
    cwd: spec.workingDirectory ?? "/workspace/project",
    roots: spec.roots ?? ["/workspace"],
    limits: spec.limits,
    uid: spec.user?.uid ?? 10_001,
    gid: spec.user?.gid ?? 10_001,
  };
}

export function readContainerSettings(
  labels: Readonly<Record<string, string>>,
): ContainerSettings | undefined {
  return attemptOr(undefined, () => JSON.parse(labels[LABEL.settings] ?? "") as ContainerSettings);
}

export interface ContainerBodyRequest {
  readonly spec: ContainerSpec;
  readonly labels: Readonly<Record<string, string>>;
  /** Of `/workspace`. */
  readonly volume: string;
  /** The volume with the proxy's socket, and the variables that lead to it. */
  readonly proxy: { readonly volume: string; readonly env: Readonly<Record<string, string>> } | undefined;
  readonly stopGraceSeconds: number;
  /** The engine's socket on its own machine and the group that owns it, where it is to be mounted. */
  readonly socket?: { readonly path: string; readonly group: number | undefined };
}

/** Where the proxy's socket is seen inside, and where programs find it. */
export const PROXY_FOLDER = "/run/picoclaw-proxy";
export const PROXY_SOCKET = `${PROXY_FOLDER}/proxy.sock`;
export const PROXY_PORT = 3129;

const HOST_NAME = "environment";
export const NO_ROOT_POWERS = { CapDrop: ["ALL"], SecurityOpt: ["no-new-privileges"], Privileged: false };
export const LOG = { Type: "json-file", Config: { "max-size": "1m", "max-file": "1" } };

/** The body of `POST /containers/create`. */
export function createContainerBody(parts: ContainerBodyRequest): object {
  const { spec, labels, volume, proxy, stopGraceSeconds, socket } = parts;
  const { uid, gid, limits } = toContainerSettings(spec);
  const env = { ...proxy?.env, ...spec.env };
  return {
    Image: spec.image,
    Hostname: HOST_NAME,
    User: `${uid}:${gid}`,
    WorkingDir: "/",
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    Labels: { ...labels, [LABEL.settings]: JSON.stringify(toContainerSettings(spec)) },
    Entrypoint: ["perl", "-e", keeper],
    Cmd: proxy ? [PROXY_SOCKET, String(PROXY_PORT)] : [],
    StopSignal: "SIGTERM",
    StopTimeout: stopGraceSeconds,
    HostConfig: {
      ...NO_ROOT_POWERS,
      Init: false,
      NetworkMode: "none",
      ExtraHosts: [`${HOST_NAME}:127.0.0.1`],
      IpcMode: "private",
      NanoCpus: Math.round(limits.cpus * 1e9),
      Memory: limits.memoryBytes,
      MemorySwap: limits.memoryBytes,
      PidsLimit: limits.pids,
      ShmSize: 256 * 1024 ** 2,
      Ulimits: [
        { Name: "fsize", Soft: limits.diskBytes, Hard: limits.diskBytes },
        { Name: "core", Soft: 0, Hard: 0 },
      ],
      LogConfig: LOG,
      RestartPolicy: { Name: "no" },
      ...(socket?.group !== undefined && { GroupAdd: [String(socket.group)] }),
      Mounts: [
        volumeMount(volume, "/workspace", labels),
        ...(proxy ? [{ Type: "volume", Source: proxy.volume, Target: PROXY_FOLDER, ReadOnly: true }] : []),
        ...(socket ? [{ Type: "bind", Source: socket.path, Target: "/var/run/docker.sock" }] : []),
        ...(spec.mounts ?? []).map((mount) => mountOf(mount, overlayVolume(volume, mount), labels)),
      ],
    },
  };
}

/** The volumes that go with the container. */
export function ownVolumes(spec: ContainerSpec, volume: string): readonly string[] {
  const overlays = (spec.mounts ?? []).filter(({ kind }) => kind === "overlay");
  return [volume, ...overlays.map((mount) => overlayVolume(volume, mount))];
}

function overlayVolume(volume: string, { target }: ContainerMount): string {
  return `${volume}-${basename(target)}`;
}

export function volumeMount(name: string, target: string, labels: Readonly<Record<string, string>>) {
  return { Type: "volume", Source: name, Target: target, ReadOnly: false, VolumeOptions: { Labels: labels } };
}

function mountOf(mount: ContainerMount, overlay: string, labels: Readonly<Record<string, string>>): object {
  switch (mount.kind) {
    case "bind":
      return { Type: "bind", Source: mount.source, Target: mount.target, ReadOnly: mount.readOnly };
    case "volume":
      return { Type: "volume", Source: mount.name, Target: mount.target, ReadOnly: mount.readOnly };
    case "overlay":
      return {
        Type: "volume",
        Source: overlay,
        Target: mount.target,
        VolumeOptions: {
          NoCopy: true,
          Labels: labels,
          DriverConfig: {
            Name: "local",
            Options: {
              type: "overlay",
              device: "overlay",
              o: `lowerdir=${mount.lower.join(":")},upperdir=${mount.upper},workdir=${mount.work},userxattr`,
            },
          },
        },
      };
  }
}
