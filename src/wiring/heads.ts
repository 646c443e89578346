import { homedir } from "node:os";
import { join } from "node:path";
import type { Heads } from "../application/ports/heads.ts";
import { keyLimits } from "../config/settings.ts";
import { isFolderTrusted } from "../config/trust.ts";
import { createHeads } from "../infrastructure/heads/heads.ts";
import type { Environment } from "./services.ts";
import type { OpenedFolder } from "./workspace.ts";

export function openHeads(
  env: Environment,
  { services, workspace }: OpenedFolder,
  onContestAnswer?: (status: number) => void,
): Heads {
  const { config, home, now } = services;
  return createHeads({
    settings: config.head,
    env,
    home: env.HOME || homedir(),
    workspace: workspace.root,
    folder: join(workspace.storage, "heads"),
    canConfine: workspace.staging.kind === "overlay" && config.worker.confine !== "off",
    isTrusted: () => isFolderTrusted({ home, workspace: workspace.root }),
    keyLimits: keyLimits(config),
    mask: workspace.mask,
    now,
    onContestAnswer,
  });
}
