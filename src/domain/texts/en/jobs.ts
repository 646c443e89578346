import type {
  HookEnd,
  HookRun,
  Interruption,
  JobStatus,
  KeptAside,
  KeptAsideFolder,
  NotCovered,
  RepairedNote,
  SealedOtherwise,
  SealNote,
  TransactionKind,
  TransactionReason,
} from "../../jobs/result.ts";
import type { ForeignRepository } from "../../platform/git-index.ts";
import type { FileTrouble, MachinePromise, Remedy, SandboxPart } from "../../platform/machine-trouble.ts";
import { type ConfigProblem, type ConfigWarning, filePositionText, NOTHING } from "../config-problem.ts";
import {
  formatBytes,
  jobOrder,
  listPaths,
  many,
  nameFew,
  namePaths,
  type Wording,
  wordBy,
  wordFact,
} from "../format-text.ts";
import type { Locale } from "../locale.ts";

/** Why a repository above is not the workspace's own, and what helps. */
const NOT_OWN: Readonly<Record<Exclude<ForeignRepository["why"], "elsewhere">, string>> = {
  home: "its root is a home, or holds one.",
  owner:
    "it belongs to another user. If you trust it, name it in your own git settings: git config --global --add safe.directory FOLDER",
  untracked: "it tracks no file here or in the folder above. To work with it: git add a file of this folder.",
};

type CommandCounts = Readonly<Record<"total" | "fileEdits" | "shellCommands" | "gitOperations", number>>;

const SWAPS = { commit: "being applied", undo: "being undone", redo: "being applied again" } as const;

const more = (rest: number) => `… and ${rest} more`;
const paths = (list: readonly string[]) => listPaths(list, more);

const hookEnded = (ended: HookEnd) =>
  ended === "timeout" ? "took too long" : ended === "not-run" ? "could not run" : `ended with ${ended}`;
const quoted = (output: string) => (output === "" ? "." : `:\n${output}`);

const KINDS: Readonly<Record<TransactionKind, string>> = {
  direct: "direct (only the files that are edited)",
  overlay: "overlay (run in a layer over the workspace)",
  copy: "copy (run in a copy of the workspace)",
  none: "none (run in the workspace itself)",
};

const REASONS: Readonly<Record<TransactionReason, string>> = {
  "file-edits-only": "the patch only edits files",
  configured: "set by worker.transaction",
  "overlay-available": "bubblewrap is available",
  "no-bubblewrap": "bubblewrap is not installed",
  "no-user-namespaces": "user namespaces are not allowed",
  "mount-below-workspace": "the workspace contains another mount",
  "foreign-group": "files of another group or owner cannot be changed in an overlay",
  "folds-case": "this file system does not distinguish upper and lower case",
  "not-linux": "this is not Linux",
  "overlay-failed": "the overlay could not be made",
};

const NOT_COVERED: Readonly<Record<NotCovered, string>> = {
  network: "what was done over the network",
  daemons: "programs left running",
  "other-folders": "folders outside the workspace",
  forge: "what was pushed to the forge",
};

const TROUBLES: Readonly<Record<FileTrouble, string>> = {
  "no-space": "No space left on the disk",
  "disk-error": "The disk could not read or write (an input/output error)",
  "read-only": "Read-only file system",
  "too-many-files": "Too many open files (raise the limit, for example: ulimit -n 1024)",
  "other-mount": "On another mount, where no job can land",
  "permission-denied": "Permission denied",
  "not-text": "Not UTF-8 text",
  "is-directory": "The target is a directory",
  "not-directory": "Not a directory",
  vanished: "The file vanished meanwhile",
  exists: "Already exists",
  "not-found": "Not found",
  busy: "In use by another process",
  "name-too-long": "The name is too long",
  "too-large": "The file is larger than 64 MiB, or has no end",
};

/** Why a job can be neither undone nor redone, by its state. */
const JOB_STATES: Readonly<Record<string, string>> = {
  running: "it is still running",
  discarded: "it was discarded",
  evicted: "its undo data was removed",
};

