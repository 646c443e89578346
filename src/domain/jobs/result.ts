import type { LineCounts } from "../patch/compare-lines.ts";
import type { ParseFailure, PatchCommand } from "../patch/patch-command.ts";
import type { Messages } from "../texts/jobs.ts";
import { type JobStatus, toJobStatus, toUndoState, type UndoState } from "./job-status.ts";
import type { Note, TransactionReason } from "./note.ts";

/** One path that a command or a job really changed. Paths are relative to the workspace. */
export interface Change {
  readonly path: string;
  readonly kind: "added" | "modified" | "deleted";
  /** The part that git ignores: the path itself or the folder above, which ends in a slash. */
  readonly ignored?: string;
}

/**
 * The changes that every report lists and counts. A folder that was added or removed with its files is not counted; one that was
 * a file before, or got another mode, is.
 */
export function changedFiles<One extends Pick<Change, "path" | "kind">>(changes: readonly One[]): One[] {
  const folders = new Set(changes.map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf("/")))));
  return changes.filter(({ path, kind }) => kind === "modified" || !folders.has(path));
}

/** The git directory that contains a path. */
export function findGitFolder(path: string): string | undefined {
  return /^(?:.*?\/)?\.git(?=\/)/s.exec(path)?.[0];
}

/** The user's files count; git's bookkeeping counts once a repository, and only where nothing else changed. */
export function countFiles(changes: readonly Change[]): number {
  const folders = changedFiles(changes).map(({ path }) => findGitFolder(path));
  return folders.filter((folder) => folder === undefined).length || new Set(folders).size;
}

/** The kind of failure in a command's error text, where the user can be given more than that text. */
export type FailureReason =
  | { readonly code: "timeout"; readonly seconds: number }
  | { readonly code: "outside-workspace" }
  | { readonly code: "git-missing" }
  | { readonly code: "not-a-repository" }
  | { readonly code: "no-space" }
  | { readonly code: "read-only" };

export interface ProcessEnd {
  /** Null when a signal, a timeout or an abort ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandResult {
  readonly command: PatchCommand;
  readonly success: boolean;
  readonly output: string;
  readonly error: string;
  readonly reason?: FailureReason;
  /** How a shell command ended and what it printed, stream by stream; absent where nothing was started. */
  readonly process?: ProcessEnd;
  /** It ran as a check, in a view that was thrown away: nothing of it is left to undo. */
  readonly checked?: boolean;
  /** Milliseconds. */
  readonly duration: number;
  readonly changes: readonly Change[];
  /** Information for the user beside success or failure: a protected file was touched, who committed, … */
  readonly notes: readonly Note[];
}

/**
 * How the job ended, or was about to end when this was written: the record is written before the swap, so
 * that a job whose process died in between can still be undone. The state is authoritative.
 */
export type JobOutcome =
  | "running"
  | "committed"
  | "staged"
  | "conflict"
  | "rolled-back"
  /** A coder answered in words, or with a plan, and proposed no change. */
  | "answered"
  | "aborted";

/** A path that kept a job from being committed or undone. */
export interface Conflict {
  readonly path: string;
  readonly reason:
    | "changed"
    | "exists"
    | "missing"
    | "open"
    | "parent-missing"
    /** Another job moved it away: that one is to be undone, or redone, first. */
    | "undo-first"
    | "redo-first"
    | "no-access"
    | "no-space"
    | "disk-error"
    | "interrupted"
    /** It would become live for git, and was never judged as git's. */
    | "unjudged"
    /** It had been moved, and could not be put back. */
    | "kept-aside"
    /** A file in the record of an interrupted job, which cannot be completed without it; `newer`: of a newer version. */
    | "damaged"
    | "newer";
  /**
   * The process that holds it open, the later job that changed it, the job that was cut off there, or the folder in which
   * the entry is kept.
   */
  readonly by?: string;
}

/** Whether a job itself is half done, or was put back but for some paths: then something changed. */
export function isHalfDone(conflicts: readonly Conflict[], jobId?: string): boolean {
  return conflicts.some(
    ({ reason, by }) =>
      reason === "kept-aside" || (isOfInterrupted(reason) && (jobId === undefined || by === jobId)),
  );
}

