import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BuildImageDeps, buildImage } from "../application/containers/ensure-image.ts";
import type { Prepare } from "../application/containers/execution-environment-manager.ts";
import type { OpenEnvironments } from "../application/containers/open-environments.ts";
import {
  type PrepareConfig,
  type PrepareDeps,
  prepareEnvironment,
} from "../application/containers/prepare-environment.ts";
import { jobEnvironment } from "../application/jobs/job-processes.ts";
import type { ContainerNetwork, SandboxManager } from "../application/ports/containers.ts";
import type { Config } from "../config/config.ts";
import { parseByteSize } from "../config/scalar-values.ts";
import { parseRepository } from "../domain/containers/clone-plan.ts";
import { environmentImages, IMAGE_RECIPES } from "../domain/containers/image-recipes.ts";
import type { Engine } from "../infrastructure/containers/docker-engine.ts";
import { createDockerImages, createRecipes } from "../infrastructure/containers/docker-images.ts";
import { createDownloadStore, createNpmRegistry } from "../infrastructure/containers/download-store.ts";
import { createLocalRepositories } from "../infrastructure/containers/local-repositories.ts";
import { lookUp } from "../infrastructure/engine/dial.ts";
import { createProcessRunner } from "../infrastructure/engine/process-runner.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";
import { findInstallation } from "../infrastructure/platform/installation.ts";

export interface PreparationDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: Config;
  readonly home: string;
  readonly workspace: string;
  readonly sandboxes: SandboxManager;
  readonly engine: Engine;
  readonly mask: (text: string) => string;
}

/** Everything that making an environment needs, and running a command in one does not. */
export function openPreparation(wired: PreparationDeps): Prepare {
  const { env, config, home, sandboxes, mask } = wired;
  const { clone, install } = config.command_executor;
  const parts: PrepareDeps = {
    sandboxes,
    images: imageDeps(wired),
    local: createLocalRepositories({
      processes: createProcessRunner(),
      env: jobEnvironment({ host: env, pass: [], view: {} }),
      temporary: tmpdir(),
      timeoutMs: clone.timeout * 1000,
      cleanAddress: withoutCredential,
      owner: { uid: 10_001, gid: 10_001 },
    }),
    config: prepareConfig(config),
    ...(install.cache && {
      downloads: createDownloadStore(join(home, "environments", "downloads"), install.cache_limit),
    }),
    newId: () => crypto.randomUUID(),
    mask,
    clock: () => performance.now(),
    addressesOf: lookUp,
  };
  return (request) => prepareEnvironment(parts, request);
}

function imageDeps({ engine, ...rest }: PreparationDeps): BuildImageDeps {
  return { images: createDockerImages(engine), ...recipeDeps(rest) };
}

const NPM_SETTINGS = ["npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_userconfig"];

/** The inputs from which images are built. */
export function recipeDeps({
  env,
  config,
  workspace,
}: Pick<PreparationDeps, "env" | "config" | "workspace">): Omit<BuildImageDeps, "images"> {
  return {
    recipes: createRecipes({
      images: join(findInstallation().folder, "images"),
      certificates: "/usr/local/share/ca-certificates",
      workspace,
    }),
    sha256: (bytes) => hashHex("sha256", bytes),
    npmRegistry: createNpmRegistry({
      processes: createProcessRunner(),
      env: jobEnvironment({ host: env, pass: NPM_SETTINGS, view: {} }),
      configured: config.command_executor.install.npm_registry,
    }),
  };
}

/** `images build`: one image of ours, by name. */
export async function buildNamed(
  wired: PreparationDeps,
  { name, from, ...rest }: Parameters<OpenEnvironments["buildImage"]>[0],
): ReturnType<OpenEnvironments["buildImage"]> {
  const parts = imageDeps(wired);
  const recipe = IMAGE_RECIPES.find((known) => known.name === name);
  if (recipe === undefined) return { ok: false, name, code: "recipe-missing", message: "unknown image" };
  if (from !== "debian-rootfs")
    return buildImage(parts, { recipe, ...rest, ...(from !== undefined && { root: from }) });
  const { ensureDebianRoot } = await import("../infrastructure/containers/debian-root.ts");
  const root = await ensureDebianRoot(parts.images, rest);
  if (!root.ok) return { ok: false, name: root.name, code: "root-missing", message: root.message };
  return buildImage(parts, { recipe, ...rest, root: root.name });
}

export function prepareConfig({ command_executor: executor }: Config): PrepareConfig {
  const { docker, clone, install } = executor;
  const { cpu_limit: cpus, memory_limit: memory, disk_limit: disk } = docker.resources;
  return {
    environments: environmentImages(executor.environments),
    defaultEnvironment: executor.default_environment,
    baseImage: docker.base_image,
    limits: {
      cpus,
      memoryBytes: parseByteSize(memory) ?? 0,
      pids: docker.pids_limit,
      diskBytes: parseByteSize(disk) ?? 0,
    },
    network: networkOf(docker.network),
    mountDockerSocket: docker.mount_docker_socket,
    cloneTimeoutMs: clone.timeout * 1000,
    installTimeoutMs: install.timeout * 1000,
    autoInstall: clone.auto_install_deps,
    insecureHosts: clone.insecure_hosts,
    indexes: {
      ...(install.npm_registry !== null && { npm_config_registry: install.npm_registry }),
      ...(install.pip_index !== null && pipIndex(install.pip_index)),
    },
  };
}

/** An index without TLS is one that the operator named so; pip wants to be told twice. */
function pipIndex(url: string): Readonly<Record<string, string>> {
  const plain = url.startsWith("http:") ? { PIP_TRUSTED_HOST: new URL(url).host } : {};
  return { PIP_INDEX_URL: url, UV_INDEX_URL: url, ...plain };
}

function networkOf(network: Config["command_executor"]["docker"]["network"]): ContainerNetwork {
  const { external_access: open, whitelist_mode: listed, allowed_domains: allowedDomains } = network;
  const { allowed_hosts: allowedHosts } = network;
  if (open && !listed) return { mode: "open", allowedHosts };
  if (open) return { mode: "allow-list", allowedDomains, allowedHosts };
  return allowedHosts.length === 0
    ? { mode: "none" }
    : { mode: "allow-list", allowedDomains: [], allowedHosts };
}

function withoutCredential(address: string): string {
  const parsed = parseRepository(address);
  return parsed.ok && parsed.source.kind === "remote" ? parsed.source.url : address;
}
