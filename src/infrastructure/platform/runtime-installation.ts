import { existsSync, realpathSync } from "node:fs";
import { basename, join } from "node:path";

/** The program's own folder and runtime, which the executor needs inside a sandbox. */
export interface Installation {
  readonly folder: string;
  readonly runtime: string;
  /** The executor's entry, relative to the folder. */
  readonly executor: string;
}

/** A file of the program that is not where it should be: half copied, or swept away while it ran. */
export class InstallationIncomplete extends Error {
  readonly code = "INSTALLATION_INCOMPLETE";
  constructor(readonly path: string) {
    super(`a file of PicoClaw is missing: ${path}`);
  }
}

/**
 * Where this program lies, and which of its two forms is running: its sources or the bundle made of them. Both know
 * how deep they lie, so nothing is searched for and a folder above is never taken for the program's own.
 * Throws `InstallationIncomplete`.
 */
export function findInstallation(): Installation {
  const here = import.meta.dir;
  const bundled = basename(here) !== "runtime";
  const folder = join(here, bundled ? ".." : "../../..");
  const executor = bundled ? "dist/wiring/executor.js" : "src/wiring/executor.ts";
  for (const file of [executor, "bunfig.toml", "tsconfig.json"])
    if (!existsSync(join(folder, file))) throw new InstallationIncomplete(join(folder, file));
  return { folder: realpathSync(folder), runtime: realpathSync(process.execPath), executor };
}
