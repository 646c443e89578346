import { postedComment } from "../../domain/forges/posted-text.ts";
import { answerForge, nullIfMissing } from "./forge-fault.ts";
import type { ForgeItems } from "./forge-slices.ts";
import { type GitHubApi, PAGE_SIZE, readAllPages, splitRepository } from "./github-api.ts";
import { type IssueEvent, toForgeComment, toForgeItem, toForgeRequest } from "./github-shapes.ts";

/** Issues and pull requests as people write about them: texts, comments, labels, and what asks for work. */
export function createGitHubItems({ client, at, pullAt, ref }: GitHubApi): ForgeItems {
  return {
    readItem: (item, signal) =>
      answerForge(async () => {
        const rest = client(signal);
        const { data } = await rest.issues.get(at(item));
        const found = toForgeItem(data, (kind) => ref(item.repository, kind, data.number));
        if (found.ref.kind === "issue") return found;
        const { data: pull } = await rest.pulls.get(pullAt(item));
        return {
          ...found,
          pull: {
            sourceRepository: pull.head.repo?.full_name ?? "",
            sourceBranch: pull.head.ref,
            sourceCommit: pull.head.sha,
            targetBranch: pull.base.ref,
          },
        };
      }),
    listComments: (item, signal) =>
      answerForge(async () =>
        (
          await readAllPages((page) =>
            client(signal).issues.listComments({ ...at(item), per_page: PAGE_SIZE, page }),
          )
        ).map(toForgeComment),
      ),
    postComment: (item, comment, signal) =>
      answerForge(async () => {
        const body = postedComment("github", comment);
        return toForgeComment((await client(signal).issues.createComment({ ...at(item), body })).data);
      }),
    editComment: (item, commentId, comment, signal) =>
      answerForge(async () => {
        const where = { ...splitRepository(item.repository), comment_id: Number(commentId) };
        const body = postedComment("github", comment);
        return toForgeComment((await client(signal).issues.updateComment({ ...where, body })).data);
      }),
    addLabel: (item, label, signal) =>
      answerForge(async () => void (await client(signal).issues.addLabels({ ...at(item), labels: [label] }))),
    removeLabel: (item, label, signal) =>
      answerForge(
        async () =>
          void (await nullIfMissing(client(signal).issues.removeLabel({ ...at(item), name: label }))),
      ),
    assign: (item, { login }, signal) =>
      answerForge(
        async () => void (await client(signal).issues.addAssignees({ ...at(item), assignees: [login] })),
      ),
    unassign: (item, { login }, signal) =>
      answerForge(
        async () => void (await client(signal).issues.removeAssignees({ ...at(item), assignees: [login] })),
      ),
    findRequest: (item, { label, assignee }, signal) =>
      answerForge(async () => {
        const events = (await readAllPages((page) =>
          client(signal).issues.listEvents({ ...at(item), per_page: PAGE_SIZE, page }),
        )) as readonly IssueEvent[];
        for (const event of [...events].reverse()) {
          const found = toForgeRequest(event, { label, assignee });
          if (found !== null) return found;
        }
        return null;
      }),
    listSaid: (repository, since, signal) =>
      answerForge(async () => {
        const from = { ...splitRepository(repository), since: since.toISOString(), per_page: PAGE_SIZE };
        const items = await readAllPages((page) =>
          client(signal).issues.listForRepo({ ...from, state: "open", page }),
        );
        const comments = await readAllPages((page) =>
          client(signal).issues.listCommentsForRepo({ ...from, page }),
        );
        // `since` is about the last change; an edit is nothing new.
        const isNew = ({ created_at: at }: { created_at: string }) => Date.parse(at) >= since.getTime();
        return [
          ...items.filter(isNew).map((issue) => {
            const {
              ref: at,
              author,
              body,
            } = toForgeItem(issue, (kind) => ref(repository, kind, issue.number));
            return { ref: at, commentId: null, author, body };
          }),
          ...comments.filter(isNew).flatMap((comment) => {
            const { id, author, body } = toForgeComment(comment);
            const found = /\/(issues|pull)\/(\d+)(?:#|$)/.exec(comment.html_url);
            if (found === null) return [];
            const kind = found[1] === "pull" ? "pull" : "issue";
            return [{ ref: ref(repository, kind, Number(found[2])), commentId: id, author, body }];
          }),
        ];
      }),
    listWork: (repository, { label, assignee }, signal) =>
      answerForge(async () => {
        const list = (filter: { labels?: string; assignee?: string }) =>
          readAllPages((page) =>
            client(signal).issues.listForRepo({
              ...splitRepository(repository),
              state: "open",
              ...filter,
              per_page: PAGE_SIZE,
              page,
            }),
          );
        const found = [...(await list({ labels: label })), ...(await list({ assignee }))];
        const byNumber = new Map(found.map((each) => [each.number, each]));
        return [...byNumber.values()].map((each) =>
          toForgeItem(each, (kind) => ref(repository, kind, each.number)),
        );
      }),
  };
}
