import type { ForgeReviewComment } from "../ports/forge.ts";
import { readHeardComments } from "./heard-comments.ts";
import { quoted } from "./pull-text.ts";
import type { SolveParts, Work } from "./solve-parts.ts";

/**
 * Answers the review comments that a follow-up took into account, each thread once: whether the commented file was changed, by which
 * commit, and the coder's summary. An answer that cannot be posted is no failure of the task.
 */
export async function answerReview(
  parts: SolveParts,
  work: Work,
  change: { readonly commit: string; readonly paths: readonly string[] },
): Promise<void> {
  const { forge, messages, mask, log } = parts;
  const { task, signal } = work;
  if (work.item.pull === undefined) return;
  const { heard } = await readHeardComments(parts, work);
  const answered = new Set(task.answered ?? []);
  const open = heard.filter(
    (comment): comment is ForgeReviewComment =>
      "thread" in comment && task.seen.includes(comment.id) && !answered.has(comment.id),
  );
  for (const [thread, comments] of Map.groupBy(open, (comment) => comment.thread)) {
    const changed = comments.some(({ path }) => change.paths.includes(path));
    const said = changed ? messages.reviewChanged(change.commit.slice(0, 10)) : messages.reviewUnchanged;
    const text = mask([said, ...(task.summary === "" ? [] : [quoted(task.summary)])].join("\n\n"));
    const posted = await forge.replyTo(task.item, thread, { text }, signal);
    if (!posted.ok) {
      log.warn("solve", "solve.not_answered", "solve.not_answered", {
        task_id: task.id,
        error: posted.failure.message,
      });
      continue;
    }
    for (const { id } of comments) answered.add(id);
    await work.update({ answered: [...answered] });
  }
}
