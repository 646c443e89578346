import type { LineCounts } from "../patch/compare-lines.ts";
import type { ParseFailure, PatchCommand } from "../patch/patch-command.ts";
import type { ForeignRepository } from "../platform/git-index.ts";
import { ownMember } from "../platform/json-members.ts";
import type { RefusedDestination } from "../policy/network.ts";

/** One path that a command or a job really changed. Paths are relative to the workspace. */
export interface Change {
  readonly path: string;
  readonly kind: "added" | "modified" | "deleted";
  /** The part that git ignores: the path itself or the folder above, which ends in a slash. */
  readonly ignored?: string;
}

/** The changes that reports list and count: without folders added or deleted with their files, but with other folder changes. */
export function changedFiles<One extends Pick<Change, "path" | "kind">>(changes: readonly One[]): One[] {
  const folders = new Set(changes.map(({ path }) => path.slice(0, Math.max(0, path.lastIndexOf("/")))));
  return changes.filter(({ path, kind }) => kind === "modified" || !folders.has(path));
}

/** The git directory that contains a path. */
export function findGitFolder(path: string): string | undefined {
  return /^(?:.*?\/)?\.git(?=\/)/s.exec(path)?.[0];
}

/** The user's files count; git's bookkeeping counts once per repository, and only if nothing else changed. */
export function countFiles(changes: readonly Change[]): number {
  const folders = changedFiles(changes).map(({ path }) => findGitFolder(path));
  return folders.filter((folder) => folder === undefined).length || new Set(folders).size;
}

/** The kind of failure in a command's error text, where the user can be given more than that text. */
export type FailureReason =
  | { readonly code: "timeout"; readonly seconds: number }
  | {
      readonly code: "outside-workspace" | "git-missing" | "not-a-repository" | "no-space" | "read-only";
    };

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
  /** The command ran as a check, in a view that was discarded, so there is nothing to undo. */
  readonly checked?: boolean;
  /** Milliseconds. */
  readonly duration: number;
  readonly changes: readonly Change[];
  /** Information for the user beside success or failure: a protected file was touched, who committed, … */
  readonly notes: readonly Note[];
}

/** The result of a command for which no process ran. */
export function succeededResult(command: PatchCommand, changes: readonly Change[] = []): CommandResult {
  return { command, success: true, output: "", error: "", duration: 0, changes, notes: [] };
}

export const SKIPPED = "skipped (protected file)";

/** Written before the swap, so that a job whose process died in between can be undone: the state is authoritative. */
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
    /** Another job moved it away and has to be undone, or redone, first. */
    | "undo-first"
    | "redo-first"
    | "no-access"
    | "no-space"
    | "disk-error"
    | "read-only"
    | "too-many-files"
    | "other-mount"
    | "interrupted"
    /** The file would take effect in git, but was not validated as a file of git. */
    | "unjudged"
    /** The entry was moved and could not be restored. */
    | "kept-aside"
    /** A file in the record of an interrupted job, which cannot be completed without it; `newer`: of a newer version. */
    | "damaged"
    | "newer";
  /** The process that holds it open, the later or interrupted job, or the folder in which the entry is kept. */
  readonly by?: string;
}

/** Whether a job itself is half done, or was restored except for some paths: then something changed. */
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

const DISK_TROUBLES = ["no-space", "disk-error", "read-only", "too-many-files", "other-mount"] as const;

/** The reasons that are also troubles of a single file, with its words. */
export function isDiskTrouble(reason: Conflict["reason"]): reason is (typeof DISK_TROUBLES)[number] {
  return DISK_TROUBLES.some((one) => one === reason);
}

/** The system refused to change a path; there was no concurrent edit. */
export function isSystemTrouble({ reason }: Pick<Conflict, "reason">): boolean {
  return reason === "no-access" || isDiskTrouble(reason);
}

export interface EvictedJob {
  readonly jobId: string;
  readonly bytes: number;
}

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
    /** The folder in which jobs are kept cannot be created. */
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

/** The configuration requires something unavailable: confinement on a machine without it, a preview without staging. */
export interface SettingRefusal {
  readonly code: "confinement" | "network" | "preview";
  readonly message: string;
  /** Of the code `network`. Absent: `worker.network`. */
  readonly setting?: "worker.model_network";
}

/** The user's own agent works only in a confined overlay; the reason why there is none. `message`: in English. */
type HeadRefusal = Readonly<{ code: "head"; reason: TransactionReason | "unconfined"; message: string }>;

