import { fenced, type PullText, postedCommit } from "../../domain/forges/posted-text.ts";
import { taskVerdict } from "../../domain/tasks/verdict.ts";
import type { TaskFigures } from "../../domain/tasks/task-steps.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { SolveMessages } from "../../domain/texts/texts.ts";
import type { SolveTask } from "../ports/tasks.ts";
import { inline, oneLine } from "./one-line.ts";

const COMMANDS_SHOWN = 30;
const OUTPUT_CHARS = 4000;
const SUMMARY_CHARS = 10_000;
const NOTE_CHARS = 1000;

/**
 * Title and body of the PR/MR: what and why in the model's words, how it was checked and what it cost from the records, how to ask
 * for changes. Only green checks make it close its issue; red ones, or such as could not be run, make it a draft.
 */
export function pullText(
  task: SolveTask,
  { messages, figures }: { readonly messages: SolveMessages; readonly figures: TaskFigures },
): PullText {
  const { summary, plan, commands, notes, item, checks } = task;
  const verdict = taskVerdict(checks);
  const parts = [
    ...(verdict === "green" ? [] : [`**${messages.verdicts[verdict]}**`]),
    ...(summary === ""
      ? []
      : [`## ${messages.summaryHeading}`, quoteModelText(cutMiddle(summary, SUMMARY_CHARS))]),
    `## ${messages.whyHeading}`,
    messages.why(item.number, oneLine(task.title)),
    ...(plan === null ? [] : [plan.steps.map((step, i) => `${i + 1}. ${oneLine(step)}`).join("\n")]),
    `## ${messages.checksHeading}`,
    ...checkWords(task, messages),
    ...(commands.length === 0 ? [] : [`## ${messages.commandsHeading}`, commandTable(task, messages)]),
    ...(notes.length === 0
      ? []
      : [
          `## ${messages.notesHeading}`,
          notes.map((note) => `- ${cutMiddle(oneLine(note), NOTE_CHARS)}`).join("\n"),
        ]),
    `## ${messages.costHeading}`,
    messages.figures(figures),
    `---\n_${messages.howToAsk} ${messages.footer}_`,
  ];
  return {
    title: messages.pullTitle(task.title),
    body: parts.join("\n\n"),
    closes: closesOf(task),
    draft: verdict === "red" || verdict === "not-run",
  };
}

function closesOf({ item, checks }: SolveTask): number | null {
  return item.kind === "issue" && taskVerdict(checks) === "green" ? item.number : null;
}

/** How each check ended; of a red one what was red before, and what it printed. */
export function checkWords({ checks }: SolveTask, messages: SolveMessages): string[] {
  if (checks.length === 0) return [messages.noChecks];
  return checks.flatMap(({ command, exitCode, durationMs, counts, since, output = "" }) => {
    const line = messages.checkLine(
      `\`${inline(command)}\``,
      exitCode,
      secondsText(durationMs),
      counts ?? null,
    );
    if (exitCode === 0) return [`- ${line}`];
    const before = since === undefined ? [] : [messages.since(since.verdict, since.worse.map(inline))];
    const shown = output.trim() === "" ? [] : [fenced(cutMiddle(output, OUTPUT_CHARS), "text")];
    return [[`- ${line}`, ...before].join(" "), ...shown];
  });
}

/** A model's words stay in a block of their own: no fence or tag in them swallows what stands below. */
export function quoteModelText(text: string): string {
  return text
    .trim()
    .split(/\r\n?|\n/)
    .map((line) => `> ${line}`)
    .join("\n");
}

/** The message of the commit: what, why, for which issue. */
export function commitMessage(
  task: SolveTask,
  { messages, mask }: { readonly messages: SolveMessages; readonly mask: (text: string) => string },
): string {
  const { item, title, summary } = task;
  const subject = oneLine(item.kind === "pull" ? messages.followUpMessage : title).slice(0, 72);
  // A message is an argument of git's, and those have a length.
  const text = [subject, cutMiddle(summary, SUMMARY_CHARS)].filter((part) => part !== "").join("\n\n");
  return postedCommit(item.forge, mask(text), closesOf(task));
}

function commandTable({ commands }: SolveTask, messages: SolveMessages): string {
  const shown = commands.slice(-COMMANDS_SHOWN);
  const rows = shown.map(
    ({ command, exitCode, durationMs }) =>
      `| \`${inline(command).replaceAll("|", "\\|")}\` | ${exitCode} | ${secondsText(durationMs)} s |`,
  );
  const left = commands.length - shown.length;
  return [
    `| ${messages.tableHead.join(" | ")} |`,
    "|---|---|---|",
    ...rows,
    ...(left > 0 ? ["", messages.more(left)] : []),
  ].join("\n");
}

function secondsText(ms: number): string {
  return (ms / 1000).toFixed(1);
}
