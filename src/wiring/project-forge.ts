import { join } from "node:path";
import type { Forge, ProjectForges } from "../application/ports/forges.ts";
import type { ForgeKind } from "../domain/config/forge-kinds.ts";
import { forgeSites } from "../domain/forges/forge-items.ts";
import { createOwnerNames } from "../infrastructure/engine/process-table.ts";
import { connectForge, type ForgeConnection } from "../infrastructure/forges/forge-registry.ts";
import { gitVariables } from "../infrastructure/forges/host-git.ts";
import { createProjectRepository } from "../infrastructure/forges/project-repository.ts";
import { sweepPublishFolders } from "../infrastructure/forges/publisher.ts";
import { VERSION } from "../version.ts";
import type { Services } from "./services.ts";

type ForgeOptions = Pick<Services, "config" | "secrets"> & Pick<ForgeConnection, "onWait">;

/** The forge of that kind, as configured; a text names the variable that is missing. */
export async function openForge(
  kind: ForgeKind,
  { config, secrets, onWait }: ForgeOptions,
): Promise<Forge | string> {
  const settings = config.forges[kind];
  const token = secrets.resolve(settings.token);
  if (token === undefined) return settings.token?.replace(/^env:/, "") ?? `forges.${kind}.token`;
  const { base_url: baseUrl } = settings;
  return connectForge(kind, { token, baseUrl, onWait, userAgent: `picoclaw/${VERSION}` });
}

const PUSH_MS = 300_000;

/** The forges of a chat, and the repository of its workspace. */
export function openProjectForges(services: Services, root: string, now: () => Date): ProjectForges {
  const { env, home, config, secrets } = services;
  const owners = createOwnerNames(process.pid);
  const folder = join(home, "publish");
  sweepPublishFolders(folder, { isGone: owners.isGone, now });
  return {
    sites: forgeSites(config.forges),
    repository: createProjectRepository({
      root,
      env,
      folder,
      owner: owners.next(),
      passed: gitVariables(env),
      timeoutMs: PUSH_MS,
    }),
    secrets: () => secrets.values(),
    isInsecure: (host) => config.command_executor.clone.insecure_hosts.includes(host),
    open: (kind, onWait) =>
      openForge(kind, {
        config,
        secrets,
        onWait: ({ message }, waitMs) => onWait(Math.ceil(waitMs / 1000), message),
      }),
  };
}
