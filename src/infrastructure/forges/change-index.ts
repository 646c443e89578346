import { writeFileSync } from "node:fs";
import type { PublishRequest } from "../../application/ports/publisher.ts";
import type { LeftOutPath } from "../../domain/forges/publishable-change.ts";
import type { GitRun, HostGit } from "./host-git.ts";

/** An index that holds a change, beside the commit that it stands on. */
export interface ChangeIndex {
  readonly git: HostGit;
  readonly index: string;
  readonly onto: string;
}

export interface IndexEntry {
  readonly mode: string;
  readonly blob: string;
  readonly path: string;
}

type FailedPublish = { readonly failed: GitRun };

/** Puts back in the index what is not to be published. */
export async function leaveOutOfIndex(
  { git, index, onto }: ChangeIndex,
  ask: PublishRequest["leftOut"],
): Promise<readonly LeftOutPath[] | FailedPublish> {
  const changed = await changedEntries({ git, index, onto });
  if ("failed" in changed) return changed;
  const listed = await git.run(["ls-tree", "-r", "-z", "--full-tree", onto]);
  if (listed.code !== 0) return { failed: listed };
  const base = listed.stdout.split("\0").flatMap((line) => {
    const [facts = "", path] = line.split("\t");
    const [mode = "", , blob = ""] = facts.split(" ");
    return path === undefined ? [] : [{ mode, blob, path }];
  });
  const left = ask({ changed: changed.map(({ path }) => path), base: base.map(({ path }) => path) });
  if (left.length === 0) return left;
  const paths = new Set(left.map(({ path }) => path));
  const before = base.filter(({ path }) => paths.has(path));
  const gone = [...paths].map((path) => ({ mode: "0", blob: "0".repeat(onto.length), path }));
  // Removals first: a file may stand where a folder was.
  const put = await putEntries(git, index, [...gone, ...before]);
  return put.code === 0 ? left : { failed: put };
}

/** What the index has instead of the base, path by path; a removed one has the mode `000000`. */
export async function changedEntries({
  git,
  index,
  onto,
}: ChangeIndex): Promise<readonly IndexEntry[] | FailedPublish> {
  const options = ["--cached", "--no-renames", "--full-index", "-z"];
  const raw = await git.run(["diff-index", ...options, onto], { index });
  if (raw.code !== 0) return { failed: raw };
  const parts = raw.stdout.split("\0");
  const entries: IndexEntry[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [, mode = "", , blob = ""] = (parts[i] ?? "").slice(1).split(" ");
    entries.push({ mode, blob, path: parts[i + 1] ?? "" });
  }
  return entries;
}

export function putEntries(git: HostGit, index: string, entries: readonly IndexEntry[]): Promise<GitRun> {
  const input = `${index}.entries`;
  writeFileSync(input, entries.map(({ mode, blob, path }) => `${mode} ${blob}\t${path}\0`).join(""));
  return git.run(["update-index", "-z", "--index-info"], { index, input });
}
