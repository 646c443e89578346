import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { succeeds } from "../../domain/platform/error-text.ts";

/**
 * Where the programs of the set-up are looked for. It runs with every capability, and a user's own PATH leads through
 * folders that commands of earlier jobs could write to.
 */
export const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

export function findProgram(name: string, path: string): string | null {
  for (const folder of path.split(":")) {
    if (folder === "") continue;
    const file = join(folder, name);
    if (succeeds(() => accessSync(file, constants.X_OK))) return file;
  }
  return null;
}
