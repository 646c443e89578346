import { IDENTITY, lacksIdentity } from "./run-git.ts";
import { type ProcessParts, runInView } from "./run-shell.ts";

export type AutoCommit =
  | { readonly ok: true; readonly commit: string | null; readonly notes: readonly string[] }
  | {
      readonly ok: false;
      readonly code: "git-missing" | "not-a-repository" | "failed";
      readonly error: string;
    };

export interface AutoCommitParts extends ProcessParts {
  readonly timeoutSeconds: number;
  readonly protectedPatterns: readonly string[];
  readonly runHooks: boolean;
}

/** Commits everything in the workspace but protected files. A clean tree is fine: nothing is committed. */
export async function autoCommit(parts: AutoCommitParts, message: string): Promise<AutoCommit> {
  const git = (...args: string[]) =>
    runInView(
      parts,
      ["git", ...args],
      parts.env,
      parts.transaction.directory as string,
      parts.timeoutSeconds,
    );
  const inside = await git("rev-parse", "--is-inside-work-tree");
  if (inside.outcome === "not-started")
    return { ok: false, code: "git-missing", error: inside.error?.message ?? "git is not installed" };
  if (inside.stdout.trim() !== "true")
    return { ok: false, code: "not-a-repository", error: inside.output.trim() };
  const paths = [
    "--",
    ".",
    ...parts.protectedPatterns.flatMap((pattern) => [
      `:(exclude,glob)${pattern}`,
      `:(exclude,glob)**/${pattern}`,
    ]),
  ];
  const added = await git("add", "-A", ...paths);
  if (added.exitCode !== 0) return failure("git add failed", added.output);
  const staged = await git("diff", "--cached", "--quiet", ...paths);
  if (staged.exitCode === 0) return { ok: true, commit: null, notes: [] };
  const hooks = parts.runHooks ? [] : ["-c", "core.hooksPath=/dev/null"];
  const commit = (identity: readonly string[]) =>
    git(
      ...hooks,
      ...identity,
      "-c",
      "commit.gpgsign=false",
      "commit",
      "-q",
      ...(parts.runHooks ? [] : ["--no-verify"]),
      "-m",
      message,
      ...paths,
    );
  let committed = await commit([]);
  const notes: string[] = [];
  if (committed.exitCode !== 0 && lacksIdentity(committed.output)) {
    committed = await commit(IDENTITY);
    notes.push("git has no identity: committed as PicoClaw <picoclaw@localhost>");
  }
  if (committed.exitCode !== 0) return failure("git commit failed", committed.output);
  if ((await git("config", "--get", "--type=bool", "commit.gpgsign")).stdout.trim() === "true")
    notes.push("committed unsigned: a signing prompt cannot be answered here");
  const head = await git("rev-parse", "HEAD");
  return { ok: true, commit: head.stdout.trim(), notes };
}

function failure(what: string, output: string): AutoCommit {
  return { ok: false, code: "failed", error: `${what}: ${output.trim()}` };
}