/** Whether the path of a conflict belongs to a job that was cut off half-way. */
export function isOfInterrupted(reason: Conflict["reason"]): boolean {
  return reason === "interrupted" || reason === "damaged" || reason === "newer";
}

/** The system refused to change a path; there was no concurrent edit. */
export function isSystemTrouble({ reason }: Conflict): boolean {
  return reason === "no-access" || reason === "no-space" || reason === "disk-error";
}

/** A job whose undo data was removed because the quota was exceeded. */
export interface EvictedJob {
  readonly jobId: string;
  readonly bytes: number;
}

/** The numbers of the jobs that a result names, by their ids. */
export type JobNumbers = Readonly<Record<string, number>>;

/** Why no view could be opened; nothing ran. */
export interface BeginRefusal {
  readonly code:
    | "too-large"
    | "workspace-missing"
    | "not-a-directory"
    | "no-space"
    | "read-only"
    | "permission"
    /** The place where jobs are kept cannot be made. */
    | "storage"
    /** A file of the program itself is missing; `message` is its path. */
    | "installation"
    /** `left`: so few more processes can be started that no command could run. */
    | "no-processes"
    | "failed";
  readonly message: string;
  readonly path?: string;
  readonly left?: number;
  readonly bytes?: number;
  readonly limitBytes?: number;
}

interface AutoCommitRefusal {
  readonly code: "auto-commit";
  readonly cause: "git-missing" | "not-a-repository" | "failed";
  readonly message: string;
}

/** The configuration asks for what cannot be had: confinement on a machine without, a preview without staging. */
export interface SettingRefusal {
  readonly code: "confinement" | "network" | "preview";
  readonly message: string;
}

/** An agent of the user works in a confined overlay only; the reason why there is none. `message`: in English. */
type HeadRefusal = Readonly<{ code: "head"; reason: TransactionReason | "unconfined"; message: string }>;

export type JobRefusal = BeginRefusal | AutoCommitRefusal | SettingRefusal | HeadRefusal;

/** The result of a job, in no language: every surface, stored reply and printed document is made of it. */
export type JobResult = RefusedJob | RanJob;

/** A job that never began. */
export interface RefusedJob {
  readonly about: "refusal";
  readonly status: "refused";
  readonly workspace: string;
  readonly why:
    | ({ readonly kind: "not-a-patch" } & ParseFailure)
    | { readonly kind: "refused"; readonly refusal: JobRefusal };
}

/** The figures of a job that its record keeps and its result tells. */
export interface JobFigures {
  readonly jobId: string;
  readonly groupId: string;
  readonly workspace: string;
  readonly kind: string;
  /** Every command succeeded, and what it was to bring in is in, or staged. */
  readonly success: boolean;
  /** Commands of the patch; more than there are results where the job stopped early. */
  readonly totalCmds: number;
  readonly executedCmds: number;
  readonly failedCmds: number;
  readonly changes: readonly Change[];
  readonly gitCommit?: string;
  readonly notes: readonly Note[];
}

export interface RanJob extends JobFigures {
  readonly about: "job";
  readonly status: JobStatus;
  /** Absent where no job is known by a number. */
  readonly numbers?: JobNumbers;
  readonly outcome: JobOutcome | "dry-run";
  readonly dryRun: boolean;
  readonly commands: readonly CommandResult[];
  /** Lines that changed in a file, by its path; only if they were counted. */
  readonly lineCounts?: Readonly<Record<string, LineCounts>>;
  readonly undo: UndoState;
  /** How it ended where nothing of it was to stay, or where that could not be had. */
  readonly ending?: "rolled-back" | "aborted" | "kept-after-failure" | "workspace-gone";
  /** The conflicts that prevented the commit. */
  readonly conflicts: readonly Conflict[];
  readonly evicted: readonly EvictedJob[];
  readonly quotaBytes: number;
  /** Background processes that ended with it. */
  readonly ended: readonly string[];
  /** Paths of the workspace that changed meanwhile, though not through it. */
  readonly outside: readonly string[];
  /** The parser's; not kept with the job. */
  readonly warnings?: readonly string[];
}

export function refuseJob(workspace: string, refusal: JobRefusal): RefusedJob {
  return { about: "refusal", status: "refused", workspace, why: { kind: "refused", refusal } };
}

export function refusePatch(workspace: string, failure: ParseFailure): RefusedJob {
  return { about: "refusal", status: "refused", workspace, why: { kind: "not-a-patch", ...failure } };
}

