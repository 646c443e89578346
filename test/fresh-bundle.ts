/** The bundle that `npm ci` made. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const program = join(import.meta.dir, "..");

/** Whether it is there, and no source is newer. */
export function isBundleFresh(): boolean {
  const made = statSync(join(program, "dist/wiring/executor.js"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = readdirSync(join(program, "src"), { recursive: true, encoding: "utf8" });
  return [...sources.map((name) => join("src", name)), "package.json"].every(
    (name) => statSync(join(program, name)).mtimeMs <= made,
  );
}