export const workTexts = {
  locale: "en" as Locale,

  // The result of a job
  parseError:
    "The patch is not in a valid format. Write it as JSON, Markdown, a unified diff, V4A or SEARCH/REPLACE.",
  parseErrorDetail: (detail: string, line: number | null): string =>
    line === null ? `Detail: ${detail}` : `Detail (line ${line}): ${detail}`,
  commandFailed: (detail: string) => `The command failed: ${detail}`,
  timeout: (seconds: number) => `The command timed out (limit: ${seconds} seconds)`,
  securityViolation: "Security error: writing outside the workspace is not allowed.",
  patchFailed: (detail: string) => `The patch could not be executed: ${detail}`,
  details: "Details:",
  errorLabel: "Error:",
  /** The executor's sentences for a person, by patterns of the English that programs read: advice for a model is left out. */
  errorWords: {
    "(the result of this edit already, at line \\d+|matches \\d+ places \\(lines [^)]*\\))[:;] .*$": "$1",
  } as Readonly<Record<string, string>>,
  summary: ({ total, succeeded, failed }: Record<"total" | "succeeded" | "failed", number>) =>
    `Run: ${total}, succeeded: ${succeeded}, failed: ${failed}`,
  gitCommit: (hash: string) => `Git commit: ${hash}`,
  executionSummary: ({ total, fileEdits, shellCommands, gitOperations }: CommandCounts) =>
    `About to run: ${total} (file_edit: ${fileEdits}, shell_command: ${shellCommands}, git_operation: ${gitOperations})`,
  changeKinds: { added: "added", modified: "modified", deleted: "deleted" },
  changesHeader: (count: number) => `Changed files: ${count}`,
  checksNeedTrust:
    "Not checked: commands cannot be confined on this machine, and checks run the project's own code. To run them anyway: `picoclaw trust` in this folder. To confine them: install bubblewrap.",
  rolledBack: (error: string) =>
    `Failed: ${error}. Every change was undone; the workspace is as it was before.`,
  cannotRollBack: (error: string) =>
    `Failed: ${error}. Git auto-commit is off, so this cannot be rolled back. Please recover by hand.`,
  jobLine: (jobId: string) => `Job: ${jobId}`,

  // The reply in a chat
  workerFailed: (error: string) => `The job failed: ${error}`,

  // Transaction
  commitConflict: (jobId: string, list: readonly string[], at: "terminal" | "chat") =>
    `Nothing was applied, because these were changed by something else meanwhile:${paths(list)}\n` +
    `The result is kept as a preview. Look at it: ${jobOrder(at, "diff", jobId)}\n` +
    `To apply it as it is: ${jobOrder(at, "apply", jobId)} (it stops again while the same files still differ)`,
  dryRunHeader: (count: number) => `Dry run: ${many(count, "command")} (nothing was run)`,
  dryRunLine: (index: number, command: string) => `[${index}] ${command}`,
  trialJobFailed: (complaint: string) => `A job with a command cannot run here: ${complaint.split("\n")[0]}`,
  transactionKind: (kind: TransactionKind, reason: TransactionReason) =>
    `Transaction: ${KINDS[kind]}: ${REASONS[reason]}`,
  copyLimitExceeded: ({ bytes, limitBytes }: { readonly bytes: number; readonly limitBytes: number }) =>
    `The workspace is too large to copy (${formatBytes(bytes)}, limit ${formatBytes(limitBytes)}). ` +
    "Shell commands and git operations were not run. Any of these solves it:",
  notCovered: (what: readonly NotCovered[]) =>
    `Undo does not cover: ${what.map((one) => NOT_COVERED[one]).join(", ")}`,
  shellNotUndoable: "worker.transaction is none: the effects of shell commands cannot be undone.",
  undoIsTheTasks:
    "in an environment the task is undone as a whole, by git (git diff, git reset in its clone); single edits with undo_edit",
  aborted: "stopped",
  renameAcrossLayers:
    "In an overlay a folder cannot be renamed in one step. Use `mv OLD NEW` (with git: `mv OLD NEW && git add -A`), or set worker.transaction: copy.",
  notConfined:
    "Commands are not confined here: they can read and change everything that you can. To see what helps: picoclaw doctor",
  linkAcrossLayers:
    "In an overlay a local clone cannot share files by hard links. Use `git clone --no-hardlinks`, or set worker.transaction: copy.",
  foreignOwner:
    "In an overlay a file that belongs to another user cannot be changed in place. Make it yours (sudo chown), or set worker.transaction: copy.",
  foreignOwnerMet:
    "In an overlay a file of another owner or group cannot be changed, so nothing was applied. The next job runs in a copy: send it again.",
  installationIncomplete: (path: string) =>
    `A file of PicoClaw itself is missing: ${path}\nIf PicoClaw was replaced or moved while it ran, restart it. Otherwise copy the whole installation, or run npm ci in it.`,
  executorEnded: "The process that carries out this job inside its sandbox was ended, so the job failed.",
  notRun: (count: number) => `Not run: ${count} (stopped at the first failure)`,
  confinementUnavailable:
    "worker.confine is on, but commands cannot be confined here, so nothing was run. worker.confine: auto runs them unconfined.",
  headRefused: (reason: TransactionReason | "unconfined") =>
    reason === "unconfined"
      ? "Your own agent runs only when confined, and worker.confine is off. Nothing was run. Set worker.confine: auto."
      : `Your own agent runs only in an overlay, which is not available here: ${REASONS[reason]}. Nothing was run. \`picoclaw doctor\` says what helps.`,
  previewUnavailable:
    "With worker.transaction: none there is no preview of commands, so nothing was run. Set worker.transaction: auto.",
  nothingApplied: (jobId: string) => `Nothing of ${jobId} was applied.`,
  changedOutside: (list: readonly string[]) =>
    `Changed in the workspace itself while the job ran, so not part of it and not covered by undo:${paths(list)}`,
  endedWithJob: (list: readonly string[]) =>
    `Still running at the end of the job, and ended with it:${paths(list)}\nTo keep a server running, start it yourself in a terminal.`,
  protectedRestored: (list: readonly string[]) =>
    `Protected files changed by a shell command were restored:${paths(list)}`,
  filterUnknown: (list: readonly string[]) =>
    `Not committed, because they ask for a git filter that your configuration did not have:${paths(list)}`,
  protectedCreated: (list: readonly string[]) => `New files match a protected pattern:${paths(list)}`,
  protectedLogged: (list: readonly string[]) =>
    `Protected files were changed (action_on_protected_file: log):${paths(list)}`,

  // Undo, redo, history
  mergedBy: (action: "undo" | "redo", jobId: string, by: string) =>
    `Its files were changed since, so ${jobId} was merged ${action === "undo" ? "out of" : "into"} them as ${by}, which can itself be undone.`,
  mergeNotChecked: "The project's checks were not run.",
  mergeTitle: (action: "undo" | "redo", jobId: string, title: string) =>
    `${action === "undo" ? "Undo" : "Redo"} of ${jobId}: ${title}`,
  undonePartly: ({ jobId, refs }: { readonly jobId: string; readonly refs: readonly string[] }) =>
    `The files of ${jobId} were restored, but these git refs have moved since and were left alone:${paths(refs)}`,
  nothingToUndo: "There is no job to undo.",
  nothingToRedo: "There is no job to redo.",
  changedNothing: (jobId: string) => `${jobId} changed nothing, so there is nothing to undo or redo.`,
  nothingToDiscard: "There is no preview to discard.",
  previewsWait: (jobIds: readonly string[]) => `There are several previews; name one:${paths(jobIds)}`,
  previewsHint: (count: number, isElsewhere: boolean) =>
    `${many(count, "preview is", "previews are")} waiting. Apply one: picoclaw apply --job JOB   Discard it: picoclaw discard JOB${isElsewhere ? "   (one of another folder: add --workspace FOLDER)" : ""}`,
  undoList: (jobId: string, list: readonly string[]) => `Undoing ${jobId} restores:${paths(list)}`,
  parentNoFolder: (path: string) => `${path} (a folder above it is gone, or is a link or a file now)`,
  undoUnavailable: (jobId: string) => `There is no undo data for ${jobId}.`,
  recordDamaged: (jobId: string, file: string) =>
    `The record of ${jobId} is damaged, so it cannot be undone or applied again: ${file}\nOther jobs are not affected. To restore what can be restored: picoclaw doctor --repair`,
  recordClosed: (jobId: string, path: string) =>
    `${jobId} cannot be read, because permission is denied in ${path}\nUndo and redo need to read it. Run picoclaw as the user who ran that job, or take it over: sudo chown -R "$(id -u)" '${path.replaceAll("'", "'\\''")}'`,
  recordLost: (jobId: string, file: string) =>
    `The record of ${jobId} is damaged and cannot be restored: ${file}\nThe job cannot be undone; what it kept is left in that folder. Other jobs are not affected.`,
  recordRepaired: (jobId: string, file: string) =>
    `The record of ${jobId} was damaged and has been restored. The damaged file was kept: ${file}.damaged`,
  undoDamaged: (jobId: string, file: string, lost: readonly string[] | "closed" | "newer" | null) =>
    `A record of the undo data of job ${jobId} ${lost === "newer" ? "was written by a newer PicoClaw" : lost === "closed" ? "cannot be read: permission denied" : "is damaged or gone"}: ${file}\n${
      lost === null || lost === "closed"
        ? "The job can be neither undone nor applied again."
        : lost === "newer"
          ? "This version leaves it as it is. Use the newer version for this job."
          : lost.length === 0
            ? "All of the job can still be undone: the next undo rebuilds the record."
            : `The next undo rebuilds the record and restores all but these:${paths(lost)}`
    }`,
  undoRebuilt: (lost: readonly string[]) =>
    lost.length === 0
      ? "A damaged record of the undo data was rebuilt; nothing is lost."
      : `A damaged record of the undo data was rebuilt. These paths can no longer be undone or applied again:${paths(lost)}`,
  undoDamagedRemedy: (slots: string) =>
    `PicoClaw cannot restore it. The files that the job kept are in ${slots}: copy what you need. Other jobs are not affected.`,
  undoDataGone: (action: string, jobId: string, list: readonly string[]) =>
    `The ${action === "undo" ? "undo data" : "data"} for these files of ${jobId} is gone, so nothing was changed:${paths(list)}`,
  repairImpossible: (jobId: string, file: string, isNewer: boolean) =>
    `${jobId} was interrupted half-way and cannot be completed, because its record ${isNewer ? "was written by a newer PicoClaw" : "is damaged"}: ${file}\nThe files stay as they are now, and what was moved is in the folder \`slots\` beside that record: copy what you need. ${isNewer ? "To complete it, run this with the newer version: picoclaw doctor --repair. " : ""}Other jobs can be applied and undone again.`,
  alreadyApplied: (jobId: string) => `${jobId} is already applied; nothing was changed now.`,
  notAPreview: (jobId: string) => `${jobId} is not a preview: there is nothing to apply or discard.`,
  stillAPreview: (jobId: string, at: "terminal" | "chat") =>
    `${jobId} is a preview: nothing of it is applied, so there is nothing to undo. ` +
    `Apply it: ${jobOrder(at, "apply", jobId)}. Discard it: ${jobOrder(at, "discard", jobId)}.`,
  wrongState: (jobId: string, state: string) =>
    state === "undone"
      ? `${jobId} is already undone.`
      : state === "committed"
        ? `${jobId} is applied, so there is nothing to redo.`
        : `${jobId} cannot be undone or redone now: ${JOB_STATES[state] ?? "its state does not allow it"}. See: picoclaw jobs`,
  changedByJob: (path: string, jobId: string, at: "terminal" | "chat") =>
    `${path} (changed since by ${jobId}; undo that first: ${jobOrder(at, "undo", jobId)})`,
  redoFirst: (path: string, jobId: string, at: "terminal" | "chat") =>
    `${path} (made by ${jobId}, which is undone; redo that first: ${jobOrder(at, "redo", jobId)})`,
  deletedSince: (path: string) => `${path} (deleted since)`,
  foldersKept: (list: readonly string[]) =>
    `These folders were kept, because they hold files made after the job:${paths(list)}`,
  quotaEvicted: (jobIds: readonly string[], bytes: number, quotaBytes: number) =>
    `Undo data exceeded its quota of ${formatBytes(quotaBytes)}; the oldest (${formatBytes(bytes)}) was removed. ` +
    `These jobs can no longer be undone:${paths(jobIds)}`,
  noJobs: "There are no jobs yet.",
  moreLines: (count: number) => `… ${many(count, "more line")} (show --all)`,
  jobsHeader: { job: "Job", time: "Time", result: "Result", changes: "Changes", undo: "Undo" },
  noteOfNewer: (code: string) => `A newer PicoClaw wrote a note that this version cannot show (${code}).`,
  undoStates: { available: "available", unavailable: "unavailable", none: "not needed", undone: "undone" },
  /** Work that a person waits for at the command line. */
  waitsFor: {
    checks: "checking this machine",
    image: (name: string) => `image ${name}`,
    prepare: "preparing the environment",
    store: "working on the database",
  },
  unknownJob: (jobId: string, at: "terminal" | "chat") =>
    `No such job: ${jobId}${at === "chat" ? "\nThe last jobs: /jobs" : "\nThe jobs of this folder: picoclaw jobs   Of all folders: picoclaw jobs --all"}`,
  jobRunning: (jobId: string, pid: number | null, at: "terminal" | "chat") =>
    `${jobId} is still running${pid === null ? "" : ` (pid ${pid})`}. Wait until it has ended, or stop it: ${at === "chat" ? "/stop" : jobOrder(at, "stop", jobId)}`,
  machineAway: (machine: string) =>
    `${machine}, the machine that holds this job, is away. Nothing was done, and nothing will be done later. Start picoclaw serve or picoclaw join there, then try again.`,
  orderUnsettled: (machine: string) =>
    `${machine} started this and has not reported the result yet. Look at the job again in a moment.`,
  machineGone: (machine: string) =>
    `${machine}, the machine that holds this job, became unreachable while it was doing this. When it is back, the job shows what happened.`,
  jobNotRunning: (jobId: string) => `${jobId} is not running. See: picoclaw jobs`,
  jobDied: (jobId: string) => `${jobId} ended before it applied anything, so there is nothing to undo.`,
  homeAside: (path: string) =>
    `A job left the private home of jobs unusable. It was moved aside, and later jobs started with a fresh one: ${path}`,
  homeRepaired: (path: string) =>
    `The private home of jobs that was moved aside was repaired and is in use again: ${path}`,
  homeBusy: (path: string) =>
    `The private home of jobs that was moved aside cannot be restored while a job runs: ${path}`,
  jobInterrupted: (jobId: string, direction: Interruption["direction"]) =>
    `Job ${jobId} was interrupted while it was ${SWAPS[direction]}. The next command that changes something repairs it, or: picoclaw doctor --repair`,
  interruptedFiles: {
    head: "Its files now:",
    before: (count: number) => `as before the job (${count}):`,
    after: (count: number) => `as the job left them (${count}):`,
    moved: (count: number) => `not in place; the original is kept elsewhere (${count}):`,
    edited: (count: number) => `changed since then by someone else (${count}):`,
  },
  /** Instead of "nothing was applied", where that is not the whole truth. */
  keptAside: (jobId: string, { folder, paths: list, removed }: KeptAside): string =>
    `Job ${jobId} was rolled back, but these could not be put back, because their folder ${removed ? "was gone or something else was there" : "is gone or something else is there now"}:${paths(list)}\n` +
    (removed
      ? `They were kept in ${folder}, which has been removed or moved away since.`
      : `They are kept, and PicoClaw never removes them unasked, in: ${folder}\nIf you moved their folder, it holds what the job had written there.`),
  asideKept: ({ jobId, folder, files, bytes }: KeptAsideFolder) =>
    `Originals that could not be put back when job ${jobId} was rolled back are kept (${many(files, "file")}, ${formatBytes(bytes)}) in: ${folder}`,
  asideRemedy: (jobId: string) =>
    `Copy back what you need, then remove the rest for good: ${jobOrder("terminal", "discard", jobId)} --aside`,
  asideRemoved: ({ jobId, files, bytes }: KeptAsideFolder) =>
    `Removed for good: the originals that were kept aside for job ${jobId} (${many(files, "file")}, ${formatBytes(bytes)})`,
  asideNone: (jobId: string) =>
    `No originals are kept for a job with exactly this name: ${jobId}. picoclaw doctor lists the jobs that have some.`,
  asideNeedsJob: "Name the job: picoclaw discard JOB --aside (picoclaw doctor lists them)",
  asideUnfinished: (jobId: string) =>
    `The roll-back of job ${jobId} has not ended, so nothing was removed. First run: picoclaw doctor --repair`,
  jobRepaired: ({ jobId, direction, outcome, paths: left, aside }: RepairedNote): string =>
    `Job ${jobId} was interrupted while it was ${SWAPS[direction]}; ${outcome === "finished" ? "that was completed since" : "the rest was put back since"}.` +
    (left.length === 0 ? "" : ` Left out, because they were changed after the interruption:${paths(left)}`) +
    (aside === undefined ? "" : `\n${workTexts.keptAside(jobId, aside)}`),
  repairStuck: (jobId: string, list: readonly string[]) =>
    `Job ${jobId} was interrupted half-way and cannot be completed, because these cannot be written or are being changed:${paths(list)}\nNo other job can be applied or undone before that. When they can be written, run: picoclaw doctor --repair`,
  /** Beside a status. */
  interruption: ({ direction, outcome, aside }: Interruption) => {
    if (outcome === "open") return `while it was ${SWAPS[direction]}`;
    if (aside === undefined)
      return `${outcome === "finished" ? "completed" : "rolled back"} after an interruption`;
    return `rolled back but for ${aside.paths.length}, ${aside.removed ? "removed since" : `kept in ${aside.folder}`}`;
  },

  gitMissing: "git was not found.",
  notARepository: (path: string) => `Not a git repository: ${path}`,
  autoCommitAborted: (error: string) => `The commit before the patch failed, so nothing was run: ${error}`,
  replacedChange: (paths: readonly string[]) =>
    `While the coder worked, others changed ${paths.join(", ")}; the coder saw those changes and replaced them.`,
  answerSkipped: (parts: readonly string[]) =>
    `${many(parts.length, "part")} of the coder's answer ${parts.length === 1 ? "was" : "were"} not carried out:\n${parts.map((part) => `  ${part}`).join("\n")}`,
  mergedWith: (path: string, by: string | null) =>
    by === null ? `merged with a change from outside in ${path}` : `merged with job ${by} in ${path}`,
  hookRefused: ({ command, ended, output }: HookRun) =>
    `Not applied: the hook \`${command}\` (before_landing) ${hookEnded(ended)}${quoted(output)}`,
  hookFailed: ({ moment, command, ended, output }: HookRun & { readonly moment: string }) =>
    `The hook \`${command}\` (${moment}) ${hookEnded(ended)}${quoted(output)}`,
  autoCommitFailed: (error: string) =>
    `The commit after the patch failed (the changes are applied): ${error}`,
  identityFallback: "Git has no user.name / user.email here; committed under PicoClaw's own name.",
  signingSkipped: "Signing would have asked for input; committed unsigned.",

  // Workspace and files
  workspaceMissing: (path: string) => `The workspace does not exist: ${path}`,
  workspaceGone: (path: string, kind: string) =>
    `The workspace was removed or moved while the job ran: ${path}\n${kind === "none" ? "Commands of this job worked in the folder itself; their changes went with it." : "Nothing was applied. Move the folder back, or go to its new place, and run the job again."}`,
  workspaceNotADirectory: (path: string) => `The workspace is not a folder: ${path}`,
  workspaceReadOnly: (root: string) => `${root} cannot be written to, so no job can change anything there.`,
  diskScarce: (path: string, freeBytes: number) =>
    `Only ${formatBytes(freeBytes)} are free on the disk of ${path}: jobs, undo and redo may fail.`,
  startFolderAway: (path: string) =>
    `The folder you are in cannot be opened: ${path}\nIt was removed or moved, or its name is not valid UTF-8. Go to another folder, or rename it.`,
  storageForeign: (path: string) =>
    `The folder with the jobs of this workspace belongs to another user, or other users can write to it: ${path}`,
  storageForeignOutside: (folder: string, places: readonly string[]): string =>
    `${workTexts.storageForeign(folder)}\n` +
    `It is outside PICOCLAW_HOME, where other users may have added files, so PicoClaw neither uses nor repairs it. Look through it: ls -laR '${folder}'\nIf all of it is yours, close it: chmod go-rwx ${places.map((place) => `'${place}'`).join(" ")}\n` +
    "Do not delete it: it holds the undo data. With another PICOCLAW_HOME you begin without these jobs.",
  workspaceBusy: (path: string) => `Another job is being applied: ${path}`,
  fileTrouble: (trouble: FileTrouble, path: string) => `${TROUBLES[trouble]}: ${path}`,
};

