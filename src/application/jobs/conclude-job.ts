import {
  type Change,
  type CommandResult,
  type Conflict,
  type JobOutcome,
  type Note,
  type RanJob,
  toFigures,
  toRanJob,
} from "../../domain/jobs/result.ts";
import type { PatchCommand } from "../../domain/patch/patch-command.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { JobEvent, JobRecord } from "../ports/jobs.ts";
import type { SealedChanges, SwapOutcome } from "../ports/jobs-transaction.ts";
import type { ExecuteRequest, WorkspaceDeps } from "../ports/jobs-workspace.ts";
import { LOG } from "../ports/platform.ts";
import { withNumbers } from "./job-facts.ts";

export interface JobEnd {
  readonly results: readonly CommandResult[];
  readonly gitCommit: string | null;
  readonly ended: readonly string[];
  readonly sealed: SealedChanges;
  readonly swapped: SwapOutcome | null;
  readonly keptAfterFailure: boolean;
  readonly rolledBackTo?: string | null;
  readonly reason?: string;
}

/** Shortens file contents for the journal: the undo record has them in full. */
export function forJournal(event: JobEvent): JobEvent {
  if (event.type !== "command_started" || event.command.content.length <= JOURNAL_CONTENT) return event;
  const content = cutMiddle(event.command.content, JOURNAL_CONTENT);
  return { ...event, command: { ...event.command, content } };
}

const JOURNAL_CONTENT = 16_384;

export function swapConflicts(outcome: SwapOutcome): readonly Conflict[] {
  if (outcome.status === "conflict") return outcome.conflicts;
  if (outcome.status !== "refused") return [];
  const { reason, heldBy } = outcome;
  return [{ path: ".", reason: "changed", by: heldBy === undefined ? reason : `${reason}: ${heldBy}` }];
}

export function isWorkspaceGone(outcome: SwapOutcome | null): boolean {
  return outcome?.status === "refused" && outcome.reason === "workspace-gone";
}

/** Whether a job with these results should be rolled back, if it can be. */
export function wantsRollback(
  { signal, atomic, autoCommit, stopOnError }: ExecuteRequest,
  results: readonly CommandResult[],
): boolean {
  const failed = results.some(({ success }) => !success);
  return signal.aborted || (failed && (atomic || (autoCommit && stopOnError)));
}

/** The seal found an entry that cannot be committed, and staged nothing. */
export function isUnstaged({ noText, foreignOwner, outlived, tooDeep, unseen }: SealedChanges): boolean {
  return [noText, foreignOwner, outlived, tooDeep, unseen].some((found) => found !== undefined);
}

/** Stores how a job ended, makes room for its undo record, and reports the end. */
export async function concludeJob(
  { transactions, archive, config, messages, logger }: WorkspaceDeps,
  record: JobRecord,
  warnings: readonly string[],
  { results, sealed, swapped, ended, keptAfterFailure, rolledBackTo }: JobEnd,
): Promise<RanJob> {
  const { jobId, outcome, success, executedCmds, failedCmds, totalCmds } = record;
  if (outcome !== "committed" && outcome !== "staged") archive.save(record);
  const keeps = outcome === "staged" || outcome === "committed" || outcome === "conflict";
  const evicted = keeps
    ? await transactions.enforceQuota(
        { quotaBytes: config.undo_quota, journalDays: config.journal_days },
        jobId,
      )
    : [];
  if (evicted.length > 0)
    archive.append(jobId, {
      type: "quota_evicted",
      jobs: evicted.map((one) => ({ job_id: one.jobId, bytes: one.bytes })),
      quota_bytes: config.undo_quota,
    });
  const isGone = isWorkspaceGone(swapped);
  const failure = results.find((one) => !one.success);
  const fields = {
    job_id: jobId,
    success,
    executed_cmds: executedCmds,
    failed_cmds: failedCmds,
    summary: messages.summary({ total: totalCmds, succeeded: executedCmds, failed: failedCmds }),
    outcome,
    changes: sealed.changes.slice(0, LOGGED_CHANGES).map(({ path }) => path),
    ...(sealed.changes.length > LOGGED_CHANGES && { all_changes: sealed.changes.length }),
    ...(failure !== undefined && {
      failed_command: `${failure.command.type}:${failure.command.action}`,
      error: failure.error,
    }),
    ...(rolledBackTo != null && { rollback_commit: rolledBackTo }),
  };
  if (success) logger.info("worker", ...LOG.executionCompleted, fields);
  else logger.error("worker", ...LOG.executionFailed, fields);
  const ran = toRanJob(
    {
      ...toFigures(record),
      outcome,
      commands: results,
      conflicts: swapped === null || isGone ? [] : swapConflicts(swapped),
      evicted,
      quotaBytes: config.undo_quota,
      ended,
      outside: sealed.outside,
      warnings,
    },
    { keptAfterFailure, workspaceGone: isGone },
  );
  return withNumbers(archive, ran);
}

/** The job's record has all of them; a log line with a hundred thousand would be useless. */
const LOGGED_CHANGES = 1_000;

interface RecordedEnd {
  readonly results: readonly CommandResult[];
  readonly changes: readonly Change[];
  readonly gitCommit: string | null;
}

const NOTHING: RecordedEnd = { results: [], changes: [], gitCommit: null };

