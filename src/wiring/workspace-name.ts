import type { LoadedConfig } from "../config/loaded.ts";
import { workspaceName } from "../infrastructure/fleet/workspace-name.ts";

/** What the configured store calls a workspace of this machine. */
export function workspaceNameOf(
  { config, home, secrets }: Pick<LoadedConfig, "config" | "home" | "secrets">,
  root: string,
): string {
  return workspaceName({ home, databaseUrl: secrets.resolve(config.database_url), root });
}
