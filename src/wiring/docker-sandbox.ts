import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { SandboxFailure, SandboxManager } from "../application/ports/containers.ts";
import type { Config } from "../config/config.ts";
import { dockerSettings } from "../config/settings.ts";
import { readInstallationId } from "../infrastructure/containers/container-owners.ts";
import { type Engine, openEngine } from "../infrastructure/containers/docker-engine.ts";
import { createDockerSandbox } from "../infrastructure/containers/docker-sandbox.ts";
import { createProxyProgram } from "../infrastructure/containers/proxy-sidecar.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";
import type { Environment } from "./services.ts";

export interface DockerOptions {
  readonly config: Config["command_executor"];
  readonly home: string;
  readonly env: Environment;
  readonly warn: (message: string) => void;
}

/** The configured engine, and containers on it. Does not connect yet. */
export function openDocker({
  config,
  home,
  env,
  warn,
}: DockerOptions): { readonly engine: Engine; readonly sandboxes: SandboxManager } | SandboxFailure {
  const engine = openEngine(config.docker, env);
  if ("ok" in engine) return engine;
  const sandboxes = createDockerSandbox({
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
  return { engine, sandboxes };
}