const REMEDIES: Readonly<Record<Remedy, string>> = {
  "let-write": "Let this user write there (chmod u+w, or chown), or name another folder (--workspace DIR).",
  "install-git": "Install git (for example: apt install git).",
  "init-repository": "Make a repository with `git init`, or turn auto_commit off.",
  "install-bubblewrap": "Install bubblewrap (for example: apt install bubblewrap).",
  "install-util-linux": "Install util-linux (setpriv).",
  "other-file-system":
    "Keep the workspace on ext4, xfs, btrfs or tmpfs outside of a container's own layers. Until then, jobs run in a copy.",
  "allow-user-namespaces":
    "Allow bwrap to use user namespaces (`picoclaw doctor` prints the AppArmor profile).",
  "raise-copy-limit": "Raise worker.copy_limit.",
  "transaction-none": "Set worker.transaction: none to run in place (shell effects can then not be undone).",
  "raise-undo-quota": "Raise worker.undo_quota.",
  "free-space": "Free some disk space.",
  "temporary-folder": "Set TMPDIR to a folder that can be written to: temporary files are kept there.",
  "create-workspace": "Create the folder, or name another one with --workspace.",
  "writable-workspace":
    "Look at who owns the file and the folders above it, and at their modes (`ls -ld`): you must be allowed to write there.",
  "writable-home": "Set PICOCLAW_HOME to a folder that can be written to: jobs are kept or registered there.",
  "own-storage":
    "If it is yours, run `picoclaw doctor --repair`, or remove the permissions of others yourself (chmod 700). Do not delete it: it holds the undo data. Or set PICOCLAW_HOME to another folder.",
  "trust-workspace": "Read it, then run `picoclaw trust` in that folder.",
  "set-git-identity": "Set `git config user.name` and `git config user.email`.",
  "start-docker": "Start Docker.",
  "start-ollama": "Start Ollama (`ollama serve`).",
};

