import { postedComment, postedPull } from "../../domain/forges/posted.ts";
import { answer } from "./forge-fault.ts";
import type { ForgePulls } from "./forge-slices.ts";
import { type GitHubApi, PAGE, pages, split } from "./github-api.ts";
import { isDraftRefused, turnDraft } from "./github-drafts.ts";
import { checksOf, commentOf } from "./github-shapes.ts";

/** Pull requests, their reviews and their checks. */
export function createGitHubPulls({ octokit, client, pullAt, toPull }: GitHubApi): ForgePulls {
  return {
    listReviewComments: (item, signal) =>
      answer(async () =>
        (
          await pages((page) =>
            client(signal).pulls.listReviewComments({ ...pullAt(item), per_page: PAGE, page }),
          )
        ).map((comment) => ({
          ...commentOf(comment),
          path: comment.path,
          line: comment.line ?? comment.original_line ?? null,
          lineNow: comment.side === "LEFT" ? null : (comment.line ?? null),
          thread: String(comment.in_reply_to_id ?? comment.id),
        })),
      ),
    replyTo: (item, thread, comment, signal) =>
      answer(async () => {
        const where = { ...pullAt(item), comment_id: Number(thread) };
        const body = postedComment("github", comment);
        await client(signal).pulls.createReplyForReviewComment({ ...where, body });
      }),
    findPull: (repository, head, signal) =>
      answer(async () => {
        const { owner, repo } = split(repository);
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
      answer(async () => {
        const posted = { ...split(repository), head, base, ...postedPull("github", text) };
        const create = (draft: boolean) =>
          client(signal).pulls.create({ ...posted, ...(draft && { draft }) });
        const plain = () => client(signal).pulls.create({ ...posted, title: `Draft: ${posted.title}` });
        const { data } = await create(text.draft).catch((error: unknown) =>
          text.draft && isDraftRefused(error) ? plain() : Promise.reject(error),
        );
        return toPull(repository, data);
      }),
    updatePull: (pull, text, signal) =>
      answer(async () => {
        const posted = postedPull("github", text);
        const { data } = await client(signal).pulls.update({ ...pullAt(pull), ...posted });
        if (
          (data.draft === true) !== text.draft &&
          !(await turnDraft(octokit(signal), data.node_id, text.draft))
        )
          await client(signal).pulls.update({
            ...pullAt(pull),
            title: text.draft ? `Draft: ${posted.title}` : posted.title,
          });
        return toPull(pull.repository, data);
      }),
    checksOf: (repository, commit, signal) =>
      answer(async () => {
        const { data } = await client(signal).checks.listForRef({
          ...split(repository),
          ref: commit,
          per_page: PAGE,
        });
        return checksOf(data.check_runs);
      }),
  };
}
