import {
  type Change,
  type CommandResult,
  type Conflict,
  changedFiles,
  countFiles,
  type FailureReason,
  findHookRefusal,
  type JobRefusal,
  type JobStatus,
  type Note,
  type NoteFact,
  nameByNumber,
  PROCESS_DIED,
  type RanJob,
  type RefusedJob,
  SKIPPED,
  type UndoState,
  wholeCommand,
} from "../jobs/result.ts";
import { executionSummary, type PatchCommand } from "../patch/patch-command.ts";
import { cutMiddle, oneLine, shownPath, type WordTable, wordBy } from "./format-text.ts";
import { type Messages, reportMessages } from "./jobs.ts";
import { changeLines, describeConflicts, type Surface, wordNote } from "./jobs-notes.ts";
import { runningMessagesFor } from "./jobs-running.ts";
import { confinementMessages } from "./policy.ts";

/** A job that never began: the obstacle, and the remedy. */
function describeRefusal(messages: Messages, workspace: string, refusal: JobRefusal): string {
  const { remedy, fileTrouble, patchFailed } = messages;
  const confinement = confinementMessages(messages.locale);
  const words: WordTable<"code", JobRefusal> = {
    "auto-commit": ({ cause, message }) => {
      if (cause === "failed") return messages.autoCommitAborted(message);
      const isMissing = cause === "git-missing";
      const why = isMissing ? messages.gitMissing : messages.notARepository(workspace);
      return `${messages.autoCommitAborted(why)}\n${remedy(isMissing ? "install-git" : "init-repository")}`;
    },
    "too-large": ({ bytes = 0, limitBytes = 0 }) =>
      `${messages.copyLimitExceeded({ bytes, limitBytes })}\n  - ${remedy("raise-copy-limit")}\n  - ${remedy("transaction-none")}`,
    "no-space": ({ path }) => `${fileTrouble("no-space", path ?? workspace)}\n${remedy("free-space")}`,
    "read-only": ({ path }) => fileTrouble("read-only", path ?? workspace),
    storage: ({ message }) =>
      `${patchFailed(fileTrouble("permission-denied", message))}\n${remedy("writable-home")}`,
    "no-processes": ({ left }) => confinement.noProcessesLeft(left ?? 0),
    installation: ({ message }) => messages.installationIncomplete(message),
    "workspace-missing": `${messages.workspaceMissing(workspace)}\n${remedy("create-workspace")}`,
    "not-a-directory": `${messages.workspaceNotADirectory(workspace)}\n${remedy("create-workspace")}`,
    confinement: messages.confinementUnavailable,
    head: ({ reason }) => messages.headRefused(reason),
    network: ({ message, setting }) => confinement.networkUnavailable(message, setting),
    preview: messages.previewUnavailable,
    permission: ({ message }) => patchFailed(message),
    failed: ({ message }) => patchFailed(message),
  };
  return wordBy("code", words)(refusal);
}

/**
 * Beside a result's technical error, what it means to a person and what helps, as lines
 * `[3] …` under the list; the list itself keeps its form, which programs read.
 */
function explainFailures(messages: Messages, facts: RanJob, results: readonly CommandResult[]): string[] {
  const trouble = wordJobTrouble(messages, facts, "chat");
  const lines = results.flatMap((result, index) => {
    const text = explainFailure(messages, facts.workspace, result);
    return text === null || text === trouble ? [] : [`[${index + 1}] ${text.replaceAll("\n", "\n    ")}`];
  });
  return countNotRun(facts) > 0 ? [...lines, messages.notRun(countNotRun(facts))] : lines;
}

/** Why one command failed, beside its error; null where the error says it all. */
export function explainFailure(messages: Messages, workspace: string, result: CommandResult): string | null {
  // An edit that did not match says where it might have been meant: the report that a model gets.
  if (result.reason === undefined)
    return result.success || result.command.metadata?.format === undefined
      ? null
      : wordError(messages, withoutOutput(result).output.trimEnd()) || null;
  return wordBy<"code", FailureReason>("code", {
    timeout: ({ seconds }) => messages.timeout(seconds),
    "outside-workspace": messages.securityViolation,
    "git-missing": `${messages.gitMissing} ${messages.remedy("install-git")}`,
    "not-a-repository": `${messages.notARepository(workspace)} → git init`,
    "no-space": `${messages.fileTrouble("no-space", workspace)} ${messages.remedy("free-space")}`,
    "read-only": messages.fileTrouble("read-only", workspace),
  })(result.reason);
}