const PARTS: Readonly<Record<SandboxPart, string>> = {
  bubblewrap: "bubblewrap (bwrap)",
  setpriv: "setpriv",
  "user-namespaces": "User namespaces",
  overlay: "An overlay on the file system of the workspace",
};

const PROMISES: Readonly<Record<MachinePromise, readonly [yes: string, no: string]>> = {
  undo: ["Undo covers what commands do in the workspace.", "Undo does NOT cover what commands do."],
  confined: [
    "Commands are confined: they change nothing but the workspace, and of your home they see only what tools need (worker.home_allow).",
    "Commands are NOT confined: they can read and change everything that you can.",
  ],
  "preview-offline": [
    "A preview has no network (unless --allow-net).",
    "A preview is NOT cut off from the network.",
  ],
  "loopback-reachable": [
    "Where the network is on, commands also reach 127.0.0.1 and abstract sockets of this machine.",
    "Commands reach no port of this machine.",
  ],
};

/** Texts about what this machine lets jobs do, and the remedies. */
export const machineTexts = {
  remedy: (remedy: Remedy) => REMEDIES[remedy],
  sandboxPart: (part: SandboxPart, works: boolean) => `${PARTS[part]}: ${works ? "OK" : "not available"}`,
  fileSystems: (type: string, storage: string, storageType: string) =>
    `File systems: workspace ${type}, jobs and undo ${storageType} (${storage})`,
  foreignRepository: ({ topLevel, why }: ForeignRepository) =>
    why === "elsewhere"
      ? `Commands work in this folder alone: the .git of ${topLevel} names a git folder elsewhere that knows none of the files here. If it is yours, run git status here once.`
      : `Commands work in this folder alone, without the git repository above it (${topLevel}): ${NOT_OWN[why]}`,
  mountsBelow: (list: readonly string[]) =>
    `Mounted below the workspace, so that jobs run in a copy:${paths(list)}`,
  promise: (promised: MachinePromise, kept: boolean) => PROMISES[promised][kept ? 0 : 1],
};

