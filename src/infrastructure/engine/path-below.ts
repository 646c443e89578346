import { relative } from "node:path";

/** The way from a folder to a path, both absolute and plain. `relative` looks at every character, which tells with thousands. */
export function pathBelow(folder: string, path: string): string {
  return path.startsWith(folder) && path[folder.length] === "/"
    ? path.slice(folder.length + 1)
    : relative(folder, path);
}
