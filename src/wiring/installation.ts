import { existsSync, realpathSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Installation } from "../infrastructure/work/overlay/start-executor.ts";

/** Where this program lies, and which of its two forms is running: its sources or the bundle made of them. */
export function findInstallation(): Installation {
  let folder = import.meta.dir;
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  const bundled = relative(folder, import.meta.dir).split("/")[0] === "dist";
  return {
    folder: realpathSync(folder),
    runtime: realpathSync(process.execPath),
    executor: bundled ? "dist/wiring/executor.js" : "src/wiring/executor.ts",
  };
}
