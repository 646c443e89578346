import { type PullText, postedCommit } from "../../domain/forges/posted.ts";
import type { SolveMessages } from "../../domain/texts/texts.ts";
import type { SolveTask } from "../ports/solve-store.ts";
import { inline, oneLine } from "./progress-comment.ts";

const COMMANDS_SHOWN = 30;

/** Title and body of the PR/MR: the model's summary and plan, and what the records say of commands and checks. */
export function pullText(task: SolveTask, messages: SolveMessages): PullText {
  const { summary, plan, commands, checks, notes, item } = task;
  const parts = [
    ...(summary === "" ? [] : [`## ${messages.summaryHeading}`, quoted(summary)]),
    ...(plan === null
      ? []
      : [`## ${messages.planHeading}`, plan.steps.map((step, i) => `${i + 1}. ${oneLine(step)}`).join("\n")]),
    `## ${messages.checksHeading}`,
    checks.length === 0
      ? messages.noChecks
      : checks
          .map(({ command, exitCode, durationMs, counts }) =>
            messages.checkLine(`\`${inline(command)}\``, exitCode, seconds(durationMs), counts ?? null),
          )
          .map((line) => `- ${line}`)
          .join("\n"),
    ...(commands.length === 0 ? [] : [`## ${messages.commandsHeading}`, commandTable(task, messages)]),
    ...(notes.length === 0
      ? []
      : [`## ${messages.notesHeading}`, notes.map((note) => `- ${note}`).join("\n")]),
    `---\n_${messages.footer}_`,
  ];
  return {
    title: messages.pullTitle(task.title),
    body: parts.join("\n\n"),
    closes: item.kind === "issue" ? item.number : null,
    draft: false,
  };
}

/** A model's words stay in a block of their own: no fence or tag in them swallows what stands below. */
function quoted(text: string): string {
  return text
    .trim()
    .split(/\r\n?|\n/)
    .map((line) => `> ${line}`)
    .join("\n");
}

/** The message of the commit: what, why, for which issue. */
export function commitMessage(task: SolveTask, messages: SolveMessages): string {
  const { item, title, summary } = task;
  const subject = oneLine(item.kind === "pull" ? messages.followUpMessage : title).slice(0, 72);
  const text = [subject, summary].filter((part) => part !== "").join("\n\n");
  return postedCommit(item.forge, text, item.kind === "issue" ? item.number : null);
}

function commandTable({ commands }: SolveTask, messages: SolveMessages): string {
  const shown = commands.slice(-COMMANDS_SHOWN);
  const rows = shown.map(
    ({ command, exitCode, durationMs }) =>
      `| \`${inline(command).replaceAll("|", "\\|")}\` | ${exitCode} | ${seconds(durationMs)} s |`,
  );
  const left = commands.length - shown.length;
  return [
    `| ${messages.tableHead.join(" | ")} |`,
    "|---|---|---|",
    ...rows,
    ...(left > 0 ? ["", messages.more(left)] : []),
  ].join("\n");
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
