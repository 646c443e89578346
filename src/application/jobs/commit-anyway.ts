import type { ProcessResult } from "../ports/process.ts";

/** Runs git with these arguments in the view. */
export type RunGit = (...args: string[]) => Promise<ProcessResult>;

/** The notes about a commit that was made otherwise than git was set up to. */
export type CommitNote = "identity-fallback" | "signing-skipped";

export interface CommitAnyway {
  readonly result: ProcessResult;
  readonly notes: readonly CommitNote[];
}

const IDENTITY = ["-c", "user.name=PicoClaw", "-c", "user.email=picoclaw@localhost"] as const;
const UNSIGNED = ["-c", "commit.gpgsign=false"] as const;

/**
 * Commits, though git may know nobody (then PicoClaw signs with its own name) or would have to ask for a
 * passphrase (then unsigned). What git says is not read, because it says it in the user's language.
 */
export async function commitAnyway(
  git: RunGit,
  settings: readonly string[],
  commit: readonly string[],
): Promise<CommitAnyway> {
  const result = await git(...settings, ...commit);
  if (result.outcome !== "exited" || result.exitCode !== 128) return { result, notes: [] };
  const nobody = !(await knowsIdentity(git));
  const signs = (await git("config", "--get", "--type=bool", "commit.gpgsign")).stdout.trim() === "true";
  const unsigned = settings.includes("commit.gpgsign=false");
  if (!nobody && (!signs || unsigned)) return { result, notes: [] };
  const again = await git(...settings, ...(nobody ? IDENTITY : []), ...(signs ? UNSIGNED : []), ...commit);
  if (again.exitCode !== 0) return { result: nobody ? again : result, notes: [] };
  const notes: CommitNote[] = [];
  if (nobody) notes.push("identity-fallback");
  if (signs && !unsigned) notes.push("signing-skipped");
  return { result: again, notes };
}

async function knowsIdentity(git: RunGit): Promise<boolean> {
  for (const who of ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"])
    if ((await git("var", who)).exitCode !== 0) return false;
  return true;
}
