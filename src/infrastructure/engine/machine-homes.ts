import { accessSync, constants } from "node:fs";
import { isInside } from "./git-roots.ts";
import type { SandboxPlan } from "./sandbox-plan.ts";
import { findShownHome } from "./shown-home.ts";
import { peoplesHomes, realOrNull } from "./user-homes.ts";

/** Where a package manager of everybody lives among the homes. */
const SHARED_TOOLS = "/home/linuxbrew/.linuxbrew";

/**
 * The homes of this machine beside the one that a job gets in private. They look empty, but for the tools in those that
 * are the user's own by another name, or that PATH leads into.
 */
export function findMachineHomes({
  mine,
  userHome,
  homeAllow,
  path,
}: {
  readonly mine: readonly string[];
  readonly userHome: string | null;
  readonly homeAllow: readonly string[];
  readonly path: string;
}): SandboxPlan["homes"] {
  const people = [...mine, ...peoplesHomes()];
  const folders = [...new Set(["/home", ...people])].filter(
    (folder) => folder !== userHome && isOpen(folder),
  );
  const isCovered = (folder: string) =>
    (userHome !== null && isInside(userHome, folder)) ||
    folders.some((other) => other !== folder && isInside(other, folder));
  const inPath = (home: string) => path.split(":").some((folder) => isInside(home, folder));
  const tools = [...new Set(people)]
    .filter((home) => home !== userHome && (mine.includes(home) || inPath(home)))
    .flatMap((home) => findShownHome(home, mine.includes(home) ? homeAllow : []).folders)
    .filter((folder) => userHome === null || !isInside(folder, userHome));
  const shown = [...tools, ...(realOrNull(SHARED_TOOLS) === SHARED_TOOLS ? [SHARED_TOOLS] : [])];
  return folders
    .filter((folder) => !isCovered(folder))
    .map((folder) => ({ path: folder, shown: shown.filter((tool) => isInside(folder, tool)) }));
}

/** What the user cannot enter needs no hiding. */
function isOpen(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
