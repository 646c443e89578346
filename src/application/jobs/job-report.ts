import { executionSummary } from "../../domain/patch/execution-summary.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import { formatExecutionResults, oneLine, wholeCommand } from "../../domain/jobs/format-results.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import { reportMessages } from "../../domain/texts/messages.ts";
import { SKIPPED } from "./file-edit.ts";
import { changeLines } from "./change-lines.ts";
import { describeConflicts } from "./describe-conflict.ts";
import { describeRefusal } from "./describe-refusal.ts";
import { explainFailures } from "./explain-failures.ts";
import type { CommandFacts, JobFacts, RefusalFacts } from "./job-facts.ts";
import type { Surface } from "./surface.ts";
import { wordNote } from "./word-notes.ts";

/** The status alone: the first line of every report, a cell of a list. */
export function wordStatus(messages: Messages, { status, failedCmds }: StatusFacts): string {
  return reportMessages(messages.locale).status(status, failedCmds);
}

type StatusFacts = Pick<JobFacts, "status" | "failedCmds">;

/** The first line of a whole report. */
export function wordHeadline(messages: Messages, facts: JobFacts): string {
  return reportMessages(messages.locale).headline(facts.status, countFailed(facts));
}

/** Characters of one error on a terminal; the whole is in the journal. */
const SHOWN_ERROR = 4000;

/** A job at a terminal: its status, every command, what changed, what the user should know, how to go on. */
export function wordJob(messages: Messages, facts: JobFacts): string {
  const first = wordHeadline(messages, facts);
  if (facts.dryRun) return paragraphs([first, wordDryRun(messages, facts, { counted: true })]);
  const commands = facts.commands.map((one) => ({ ...one, error: cutMiddle(one.error, SHOWN_ERROR) }));
  const list = formatExecutionResults(commands, messages);
  const failures = explainFailures(messages, facts.workspace, commands);
  if (countNotRun(facts) > 0) failures.push(messages.notRun(countNotRun(facts)));
  return paragraphs([
    first,
    wordJobTrouble(messages, facts, "terminal"),
    wordSummary(messages, facts),
    list === "" ? "" : `${messages.details}\n${list}`,
    facts.gitCommit === undefined ? "" : messages.gitCommit(facts.gitCommit),
    failures.join("\n"),
    changeLines(messages, facts.changes),
    [...wordAllNotes(messages, facts), ...closing(messages, facts, "terminal")].join("\n"),
  ]);
}

/** Characters of one command's error or output in a chat. */
const CHAT_ERROR = 1_500;
const CHAT_OUTPUT = 1_200;

/** The same in a chat: beside its plan, only the commands that failed and what programs printed. */
export function wordChatJob(messages: Messages, facts: JobFacts, plan: string): string {
  const words = reportMessages(messages.locale);
  const first = chatHeadline(messages, facts);
  if (facts.dryRun) return paragraphs([first, plan, wordDryRun(messages, facts, { counted: false })]);
  const commands = facts.commands.map((one) => ({ ...one, error: cutMiddle(one.error, CHAT_ERROR) }));
  const results = [
    wordSummary(messages, facts),
    chatFailures(messages, facts, commands),
    wordOutputs(messages, commands),
  ];
  return paragraphs([
    first,
    wordJobTrouble(messages, facts, "chat"),
    `${words.plan}\n${plan === "" ? "—" : plan}`,
    `${words.result}\n${results.filter((part) => part !== "").join("\n")}`,
    changeLines(messages, facts.changes, facts.lineCounts),
    facts.gitCommit === undefined ? "" : messages.gitCommit(facts.gitCommit),
    wordAllNotes(messages, facts).join("\n"),
    closing(messages, facts, "chat").join("\n"),
  ]);
}

/** Where something was applied, how many of how many commands succeeded stands beside it. */
function chatHeadline(messages: Messages, facts: JobFacts): string {
  const words = reportMessages(messages.locale);
  const status = words.status(facts.status, countFailed(facts));
  if (facts.status !== "applied" && facts.status !== "partly") return status;
  return `${status} ${words.counted(facts.executedCmds, facts.totalCmds)}`;
}

/** Status and counts, where the rest stands beside it. */
export function wordJobBriefly(messages: Messages, facts: JobFacts): string {
  return [
    chatHeadline(messages, facts),
    wordJobTrouble(messages, facts, "terminal"),
    wordSummary(messages, facts),
  ]
    .filter((line) => line !== "")
    .join("\n");
}

/** A job that never began: why, and what helps. */
export function wordRefusal(messages: Messages, { workspace, why }: RefusalFacts): string {
  if (why.kind === "refused") return describeRefusal(messages, workspace, why.refusal).join("\n");
  return `${messages.parseError}\n${messages.parseErrorDetail(why.message, why.line ?? null)}`;
}

export function wordSummary(
  messages: Messages,
  { totalCmds, executedCmds, failedCmds }: Pick<JobFacts, "totalCmds" | "executedCmds" | "failedCmds">,
): string {
  return messages.summary({ total: totalCmds, succeeded: executedCmds, failed: failedCmds });
}

