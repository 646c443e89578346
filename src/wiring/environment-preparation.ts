import { join } from "node:path";
import { buildNamedImage } from "../application/containers/ensure-image.ts";
import type { Prepare } from "../application/containers/execution-environment-manager.ts";
import { type PrepareDeps, prepareEnvironment } from "../application/containers/prepare-environment.ts";
import type { SandboxManager } from "../application/ports/containers.ts";
import type { OpenEnvironments } from "../application/ports/containers-opened.ts";
import { preparationSettings } from "../config/settings.ts";
import { environmentImages } from "../domain/containers/environments.ts";
import type { Engine } from "../infrastructure/containers/docker-engine.ts";
import { createDockerImages, openImageInputs } from "../infrastructure/containers/docker-images.ts";
import { createDownloadStore } from "../infrastructure/containers/download-store.ts";
import { createLocalRepositories } from "../infrastructure/containers/local-repositories.ts";
import { lookUp } from "../infrastructure/sandbox/dial.ts";
import type { Services } from "./services.ts";

/** Everything that making an environment needs, and running a command in one does not. */
export function openPreparation(
  services: Services,
  { sandboxes, engine }: { readonly sandboxes: SandboxManager; readonly engine: Engine },
): Prepare {
  const { env, config, home, mask } = services;
  const { clone, install, environments } = config.command_executor;
  const deps: PrepareDeps = {
    sandboxes,
    images: { images: createDockerImages(engine), ...imageInputs(services) },
    local: createLocalRepositories({ hostEnv: env, timeoutMs: clone.timeout * 1000 }),
    config: { ...preparationSettings(config), environments: environmentImages(environments) },
    ...(install.cache && {
      downloads: createDownloadStore(join(home, "environments", "downloads"), install.cache_limit),
    }),
    newId: () => crypto.randomUUID(),
    mask,
    clock: () => performance.now(),
    addressesOf: lookUp,
  };
  return (request) => prepareEnvironment(deps, request);
}

export function imageInputs({ env, config, workspace }: Services) {
  const { npm_registry: npmRegistry } = config.command_executor.install;
  return openImageInputs({ env, workspace, npmRegistry });
}

export async function buildNamed(
  services: Services,
  engine: Engine,
  request: Parameters<OpenEnvironments["buildImage"]>[0],
): ReturnType<OpenEnvironments["buildImage"]> {
  const { ensureDebianRoot } = await import("../infrastructure/containers/debian-root.ts");
  const parts = { ...imageInputs(services), images: createDockerImages(engine), ensureDebianRoot };
  return buildNamedImage(parts, request);
}
