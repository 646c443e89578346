import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Folders of the system, which no job can write to. */
const SYSTEM_FOLDERS = [
  "/usr/bin",
  "/bin",
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/run/current-system/sw/bin",
];

/** Reads no settings but those of the repository, and asks nobody. */
export const ISOLATED_GIT_ENV = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
} as const;

/** The system's git, for a question to a repository; null where there is none. */
export function systemGit(): {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
} | null {
  const program = gitProgram(SYSTEM_FOLDERS, []);
  return program === null
    ? null
    : { program, env: { ...ISOLATED_GIT_ENV, PATH: SYSTEM_FOLDERS.join(delimiter), HOME: "/", LC_ALL: "C" } };
}

/** The first git that does not lie in one of the folders to avoid. */
export function gitProgram(folders: readonly string[], avoid: readonly string[]): string | null {
  for (const folder of folders) {
    try {
      const file = join(folder, "git");
      accessSync(file, constants.X_OK);
      if (!isWithin(realpathSync(file), avoid)) return isWithin(file, avoid) ? realpathSync(file) : file;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

export function isWithin(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}
