import { itemUrl } from "../../domain/forges/forge-items.ts";
import { commentMark } from "../../domain/forges/posted-text.ts";
import { PHASES } from "../../domain/tasks/solve-decisions.ts";
import { oneLine } from "../../domain/tasks/task-note.ts";
import { figuresOf, type TaskFigures } from "../../domain/tasks/task-steps.ts";
import type { SolveMessages } from "../../domain/texts/tasks.ts";
import type { SolveTask } from "../ports/tasks.ts";
import { checkWords, inline, quoteModelText } from "./publish-change.ts";
import { orStop, type SolveDeps, type SolveWork } from "./solve-work.ts";

/** One comment per task, edited in place. After a crash it is found again by its mark. */
export function createProgressReport(deps: SolveDeps, work: SolveWork) {
  const { forge, config, clock, messages, mask, log } = deps;
  let last = Number.NEGATIVE_INFINITY;
  let shown = "";
  return {
    /** Brings the comment up to date; `soon` only as often as the configuration allows. Never fails the task. */
    async update(when: "now" | "soon"): Promise<void> {
      if (when === "soon" && clock() - last < config.progressEveryMs) return;
      const { task } = work;
      const figures = figuresOf(await deps.store.steps(task.id));
      const body = mask(progressComment(task, config.maxSteps, messages, figures));
      if (body === shown) return;
      last = clock();
      const comment = { text: body, mark: markOf(task.id) };
      try {
        // A task that was stopped still says so.
        const signal = AbortSignal.timeout(30_000);
        const id = task.commentId ?? (await findOwn(deps, work, signal));
        if (id === null) {
          const { id: made } = await orStop(forge.postComment(task.item, comment, signal));
          await work.update({ commentId: made });
        } else {
          await orStop(forge.editComment(task.item, id, comment, signal));
          if (task.commentId === null) await work.update({ commentId: id });
        }
        shown = body;
      } catch (error) {
        log.warn("solve", "solve.progress_not_told", "solve.progress_not_told", {
          task_id: task.id,
          error: String(error),
        });
      }
    },
  };
}

async function findOwn(
  { forge }: SolveDeps,
  { task, bot }: SolveWork,
  signal: AbortSignal,
): Promise<string | null> {
  const comments = await orStop(forge.listComments(task.item, signal));
  const own = comments.find(
    ({ author, body }) => author === bot.login && body.includes(commentMark(markOf(task.id))),
  );
  return own?.id ?? null;
}

/** By it a task that lost its memory finds its own comment again. */
function markOf(taskId: string): string {
  return `task ${taskId}`;
}

/** The one comment that a task keeps up to date. */
function progressComment(
  task: SolveTask,
  maxSteps: number,
  messages: SolveMessages,
  figures: TaskFigures,
): string {
  const { state, phase, plan, commands, pull, failure } = task;
  const at = PHASES.indexOf(phase);
  const heading =
    state === "waiting" || state === "running"
      ? messages.working(oneLine(task.title))
      : messages.ended[state];
  const list = PHASES.map((each, i) => {
    const published =
      each === "publish" && failure !== null && task.pushed !== null && SHOWS_CHECKS.has(failure.kind);
    const done = state === "done" || i < at || published;
    const more =
      each === "work" && i === at && state === "running"
        ? ` (${messages.steps(task.steps, maxSteps)})`
        : each === "prepare" && task.environment !== null
          ? ` (${task.environment})`
          : "";
    const steps =
      each === "plan" && plan !== null
        ? plan.steps.map((step, n) => `\n  ${n + 1}. ${oneLine(step)}`).join("")
        : "";
    return `- [${done ? "x" : " "}] ${messages.phases[each]}${more}${steps}`;
  });
  const last = commands.at(-1);
  const tail = [
    ...(failure === null
      ? []
      : [failure.message.includes("\n") ? quoteModelText(failure.message) : failure.message]),
    ...(failure !== null && SHOWS_CHECKS.has(failure.kind) ? checkWords(task, messages) : []),
    ...(state === "running" && last !== undefined
      ? [messages.lastAction(`\`${inline(last.command)}\``, last.exitCode)]
      : []),
    ...(state === "running" && figures.said !== "" ? [messages.saidLast(figures.said)] : []),
    ...(figures.edited.length === 0
      ? []
      : [messages.editedSoFar(figures.edited.map((path) => `\`${inline(path)}\``))]),
    ...(pull === null ? [] : [messages.pullOpened(pull.url)]),
    ...(figures.answers === 0 ? [] : [messages.figures(figures)]),
    ...(state === "running" ? [`_${messages.howToStop}_`] : []),
    ...(state === "paused" ? [`_${messages.howToResume(itemUrl(task.item))}_`] : []),
  ];
  return [`### ${heading}`, list.join("\n"), ...tail].join("\n\n");
}

/** Ends that a reader understands only with what the checks printed. */
const SHOWS_CHECKS: ReadonlySet<string> = new Set(["checks-red", "checks-not-run", "nothing-changed-red"]);