const problemText = wordBy<"code", ConfigProblem>("code", {
  "unknown-key": ({ key, nearest }) => `unknown key ${key}${perhaps(nearest)}`,
  "invalid-value": ({ variable, key, value, expected }) => {
    const who = variable === undefined ? key : `${variable} (${key})`;
    return value === NOTHING
      ? `${who} is missing; expected ${expected}`
      : `${who} cannot be ${value}; expected ${expected}`;
  },
  "literal-secret": ({ key }) =>
    `${key} must not hold the secret itself. Put it into an environment variable and write env:NAME; for a model's key: picoclaw login`,
  "unset-reference": ({ key, variable }) =>
    `${key} refers to the environment variable ${variable}, which is not set.`,
  "invalid-yaml": ({ detail }) => `not valid YAML: ${detail}`,
  "unreadable-file": ({ detail }) => `the configuration file cannot be read: ${detail}`,
  "unreadable-table": ({ detail }) =>
    `this table of models cannot be read (${detail}), so the shipped one holds; correct or remove the file`,
});

const warningText = wordBy<"code", ConfigWarning>("code", {
  "unknown-variable": ({ variable, nearest }) =>
    `ignored the unknown environment variable ${variable}${perhaps(nearest)}`,
  "unusable-variable": ({ variable, key }) =>
    `ignored the environment variable ${variable}: it does not fit ${key}.`,
  "untrusted-keys": ({ file, keys }) =>
    `ignored in ${file}, because the folder is not trusted: ${nameFew(keys, more)}. ` +
    machineTexts.remedy("trust-workspace"),
  "ignored-key": ({ at, key }) => `${filePositionText(at)}${key} has no effect and was ignored.`,
  "docker-socket": "mount_docker_socket is on: a container has root access to this machine.",
  "cloud-allowed": "security.local_only is off: chat text may be sent to cloud models.",
});

