import { rmSync, writeFileSync } from "node:fs";
import { type ChangeIndex, changedEntries, putEntries } from "./change-index.ts";
import type { GitRun, HostGit } from "./host-git.ts";

/** Shorter values stand in honest text. */
const SHORTEST_CHARS = 8;

/** Paths whose new content holds a known secret that it did not hold before. Git itself looks, so that binary files count. */
export async function findBroughtSecrets(
  { git, index, onto }: ChangeIndex,
  secrets: readonly string[],
): Promise<readonly string[] | { readonly failed: GitRun }> {
  const patterns = [...new Set(secrets.map(longestLine))].filter((text) => text.length >= SHORTEST_CHARS);
  if (patterns.length === 0) return [];
  const changed = await changedEntries({ git, index, onto });
  if ("failed" in changed) return changed;
  const files = changed.filter(({ mode }) => mode.startsWith("1") && mode !== "160000");
  if (files.length === 0) return [];
  const own = `${index}.brought`;
  const put = await putEntries(git, own, files);
  if (put.code !== 0) return { failed: put };
  const tree = await git.run(["write-tree"], { index: own });
  if (tree.code !== 0) return { failed: tree };
  const list = `${index}.patterns`;
  writeFileSync(list, `${patterns.join("\n")}\n`, { mode: 0o600 });
  try {
    const now = await pathsWith(git, list, tree.stdout.trim());
    if (!Array.isArray(now) || now.length === 0) return now;
    const before = await pathsWith(git, list, onto);
    if (!Array.isArray(before)) return before;
    return now.filter((path) => !before.includes(path));
  } finally {
    rmSync(list, { force: true });
  }
}

async function pathsWith(
  git: HostGit,
  patterns: string,
  tree: string,
): Promise<string[] | { readonly failed: GitRun }> {
  const found = await git.run(["grep", "--text", "-l", "-z", "-F", "-f", patterns, tree]);
  // 1: nothing was found.
  if (found.code !== 0 && found.code !== 1) return { failed: found };
  return found.stdout.split("\0").flatMap((line) => (line === "" ? [] : [line.slice(tree.length + 1)]));
}

/** Git looks line by line. */
function longestLine(secret: string): string {
  return secret
    .split(/\r?\n/)
    .map((line) => line.trim())
    .reduce((longest, line) => (line.length > longest.length ? line : longest), "");
}
