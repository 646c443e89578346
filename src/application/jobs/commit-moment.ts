import type { Note } from "../../domain/jobs/note.ts";
import type { JobEvent, OwnGit } from "../ports/jobs.ts";
import type { ProcessRunner } from "../ports/jobs-transaction.ts";
import { LOG } from "../ports/platform.ts";
import { type AutoCommitResult, autoCommit } from "./auto-commit.ts";
import type { WorkspaceDeps } from "./execution.ts";
import type { RunProcessDeps } from "./run-shell.ts";

export interface CommitMoment {
  readonly moment: "before" | "after";
  /** Paths that are left out. */
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