/** The configuration, and how a command is called. */
export const configurationTexts = {
  configInvalid: "The configuration is not valid. Nothing was run.",
  cannotWork: (role: string, why: string) => `roles.${role} cannot work as it is: ${why}`,
  configValid: "The configuration is valid.",
  configProblem: (problem: ConfigProblem) => `${filePositionText(problem.at)}${problemText(problem)}`,
  moreProblems: more,
  configWarning: warningText,
  workspaceTrusted: (path: string, files: readonly string[]): string =>
    [
      `${path} is trusted: its checks may run, and its picoclaw.yaml, commands and skills take effect.`,
      files.length === 0 ? "It has none of these now." : "As they are now:",
      ...files.map((file) => `  ${file}`),
      "Anything that changes or is added must be trusted again.",
    ].join("\n"),
  nothingToTrust: "There is no such folder.",
  notTogether: (options: readonly string[]) => `These cannot be used together: ${options.join(", ")}`,
  unknownCommand: (name: string, nearest: string | null) => `Unknown command: ${name}${perhaps(nearest)}`,
  unknownFlag: (name: string, nearest: string | null) => `Unknown option: ${name}${perhaps(nearest)}`,
  missingValue: (flag: string) => `${flag} needs a value.`,
  needlessValue: (flag: string) => `${flag} takes no value.`,
  unexpectedWords: (words: string) => `Not expected here: ${words}`,
  badCount: (flag: string, value: string) => `${flag} takes a whole number from 1, not ${value}.`,
  badChoice: (flag: string, value: string, choices: readonly string[]) =>
    `${flag} takes one of ${choices.join(", ")}, not ${value}.`,
  allCommands: "All commands: picoclaw --help",
  usageLines: (usage: string, name: string) => `Usage: picoclaw ${usage}\nMore: picoclaw ${name} --help`,
  optionsBehind: (flag: string) => `Options come after the command: picoclaw COMMAND ${flag}`,
  standardInput: "standard input",
  noInput: "There is no patch. Name a file, or pass it on standard input.",
  warningLabel: "Warning:",
  storeDenied: (detail: string) =>
    `The database cannot be written (${detail}). Give the account in database_url the right to read and write PicoClaw's tables, or name another account.`,
  storeAway: (detail: string) => `The database cannot be written to now (${detail}). Try again later.`,
  unexpectedError: (detail: string, log: string | null) =>
    `An unexpected error occurred: ${detail} (${log === null ? "the log could not be written" : `details: ${log}`})`,
};

