import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BuildImageDeps, buildNamedImage } from "../application/containers/ensure-image.ts";
import type { Prepare } from "../application/containers/execution-environment-manager.ts";
import type { OpenEnvironments } from "../application/containers/open-environments.ts";
import { type PrepareDeps, prepareEnvironment } from "../application/containers/prepare-environment.ts";
import { jobEnvironment } from "../application/jobs/job-processes.ts";
import type { SandboxManager } from "../application/ports/containers.ts";
import { preparationSettings } from "../config/settings.ts";
import { withoutCredential } from "../domain/containers/clone-plan.ts";
import { environmentImages } from "../domain/containers/image-recipes.ts";
import type { Engine } from "../infrastructure/containers/docker-engine.ts";
import { createDockerImages, createRecipes } from "../infrastructure/containers/docker-images.ts";
import { createDownloadStore, createNpmRegistry } from "../infrastructure/containers/download-store.ts";
import { createLocalRepositories } from "../infrastructure/containers/local-repositories.ts";
import { lookUp } from "../infrastructure/engine/dial.ts";
import { createProcessRunner } from "../infrastructure/engine/process-runner.ts";
import { hashHex } from "../infrastructure/platform/hash.ts";
import { findInstallation } from "../infrastructure/platform/installation.ts";
import type { Services } from "./services.ts";

/** Everything that making an environment needs, and running a command in one does not. */
export function openPreparation(
  services: Services,
  { sandboxes, engine }: { readonly sandboxes: SandboxManager; readonly engine: Engine },
): Prepare {
  const { env, config, home, mask } = services;
  const { clone, install, environments } = config.command_executor;
  const parts: PrepareDeps = {
    sandboxes,
    images: { images: createDockerImages(engine), ...recipeDeps(services) },
    local: createLocalRepositories({
      processes: createProcessRunner(),
      env: jobEnvironment({ host: env, pass: [], view: {} }),
      temporary: tmpdir(),
      timeoutMs: clone.timeout * 1000,
      cleanAddress: withoutCredential,
      owner: { uid: 10_001, gid: 10_001 },
    }),
    config: { ...preparationSettings(config), environments: environmentImages(environments) },
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

const NPM_SETTINGS = ["npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_userconfig"];

/** The inputs from which images are built. */
export function recipeDeps({
  env,
  config,
  workspace,
}: Pick<Services, "env" | "config" | "workspace">): Omit<BuildImageDeps, "images"> {
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
  services: Services,
  engine: Engine,
  request: Parameters<OpenEnvironments["buildImage"]>[0],
): ReturnType<OpenEnvironments["buildImage"]> {
  const { ensureDebianRoot } = await import("../infrastructure/containers/debian-root.ts");
  const parts = { ...recipeDeps(services), images: createDockerImages(engine), ensureDebianRoot };
  return buildNamedImage(parts, request);
}
