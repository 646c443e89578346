import { lstatSync } from "node:fs";
import { hashHex } from "../platform/hash.ts";
import { walkFolder } from "../engine/walk-folder.ts";

/** Folders with too many files to look at each: an installation changes the folder itself, or the list in it. */
const DEPENDENCIES =
  /(?:^|\/)(?:node_modules|\.venv|venv|vendor|target|\.tox|\.gradle|__pycache__|\.mypy_cache|\.pytest_cache|coverage)$/;
const LISTS = [".package-lock.json", ".yarn-state.yml", ".modules.yaml", "pyvenv.cfg"];

/**
 * What a folder holds, in short, by what a look at each file tells without reading it: name, kind, size and time of change. Git's own
 * folder is left out, because commits and fetches change no file that a test sees.
 */
export function workspaceFingerprint(root: string): string {
  const parts: string[] = [];
  const enter = (path: string, stats: { isDirectory(): boolean; mtimeNs: bigint }) => {
    if (path === ".git" || path.endsWith("/.git")) return false;
    if (!stats.isDirectory() || !DEPENDENCIES.test(path)) return true;
    const lists = LISTS.map((name) => modifiedTime(`${root}/${path}/${name}`));
    parts.push(`${path} ${stats.mtimeNs} ${lists.join(" ")}`);
    return false;
  };
  for (const { path, stats } of walkFolder(root, { enter }))
    parts.push(
      stats.isDirectory()
        ? `${path}/`
        : `${path} ${stats.mode} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`,
    );
  return hashHex("sha256", parts.sort().join("\0"));
}

function modifiedTime(path: string): string {
  try {
    return String(lstatSync(path, { bigint: true, throwIfNoEntry: false })?.mtimeNs ?? "");
  } catch {
    return "";
  }
}
