import { type ChangedLines, isChangedNear } from "../../domain/forges/changed-lines.ts";
import type { SolveMessages } from "../../domain/texts/texts.ts";
import type { ForgeReviewComment } from "../ports/forges.ts";
import { readHeardComments } from "./heard-comments.ts";
import { quoteModelText } from "./pull-text.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";

export interface ReviewedChange {
  readonly commit: string;
  readonly paths: readonly string[];
  readonly lines: ChangedLines;
}

/**
 * Answers the review comments that a follow-up took into account, each thread once: whether it was changed at that place, by which
 * commit, and what the coder says to it, or else its summary. An answer that cannot be posted is no failure of the task.
 */
export async function answerReview(parts: SolveDeps, work: SolveWork, change: ReviewedChange): Promise<void> {
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
    const own = comments.flatMap(({ id }) => task.answers?.[id] ?? []).join("\n\n") || task.summary;
    const text = mask(
      [whatChanged(messages, comments, change), ...(own === "" ? [] : [quoteModelText(own)])].join("\n\n"),
    );
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

/** By the change alone, whatever the coder says. */
function whatChanged(
  messages: SolveMessages,
  comments: readonly ForgeReviewComment[],
  { commit, paths, lines }: ReviewedChange,
): string {
  const short = commit.slice(0, 10);
  if (!comments.some(({ path }) => paths.includes(path))) return messages.reviewUnchanged;
  const placed = comments.filter(({ lineNow }) => lineNow !== null);
  if (placed.length === 0) return messages.reviewChanged(short);
  const isHere = placed.some(({ path, lineNow }) => isChangedNear(lines, path, lineNow ?? 0));
  return isHere ? messages.reviewChangedHere(short) : messages.reviewChangedElsewhere(short);
}
