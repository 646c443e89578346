import type { Execution } from "../../application/work/execution.ts";
import { toResultJson } from "../../application/work/result-json.ts";
import { formatExecution, oneLine } from "../../domain/messages/format-results.ts";
import type { Messages } from "../../domain/messages/messages.ts";
import { maskSecrets } from "../../domain/policy/mask.ts";
import { type CliProgram, EXIT, type OpenWorker } from "./program.ts";

type Ran = Extract<Execution, { status: "ran" }>;

/** Says what a job did, from its result alone, and chooses the exit code. */
export function reportExecution(
  program: CliProgram,
  worker: OpenWorker,
  execution: Execution,
  json: boolean,
): number {
  const { messages } = worker;
  switch (execution.status) {
    case "parse-error": {
      const { failure } = execution;
      if (json) program.out(`${JSON.stringify({ success: false, error: failure })}\n`);
      else
        program.err(`${messages.parseError}\n${messages.parseErrorDetail(failure.message, failure.line)}\n`);
      return EXIT.usage;
    }
    case "refused":
      return reportRefusal(program, worker, execution.refusal, json);
    case "ran":
      if (json) {
        for (const warning of execution.warnings) program.err(`${messages.warningLabel} ${warning}\n`);
        program.out(`${JSON.stringify(toResultJson(execution.result, maskSecrets))}\n`);
      } else for (const warning of execution.warnings) program.err(`${messages.warningLabel} ${warning}\n`);
      if (!json) program.out(`${describe(worker, execution)}\n`);
      return execution.result.success ? EXIT.done : EXIT.failed;
  }
}

function reportRefusal(
  program: CliProgram,
  { messages, workspace }: OpenWorker,
  refusal: Extract<Execution, { status: "refused" }>["refusal"],
  json: boolean,
): number {
  if (json) program.out(`${JSON.stringify({ success: false, error: refusal })}\n`);
  const lines: string[] = [];
  if (refusal.code === "auto-commit") {
    lines.push(
      messages.autoCommitAborted(
        refusal.cause === "not-a-repository"
          ? messages.notARepository(workspace)
          : refusal.cause === "git-missing"
            ? messages.gitMissing
            : refusal.message,
      ),
    );
    if (refusal.cause !== "failed")
      lines.push(messages.remedy(refusal.cause === "git-missing" ? "install-git" : "init-repository"));
  } else if (refusal.code === "too-large") {
    lines.push(
      messages.copyLimitExceeded({ bytes: refusal.bytes ?? 0, limitBytes: refusal.limitBytes ?? 0 }),
    );
    for (const remedy of [
      "install-bubblewrap",
      "allow-user-namespaces",
      "raise-copy-limit",
      "transaction-none",
    ] as const)
      lines.push(`  - ${messages.remedy(remedy)}`);
  } else if (refusal.code === "no-space")
    lines.push(messages.fileTrouble("no-space", workspace), messages.remedy("free-space"));
  else lines.push(messages.patchFailed(refusal.message));
  if (!json) program.err(`${lines.join("\n")}\n`);
  return EXIT.refused;
}

function describe(worker: OpenWorker, execution: Ran): string {
  const { messages } = worker;
  const { result, outcome } = execution;
  if (outcome === "dry-run") {
    const lines = result.results.map(({ command }, i) =>
      messages.dryRunLine(i + 1, `${command.type} ${command.action} ${oneLine(command.target)}`),
    );
    return [messages.dryRunHeader(result.results.length), ...lines].join("\n");
  }
  const parts = [
    formatExecution(
      {
        headline: headline(messages, execution),
        summary: result.summary,
        results: result.results,
        gitCommit: result.gitCommit,
      },
      messages,
    ),
  ];
  const marks = { added: "A", modified: "M", deleted: "D" } as const;
  if (result.changes.length > 0) {
    const shown = result.changes.slice(0, SHOWN_CHANGES).map(({ path, kind }) => `  ${marks[kind]} ${path}`);
    if (result.changes.length > SHOWN_CHANGES) shown.push(`  … +${result.changes.length - SHOWN_CHANGES}`);
    parts.push([messages.changesHeader(result.changes.length), ...shown].join("\n"));
  }
  const notes = [
    ...result.results.flatMap(({ notes }) => notes),
    ...result.notes,
    ...closing(worker, execution),
  ];
  if (notes.length > 0) parts.push(notes.join("\n"));
  return parts.join("\n\n");
}

const SHOWN_CHANGES = 50;

function headline(messages: Messages, { outcome, result }: Ran): string {
  const error = result.results.find(({ success }) => !success)?.error ?? "";
  switch (outcome) {
    case "rolled-back":
      return messages.rolledBack(error.split("\n")[0] as string);
    case "aborted":
      return messages.rolledBack(messages.aborted);
    case "conflict":
      return messages.failed;
    default:
      return result.failedCmds > 0 && result.executedCmds === 0 ? messages.failed : messages.completed;
  }
}

/** What comes after the list: how to go on, what ended, what cannot be taken back. */
function closing(worker: OpenWorker, execution: Ran): string[] {
  const { messages } = worker;
  const { result, outcome, kind } = execution;
  const lines: string[] = [];
  if (execution.outside.length > 0) lines.push(messages.changedOutside(execution.outside));
  if (execution.ended.length > 0) lines.push(messages.endedWithJob(execution.ended));
  if (outcome === "staged")
    lines.push(messages.preview({ jobId: result.jobId, changes: result.changes.length }));
  if (outcome === "conflict")
    lines.push(
      messages.commitConflict({
        jobId: result.jobId,
        paths: execution.conflicts.map(({ path, by }) => (by === undefined ? path : `${path} (${by})`)),
      }),
    );
  if (execution.shellRan && outcome === "committed") {
    lines.push(
      kind === "none"
        ? messages.shellNotUndoable
        : messages.notCovered(["network", "daemons", "other-folders"]),
    );
  }
  if (execution.evicted.length > 0) {
    lines.push(
      messages.quotaEvicted({
        jobIds: execution.evicted.map(({ jobId }) => jobId),
        bytes: execution.evicted.reduce((sum, { bytes }) => sum + bytes, 0),
        quotaBytes: worker.config.worker.undo_quota,
      }),
    );
  }
  if (result.undo === "available") lines.push(messages.undoHint(result.jobId));
  else lines.push(messages.jobLine(result.jobId));
  return lines;
}