/** The status alone: the first line of every report, a cell of a list. */
export function wordStatus(messages: Messages, facts: Pick<RanJob, "status" | "failedCmds">): string {
  return reportMessages(messages.locale).status(facts.status, facts.failedCmds);
}

/** The first line of a whole report. */
export function wordHeadline(messages: Messages, facts: RanJob): string {
  const words = reportMessages(messages.locale);
  const status = words.headline(facts.status, countFailed(facts));
  return isRefusedByHook(facts) ? words.refusedByHook(status) : status;
}

/** Reasons that the status of a job states. */
const SAID_BY_STATUS = ["aborted", "discarded", PROCESS_DIED, "worse", "unended", "hook"];

/** Why a job was rolled back or is kept, where its status does not say it. */
export function wordEnd(messages: Messages, reason: string | undefined): string {
  if (reason === undefined || SAID_BY_STATUS.includes(reason)) return "";
  return runningMessagesFor(messages.locale).whyEnded(reason);
}

/** A preview that waits because a hook did not let it land. */
function isRefusedByHook({ status, notes }: RanJob): boolean {
  return status === "preview" && findHookRefusal(notes) !== undefined;
}

/** Characters of one error on a terminal; the whole is in the journal. */
const SHOWN_ERROR = 4000;

/** A job at a terminal: its status, every command, what changed, what the user should know, how to go on. */
export function wordJob(messages: Messages, job: RanJob): string {
  const facts = nameByNumber(job);
  const first = wordHeadline(messages, facts);
  if (facts.dryRun) return paragraphs([first, wordDryRun(messages, facts, { counted: true })]);
  const trouble = wordJobTrouble(messages, facts, "terminal");
  // Programs read this list: each error has the executor's own words, also where the sentence above has said it.
  const commands = facts.commands.map((one) => ({
    ...one,
    error: cutMiddle(one.error.replace(/\s+\)$/, ")"), SHOWN_ERROR),
  }));
  const list = formatResults(commands, messages);
  return paragraphs([
    first,
    trouble,
    wordSummary(messages, facts),
    list === "" ? "" : `${messages.details}\n${list}`,
    facts.gitCommit === undefined ? "" : messages.gitCommit(facts.gitCommit),
    explainFailures(messages, facts, facts.commands).join("\n"),
    changeLines(messages, facts.changes),
    [...wordAllNotes(messages, facts), ...closing(messages, facts, "terminal")].join("\n"),
  ]);
}

/** In a chat: characters of one command's error or output, and failed commands that are listed and explained. */
const CHAT_ERROR = 1_500;
const CHAT_OUTPUT = 1_200;
const CHAT_FAILURES = 10;

interface ChatJobStyle {
  /** The words of the project's checks, in short. */
  readonly checks?: string;
  /** Whether the project's checks judged it and are green. */
  readonly isJudged?: boolean;
  /** Where the reader continues. */
  readonly at?: Surface;
}

/** The same in a chat: beside its plan, only the commands that failed and what programs printed. */
export function wordChatJob(
  messages: Messages,
  job: RanJob,
  plan: string,
  { checks = "", at = "chat", isJudged = false }: ChatJobStyle = {},
): string {
  const facts = nameByNumber(job);
  const words = reportMessages(messages.locale);
  const first = chatHeadline(messages, facts, checks);
  if (facts.dryRun)
    return paragraphs([
      first,
      plan === "" ? "" : `${words.plan(false)}\n${plan}`,
      wordDryRun(messages, facts, { counted: false }),
    ]);
  const trouble = wordJobTrouble(messages, facts, "chat");
  const shown = facts.commands.map(withoutOutput);
  const commands = leaveOutSaid(messages, facts, shown, trouble);
  const results = [
    words.countsCommands || facts.failedCmds > 0 ? wordSummary(messages, facts) : "",
    chatFailures(messages, facts, commands),
    wordOutputs(messages, commands),
  ].filter((part) => part !== "");
  return paragraphs([
    [first, ...wordLost(messages, facts, at)].join("\n"),
    trouble,
    `${words.plan(isJudged || plan === "")}\n${plan === "" ? "—" : plan}`,
    results.length === 0 ? "" : `${words.result}\n${results.join("\n")}`,
    changeLines(messages, facts.changes, facts.lineCounts),
    facts.gitCommit === undefined ? "" : messages.gitCommit(facts.gitCommit),
    wordAllNotes(messages, { ...facts, notes: facts.notes.filter((note) => !isLostChange(note)) }).join("\n"),
    closing(messages, facts, at).join("\n"),
  ]);
}

