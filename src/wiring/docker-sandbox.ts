import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { SandboxFailure, SandboxManager } from "../application/ports/sandbox.ts";
import type { Config } from "../config/config.ts";
import { createDockerSandbox } from "../infrastructure/environments/engine/docker-sandbox.ts";
import { createEngine, type Engine } from "../infrastructure/environments/engine/engine.ts";
import { parseEngineAddress } from "../infrastructure/environments/engine/engine-address.ts";
import { failed } from "../infrastructure/environments/engine/failures.ts";
import { readInstallationId } from "../infrastructure/environments/engine/installation-id.ts";
import type { ProxyProgram } from "../infrastructure/environments/engine/proxy-image.ts";
import { hashHex } from "../infrastructure/runtime/hash.ts";
import { findInstallation } from "../infrastructure/runtime/installation.ts";
import { readProxyFiles } from "../infrastructure/runtime/proxy-files.ts";

const HOUR_MS = 3_600_000;

type Docker = Config["command_executor"]["docker"];

/** The configured engine. Does not connect yet. */
export function openEngine(
  docker: Docker,
  env: Readonly<Record<string, string | undefined>>,
): Engine | SandboxFailure {
  const certificates = env.DOCKER_TLS_VERIFY ? env.DOCKER_CERT_PATH : undefined;
  const address = parseEngineAddress(docker.host, certificates);
  if (!address) return failed("bad-host", `${docker.host} is neither unix:///… nor tcp://host:port`);
  return createEngine({ address, host: docker.host, timeoutMs: docker.api_timeout * 1000 });
}

export interface SandboxOptions {
  readonly config: Config["command_executor"];
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly warn: (message: string) => void;
}

/** Containers on the configured engine. Does not connect yet. */
export function openDockerSandbox({
  config,
  home,
  env,
  warn,
}: SandboxOptions): SandboxManager | SandboxFailure {
  const engine = openEngine(config.docker, env);
  if ("ok" in engine) return engine;
  return createDockerSandbox({
    engine,
    installation: readInstallationId(home, randomUUID),
    folder: join(home, "environments"),
    stopGraceSeconds: config.docker.stop_grace,
    mountDockerSocket: config.docker.mount_docker_socket,
    baseImage: config.docker.base_image,
    poolSize: config.pool.size,
    cleanUp: {
      thresholdMs: config.cleanup.stale_threshold_hours * HOUR_MS,
      // A timer holds 24 days.
      intervalMs: Math.min(config.cleanup.interval_hours * HOUR_MS, 20 * 24 * HOUR_MS),
    },
    proxyProgram: once(proxyProgram),
    newId: randomUUID,
    hash: (text) => hashHex("sha256", text),
    now: Date.now,
    elapsed: () => performance.now(),
    warn,
  });
}

/** Asked again only after a failure. */
function once<T extends object>(make: () => Promise<T | SandboxFailure>): () => Promise<T | SandboxFailure> {
  const state: { made?: Promise<T | SandboxFailure> } = {};
  return async () => {
    state.made ??= make();
    const made = await state.made;
    if ("ok" in made) delete state.made;
    return made;
  };
}

async function proxyProgram(): Promise<ProxyProgram | SandboxFailure> {
  if (process.platform !== "linux")
    return failed("no-proxy", "the network proxy runs on this machine's own runtime, which is not for Linux");
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
    return failed("no-proxy", `the network proxy could not be made: ${(error as Error).message}`, error);
  }
}