const STATES = {
  committed: "committed",
  staged: "staged",
  "dry-run": "staged",
  conflict: "staged",
  running: "running",
  "rolled-back": "discarded",
  answered: "discarded",
  aborted: "discarded",
} as const;

/** Facts that most jobs do not have. */
const NOTHING_BESIDE = {
  failedCmds: 0,
  notes: [],
  conflicts: [],
  evicted: [],
  quotaBytes: 0,
  ended: [],
  outside: [],
} as const;

type EndedJob = Omit<
  RanJob,
  "about" | "status" | "dryRun" | "undo" | "ending" | keyof typeof NOTHING_BESIDE
> &
  Partial<Pick<RanJob, keyof typeof NOTHING_BESIDE>>;

/**
 * The result of a job that has just ended. `keptAfterFailure`: it was to be rolled back, and could not be;
 * `workspaceGone`: there was no folder any more to bring it into.
 */
export function toRanJob(
  ended: EndedJob,
  {
    keptAfterFailure = false,
    workspaceGone = false,
  }: { keptAfterFailure?: boolean; workspaceGone?: boolean } = {},
): RanJob {
  const job = { ...NOTHING_BESIDE, ...ended };
  const { outcome, conflicts, kind, changes, totalCmds, executedCmds } = job;
  const denied = conflicts.length > 0 && conflicts.every(isSystemTrouble);
  const standing = { kind, changeCount: changes.length, totalCmds, executedCmds };
  return {
    about: "job",
    // A preview with forbidden writes cannot be tried again unchanged.
    status: denied
      ? "refused"
      : isHalfDone(conflicts, job.jobId)
        ? "interrupted"
        : toJobStatus({ ...standing, state: STATES[outcome] }, true),
    ...job,
    dryRun: outcome === "dry-run",
    undo: toUndoState({ ...standing, state: outcome === "committed" ? "committed" : "discarded" }),
    ...(keptAfterFailure && { ending: "kept-after-failure" }),
    ...((outcome === "rolled-back" || outcome === "aborted") && { ending: outcome }),
    ...(workspaceGone && { ending: "workspace-gone" }),
  };
}

/** As a result is kept and sent: without the parsed edits, the streams of processes and the parser's warnings. */
export function toPlainResult({ warnings: _, ...job }: RanJob): RanJob {
  return { ...job, commands: job.commands.map(toPlainCommand) };
}

function toPlainCommand({
  command: { edit: _, ...command },
  process: __,
  ...result
}: CommandResult): CommandResult {
  return { command, ...result };
}

/** `✓ [1] type action target (12ms)`, and the error four spaces in on a line of its own. */
export function formatExecutionResults(results: readonly CommandResult[], messages: Messages): string {
  return results.map((result, index) => formatResult(result, index, messages)).join("\n");
}

export function formatResult(result: CommandResult, index: number, messages: Messages): string {
  const { type, action, target } = result.command;
  const status = result.success ? "✓" : "✗";
  const line = `${status} [${index + 1}] ${type} ${action} ${oneLine(target)} (${result.duration}ms)`;
  return result.error === "" ? line : `${line}\n    ${messages.errorLabel} ${result.error}`;
}

/** The executor's fixed sentences in the reader's language; a program's output stays as it was printed. */
export function wordError({ errorWords }: Messages, error: string): string {
  const said = error.split(" (output: ", 1)[0] ?? "";
  let text = said;
  for (const [fixed, own] of Object.entries(errorWords)) text = text.replace(new RegExp(fixed, "gm"), own);
  return text + error.slice(said.length);
}

/** A shell script is shown by its first significant line. */
export function oneLine(target: string): string {
  const trimmed = target.trim();
  const end = trimmed.search(/\r?\n/);
  return end === -1 ? trimmed : `${trimmed.slice(0, end).trimEnd()} …`;
}

/** A command as it would run: a script with all its lines, so that none is out of sight. */
export function wholeCommand({ type, action, target, content }: PatchCommand): string {
  const isScript = type === "shell_command" && content !== "";
  const text = (isScript ? `${target} ${content}` : target).replaceAll("\r\n", "\n").trim();
  return `${type} ${action} ${text.replaceAll("\n", "\n    ")}`;
}
