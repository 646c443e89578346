import type { Opened } from "../../application/ports/opening.ts";
import type { Execution } from "../../application/work/execution.ts";
import { changeLines } from "../../application/work/report/change-lines.ts";
import { describeConflicts } from "../../application/work/report/describe-conflict.ts";
import { explainFailures } from "../../application/work/report/explain-failures.ts";
import { toResultJson } from "../../application/work/result-json.ts";
import { executionSummary } from "../../domain/patch/execution-summary.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import { formatExecution, wholeCommand } from "../../domain/texts/format-results.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import { fail } from "./fail.ts";
import { printable } from "./printable.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { reportRefusal } from "./report-refusal.ts";

/** Characters of one error on the screen; the whole is in the journal. */
const SHOWN_ERROR = 4000;

type Ran = Extract<Execution, { status: "ran" }>;

/** Says what a job did, from its result alone, and chooses the exit code. */
export function reportExecution(
  program: CliProgram,
  opened: Opened,
  execution: Execution,
  json: boolean,
): number {
  const { messages } = opened;
  switch (execution.status) {
    case "parse-error": {
      const { code, message, ...facts } = execution.failure;
      if (json) return fail(program, json, { exitCode: EXIT.usage, code, text: message, facts });
      const text = `${messages.parseError}\n${messages.parseErrorDetail(message, facts.line)}`;
      return fail(program, json, { exitCode: EXIT.usage, code, text });
    }
    case "refused":
      return reportRefusal(program, opened, execution.refusal, json);
    case "ran": {
      for (const warning of execution.warnings) program.err(`${messages.warningLabel} ${warning}\n`);
      program.out(
        `${json ? JSON.stringify(toJson(opened, execution)) : printable(describe(opened, execution))}\n`,
      );
      return execution.result.success ? EXIT.done : EXIT.failed;
    }
  }
}

/** The document of `apply --json`. What kept the commit from happening is there only when something did. */
function toJson({ messages }: Opened, execution: Ran): Record<string, unknown> {
  const { outcome, conflicts, result } = execution;
  const taken = outcome === "rolled-back" || outcome === "aborted" || execution.keptAfterFailure;
  const notes = taken ? [...result.notes, headline(messages, execution)] : result.notes;
  return { ...toResultJson({ ...result, notes }), ...(conflicts.length > 0 && { conflicts }) };
}

function describe(opened: Opened, execution: Ran): string {
  const { messages, workspace } = opened;
  const { result, outcome, totalCmds } = execution;
  if (outcome === "dry-run") return describeDryRun(messages, execution);
  const { summary, gitCommit } = result;
  const results = result.results.map((one) => ({ ...one, error: cutMiddle(one.error, SHOWN_ERROR) }));
  const explained = explainFailures(messages, workspace.root, results);
  if (totalCmds > results.length && outcome !== "aborted")
    explained.push(messages.notRun(totalCmds - results.length));
  const notes = [...results.flatMap((one) => one.notes), ...result.notes, ...closing(opened, execution)];
  return [
    formatExecution({ headline: headline(messages, execution), summary, results, gitCommit }, messages),
    explained.join("\n"),
    changeLines(messages, result.changes),
    notes.join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function describeDryRun(messages: Messages, { result }: Ran): string {
  const commands = result.results.map(({ command }) => command);
  const { totalCommands: total, ...counts } = executionSummary(commands);
  return [
    messages.dryRunHeader(commands.length),
    messages.executionSummary({ total, ...counts }),
    ...commands.map((command, i) => messages.dryRunLine(i + 1, wholeCommand(command))),
  ].join("\n");
}

function headline(messages: Messages, execution: Ran): string {
  const { outcome, result, totalCmds, keptAfterFailure } = execution;
  const first = result.results.find(({ success }) => !success)?.error ?? "";
  const error = (first.split("\n")[0] as string).replace(/ \(output: .*$/, "");
  switch (outcome) {
    case "rolled-back":
      return messages.rolledBack(error);
    case "aborted":
      return messages.rolledBack(messages.aborted);
    case "conflict":
      return messages.failed;
    default:
      if (keptAfterFailure) return messages.cannotRollBack(error === "" ? messages.aborted : error);
      if (totalCmds > result.results.length) return messages.commandFailed(error);
      return result.failedCmds > 0 && result.executedCmds === 0 ? messages.failed : messages.completed;
  }
}

/** What comes after the list: how to go on, what ended, what cannot be taken back. */
function closing(opened: Opened, execution: Ran): string[] {
  const { messages } = opened;
  const { result, outcome, conflicts } = execution;
  const { jobId } = result;
  const lines: string[] = [];
  if (execution.outside.length > 0) lines.push(messages.changedOutside(execution.outside));
  if (execution.ended.length > 0) lines.push(messages.endedWithJob(execution.ended));
  if (outcome === "staged") lines.push(messages.preview({ jobId, changes: result.changes.length }));
  if (outcome === "conflict") lines.push(describeConflicts(messages, jobId, conflicts));
  if (execution.evicted.length > 0) {
    lines.push(
      messages.quotaEvicted({
        jobIds: execution.evicted.map((one) => one.jobId),
        bytes: execution.evicted.reduce((sum, { bytes }) => sum + bytes, 0),
        quotaBytes: opened.config.worker.undo_quota,
      }),
    );
  }
  lines.push(result.undo === "available" ? messages.undoHint(jobId) : messages.jobLine(jobId));
  return lines;
}
