/** The bundle that `npm ci` made. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { namesOf } from "../scripts/earlier-pieces.ts";

const PROGRAM = join(import.meta.dir, "..");
const FOLDERS = ["src", "scripts"];
const FILES = ["package.json", "package-lock.json", "tsconfig.json"];
const ENTRIES = ["main.js", "wiring/executor.js"];

/** Whether it is there as a whole, and nothing that it is made of or by is newer. */
export function isBundleFresh(program = PROGRAM): boolean {
  const dist = join(program, "dist");
  const pieces = namesOf(dist);
  if (pieces === null) return false;
  const look = (path: string) => statSync(path, { throwIfNoEntry: false });
  if (![...ENTRIES, ...pieces].every((name) => (look(join(dist, name))?.size ?? 0) > 0)) return false;
  const made = look(join(dist, "wiring/executor.js"))?.mtimeMs ?? 0;
  const sources = FOLDERS.flatMap((folder) =>
    readdirSync(join(program, folder), { recursive: true, encoding: "utf8" }).map((name) =>
      join(folder, name),
    ),
  );
  return [...sources, ...FILES].every((name) => (look(join(program, name))?.mtimeMs ?? 0) <= made);
}
