import { realpathSync } from "node:fs";
import { remoteHosts, userAddresses, workspaceHosts } from "../config/named-hosts.ts";
import { trustedHosts } from "../config/trust.ts";
import { attemptOr } from "../domain/platform/error-text.ts";
import { findGit } from "../infrastructure/platform/git-roots.ts";
import type { NamedHosts } from "../infrastructure/sandbox/network-settings.ts";

/** The hosts that the files of a folder and the remotes of its own repository name now, for the list of trusted folders. */
export function hostsOf(folder: string): readonly string[] {
  return workspaceHosts(folder, ownGit(folder));
}

/** What counts for commands of a model in a workspace, beside the settings. */
export function readNamedHosts(
  env: Readonly<Record<string, string | undefined>>,
  at: { readonly home: string; readonly workspace: string },
): NamedHosts {
  return {
    user: userAddresses(env),
    remotes: remoteHosts(ownGit(at.workspace)),
    trusted: trustedHosts(at),
  };
}

/** A repository above that is not the workspace's own names no host for it. */
function ownGit(folder: string): string | null {
  return attemptOr(null, () => findGit(realpathSync(folder))?.commonDirectory ?? null);
}