/** What a person should know beside the result: of the commands, of the job, and what went with it. */
export function wordAllNotes(messages: Messages, facts: JobFacts): string[] {
  const commands = facts.commands.flatMap(({ notes }) => notes).map((note) => wordNote(messages, note));
  const skipped = facts.commands
    .filter(({ output }) => output === SKIPPED)
    .map(({ command }) => command.target);
  const said = skipped.length === 0 ? [] : [reportMessages(messages.locale).skipped(skipped)];
  return [...said, ...commands, ...wordJobNotes(messages, facts)];
}

/** The same without those of its commands. */
export function wordJobNotes(messages: Messages, facts: JobFacts): string[] {
  const lines = facts.notes.map((note) => wordNote(messages, note));
  if (facts.outside.length > 0) lines.push(messages.changedOutside(facts.outside));
  if (facts.ended.length > 0) lines.push(messages.endedWithJob(facts.ended));
  if (facts.evicted.length > 0) lines.push(wordEviction(messages, facts));
  return lines;
}

export function wordEviction(
  messages: Messages,
  { evicted, quotaBytes }: Pick<JobFacts, "evicted" | "quotaBytes">,
): string {
  return messages.quotaEvicted({
    jobIds: evicted.map(({ jobId }) => jobId),
    bytes: evicted.reduce((sum, { bytes }) => sum + bytes, 0),
    quotaBytes,
  });
}

/** What became of a job that was to leave nothing behind; empty for any other. */
export function wordEnding(messages: Messages, facts: JobFacts): string {
  return facts.ending === undefined ? "" : wordJobTrouble(messages, facts, "terminal");
}

/** The sentence below the status where something went wrong as a whole; empty where nothing did. */
export function wordJobTrouble(messages: Messages, facts: JobFacts, at: Surface): string {
  const first = facts.commands.find(({ success }) => !success)?.error ?? "";
  const error = (first.split("\n")[0] as string).replace(/ \(output: .*$/, "");
  switch (facts.ending) {
    case "rolled-back":
      return messages.rolledBack(error);
    case "aborted":
      return messages.rolledBack(messages.aborted);
    case "kept-after-failure":
      return messages.cannotRollBack(error === "" ? messages.aborted : error);
    default:
      if (facts.failedCmds === 0) return "";
      if (at === "terminal") return countNotRun(facts) > 0 ? messages.commandFailed(error) : "";
      return facts.executedCmds === 0 ? messages.workerFailed(error) : "";
  }
}

/** A command that was stopped before it could fail has not succeeded either. */
function countFailed({ status, failedCmds, totalCmds, executedCmds }: JobFacts): number {
  return status === "partly" && failedCmds === 0 ? totalCmds - executedCmds : failedCmds;
}

export function countNotRun({ totalCmds, commands, ending }: JobFacts): number {
  return ending === "aborted" ? 0 : Math.max(0, totalCmds - commands.length);
}

function wordDryRun(messages: Messages, { commands }: JobFacts, { counted }: { counted: boolean }): string {
  const { totalCommands: total, ...counts } = executionSummary(commands.map(({ command }) => command));
  return [
    messages.dryRunHeader(commands.length),
    ...(counted ? [messages.executionSummary({ total, ...counts })] : []),
    ...commands.map(({ command }, i) => messages.dryRunLine(i + 1, wholeCommand(command))),
  ].join("\n");
}

/** How to go on. */
function closing(messages: Messages, facts: JobFacts, at: Surface): string[] {
  const { jobId, conflicts, changes } = facts;
  const words = reportMessages(messages.locale);
  const lines: string[] = [];
  if (conflicts.length > 0) lines.push(describeConflicts(messages, jobId, conflicts, at));
  // What the checks showed to be worse is kept as a preview too.
  const isKept = facts.status === "preview" || facts.status === "worse" || facts.status === "unended";
  const isStaged = isKept && conflicts.length === 0;
  if (isStaged) lines.push(words.previewHint[at](jobId, changes.length));
  if (facts.undo === "available") lines.push(words.undoHint[at](jobId));
  else if (!isStaged) lines.push(messages.jobLine(jobId));
  return lines;
}

function chatFailures(messages: Messages, facts: JobFacts, commands: readonly CommandFacts[]): string {
  const lines = commands.flatMap((one, index) =>
    one.success
      ? []
      : [formatExecutionResults([withoutOutput(one)], messages).replace("[1]", `[${index + 1}]`)],
  );
  lines.push(...explainFailures(messages, facts.workspace, commands));
  if (countNotRun(facts) > 0) lines.push(messages.notRun(countNotRun(facts)));
  return lines.join("\n");
}

/** What a program printed stands below, once. */
export function withoutOutput(facts: CommandFacts): CommandFacts {
  if (facts.command.type !== "shell_command" || facts.output.trim() === "") return facts;
  return { ...facts, error: facts.error.replace(/ \(output: .*$/s, "") };
}

/** What programs printed, cut; an edit's own report says nothing to a person. */
function wordOutputs(messages: Messages, commands: readonly CommandFacts[]): string {
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
