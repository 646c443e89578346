import { progressComment, progressMark } from "./progress-comment.ts";
import type { SolveParts, Work } from "./solve-parts.ts";
import { orStop } from "./solve-stop.ts";

export interface ProgressReport {
  /** Brings the comment up to date; `soon` only as often as the configuration allows. Never fails the task. */
  update(when: "now" | "soon"): Promise<void>;
}

/** One comment per task, edited in place. After a crash it is found again by its mark. */
export function createProgressReport(parts: SolveParts, work: Work): ProgressReport {
  const { forge, config, clock, messages, mask, log } = parts;
  let last = Number.NEGATIVE_INFINITY;
  let shown = "";
  return {
    async update(when) {
      if (when === "soon" && clock() - last < config.progressEveryMs) return;
      const { task } = work;
      const body = mask(progressComment(task, config.maxSteps, messages));
      if (body === shown) return;
      last = clock();
      try {
        // A task that was stopped still says so.
        const signal = AbortSignal.timeout(30_000);
        const id = task.commentId ?? (await findOwn(parts, work, signal));
        if (id === null) {
          const { id: made } = await orStop(forge.postComment(task.item, body, signal));
          await work.update({ commentId: made });
        } else {
          await orStop(forge.editComment(task.item, id, body, signal));
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
  { forge }: SolveParts,
  { task, bot }: Work,
  signal: AbortSignal,
): Promise<string | null> {
  const comments = await orStop(forge.listComments(task.item, signal));
  const own = comments.find(
    ({ author, body }) => author === bot.login && body.includes(progressMark(task.id)),
  );
  return own?.id ?? null;
}