/** Of the only failed command, only its output is left where the sentence below the status has its error whole. */
function leaveOutSaid(
  messages: Messages,
  { failedCmds }: RanJob,
  commands: readonly CommandResult[],
  trouble: string,
): CommandResult[] {
  return commands.map((one) => {
    const { error } = withoutOutput(one);
    const cause = wordCause(messages, one.error);
    const isCause = trouble.includes(cause) && wordError(messages, error).endsWith(cause);
    const isPlain = one.reason?.code === "timeout" || error.endsWith(`: ${one.command.target}`);
    const isExplained = isPlain && trouble === explainFailure(messages, "", one);
    const isSaid = failedCmds === 1 && (isCause || isExplained);
    const left = error === one.error ? "" : one.output.trim();
    return { ...one, error: cutMiddle(isSaid ? left : wordError(messages, one.error), CHAT_ERROR) };
  });
}

function isLostChange(note: Note): note is Extract<NoteFact, { code: "merged" }> {
  return typeof note !== "string" && note.code === "merged" && note.lost === true;
}

/** Another's work that the job replaced, with the undo that restores it. */
function wordLost(messages: Messages, { notes, undo, jobId }: RanJob, at: Surface): string[] {
  const paths = notes.flatMap((note) => (isLostChange(note) ? [shownPath(note.path)] : []));
  if (paths.length === 0) return [];
  const hint = undo === "available" ? ` ${reportMessages(messages.locale).swapHint(at, "undo", jobId)}` : "";
  return [`${messages.replacedChange(paths)}${hint}`];
}

/** A sentence as a person says it, which begins with the status; `checks`: what the project's checks say, in few words. */
function chatHeadline(messages: Messages, facts: RanJob, checks: string): string {
  const words = reportMessages(messages.locale);
  const status = words.status(facts.status, countFailed(facts));
  if (facts.status !== "applied" && facts.status !== "partly") {
    const [said, sign] = isRefusedByHook(facts) ? [words.refusedByHook(status), ","] : [status, ":"];
    return checks === "" || facts.dryRun ? said : `${said}${sign} ${checks}`;
  }
  const { executedCmds: succeeded, totalCmds: total } = facts;
  const failed = facts.commands.filter(({ success }) => !success).map(({ command }) => command);
  const isOfEdits = failed.length > 0 && failed.every(({ type }) => type === "file_edit");
  const said = isOfEdits ? words.appliedWithout(failed.map(({ target }) => oneLine(target))) : status;
  return words.sentence({ status: said, succeeded, total, files: countFiles(facts.changes), checks });
}

/** Status and counts, for places that show the rest separately. */
export function wordJobBriefly(messages: Messages, facts: RanJob): string {
  const first = [chatHeadline(messages, facts, ""), wordJobTrouble(messages, facts, "terminal")];
  return [...first, wordSummary(messages, facts)].filter((line) => line !== "").join("\n");
}

/** A job that never began: why, and what helps. */
export function wordRefusal(messages: Messages, { workspace, why }: RefusedJob): string {
  if (why.kind === "refused") return describeRefusal(messages, workspace, why.refusal);
  return `${messages.parseError}\n${messages.parseErrorDetail(why.message, why.line ?? null)}`;
}

export function wordSummary(
  messages: Messages,
  { totalCmds, executedCmds, failedCmds }: Pick<RanJob, "totalCmds" | "executedCmds" | "failedCmds">,
): string {
  return messages.summary({ total: totalCmds, succeeded: executedCmds, failed: failedCmds });
}

/** Notes for a person beside the result: about the commands, the job, and what accompanied it. */
export function wordAllNotes(messages: Messages, facts: RanJob): string[] {
  const commands = facts.commands.flatMap(({ notes }) => notes).map((note) => wordNote(messages, note));
  const skipped = facts.commands
    .filter(({ output }) => output === SKIPPED)
    .map(({ command }) => command.target);
  const said = skipped.length === 0 ? [] : [reportMessages(messages.locale).skipped(skipped)];
  return [...said, ...commands, ...wordJobNotes(messages, facts)];
}

