import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The git that PicoClaw runs for itself: which program, and what keeps it from running anything else. */
export interface OwnGit {
  readonly program: string;
  readonly settings: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Folders of the system, which no job can write to; the user's own PATH may lead through folders that jobs can. */
const SYSTEM_FOLDERS = [
  "/usr/bin",
  "/bin",
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/run/current-system/sw/bin",
];

/** Null where there is no git but in folders to avoid. */
export function ownGit({ path = "", avoid }: { path?: string; avoid: readonly string[] }): OwnGit | null {
  const isAvoided = (folder: string) => avoid.some((one) => folder === one || folder.startsWith(`${one}/`));
  const further = path.split(delimiter).filter((folder) => folder.startsWith("/") && !isAvoided(folder));
  const program = [...SYSTEM_FOLDERS, ...further].map((folder) => join(folder, "git")).find(canRun);
  if (program === undefined) return null;
  return {
    program,
    settings: ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"],
    env: {
      PATH: SYSTEM_FOLDERS.join(delimiter),
      HOME: "/",
      LC_ALL: "C",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
    },
  };
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
