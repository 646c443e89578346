import type { SolveMessages } from "../../domain/texts/texts.ts";
import type { PullText } from "../ports/forge.ts";
import type { SolveTask } from "../ports/solve-store.ts";
import { inline } from "./progress-comment.ts";
import { quietText } from "./quiet-text.ts";

const TITLE_CHARS = 120;
const COMMANDS_SHOWN = 30;
const BODY_CHARS = 60_000;

/** Title and body of the PR/MR: the model's summary and plan, and what the records say of commands and checks. */
export function pullText(task: SolveTask, messages: SolveMessages): PullText {
  const { summary, plan, commands, checks, notes, item } = task;
  const parts = [
    ...(summary === "" ? [] : [`## ${messages.summaryHeading}`, quietText(summary)]),
    ...(plan === null
      ? []
      : [
          `## ${messages.planHeading}`,
          plan.steps.map((step, i) => `${i + 1}. ${quietText(step)}`).join("\n"),
        ]),
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
    ...(item.kind === "issue" ? [`Closes #${item.number}`] : []),
    `---\n<sub>${messages.footer}</sub>`,
  ];
  const body = parts.join("\n\n");
  return {
    title: quietText(messages.pullTitle(task.title)).slice(0, TITLE_CHARS),
    body: body.length > BODY_CHARS ? `${body.slice(0, BODY_CHARS)}…` : body,
  };
}

/** The message of the commit: what, why, for which issue. */
export function commitMessage(task: SolveTask, messages: SolveMessages): string {
  const { item, title, summary } = task;
  const subject = quietText(item.kind === "pull" ? messages.followUpMessage : title).replace(/\s+/g, " ");
  const reference = item.kind === "issue" ? `Closes #${item.number}` : "";
  return [subject.slice(0, 72), quietText(summary), reference].filter((part) => part !== "").join("\n\n");
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
