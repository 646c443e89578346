import type { CommandResult } from "../../domain/patch/result.ts";
import type { Proposal } from "../../domain/proposal/proposal.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import { formatExecutionResults, oneLine, wholeCommand } from "../../domain/texts/format-results.ts";
import type { Reply } from "../ports/conversation.ts";
import type { Execution } from "../work/execution.ts";
import { actionsFor } from "../work/present-actions.ts";
import { changeLines } from "../work/report/change-lines.ts";
import { describeConflicts } from "../work/report/describe-conflict.ts";
import { describeRefusal } from "../work/report/describe-refusal.ts";
import { explainFailures } from "../work/report/explain-failures.ts";
import { type ResultJson, toResultJson } from "../work/result-json.ts";
import type { ChatParts } from "./parts.ts";

type Ran = Extract<Execution, { status: "ran" }>;
type Parts = Pick<ChatParts, "messages" | "chat" | "workspace">;

/** Characters of one command's error or output in a chat; the whole is in the journal. */
const SHOWN_ERROR = 1_500;
const SHOWN_OUTPUT = 1_200;

export interface JobReport {
  readonly text: string;
  readonly ok: boolean;
  readonly job?: ResultJson;
  readonly actions: Reply["actions"];
}

/** Words a job for the chat, from the executor's facts alone. */
export function reportJob(
  parts: Parts,
  execution: Execution,
  proposal: Pick<Proposal, "plan" | "risk">,
): JobReport {
  const plan = planOf(parts, proposal);
  const { messages, chat, workspace } = parts;
  switch (execution.status) {
    case "parse-error": {
      const { message, line } = execution.failure;
      const detail = `${messages.parseError}\n${messages.parseErrorDetail(message, line)}`;
      return { text: chat.proposalUnusable(detail), ok: false, actions: [] };
    }
    case "refused": {
      const detail = describeRefusal(messages, workspace.root, execution.refusal).join("\n");
      return { text: messages.workerFailed(detail), ok: false, actions: [] };
    }
    case "ran":
      return {
        text: describe(parts, execution, plan),
        ok: execution.result.success,
        job: toResultJson(execution.result),
        actions: actionsFor(parts.workspace.archive, execution.result.jobId, parts.chat.actions),
      };
  }
}

function describe(parts: Parts, execution: Ran, plan: string): string {
  const { messages } = parts;
  const { result, outcome, totalCmds } = execution;
  if (outcome === "dry-run") return describeDryRun(parts, execution, plan);
  const shown = result.results.map((one) => ({ ...one, error: cutMiddle(one.error, SHOWN_ERROR) }));
  const summary = [result.summary, failuresOf(parts, execution, shown), outputsOf(parts, shown)];
  const facts = [
    changeLines(messages, result.changes),
    result.gitCommit === undefined ? "" : messages.gitCommit(result.gitCommit),
    [...result.results.flatMap(({ notes }) => notes), ...result.notes].join("\n"),
    closing(parts, execution),
  ];
  const total = Math.max(totalCmds, result.results.length);
  const body = messages.chatCompleted({
    succeeded: result.executedCmds,
    total,
    plan: plan === "" ? "—" : plan,
    summary: summary.filter((part) => part !== "").join("\n"),
  });
  const troubled = troubleOf(parts, execution);
  return [troubled, troubled === "" ? body : withoutHeadline(body), ...facts]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** A high risk is said beside the plan; the others are no news. */
function planOf({ chat, workspace }: Parts, { plan, risk }: Pick<Proposal, "plan" | "risk">): string {
  const said = workspace.mask(plan.trim());
  return risk === "high" ? [said, chat.riskNote(risk)].filter((part) => part !== "").join("\n") : said;
}

/** "Done" is not said over a job that was taken back or brought nothing in. */
function withoutHeadline(body: string): string {
  return body.slice(body.indexOf("\n\n") + 2);
}

function troubleOf({ messages }: Parts, { outcome, result, keptAfterFailure, totalCmds }: Ran): string {
  const error = (result.results.find(({ success }) => !success)?.error ?? "").split("\n")[0] as string;
  switch (outcome) {
    case "rolled-back":
      return messages.rolledBack(error);
    case "aborted":
      return messages.rolledBack(messages.aborted);
    case "conflict":
      return messages.failed;
    default:
      if (keptAfterFailure) return messages.cannotRollBack(error === "" ? messages.aborted : error);
      return totalCmds > 0 && result.executedCmds === 0 ? messages.workerFailed(error) : "";
  }
}

function failuresOf(
  { messages, workspace }: Parts,
  execution: Ran,
  results: readonly CommandResult[],
): string {
  const failed = results.map((one, index) => ({ one, index })).filter(({ one }) => !one.success);
  const lines = failed.map(({ one, index }) =>
    formatExecutionResults([withoutOutput(one)], messages).replace("[1]", `[${index + 1}]`),
  );
  lines.push(...explainFailures(messages, workspace.root, results));
  const missing = execution.totalCmds - results.length;
  if (missing > 0 && execution.outcome !== "aborted") lines.push(messages.notRun(missing));
  return lines.join("\n");
}

/** What a program printed stands below, once. */
function withoutOutput(result: CommandResult): CommandResult {
  if (result.command.type !== "shell_command" || result.output.trim() === "") return result;
  return { ...result, error: result.error.replace(/ \(output: .*$/s, "") };
}

/** What programs printed, cut; an edit's own report says nothing to a person. */
function outputsOf({ chat }: Parts, results: readonly CommandResult[]): string {
  return results
    .filter(({ command, output }) => command.type === "shell_command" && output.trim() !== "")
    .map(({ command, output }) => {
      const text = cutMiddle(output.trimEnd(), SHOWN_OUTPUT);
      const fence = /`{3,}/.test(text) ? "~~~~" : "```";
      return `${chat.outputOf(oneLine(command.target))}\n${fence}\n${text}\n${fence}`;
    })
    .join("\n");
}

function describeDryRun({ messages }: Parts, { result }: Ran, plan: string): string {
  const lines = result.results.map(({ command }, i) => messages.dryRunLine(i + 1, wholeCommand(command)));
  return [plan, [messages.dryRunHeader(result.results.length), ...lines].join("\n")]
    .filter((part) => part !== "")
    .join("\n\n");
}

function closing({ messages, chat }: Parts, execution: Ran): string {
  const { result, outcome, conflicts } = execution;
  const { jobId } = result;
  const lines: string[] = [];
  if (execution.outside.length > 0) lines.push(messages.changedOutside(execution.outside));
  if (execution.ended.length > 0) lines.push(messages.endedWithJob(execution.ended));
  if (outcome === "conflict") lines.push(describeConflicts(messages, jobId, conflicts));
  if (outcome === "staged") lines.push(chat.previewReady(jobId, result.changes.length));
  else lines.push(result.undo === "available" ? chat.undoHint(jobId) : messages.jobLine(jobId));
  return lines.join("\n");
}
