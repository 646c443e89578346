import { statSync } from "node:fs";
import { relative } from "node:path";
import {
  compilePlainGlob,
  createProtection,
  isPlainGlob,
  type Protection,
  type ProtectionDeps,
} from "../../domain/policy/protection.ts";

/** Why a path cannot be a workspace, by the name of the text that says so; null: it can. */
export function findFolderTrouble(path: string): "workspaceMissing" | "workspaceNotADirectory" | null {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return null;
  return stats === undefined ? "workspaceMissing" : "workspaceNotADirectory";
}

/** The paths in a folder that jobs may not touch, by the rules of its file system. */
export async function protectFolder(
  root: string,
  deps: Pick<ProtectionDeps, "patterns" | "action" | "ownPaths" | "ofHome">,
): Promise<Protection> {
  const compile = await globCompiler(deps.patterns);
  return createProtection({ ...deps, compile, caseInsensitive: isCaseInsensitive(root) });
}

/** The same for a project in a container, whose file system tells capitals apart and which holds nothing of ours. */
export async function protectContainer(
  deps: Pick<ProtectionDeps, "patterns" | "action">,
): Promise<Protection> {
  const compile = await globCompiler(deps.patterns);
  return createProtection({ ...deps, compile, caseInsensitive: false, ownPaths: [] });
}

/** Plain patterns need no library; picomatch is loaded for braces, brackets, `**` and the like. */
export async function globCompiler(patterns: readonly string[]): Promise<ProtectionDeps["compile"]> {
  if (patterns.every(isPlainGlob)) return compilePlainGlob;
  const { default: picomatch } = await import("picomatch");
  return (pattern, { caseInsensitive }) => {
    const matches = picomatch(pattern, { dot: true, nocase: caseInsensitive });
    return (text) => matches(text);
  };
}

/** Whether the file system takes `A` for `a`, judged by the folder's own name. */
function isCaseInsensitive(root: string): boolean {
  const swapped = root.replace(/[a-zA-Z](?=[^a-zA-Z]*$)/, (c) =>
    c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase(),
  );
  if (swapped === root) return false;
  const there = statSync(swapped, { throwIfNoEntry: false });
  return there !== undefined && there.ino === statSync(root).ino;
}

/** The paths of PicoClaw itself that lie in a workspace: its jobs, and its home. */
export function ownPathsInside(root: string, storage: string | null, home: string): readonly string[] {
  const homeInside = relative(root, home);
  const paths = [storage, homeInside.startsWith("..") ? null : homeInside];
  return paths.filter((path): path is string => path !== null && path !== "");
}