export type JobRefusal = BeginRefusal | AutoCommitRefusal | SettingRefusal | HeadRefusal;

/** The result of a job, in no language: every surface, stored reply and printed document is built from it. */
export type JobResult = RefusedJob | RanJob;

export interface RefusedJob {
  readonly about: "refusal";
  readonly status: "refused";
  readonly workspace: string;
  readonly why:
    | ({ readonly kind: "not-a-patch" } & ParseFailure)
    | { readonly kind: "refused"; readonly refusal: JobRefusal };
}

export interface JobFigures {
  readonly jobId: string;
  readonly groupId: string;
  readonly workspace: string;
  readonly kind: string;
  /** Every command succeeded, and its changes are applied or staged as requested. */
  readonly success: boolean;
  /** Commands of the patch; more than there are results where the job stopped early. */
  readonly totalCmds: number;
  readonly executedCmds: number;
  readonly failedCmds: number;
  readonly changes: readonly Change[];
  readonly gitCommit?: string;
  readonly notes: readonly Note[];
}

export function toFigures(job: JobFigures): JobFigures {
  const { jobId, groupId, workspace, kind, success, changes, notes, gitCommit } = job;
  const { totalCmds, executedCmds, failedCmds } = job;
  const figures = { jobId, groupId, workspace, kind, success, totalCmds, executedCmds, failedCmds };
  return { ...figures, changes, notes, ...(gitCommit !== undefined && { gitCommit }) };
}

