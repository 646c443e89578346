import type { ForgeComment, ForgeReviewComment } from "../ports/forges.ts";
import { readHeardComments } from "./heard-comments.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { SolveStop } from "./solve-stop.ts";

const BODY_CHARS = 20_000;
const COMMENTS_CHARS = 20_000;

/** Reads the item with what was said on it, and makes the first message of the conversation with the coder. */
export async function gatherRequest(
  parts: Pick<SolveDeps, "forge" | "config">,
  work: SolveWork,
): Promise<void> {
  const { item, repository } = work;
  if (repository.archived) throw new SolveStop("archived");
  if (!item.open) throw new SolveStop("closed");
  const { heard, ids } = await readHeardComments(parts, work);
  const text = [
    `# ${item.ref.kind === "issue" ? "Issue" : "Pull request"} ${item.ref.repository}#${item.ref.number}: ${item.title}`,
    quoteLines(item.body.slice(0, BODY_CHARS)),
    ...(heard.length > 0 ? ["## Comments", ...quoteComments(heard)] : []),
    ...(parts.config.rules.length > 0 ? ["## Rules of this project", ...parts.config.rules] : []),
  ].join("\n\n");
  await work.update({
    title: item.title,
    transcript: [{ role: "user", text }],
    seen: ids,
    base: { branch: item.pull?.sourceBranch ?? repository.defaultBranch, commit: null },
  });
}

/** Newest last, the oldest left out where there are too many. */
export function quoteComments(comments: readonly (ForgeComment | ForgeReviewComment)[]): string[] {
  const texts: string[] = [];
  let left = COMMENTS_CHARS;
  for (const comment of [...comments].reverse()) {
    const where =
      "path" in comment
        ? ` on ${comment.path}${comment.line === null ? "" : `:${comment.line}`} (review comment ${comment.id})`
        : "";
    const text = `${comment.author}${where}:\n${quoteLines(comment.body)}`;
    left -= text.length;
    if (left < 0) break;
    texts.unshift(text);
  }
  return texts;
}

/** What people wrote is data: marked as theirs, line by line. */
function quoteLines(text: string): string {
  return text
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}