/** The same without those of its commands. */
export function wordJobNotes(messages: Messages, job: RanJob): string[] {
  const facts = nameByNumber(job);
  const lines = facts.notes.map((note) => wordNote(messages, note));
  if (facts.outside.length > 0) lines.push(messages.changedOutside(facts.outside));
  if (facts.ended.length > 0) lines.push(messages.endedWithJob(facts.ended));
  if (facts.evicted.length > 0) lines.push(wordEviction(messages, facts));
  return lines;
}

export function wordEviction(
  messages: Messages,
  { evicted, quotaBytes }: Pick<RanJob, "evicted" | "quotaBytes">,
): string {
  const bytes = evicted.reduce((sum, one) => sum + one.bytes, 0);
  const names = evicted.map(({ jobId }) => jobId);
  return messages.quotaEvicted(names, bytes, quotaBytes);
}

/** The sentence below the status if the job failed as a whole; else empty. */
export function wordJobTrouble(messages: Messages, facts: RanJob, at: Surface): string {
  const failed = facts.commands.filter(({ success }) => !success);
  // A timeout and a path outside the workspace have a sentence of their own.
  const plain = failed.find(({ reason }) => !["timeout", "outside-workspace"].includes(reason?.code ?? ""));
  const error = wordCause(messages, (plain ?? failed[0])?.error ?? "");
  switch (facts.ending) {
    case "rolled-back":
      return messages.rolledBack(error);
    case "aborted":
      return messages.rolledBack(messages.aborted);
    case "workspace-gone":
      return messages.workspaceGone(facts.workspace, facts.kind);
    case "kept-after-failure":
      return messages.cannotRollBack(error === "" ? messages.aborted : error);
    default:
      if (facts.failedCmds === 0) return "";
      if (plain === undefined && failed[0] !== undefined)
        return explainFailure(messages, facts.workspace, failed[0]) ?? "";
      if (at === "chat" && facts.executedCmds === 0) return messages.workerFailed(error);
      return messages.commandFailed(error);
  }
}