export interface RanJob extends JobFigures {
  readonly about: "job";
  readonly status: JobStatus;
  readonly numbers?: JobNumbers;
  readonly outcome: JobOutcome | "dry-run";
  readonly dryRun: boolean;
  readonly commands: readonly CommandResult[];
  /** Lines that changed in a file, by its path; only if they were counted. */
  readonly lineCounts?: Readonly<Record<string, LineCounts>>;
  readonly undo: UndoState;
  /** The outcome if the job was to leave nothing, including whether that succeeded. */
  readonly ending?: "rolled-back" | "aborted" | "kept-after-failure" | "workspace-gone";
  readonly conflicts: readonly Conflict[];
  readonly evicted: readonly EvictedJob[];
  readonly quotaBytes: number;
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

/** `keptAfterFailure`: it could not be rolled back; `workspaceGone`: the folder to apply it to no longer exists. */
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

/** A command as it would run: a script with all its lines, so that none is hidden. */
export function wholeCommand({ type, action, target, content }: PatchCommand): string {
  const isScript = type === "shell_command" && content !== "";
  const text = (isScript ? `${target} ${content}` : target).replaceAll("\r\n", "\n").trim();
  return `${type} ${action} ${text.replaceAll("\n", "\n    ")}`;
}

/** How the changes of a job are staged; `none` stages nothing and runs in the workspace itself. */
export type TransactionKind = "direct" | "overlay" | "copy" | "none";

export type TransactionReason =
  | "file-edits-only"
  | "configured"
  | "overlay-available"
  | "no-bubblewrap"
  | "no-user-namespaces"
  | "mount-below-workspace"
  | "foreign-group"
  | "folds-case"
  | "not-linux"
  | "overlay-failed";

export type NotCovered = "network" | "daemons" | "other-folders" | "forge";

/** A commit, undo or redo that was cut off, as by a kill or a power cut. */
export interface Interruption {
  readonly direction: "commit" | "undo" | "redo";
  /** `open`: not repaired yet. `taken-back`: everything was restored. */
  readonly outcome: "open" | "finished" | "taken-back";
  /** Paths that were edited before the repair, which left them unchanged. */
  readonly left: readonly string[];
  /** Absent if everything could be put back. */
  readonly aside?: KeptAside;
}

/** Entries from before a swap whose folder is gone or whose path is occupied now. Only the user removes them. */
export interface KeptAside {
  /** Where they are, each under its path; absolute. */
  readonly folder: string;
  readonly paths: readonly string[];
  /** The folder no longer exists: a person removed it or moved it away. */
  readonly removed?: true;
}

/** The current files of an interrupted swap that is not repaired yet, by the user's paths. */
export interface InterruptedFiles {
  /** As before the job; one that the job adds is absent. */
  readonly before: readonly string[];
  /** As the job left it; one that the job deletes is absent. */
  readonly after: readonly string[];
  /** Absent, though both sides have one. */
  readonly moved: readonly {
    readonly path: string;
    /** The absolute path of the earlier file. Null if it is not found. */
    readonly at: string | null;
  }[];
  /** Changed since by the user or another program. */
  readonly edited: readonly string[];
}

export interface OpenInterruption {
  readonly jobId: string;
  readonly direction: Interruption["direction"];
  /** Null where the record that names them cannot be read. */
  readonly files: InterruptedFiles | null;
}

export interface KeptAsideFolder {
  readonly jobId: string;
  /** Absolute. */
  readonly folder: string;
  /** Without folders. */
  readonly files: number;
  readonly bytes: number;
}

/**
 * The entries that a seal did not carry over, or carried over differently than the job left them. `special`, `device`,
 * `unreadable`: not committed. `hidden`: the job could not see it. `apart`: changed there, or on another mount. `holds-hidden`: a folder that stays for that reason. `owner`,
 * `group`: a changed file that could not keep them. `other-names`: hard links that part. `folder-owner`, `folder-attributes`: the
 * job's changes to a folder that existed before. `power`: set-user-id, set-group-id and sticky bits that were taken off. `root-mode`:
 * that of the workspace's own folder. `times`: nothing else was changed. `home-unusable`: the home that jobs share was put aside.
 */
export type SealedOtherwise =
  | "special"
  | "device"
  | "unreadable"
  | "hidden"
  | "apart"
  | "holds-hidden"
  | "stale-lock"
  | "home-unusable"
  | "owner"
  | "group"
  | "other-names"
  | "folder-owner"
  | "folder-attributes"
  | "power"
  | "root-mode"
  | "times";

export interface SealNote {
  readonly code: "sealed-otherwise";
  readonly what: SealedOtherwise;
  /** The first of them. */
  readonly paths: readonly string[];
  readonly count: number;
}

const KEPT = 20;

export function sealNote(what: SealedOtherwise, ...paths: readonly string[]): SealNote {
  return { code: "sealed-otherwise", what, paths: paths.slice(0, KEPT), count: paths.length };
}

/** One note for each kind, in order of first occurrence. */
export function gatherSealNotes(notes: readonly SealNote[]): SealNote[] {
  const gathered = new Map<SealedOtherwise, SealNote>();
  for (const { what, paths, count } of notes) {
    const before = gathered.get(what) ?? sealNote(what);
    const all = before.paths.length < KEPT ? [...before.paths, ...paths].slice(0, KEPT) : before.paths;
    gathered.set(what, { ...before, paths: all, count: before.count + count });
  }
  return [...gathered.values()];
}

/** Information beside success or failure. A fact is worded for its reader; a text is a path, a program's words, or of an older version. */
export type Note = string | NoteFact;

/** The exit code, or why there is none. `not-run`: the hook could not be started, or was ended. */
export type HookEnd = number | "timeout" | "not-run";

export interface HookRun {
  readonly command: string;
  readonly ended: HookEnd;
  readonly output: string;
}

export type NoteFact =
  | SealNote
  | { readonly code: "staging"; readonly kind: TransactionKind; readonly reason: TransactionReason }
  | { readonly code: "not-covered"; readonly what: readonly NotCovered[] }
  | { readonly code: "auto-commit-failed"; readonly error: string }
  /** `by`: the job whose change it was; null where it was made outside of PicoClaw. `lost`: the coder saw it and replaced it. */
  | { readonly code: "merged"; readonly path: string; readonly by: string | null; readonly lost?: true }
  /** Parts of the coder's last answer that look like a part of the patch, and that nothing carried out. */
  | { readonly code: "answer-skipped"; readonly parts: readonly string[] }
  /** A hook that prevented the job from landing. */
  | (HookRun & { readonly code: "hook-refused" })
  /** A hook that failed after the job was done; nothing depends on it. */
  | (HookRun & { readonly code: "hook-failed"; readonly moment: string })
  | {
      readonly code:
        | "protected-restored"
        | "protected-created"
        | "protected-logged"
        | "filter-unknown"
        | "home-hidden"
        | "secret-hidden"
        | "home-left-out"
        /** A damaged record of the job's undo data was rebuilt without these. */
        | "rebuilt";
      readonly paths: readonly string[];
    }
  | {
      readonly code: "host-refused";
      readonly host: string;
      readonly port?: number;
      readonly reason: RefusedDestination;
      readonly count: number;
      /** The list was `worker.model_network`'s. Absent: `worker.network`'s. */
      readonly list?: "model";
    }
  /** The hosts to which commands had connections through a list. */
  | {
      readonly code: "hosts-reached";
      readonly hosts: readonly { readonly host: string; readonly count: number }[];
    }
  | RepairedNote
  | (ForeignRepository & { readonly code: "foreign-repository" })
  | { readonly code: "network-limited"; readonly network: "off" | "allow-list"; readonly list?: "model" }
  | {
      readonly code: "limit-met";
      readonly limit: "memory" | "file_size" | "open_files" | "processes";
      readonly value: number;
    }
  | {
      readonly code:
        | "memory-ran-out"
        /** Told once: what a model starts had the open network in earlier versions. */
        | "model-network"
        /** The list of `worker.model_network` does not hold, because nothing confines here. */
        | "model-network-open"
        | "not-confined"
        | "limited"
        | "shell-not-undoable"
        | "undone-by-task"
        | "identity-fallback"
        | "signing-skipped"
        | "rename-across-layers"
        | "link-across-layers"
        | "foreign-owner"
        | "foreign-owner-met";
    };

/** Groups the thousands of files of one tool under one name: the tool's, or with a folder that many of them share. */
export function homeLeftOut(paths: readonly string[]): NoteFact {
  const named = paths.map((path) => {
    const parts = path.split("/");
    const dot = parts.findIndex((part) => part.startsWith("."));
    const depth = dot + (SHARED_FOLDERS.has(parts[dot] ?? "") ? (parts[dot] === ".local" ? 3 : 2) : 1);
    return dot < 0 ? path : parts.slice(0, depth).join("/");
  });
  return { code: "home-left-out", paths: [...new Set(named)].slice(0, KEPT) };
}

const SHARED_FOLDERS: ReadonlySet<string> = new Set([".config", ".cache", ".local"]);

/** The hook that prevented a job from landing; undefined: none, or the job has landed since. */
export function findHookRefusal(notes: readonly Note[]) {
  return notes.find(isHookRefusal);
}

export function isHookRefusal(note: Note): note is Extract<NoteFact, { code: "hook-refused" }> {
  return typeof note !== "string" && note.code === "hook-refused";
}

export interface RepairedNote {
  readonly code: "repaired";
  readonly jobId: string;
  readonly direction: Interruption["direction"];
  readonly outcome: "finished" | "taken-back";
  /** Left out of it. */
  readonly paths: readonly string[];
  readonly aside?: KeptAside;
}

export function isSameNote(one: Note, other: Note): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Masks secrets in every text of a note. */
export function maskNote(note: Note, mask: (text: string) => string): Note {
  if (typeof note === "string") return mask(note);
  if ("paths" in note) return { ...note, paths: note.paths.map(mask) };
  if ("parts" in note) return { ...note, parts: note.parts.map(mask) };
  if ("path" in note) return { ...note, path: mask(note.path) };
  if ("error" in note) return { ...note, error: mask(note.error) };
  return "host" in note ? { ...note, host: mask(note.host) } : note;
}

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

/** No other text may become the name of a folder. */
export function isJobId(name: string): boolean {
  return /^job_\d{1,12}_[0-9a-z]{8}$/.test(name);
}

/** `job_<unix seconds>_<8 characters>`. */
export function newJobId(now: Date, random: (bytes: number) => Uint8Array): string {
  let name = "";
  for (const byte of random(8)) name += ALPHABET[byte % ALPHABET.length];
  return `job_${Math.floor(now.getTime() / 1000)}_${name}`;
}

export type NamedJob = { readonly jobId: string; readonly number?: number | undefined };

/** A job as people name it: `#4`, its id where it has no number. */
export function nameJob({ jobId, number }: NamedJob): string {
  return number === undefined ? jobId : `#${number}`;
}

/** Members of facts that name a job, or several with spaces between them, and lists whose members do. */
const NAMES = ["jobId", "name", "by", "mergedBy"];
const LISTS = ["conflicts", "evicted", "notes", "done"];

/** The facts with each job under the name that `name` gives it. */
export function renameJobs<Facts extends object>(facts: Facts, name: (jobId: string) => string): Facts {
  const renamed: Record<string, unknown> = Object.fromEntries(Object.entries(facts));
  for (const [key, value] of Object.entries(facts))
    if (NAMES.includes(key) && typeof value === "string") renamed[key] = value.split(" ").map(name).join(" ");
    else if (LISTS.includes(key) && Array.isArray(value))
      renamed[key] = value.map((one: unknown) =>
        typeof one === "object" && one !== null ? renameJobs(one, name) : one,
      );
  return renamed as Facts;
}

/** The facts as they are worded: with numbers instead of ids. */
export function nameByNumber<Facts extends { readonly numbers?: JobNumbers }>(facts: Facts): Facts {
  const { numbers = {} } = facts;
  return renameJobs(facts, (jobId) => nameJob({ jobId, number: ownMember(numbers, jobId) }));
}

/**
 * The status of a job: the one vocabulary of every surface. `partly` is applied with commands that failed; `worse` is not applied
 * because the project's checks got worse, `unended` because one did not end. `discarded` is a preview that the user discarded. A
 * `running` or `interrupted` job has no result; that of an `unreadable` one is unknown.
 */
export const JOB_STATUSES = [
  "applied",
  "partly",
  "preview",
  "worse",
  "unended",
  "stopped",
  "discarded",
  "no-change",
  "taken-back",
  "refused",
  "running",
  "interrupted",
  "unreadable",
] as const;

export type JobStatus = (typeof JOB_STATUSES)[number];

export type UndoState = "available" | "unavailable" | "none" | "undone";

/** `begun`: a swap began and did not end; `halted`: and needs a record that is damaged or newer; `due`: its commit did not begin. */
export type Unsettled = "begun" | "halted" | "due";

export const PROCESS_DIED = "its process died";

export interface JobStatusFacts {
  /** The state of its transaction: `running`, `staged`, `committed`, `undone`, `discarded`, `evicted`. */
  readonly state: string;
  /** How it ended: `staged` for one that was kept as a preview. */
  readonly outcome?: string;
  readonly reason?: string;
  /** The kind of its transaction; `none` ran in place, so its changes are not fully known. */
  readonly kind: string;
  /** The number of changed files; 0 only where nothing changed. */
  readonly changeCount: number;
  readonly totalCmds: number;
  readonly executedCmds: number;
  readonly unsettled?: Unsettled;
  /** The file of its record that cannot be read. */
  readonly damaged?: string;
  /** Why a draft was kept instead of landing. */
  readonly red?: RedReason;
  readonly interruptions?: readonly { readonly aside?: unknown }[];
  /** The last repair produced the job's current state. */
  readonly standsRepaired?: true;
}

/** `failing`: its own commands. `worse`: the checks. `unended`: a check that ended before. `still-red`: a test that it answers for. */
export type RedReason = "failing" | "worse" | "unended" | "still-red" | "new-failing" | "conflict" | "hook";

export function toKeptStatus(red: RedReason | undefined): "preview" | "worse" | "unended" {
  return red === "worse" || red === "unended" ? red : "preview";
}

/** `alive`: whether the process of a running job still works on it. */
export function toJobStatus(job: JobStatusFacts, alive: boolean): JobStatus {
  if (job.damaged !== undefined) return "unreadable";
  if (job.unsettled !== undefined) return alive && job.state === "staged" ? "running" : "interrupted";
  switch (job.state) {
    case "running":
      return alive ? "running" : "interrupted";
    case "undone":
      return job.changeCount > 0 ? "taken-back" : "no-change";
    case "staged": {
      const isAside = job.standsRepaired === true && job.interruptions?.at(-1)?.aside !== undefined;
      return isAside ? "interrupted" : toKeptStatus(job.red);
    }
    case "discarded":
      if (job.outcome === "answered") return "no-change";
      if (job.outcome === "aborted" && job.reason === PROCESS_DIED) return "interrupted";
      return job.outcome === "staged" ? "discarded" : "stopped";
    default:
      return statusOfApplied(job);
  }
}

function statusOfApplied({ kind, changeCount, totalCmds, executedCmds }: JobStatusFacts): JobStatus {
  const changed = changeCount > 0 || (kind === "none" && executedCmds > 0);
  if (!changed) return "no-change";
  return executedCmds < totalCmds ? "partly" : "applied";
}

export function toUndoState({
  state,
  kind,
  changeCount,
  unsettled,
}: Pick<JobStatusFacts, "state" | "kind" | "changeCount" | "unsettled">): UndoState {
  // An undo finishes the interrupted swap, and then reverts it.
  if (unsettled === "halted") return "unavailable";
  if (unsettled === "begun") return changeCount > 0 ? "available" : "none";
  if (state === "undone") return changeCount > 0 ? "undone" : "none";
  if (state === "evicted" || kind === "none") return "unavailable";
  return state === "committed" && changeCount > 0 ? "available" : "none";
}
