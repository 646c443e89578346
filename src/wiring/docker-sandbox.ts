import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { SandboxFailure, SandboxManager } from "../application/ports/containers.ts";
import type { Config } from "../config/config.ts";
import { dockerSettings } from "../config/settings.ts";
import { readInstallationId } from "../infrastructure/containers/container-owners.ts";
import {
  createEngine,
  type Engine,
  parseEngineAddress,
  sandboxFailure,
} from "../infrastructure/containers/docker-engine.ts";
import { createDockerSandbox } from "../infrastructure/containers/docker-sandbox.ts";
import { createProxyProgram } from "../infrastructure/containers/proxy-sidecar.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";

type Docker = Config["command_executor"]["docker"];

/** The configured engine. Does not connect yet. */
export function openEngine(
  docker: Docker,
  env: Readonly<Record<string, string | undefined>>,
): Engine | SandboxFailure {
  const certificates = env.DOCKER_TLS_VERIFY
    ? (env.DOCKER_CERT_PATH ?? join(env.HOME ?? "/", ".docker"))
    : undefined;
  const address = parseEngineAddress(docker.host, certificates);
  if (!address) return sandboxFailure("bad-host", `${docker.host} is neither unix:///… nor tcp://host:port`);
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
    ...dockerSettings(config),
    proxyProgram: createProxyProgram(),
    newId: randomUUID,
    hash: (text) => hashHex("sha256", text),
    now: Date.now,
    elapsed: () => performance.now(),
    warn,
  });
}
