import { postedComment, postedPull } from "../../domain/forges/posted-text.ts";
import { answerForge } from "./forge-fault.ts";
import type { ForgePulls } from "./forge-slices.ts";
import { type GitHubApi, PAGE_SIZE, readAllPages, splitRepository } from "./github-api.ts";
import { isDraftRefused, setDraft } from "./github-drafts.ts";
import { toChecks, toForgeComment } from "./github-shapes.ts";

/** Pull requests, their reviews and their checks. */
export function createGitHubPulls({ octokit, client, pullAt, toPull }: GitHubApi): ForgePulls {
  return {
    listReviewComments: (item, signal) =>
      answerForge(async () =>
        (
          await readAllPages((page) =>
            client(signal).pulls.listReviewComments({ ...pullAt(item), per_page: PAGE_SIZE, page }),
          )
        ).map((comment) => ({
          ...toForgeComment(comment),
          path: comment.path,
          line: comment.line ?? comment.original_line ?? null,
          lineNow: comment.side === "LEFT" ? null : (comment.line ?? null),
          thread: String(comment.in_reply_to_id ?? comment.id),
        })),
      ),
    replyTo: (item, thread, comment, signal) =>
      answerForge(async () => {
        const where = { ...pullAt(item), comment_id: Number(thread) };
        const body = postedComment("github", comment);
        await client(signal).pulls.createReplyForReviewComment({ ...where, body });
      }),
    findPull: (repository, head, signal) =>
      answerForge(async () => {
        const { owner, repo } = splitRepository(repository);
        const { data } = await client(signal).pulls.list({
          owner,
          repo,
          head: `${owner}:${head}`,
          state: "open",
          per_page: 1,
        });
        return data[0] === undefined ? null : toPull(repository, data[0]);
      }),
    openPull: ({ repository, head, base, ...text }, signal) =>
      answerForge(async () => {
        const posted = { ...splitRepository(repository), head, base, ...postedPull("github", text) };
        const create = (draft: boolean) =>
          client(signal).pulls.create({ ...posted, ...(draft && { draft }) });
        const plain = () => client(signal).pulls.create({ ...posted, title: `Draft: ${posted.title}` });
        const { data } = await create(text.draft).catch((error: unknown) =>
          text.draft && isDraftRefused(error) ? plain() : Promise.reject(error),
        );
        return toPull(repository, data);
      }),
    updatePull: (pull, text, signal) =>
      answerForge(async () => {
        const posted = postedPull("github", text);
        const { data } = await client(signal).pulls.update({ ...pullAt(pull), ...posted });
        if (
          (data.draft === true) !== text.draft &&
          !(await setDraft(octokit(signal), data.node_id, text.draft))
        )
          await client(signal).pulls.update({
            ...pullAt(pull),
            title: text.draft ? `Draft: ${posted.title}` : posted.title,
          });
        return toPull(pull.repository, data);
      }),
    checksOf: (repository, commit, signal) =>
      answerForge(async () => {
        const { data } = await client(signal).checks.listForRef({
          ...splitRepository(repository),
          ref: commit,
          per_page: PAGE_SIZE,
        });
        return toChecks(data.check_runs);
      }),
  };
}
