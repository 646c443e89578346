import { accessSync, constants, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { attemptOr } from "../../domain/platform/error-text.ts";

/**
 * Where the programs of the set-up are looked for. It runs with every capability, and a user's own PATH leads through
 * folders that commands of earlier jobs could write to.
 */
export const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/** As a shell would find it; null where there is none. */
export function findProgram(name: string, path: string): string | null {
  const folders = path.split(":").filter((folder) => folder.startsWith("/"));
  const places = name.includes("/") ? [resolve(name)] : folders.map((folder) => join(folder, name));
  return places.find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  return attemptOr(false, () => {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  });
}
