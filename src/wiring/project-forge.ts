import type { ProjectForges } from "../application/ports/forges.ts";
import { forgeSites } from "../domain/forges/forge-items.ts";
import { type ConfiguredForges, openForge } from "../infrastructure/forges/forge-registry.ts";
import { gitVariables } from "../infrastructure/forges/host-git.ts";
import { createProjectRepository } from "../infrastructure/forges/project-repository.ts";
import { openPublishFolder } from "../infrastructure/forges/publisher.ts";
import { createOwnerNames } from "../infrastructure/platform/process-table.ts";
import { VERSION } from "../version.ts";
import type { Services } from "./services.ts";

export function configuredForges({
  config,
  secrets,
}: Pick<Services, "config" | "secrets">): ConfiguredForges {
  const resolve = (reference: string | null) => secrets.resolve(reference);
  return { forges: config.forges, resolve, userAgent: `picoclaw/${VERSION}` };
}

const PUSH_MS = 300_000;

export function openProjectForges(services: Services, root: string, now: () => Date): ProjectForges {
  const { env, home, config, secrets } = services;
  const owners = createOwnerNames(process.pid);
  const folder = openPublishFolder(home, { isGone: owners.isGone, now });
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
        ...configuredForges(services),
        onWait: ({ message }, waitMs) => onWait(Math.ceil(waitMs / 1000), message),
      }),
  };
}
