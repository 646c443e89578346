/**
 * A sandbox manager on the real engine, of an installation of its own, and a way to leave nothing behind. The image is
 * the Debian root of test/real/docker-engine.sh, else `debian:bookworm-slim` from its registry.
 */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  ContainerSpec,
  ExecRequest,
  ExecResult,
  SandboxFailure,
  SandboxManager,
  StartedContainer,
} from "../../../src/application/ports/containers.ts";
import { DEFAULTS } from "../../../src/config/config.ts";
import { openDocker } from "../../../src/wiring/docker-sandbox.ts";

export const DOCKER_HOST = process.env.DOCKER_HOST ?? DEFAULTS.command_executor.docker.host;
const MIB = 1024 ** 2;

export const LIMITS = { cpus: 1, memoryBytes: 256 * MIB, pids: 100, diskBytes: 200 * MIB };

export interface RealEngine {
  readonly image: string;
  readonly home: string;
  readonly sandbox: SandboxManager;
  readonly warnings: readonly string[];
  /** A started container, removed at the end. */
  readonly start: (spec?: Partial<ContainerSpec>) => Promise<StartedContainer>;
  readonly run: (container: string, command: string, options?: Partial<ExecRequest>) => Promise<ExecResult>;
  /** A second manager of the same installation, as another process would have. */
  readonly another: () => SandboxManager;
  readonly end: () => Promise<void>;
}

export interface RealEngineOptions {
  readonly poolSize?: number;
  readonly host?: string;
  readonly home?: string;
  readonly image?: string;
  readonly mountDockerSocket?: boolean;
}

export function docker(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("docker", args, {
    encoding: "utf8",
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/", DOCKER_HOST },
  });
  if (status !== 0) throw new Error(`docker ${args.join(" ")}: ${stderr}`);
  return stdout.trim();
}

/** The host's address on the default bridge. An engine that has just made the bridge does not tell it yet. */
export function bridgeGateway(): string {
  const [told = "", subnet = ""] = docker(
    ...["network", "inspect", "bridge"],
    ...["-f", "{{(index .IPAM.Config 0).Gateway}}|{{(index .IPAM.Config 0).Subnet}}"],
  ).split("|");
  return /^[\d.]+$/.test(told) ? told : subnet.replace(/\.0\/\d+$/, ".1");
}

export function realImage(): string {
  const own = "picoclaw-debian:bookworm";
  if (docker("images", "-q", own) !== "") return own;
  const other = "debian:bookworm-slim";
  if (docker("images", "-q", other) === "") docker("pull", "-q", other);
  return other;
}

export function openRealEngine(options: RealEngineOptions = {}): RealEngine {
  const home = options.home ?? mkdtempSync(join(tmpdir(), "picoclaw-docker-"));
  const image = options.image ?? realImage();
  const warnings: string[] = [];
  const open = () => openSandbox(home, image, options, (text) => warnings.push(text));
  const managers = [open()];
  const sandbox = managers[0] as SandboxManager;
  return {
    image,
    home,
    sandbox,
    warnings,
    async start(spec = {}) {
      return expectStarted(await sandbox.startContainer(specOf(image, spec)));
    },
    run: (container, command, request = {}) => sandbox.exec(container, requestOf(command, request)),
    another() {
      const manager = open();
      managers.push(manager);
      return manager;
    },
    async end() {
      for (const manager of managers) await manager.close();
      removeInstallation(home);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function openSandbox(
  home: string,
  image: string,
  { poolSize = 0, host = DOCKER_HOST, mountDockerSocket = false }: RealEngineOptions,
  warn: (text: string) => void,
): SandboxManager {
  const { command_executor: config } = DEFAULTS;
  const opened = openDocker({
    config: {
      ...config,
      docker: { ...config.docker, host, base_image: image, mount_docker_socket: mountDockerSocket },
      pool: { size: poolSize },
    },
    home,
    env: {},
    warn,
  });
  if ("ok" in opened) throw new Error(opened.detail);
  return opened.sandboxes;
}

/** Everything with this installation's label, by the engine's own client. */
export function removeInstallation(home: string): void {
  const label = `label=picoclaw.installation=${installationOf(home)}`;
  const containers = docker("ps", "-aq", "--filter", label).split("\n").filter(Boolean);
  if (containers.length > 0) docker("rm", "-fv", ...containers);
  const volumes = docker("volume", "ls", "-q", "--filter", label).split("\n").filter(Boolean);
  if (volumes.length > 0) docker("volume", "rm", "-f", ...volumes);
}

export function installationOf(home: string): string {
  return spawnSync("cat", [join(home, "installation-id")], { encoding: "utf8" }).stdout.trim() || "none";
}

export function specOf(image: string, spec: Partial<ContainerSpec> = {}): ContainerSpec {
  const taskId = spec.taskId ?? randomUUID();
  return {
    name: `coding-agent-exec-${taskId}`,
    taskId,
    image,
    limits: LIMITS,
    network: { mode: "none" },
    ...spec,
  };
}

export function requestOf(command: string, request: Partial<ExecRequest> = {}): ExecRequest {
  return { command, timeoutMs: 120_000, graceMs: 300, outputLimitBytes: MIB, ...request };
}

export function expectStarted(started: StartedContainer | SandboxFailure): StartedContainer {
  if (!started.ok) throw new Error(`${started.code}: ${started.detail}`);
  return started;
}
