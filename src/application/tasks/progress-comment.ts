import { PHASES } from "../../domain/tasks/solve/phase.ts";
import type { SolveMessages } from "../../domain/texts/solve/messages.ts";
import type { SolveTask } from "../ports/solve-store.ts";
import { quietText } from "./quiet-text.ts";

/** Hidden in the comment, so that a task that lost its memory finds its own comment again. */
export function progressMark(taskId: string): string {
  return `<!-- picoclaw:task ${taskId} -->`;
}

/** The one comment that a task keeps up to date. */
export function progressComment(task: SolveTask, maxSteps: number, messages: SolveMessages): string {
  const { state, phase, plan, commands, pull, failure } = task;
  const at = PHASES.indexOf(phase);
  const heading =
    state === "waiting" || state === "running"
      ? messages.working(quietText(task.title))
      : messages.ended[state];
  const list = PHASES.map((each, i) => {
    const done = state === "done" || i < at;
    const more =
      each === "work" && i === at && state === "running"
        ? ` (${messages.steps(task.steps, maxSteps)})`
        : each === "prepare" && task.environment !== null
          ? ` (${task.environment})`
          : "";
    const steps =
      each === "plan" && plan !== null
        ? plan.steps.map((step, n) => `\n  ${n + 1}. ${quietText(step)}`).join("")
        : "";
    return `- [${done ? "x" : " "}] ${messages.phases[each]}${more}${steps}`;
  });
  const last = commands.at(-1);
  const tail = [
    ...(failure === null ? [] : [failure.message]),
    ...(state === "running" && last !== undefined
      ? [messages.lastAction(`\`${inline(last.command)}\``, last.exitCode)]
      : []),
    ...(pull === null ? [] : [messages.pullOpened(pull.url)]),
    ...(state === "running" ? [`<sub>${messages.howToStop}</sub>`] : []),
    ...(state === "paused" ? [`<sub>${messages.howToResume}</sub>`] : []),
  ];
  return [progressMark(task.id), `### ${heading}`, list.join("\n"), ...tail].join("\n\n");
}

const COMMAND_CHARS = 200;

/** One line that fits between backticks. */
export function inline(command: string): string {
  const line = command.replace(/\s+/g, " ").replaceAll("`", "'").trim();
  return line.length > COMMAND_CHARS ? `${line.slice(0, COMMAND_CHARS)}…` : line;
}