export function jobGroupId({ groupId }: Pick<ExecuteRequest, "groupId">, jobId: string): string {
  return groupId ?? jobId.replace("job_", "group_");
}

const TITLE_CHARACTERS = 50;
const REQUEST_CHARACTERS = 4_000;

/** The title of a job in a list: the request, else the plan, else the first action of the patch. */
export function listTitle(request: Pick<ExecuteRequest, "request" | "plan" | "patch">): string {
  const asked = cutTitle(firstLine(request.request ?? ""));
  if (asked !== "") return asked;
  const isPlanned = request.plan !== undefined && request.plan.trim() !== "";
  return (isPlanned ? "" : firstEdit(request.patch) || diffTitle(request.patch)) || planTitle(request);
}

/** How the lines of a diff, of V4A, and the fences of Markdown name a file that they change. */
const DIFF_FILE =
  /^(?:\+\+\+ (?:b\/)?|--- (?:a\/)?|\*\*\* (?:Add|Update|Delete) File: |[`~]{3,}[^\s:]*:)([^\t\n]+)/gm;
const NAMED_FILES = 3;

/** The files of a diff or of fences, whose own first line is marks: `a.ts, b.ts, …`. */
function diffTitle(patch: string): string {
  if (!/^(?:diff --git |--- |\+\+\+ |Index: |\*\*\* Begin Patch|[`~]{3,})/.test(patch.trimStart())) return "";
  const paths = [...patch.slice(0, 100_000).matchAll(DIFF_FILE)].map(([, path = ""]) => path.trim());
  const files = [...new Set(paths)].filter((path) => path !== "/dev/null");
  const more = files.length > NAMED_FILES ? [`… (${files.length})`] : [];
  return cutTitle([...files.slice(0, NAMED_FILES), ...more].join(", "));
}

/** `update src/a.ts` of a patch in JSON, whose own first line is brackets and quotes. */
function firstEdit(patch: string): string {
  const head = patch.trimStart().slice(0, 4_000);
  if (!/^\[\s*\{/.test(head)) return "";
  const field = (name: string) =>
    new RegExp(`"${name}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)+)"`).exec(head)?.[1] ?? "";
  const [action, target] = [field("action"), field("target")];
  return target === "" ? "" : cutTitle(`${action} ${target.split("\\n")[0]}`.trim());
}

/** First line of the plan, else of the patch that says something. */
export function planTitle({ plan, patch }: Pick<ExecuteRequest, "plan" | "patch">): string {
  return cutTitle(firstLine(plan !== undefined && plan.trim() !== "" ? plan : patch));
}

/** Fences, brackets and the marks that begin a patch say nothing to a reader. */
const MARKS = /^(?:[`~]{3,}\S*|[[\]{}(),]+|\*{3} (?:Begin|End) Patch|[<=>]{5,}.*|#{1,6} (?:Plan|Patch)|)$/i;

function firstLine(text: string): string {
  const lines = text
    .slice(0, 4_000)
    .split("\n")
    .map((line) => line.trim());
  return lines.find((line) => !MARKS.test(line)) ?? lines[0] ?? "";
}

/** By characters: bytes would split a Japanese one. */
function cutTitle(line: string): string {
  return [...line].slice(0, TITLE_CHARACTERS).join("");
}

/** The facts of a job, as they become known: its record is made of them. */
export class JobStory {
  readonly notes: Note[] = [];
  /** The commands that count in its record. */
  commands: readonly PatchCommand[] = [];
  warnings: readonly string[] = [];
  readonly #createdAt: Date;

  constructor(
    private readonly deps: WorkspaceDeps,
    public request: ExecuteRequest,
    private readonly job: { readonly jobId: string; readonly kind: string },
  ) {
    this.#createdAt = deps.now();
  }

  /** Sets the record's counted commands and title, if they are not known from the beginning. */
  describe(about: {
    readonly commands: readonly PatchCommand[];
    readonly warnings: readonly string[];
    readonly plan?: string | undefined;
    readonly patch?: string | undefined;
  }): void {
    const { plan = this.request.plan, patch = this.request.patch } = about;
    this.request = { ...this.request, patch, ...(plan !== undefined && { plan }) };
    this.commands = about.commands;
    this.warnings = about.warnings;
  }

  /** The record of a job: first while it runs, with its process, then as it ended. */
  record(outcome: JobOutcome, { results, changes, gitCommit }: RecordedEnd = NOTHING): JobRecord {
    const { root, mask, now, pid, birth } = this.deps;
    const { source, startedBy, request, reverses } = this.request;
    const totalCmds = this.commands.length;
    const executedCmds = results.filter(({ success }) => success).length;
    return {
      ...this.job,
      groupId: jobGroupId(this.request, this.job.jobId),
      workspace: root,
      source,
      startedBy,
      title: mask(listTitle(this.request)),
      ...(request !== undefined && { request: mask(request).slice(0, REQUEST_CHARACTERS) }),
      createdAt: this.#createdAt.toISOString(),
      finishedAt: now().toISOString(),
      outcome,
      pid,
      birth,
      success: executedCmds === totalCmds && (outcome === "committed" || outcome === "staged"),
      totalCmds,
      executedCmds,
      failedCmds: results.length - executedCmds,
      ...(gitCommit !== null && { gitCommit }),
      changes,
      notes: [...this.notes],
      ...(reverses !== undefined && { reverses }),
    };
  }
}