function perhaps(nearest: string | null | undefined): string {
  return (nearest ?? null) === null ? "" : ` (did you mean ${nearest}?)`;
}

const WORDS: Readonly<Record<SealedOtherwise, (names: string) => string>> = {
  special: (names) => `not applied, because it is not a file, folder or link: ${names}`,
  device: (names) => `not applied, because it is a device: ${names}`,
  unreadable: (names) => `not applied, because it cannot be read: ${names}`,
  hidden: (names) => `not visible to the job: ${names}`,
  apart: (names) => `not applied, because it is on another mount, or where the job cannot see: ${names}`,
  "holds-hidden": (names) => `kept, because it holds what the job could not see: ${names}`,
  "stale-lock": (names) => `a lock that the job's git left behind was removed: ${names}`,
  "home-unusable": (names) =>
    `a job left the private home of jobs unusable; it was moved aside (${names}), and later jobs start with a fresh one. To repair it: picoclaw doctor --repair`,
  owner: (names) => `${names}: it belongs to you now`,
  group: (names) => `${names}: it has your own group now`,
  "other-names": (names) => `${names}: its other names (hard links) keep the former contents`,
  "folder-owner": (names) => `${names}: the folder keeps its owner and group, which the job had changed`,
  "folder-attributes": (names) =>
    `${names}: the folder keeps its attributes and access lists, which the job had changed`,
  power: (names) =>
    `${names}: set-user-id, set-group-id or sticky bits were removed; a job may not grant privileges`,
  "root-mode": () => "The workspace's own folder keeps its mode, which the job had changed.",
  times: (names) => `${names}: only the time was changed, which is not applied`,
};

