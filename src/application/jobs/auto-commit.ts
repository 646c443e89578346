import type { Note } from "../../domain/jobs/result.ts";
import { gitVariables } from "../../domain/policy/git-files.ts";
import type { Protection } from "../../domain/policy/protection.ts";
import type { JobEvent, OwnGit } from "../ports/jobs.ts";
import type { WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { LOG } from "../ports/platform.ts";
import type { ProcessResult, ProcessRunner } from "../ports/platform-processes.ts";
import { type RunProcessDeps, runInView, toCommandOutcome } from "./run-shell.ts";

export type RunGit = (...args: string[]) => Promise<ProcessResult>;

/** Notes about a commit that deviates from git's settings. */
type CommitNote = "identity-fallback" | "signing-skipped";

const IDENTITY = ["-c", "user.name=PicoClaw", "-c", "user.email=picoclaw@localhost"] as const;
const UNSIGNED = ["-c", "commit.gpgsign=false"] as const;

/** Commits without an author (as PicoClaw) or a passphrase (unsigned) too. Git's output is in the user's language and not read. */
export async function commitAnyway(git: RunGit, settings: readonly string[], commit: readonly string[]) {
  const result = await git(...settings, ...commit);
  if (result.outcome !== "exited" || result.exitCode !== 128) return { result, notes: [] };
  const unnamed = !(await knowsIdentity(git));
  const signs = (await git("config", "--get", "--type=bool", "commit.gpgsign")).stdout.trim() === "true";
  const unsigned = settings.includes("commit.gpgsign=false");
  if (!unnamed && (!signs || unsigned)) return { result, notes: [] };
  const again = await git(...settings, ...(unnamed ? IDENTITY : []), ...(signs ? UNSIGNED : []), ...commit);
  if (again.exitCode !== 0) return { result: unnamed ? again : result, notes: [] };
  const notes: CommitNote[] = [];
  if (unnamed) notes.push("identity-fallback");
  if (signs && !unsigned) notes.push("signing-skipped");
  return { result: again, notes };
}

async function knowsIdentity(git: RunGit): Promise<boolean> {
  for (const who of ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"])
    if ((await git("var", who)).exitCode !== 0) return false;
  return true;
}

/** Variables of a job that our own git needs. */
const PASSED = /^(HOME|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_CONFIG_HOME|GIT_CEILING_DIRECTORIES)$/;

const QUIET: OwnGit["settings"] = [
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["core.checkStat", "minimal"],
  ["core.trustctime", "false"],
  ["core.fsmonitor", "false"],
  ["core.untrackedCache", "false"],
  ["safe.bareRepository", "explicit"],
];

/** Our own git in the view of a job. Hooks run only where the user wants them, and then as they would for the user. */
function ownGitIn(
  deps: RunProcessDeps,
  git: OwnGit,
  { runHooks, timeoutSeconds }: { readonly runHooks: boolean; readonly timeoutSeconds: number },
): RunGit {
  const folder = deps.transaction.directory as string;
  const settings = [
    ...git.settings,
    ...QUIET,
    ...(runHooks ? [] : ([["core.hooksPath", "/dev/null"]] as const)),
  ];
  const env: Record<string, string> = {
    ...git.env,
    PATH: runHooks ? (deps.env.PATH ?? git.path) : git.path,
  };
  for (const [name, value] of Object.entries(deps.env)) if (PASSED.test(name)) env[name] = value;
  Object.assign(env, gitVariables(settings));
  return (...args) => runInView(deps, [git.program, ...args], env, folder, timeoutSeconds);
}

export type AutoCommitResult =
  | {
      readonly ok: true;
      readonly commit: string | null;
      /** HEAD as it was; null before the first commit. */
      readonly from: string | null;
      readonly notes: readonly CommitNote[];
      /** Paths that are left out, since they ask for a filter that the user's configuration did not have. */
      readonly unfiltered: readonly string[];
    }
  | {
      readonly ok: false;
      readonly code: "git-missing" | "not-a-repository" | "failed";
      readonly error: string;
    };

export interface AutoCommitDeps extends RunProcessDeps {
  readonly timeoutSeconds: number;
  readonly protection: Protection;
  readonly runHooks: boolean;
  readonly ownGit: OwnGit | null;
  readonly except?: readonly string[];
}

/** The list of changes may be long; past this the commit fails rather than miss a protected file. */
const LISTING_BYTES = 64 * 1024 * 1024;

/** Commits everything in the workspace but protected files. A clean tree is fine: nothing is committed. */
async function autoCommit(deps: AutoCommitDeps, message: string): Promise<AutoCommitResult> {
  const { ownGit } = deps;
  if (ownGit === null) return { ok: false, code: "git-missing", error: "git is not installed" };
  const git = ownGitIn({ ...deps, outputLimitBytes: LISTING_BYTES, onOutput: () => {} }, ownGit, deps);
  const failure = (what: string, result: ProcessResult): AutoCommitResult => ({
    ok: false,
    code: "failed",
    error: toCommandOutcome(result, what, deps.timeoutSeconds).error.trim(),
  });

  const place = await git("rev-parse", "--is-inside-work-tree", "--show-prefix", "HEAD");
  if (place.outcome === "not-started")
    return { ok: false, code: "git-missing", error: place.error?.message ?? "git is not installed" };
  if (place.outcome !== "exited") return failure("git rev-parse failed", place);
  const [inside, prefix = "", head = ""] = place.stdout.split("\n");
  const from = /^[0-9a-f]{40,64}$/.test(head) ? head : null;
  if (inside !== "true")
    return {
      ok: false,
      code: /dubious ownership|safe\.directory/.test(place.output) ? "failed" : "not-a-repository",
      error: place.output.trim(),
    };

  const listing = ["--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];
  const listed = await git("status", ...listing, "--", ".");
  if (listed.exitCode !== 0) return failure("git status failed", listed);
  if (listed.truncatedBytes > 0)
    return {
      ok: false,
      code: "failed",
      error: "too many changed files to look for protected ones among them",
    };
  const changed = changedPaths(listed.stdout, prefix);
  const unfiltered = await withForeignFilter(git, changed, ownGit.filters);
  if (unfiltered === null)
    return { ok: false, code: "failed", error: "git check-attr failed: the filters of files are not known" };
  const except = new Set(deps.except);
  const left = changed.filter(
    (path) => deps.protection.protects(path) !== null || unfiltered.includes(path) || except.has(path),
  );
  const paths = ["--", ".", ...left.map((path) => `:(exclude,literal)${path}`)];
  if (left.length === changed.length) return { ok: true, commit: null, from, notes: [], unfiltered };
  const added = await git("add", "-A", ...paths);
  if (added.exitCode !== 0) return failure("git add failed", added);
  const staged = await git("diff", "--cached", "--quiet", ...paths);
  if (staged.exitCode === 0) return { ok: true, commit: null, from, notes: [], unfiltered };
  if (staged.exitCode !== 1) return failure("git diff failed", staged);

  const options = ["-q", ...(deps.runHooks ? [] : ["--no-verify"]), "-m", message];
  const { result, notes } = await commitAnyway(git, UNSIGNED, ["commit", ...options, ...paths]);
  if (result.exitCode !== 0) return failure("git commit failed", result);
  const signs = (await git("config", "--get", "--type=bool", "commit.gpgsign")).stdout.trim() === "true";
  const made = await git("rev-parse", "HEAD");
  return {
    ok: true,
    commit: made.stdout.trim(),
    from,
    notes: signs ? [...notes, "signing-skipped"] : notes,
    unfiltered,
  };
}

const AT_ONCE = 500;

async function withForeignFilter(
  git: RunGit,
  paths: readonly string[],
  known: readonly string[],
): Promise<readonly string[] | null> {
  const foreign: string[] = [];
  for (let i = 0; i < paths.length; i += AT_ONCE) {
    const asked = await git("check-attr", "-z", "filter", "--", ...paths.slice(i, i + AT_ONCE));
    if (asked.exitCode !== 0 || asked.truncatedBytes > 0) return null;
    const fields = asked.stdout.split("\0");
    for (let at = 0; at + 2 < fields.length; at += 3) {
      const filter = fields[at + 2] as string;
      if (!NO_FILTER.has(filter) && !known.includes(filter)) foreign.push(fields[at] as string);
    }
  }
  return foreign;
}

const NO_FILTER: ReadonlySet<string> = new Set(["unspecified", "unset", "set"]);

/** The paths of `git status -z`, relative to the workspace. */
function changedPaths(status: string, prefix: string): string[] {
  return status
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => line.slice(3))
    .map((path) => (path.startsWith(prefix) ? path.slice(prefix.length) : path));
}

interface CommitMoment {
  readonly moment: "before" | "after";
  readonly except: readonly string[];
  readonly title: string;
  /** As it was found before anything of the job ran. */
  readonly ownGit: OwnGit | null;
  readonly process: Omit<RunProcessDeps, "processes">;
  readonly processes: ProcessRunner;
  readonly notes: Note[];
  readonly emit: (event: JobEvent) => void;
}

/** Makes the commit before or after a job, records it in the journal and the log, and returns the notes for the user. */
export async function commitMoment(deps: WorkspaceDeps, request: CommitMoment): Promise<AutoCommitResult> {
  const { config, logger, mask } = deps;
  const { moment, except, title, ownGit, process, processes, notes, emit } = request;
  const job_id = process.jobId;
  const commit = await autoCommit(
    {
      ...process,
      processes,
      ownGit,
      except,
      timeoutSeconds: config.git_timeout,
      protection: deps.policy.protection,
      runHooks: config.run_hooks,
    },
    `${config.commit_message_prefix} ${title}`,
  );
  const error = commit.ok ? undefined : mask(commit.error);
  emit({
    type: "auto_commit",
    moment,
    commit: commit.ok ? commit.commit : null,
    ...(error !== undefined && { error }),
  });
  if (commit.ok) {
    for (const code of commit.notes)
      if (!notes.some((note) => typeof note !== "string" && note.code === code)) notes.push({ code });
    if (commit.unfiltered.length > 0 && moment === "after")
      notes.push({ code: "filter-unknown", paths: commit.unfiltered });
    if (commit.commit !== null)
      logger.info("worker", ...LOG.autoCommitSuccess, { job_id, moment, commit: commit.commit });
    else logger.warn("worker", ...LOG.autoCommitFailed, { job_id, moment, error: "nothing to commit" });
  } else logger.warn("worker", ...LOG.autoCommitFailed, { job_id, moment, error: commit.error });
  process.transaction.takeChanges({ processRan: true });
  return commit;
}
