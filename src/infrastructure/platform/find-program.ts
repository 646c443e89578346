import { accessSync, constants, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { succeeds } from "../../domain/platform/error-text.ts";

/** For the set-up, which has every capability: a user's own PATH leads through folders that earlier jobs' commands could write to. */
export const SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin";

/** As a shell would find it, without relative folders of the path; null where there is none. */
export function findProgram(name: string, path: string): string | null {
  const folders = path.split(":").filter((folder) => folder.startsWith("/"));
  const places = name.includes("/") ? [resolve(name)] : folders.map((folder) => join(folder, name));
  const isProgram = (file: string) =>
    succeeds(() => accessSync(file, constants.X_OK)) && statSync(file, { throwIfNoEntry: false })?.isFile();
  return places.find(isProgram) ?? null;
}