/** The entries that a seal did not carry over as the job left them. */
export const sealedOtherwise = ({ what, paths, count }: SealNote): string =>
  WORDS[what](namePaths(paths, count, (rest) => `and ${rest} more`));

const numberList = (numbers: readonly number[]) => {
  const names = numbers.map((number) => `#${number}`);
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
};

/** The first line of every report: what became of a job. */
const STATUSES: Readonly<Record<JobStatus, Wording<number>>> = {
  applied: "Applied",
  partly: (failed) => `Applied, ${many(failed, "command")} failed`,
  preview: "Preview, nothing applied",
  worse: "Not applied: checks got worse",
  unended: "Not applied: checks did not end",
  stopped: "Stopped, nothing changed",
  discarded: "Discarded",
  "no-change": (failed) => (failed > 0 ? `No change, ${many(failed, "command")} failed` : "No change"),
  "taken-back": "Undone",
  refused: "Refused",
  running: "Running",
  interrupted: "Interrupted",
  unreadable: "Record unreadable",
};

const status = (is: JobStatus, failed: number): string => wordFact(STATUSES[is], failed);

/** `checks`: the result of the project's checks; empty where they were not run. */
type ChatSentence = Readonly<
  Record<"status" | "checks", string> & Record<"succeeded" | "total" | "files", number>
>;

export const reportTexts = {
  status,
  sealedOtherwise,
  ignored: (count: number, places: readonly string[]) =>
    `${count} ignored by git: ${namePaths(places, places.length, (rest) => `and ${rest} more`)}`,
  /** The same line on its own, above a whole report. */
  headline: status,
  /** The same of a preview that a hook did not let land. */
  refusedByHook: (said: string) => `${said}: a hook refused it`,
  /** The status of a job that landed without edits of its own that failed. */
  appliedWithout: (paths: readonly string[]) =>
    `Applied, ${many(paths.length, "edit")} left out (${namePaths(paths.slice(0, 3), paths.length, (rest) => `and ${rest} more`)})`,
  /** The first line in a chat where something changed: what became of it, of how many files, and what checks say. */
  sentence: ({ status: said, files, checks }: ChatSentence): string =>
    [`${said}: ${many(files, "file")}`, checks].filter((part) => part !== "").join(", "),
  skipped: (paths: readonly string[]) => `Skipped, because it is protected: ${paths.join(", ")}`,
  /** Below a verdict that no green check supports, a plan may claim a result that nobody saw. */
  plan: (isJudged: boolean): string => (isJudged ? "[Plan]" : "[Plan] the coder's own words, not a result"),
  ownWords: "The coder's own words, not a result:",
  result: "[Result]",
  /** Whether a chat shows the number of commands if all succeeded. */
  countsCommands: false as boolean,
  outputOf: (command: string) => `Output (${command}):`,
  swapHint: (at: "terminal" | "chat", action: "undo" | "redo", name: string) =>
    `To ${action} it: ${jobOrder(at, action, name)}`,
  /** The next command, if it has to be run on another machine. */
  onMachine: (hint: string, machine: string) => `${hint} (on ${machine})`,
  forceHint: (at: "terminal" | "chat", action: "undo" | "redo", name: string) =>
    `To overwrite them: ${jobOrder(at, action, name)} --force`,
  /** One line a job, below the status. */
  verb: {
    undo: (jobId: string) => `${jobId} was undone.`,
    redo: (jobId: string) => `${jobId} was applied again.`,
    apply: (jobId: string) => `The preview ${jobId} was applied.`,
    stop: (jobId: string) => `${jobId} was stopped.`,
    discard: (jobId: string) => `The preview ${jobId} was discarded. Nothing else changed.`,
  },
  outOfReach: (action: string, jobId: string, list: readonly string[]) =>
    `Nothing of ${jobId} was ${action === "redo" ? "applied again" : "undone"}, because the system does not allow it:${paths(list)}\nMake these files, their folders or the disk accessible, and try again.`,
  inTheWay: (action: string, jobId: string, list: readonly string[]) =>
    `Nothing was ${action === "redo" ? "applied again" : "undone"}, because these were changed after ${jobId}:${paths(list)}`,
  together: (numbers: readonly number[]) => `Undo ${numberList(numbers)}`,
  togetherHint: (at: "terminal" | "chat", numbers: readonly number[]) =>
    `To undo ${numberList(numbers)} together: ${jobOrder(at, "undo", numbers.map((one) => `#${one}`).join(" "))}`,
  previewHint: (at: "terminal" | "chat", jobId: string, files: number) =>
    [
      `${many(files, "changed file is", "changed files are")} staged. To apply exactly this: ${jobOrder(at, "apply", jobId)}`,
      `To see it: ${jobOrder(at, "diff", jobId)}`,
      `To discard it: ${jobOrder(at, "discard", jobId)}`,
    ].join(at === "chat" ? "   " : "\n"),
};

export const messages = { ...workTexts, ...machineTexts, ...configurationTexts };
