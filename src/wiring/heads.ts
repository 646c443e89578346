import { homedir } from "node:os";
import { join } from "node:path";
import type { Heads } from "../application/ports/heads.ts";
import { isFolderTrusted } from "../config/trust.ts";
import { createHeads } from "../infrastructure/heads/heads.ts";
import type { OpenedFolder } from "./workspace.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The user's own agents for the drafts of a workspace. */
export function openHeads(
  env: Environment,
  { loaded: { config, home }, workspace, parts }: OpenedFolder,
): Heads {
  return createHeads({
    settings: config.head,
    env,
    home: env.HOME || homedir(),
    workspace: workspace.root,
    folder: join(workspace.storage, "heads"),
    canConfine: workspace.staging.kind === "overlay" && config.worker.confine !== "off",
    isTrusted: () => isFolderTrusted({ home, workspace: workspace.root }),
    keyLimits: { requests: config.tasks.key_requests, bytes: config.tasks.key_traffic },
    mask: workspace.mask,
    now: parts.now,
  });
}
