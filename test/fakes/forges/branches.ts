import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Repository } from "./world.ts";

/** The files of a branch in the bare repository behind the API; null when there is none. */
export function filesOf(
  repository: Repository | null | undefined,
  ref: string | undefined,
): { readonly path: string; readonly type: "blob" }[] | null {
  if (repository?.folder == null || ref === undefined) return null;
  const { status, stdout } = spawnSync(
    "git",
    ["-C", repository.folder, "ls-tree", "-r", "-z", "--name-only", ref],
    { encoding: "utf8" },
  );
  if (status !== 0) return null;
  return stdout
    .split("\0")
    .filter((path) => path !== "")
    .map((path) => ({ path, type: "blob" }));
}

/** The commit of a branch in the bare repository behind the API; null when there is none. */
export function branchOf(
  repository: Repository | null | undefined,
  branch: string | undefined,
): string | null {
  if (repository?.folder == null || branch === undefined) return null;
  const loose = looseRef(join(repository.folder, "refs/heads", branch));
  if (loose !== null) return loose;
  const { status, stdout } = spawnSync(
    "git",
    ["-C", repository.folder, "rev-parse", "--verify", "--quiet", `refs/heads/${branch}`],
    { encoding: "utf8" },
  );
  return status === 0 ? stdout.trim() : null;
}

/** An unpacked branch is a file. */
function looseRef(path: string): string | null {
  try {
    return /^[0-9a-f]{40}\n$/.exec(readFileSync(path, "utf8"))?.[0].trim() ?? null;
  } catch {
    return null;
  }
}