/** The first line of an error, without its output, in a sentence that says that a command failed. */
function wordCause(messages: Messages, error: string): string {
  const [first = ""] = error.split("\n", 1);
  return wordError(messages, first.replace(/ \(output: .*$/, "").replace(/^(git )?command failed: /, ""));
}

/** A command that was stopped before it could fail has not succeeded either. */
function countFailed({ status, failedCmds, totalCmds, executedCmds }: RanJob): number {
  return status === "partly" && failedCmds === 0 ? totalCmds - executedCmds : failedCmds;
}

export function countNotRun({ totalCmds, commands, ending }: RanJob): number {
  return ending === "aborted" ? 0 : Math.max(0, totalCmds - commands.length);
}

function wordDryRun(messages: Messages, { commands }: RanJob, { counted }: { counted: boolean }): string {
  const { totalCommands: total, ...counts } = executionSummary(commands.map(({ command }) => command));
  return [
    messages.dryRunHeader(commands.length),
    ...(counted ? [messages.executionSummary({ total, ...counts })] : []),
    ...commands.map(({ command }, i) => messages.dryRunLine(i + 1, wholeCommand(command))),
  ].join("\n");
}

/** The commands for the next step. */
function closing(messages: Messages, facts: RanJob, at: Surface): string[] {
  const { jobId, conflicts, changes } = facts;
  const words = reportMessages(messages.locale);
  const lines = conflicts.length > 0 ? [describeConflicts(messages, jobId, conflicts, at)] : [];
  // A change that made the checks worse is kept as a preview too.
  const isStaged = ["preview", "worse", "unended"].includes(facts.status) && conflicts.length === 0;
  if (isStaged) lines.push(words.previewHint(at, jobId, countFiles(changes)));
  if (facts.undo === "available") lines.push(words.swapHint(at, "undo", jobId));
  else if (!isStaged) lines.push(messages.jobLine(jobId));
  return lines;
}

function chatFailures(messages: Messages, facts: RanJob, commands: readonly CommandResult[]): string {
  const failed = commands.flatMap((one, index) => (one.success ? [] : [{ one, index }]));
  const lines = failed.slice(0, CHAT_FAILURES).map(({ one, index }) => formatResult(one, index, messages));
  const shown = facts.commands.slice(0, failed[CHAT_FAILURES]?.index);
  if (failed.length > CHAT_FAILURES) lines.push(`… +${failed.length - CHAT_FAILURES}`);
  return [...lines, ...explainFailures(messages, facts, shown)].join("\n");
}

/**
 * Error and output, which are shown together, without what both say: a program's output, the cause of an edit that failed.
 * Files that were restored after the program ended follow its output in the error.
 */
export function withoutOutput(facts: CommandResult): CommandResult {
  const cause = facts.output.split("\n", 1)[0] ?? "";
  const error = facts.error.replace(/(?:, edit \d+ of \d+)?(?:, near line \d+)?(?=: )/g, "");
  if (facts.command.type !== "shell_command")
    return cause !== "" && error.endsWith(cause.replace(/ hunk \d+: /, ": "))
      ? { ...facts, output: facts.output.slice(cause.length + 1) }
      : facts;
  if (facts.output.trim() === "") return facts;
  const whole = ` (output: ${facts.output})`;
  const cut = facts.error.includes(whole) ? whole : / \(output: .*$/s;
  return { ...facts, error: facts.error.replace(cut, "") };
}

/** The output of programs, cut; an edit's own report is of no use to a person. */
function wordOutputs(messages: Messages, commands: readonly CommandResult[]): string {
  const { outputOf } = reportMessages(messages.locale);
  return commands
    .filter(({ command, output }) => command.type === "shell_command" && output.trim() !== "")
    .map(({ command, output }) => {
      const text = cutMiddle(output.trimEnd(), CHAT_OUTPUT);
      const fence = /`{3,}/.test(text) ? "~~~~" : "```";
      return `${outputOf(oneLine(command.target))}\n${fence}\n${text}\n${fence}`;
    })
    .join("\n");
}

export function paragraphs(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

/** The result of a job as the world reads it (`apply --json`, the API, the library): snake_case, one document. */
export interface ResultJson {
  readonly job_id: string;
  readonly number?: number;
  readonly group_id: string;
  /** The outcome; the first line of every report words it. */
  readonly status: JobStatus;
  readonly success: boolean;
  readonly executed_cmds: number;
  readonly failed_cmds: number;
  readonly results: readonly CommandResultJson[];
  readonly summary: string;
  readonly git_commit?: string;
  readonly changes: readonly Change[];
  readonly undo: UndoState;
  readonly dry_run: boolean;
  readonly notes?: readonly string[];
  /** The conflicts that prevented the commit. */
  readonly conflicts?: readonly Conflict[];
  /** Older jobs that can no longer be undone, because the undo data exceeded its quota. */
  readonly evicted?: readonly { readonly job_id: string; readonly bytes: number }[];
}

export interface CommandResultJson
  extends Pick<CommandResult, "success" | "output" | "error" | "duration" | "changes"> {
  readonly command: Omit<PatchCommand, "edit">;
  readonly notes?: readonly string[];
}

/** Commands in a result are masked already; see `job-run.ts`. */
export function toResultJson(messages: Messages, facts: RanJob): ResultJson {
  const word = (notes: RanJob["notes"]) => notes.map((note) => wordNote(messages, note));
  const notes = word(facts.notes);
  const number = facts.numbers?.[facts.jobId];
  if (facts.ending !== undefined) notes.push(wordJobTrouble(messages, facts, "terminal"));
  return {
    job_id: facts.jobId,
    ...(number !== undefined && { number }),
    group_id: facts.groupId,
    status: facts.status,
    success: facts.success,
    executed_cmds: facts.executedCmds,
    failed_cmds: facts.failedCmds,
    results: facts.commands.map(({ command: { edit: _, ...command }, notes: own, ...one }) => ({
      command,
      success: one.success,
      output: one.output,
      error: one.error,
      duration: one.duration,
      changes: one.changes,
      ...(own.length > 0 && { notes: word(own) }),
    })),
    summary: wordSummary(messages, facts),
    ...(facts.gitCommit !== undefined && { git_commit: facts.gitCommit }),
    changes: changedFiles(facts.changes),
    undo: facts.undo,
    dry_run: facts.dryRun,
    ...(notes.length > 0 && { notes }),
    ...(facts.conflicts.length > 0 && { conflicts: facts.conflicts }),
    ...(facts.evicted.length > 0 && {
      evicted: facts.evicted.map(({ jobId, bytes }) => ({ job_id: jobId, bytes })),
    }),
  };
}

/** `✓ [1] type action target (12ms)`, and the error four spaces in on a line of its own. */
export function formatResults(results: readonly CommandResult[], messages: Messages): string {
  return results.map((result, index) => formatResult(result, index, messages)).join("\n");
}

function formatResult(result: CommandResult, index: number, messages: Messages): string {
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
