import { spawnSync } from "node:child_process";
import type { Repository } from "./world.ts";

/** The commit of a branch in the bare repository behind the API; null when there is none. */
export function branchOf(
  repository: Repository | null | undefined,
  branch: string | undefined,
): string | null {
  if (repository?.folder == null || branch === undefined) return null;
  const { status, stdout } = spawnSync(
    "git",
    ["-C", repository.folder, "rev-parse", "--verify", "--quiet", `refs/heads/${branch}`],
    { encoding: "utf8" },
  );
  return status === 0 ? stdout.trim() : null;
}
