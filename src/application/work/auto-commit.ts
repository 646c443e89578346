import type { Protection } from "../../domain/policy/protection.ts";
import type { ProcessResult } from "../ports/process.ts";
import { type CommitNote, commitAnyway, type Git } from "./commit-anyway.ts";
import { gitIn } from "./run-git.ts";
import { outcomeOf, type ProcessParts } from "./run-shell.ts";

export type AutoCommit =
  | { readonly ok: true; readonly commit: string | null; readonly notes: readonly CommitNote[] }
  | {
      readonly ok: false;
      readonly code: "git-missing" | "not-a-repository" | "failed";
      readonly error: string;
    };

export interface AutoCommitParts extends ProcessParts {
  readonly timeoutSeconds: number;
  readonly protection: Protection;
  readonly runHooks: boolean;
}

/** A listing of what changed may be long; past this the commit fails rather than miss a protected file. */
const LISTING_BYTES = 64 * 1024 * 1024;
const UNSIGNED = ["-c", "commit.gpgsign=false"];

/** Commits everything in the workspace but protected files. A clean tree is fine: nothing is committed. */
export async function autoCommit(parts: AutoCommitParts, message: string): Promise<AutoCommit> {
  const hooks = parts.runHooks ? [] : ["-c", "core.hooksPath=/dev/null"];
  const plain = gitIn(
    { ...parts, outputLimitBytes: LISTING_BYTES, onOutput: () => {} },
    parts.timeoutSeconds,
  );
  const git: Git = (...args) => plain(...hooks, ...args);
  const failure = (what: string, result: ProcessResult): AutoCommit => ({
    ok: false,
    code: "failed",
    error: outcomeOf(result, what, parts.timeoutSeconds).error.trim(),
  });

  const place = await git("rev-parse", "--is-inside-work-tree", "--show-prefix");
  if (place.outcome === "not-started")
    return { ok: false, code: "git-missing", error: place.error?.message ?? "git is not installed" };
  if (place.outcome !== "exited") return failure("git rev-parse failed", place);
  const [inside, prefix = ""] = place.stdout.split("\n");
  if (inside !== "true")
    return {
      ok: false,
      code: /dubious ownership|safe\.directory/.test(place.output) ? "failed" : "not-a-repository",
      error: place.output.trim(),
    };

  const listed = await git(
    "status",
    "--porcelain=v1",
    "-z",
    "--no-renames",
    "--untracked-files=all",
    "--",
    ".",
  );
  if (listed.exitCode !== 0) return failure("git status failed", listed);
  if (listed.truncatedBytes > 0)
    return {
      ok: false,
      code: "failed",
      error: "too many changed files to look for protected ones among them",
    };
  const changed = changedPaths(listed.stdout, prefix);
  const paths = [
    "--",
    ".",
    ...changed
      .filter((path) => parts.protection.protects(path) !== null)
      .map((path) => `:(exclude,literal)${path}`),
  ];
  if (paths.length - 2 === changed.length) return { ok: true, commit: null, notes: [] };
  const added = await git("add", "-A", ...paths);
  if (added.exitCode !== 0) return failure("git add failed", added);
  const staged = await git("diff", "--cached", "--quiet", ...paths);
  if (staged.exitCode === 0) return { ok: true, commit: null, notes: [] };
  if (staged.exitCode !== 1) return failure("git diff failed", staged);

  const verify = parts.runHooks ? [] : ["--no-verify"];
  const { result, notes } = await commitAnyway(git, UNSIGNED, [
    "commit",
    "-q",
    ...verify,
    "-m",
    message,
    ...paths,
  ]);
  if (result.exitCode !== 0) return failure("git commit failed", result);
  const signs = (await git("config", "--get", "--type=bool", "commit.gpgsign")).stdout.trim() === "true";
  const head = await git("rev-parse", "HEAD");
  return {
    ok: true,
    commit: head.stdout.trim(),
    notes: signs ? [...notes, "signing-skipped"] : notes,
  };
}

/** The paths of `git status -z`, relative to the workspace. */
function changedPaths(status: string, prefix: string): string[] {
  return status
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => line.slice(3))
    .map((path) => (path.startsWith(prefix) ? path.slice(prefix.length) : path));
}
