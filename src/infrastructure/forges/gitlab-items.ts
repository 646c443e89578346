import {
  Events,
  IssueLabelEvents,
  IssueNotes,
  Issues,
  MergeRequestLabelEvents,
  MergeRequestNotes,
  MergeRequests,
  Projects,
} from "@gitbeaker/rest";
import type { ForgeItem } from "../../application/ports/forges.ts";
import type { ItemRef } from "../../domain/forges/forge-items.ts";
import { postedComment } from "../../domain/forges/posted-text.ts";
import { answerForge, nullIfMissing } from "./forge-fault.ts";
import type { ForgeItems } from "./forge-slices.ts";
import { type GitLabApi, PAGE_LIMITS } from "./gitlab-api.ts";
import {
  type Issue,
  type LabelEvent,
  type MergeRequest,
  type Note,
  type NoteEvent,
  newestRequest,
  readNoteEvent,
  toForgeComment,
  toForgeItem,
  toForgeSaid,
} from "./gitlab-shapes.ts";

/** Issues and merge requests as people write about them: texts, comments, labels, and what asks for work. */
export function createGitLabItems({ options, ref, edit }: GitLabApi): ForgeItems {
  const notes = (item: ItemRef, signal: AbortSignal) =>
    item.kind === "issue" ? new IssueNotes(options(signal)) : new MergeRequestNotes(options(signal));
  const read = async (item: ItemRef, signal: AbortSignal) =>
    item.kind === "issue"
      ? await new Issues(options(signal)).show(item.number, { projectId: item.repository })
      : await new MergeRequests(options(signal)).show(item.repository, item.number);
  const assigneeIds = async (item: ItemRef, signal: AbortSignal) =>
    ((await read(item, signal)).assignees ?? []).map(({ id }) => id);
  return {
    readItem: (item, signal) =>
      answerForge(async () => {
        const found = await read(item, signal);
        const facts = toForgeItem(found as unknown as Issue, item);
        if (item.kind === "issue") return facts;
        const pull = found as unknown as MergeRequest;
        const source =
          pull.source_project_id === pull.target_project_id
            ? item.repository
            : ((await nullIfMissing(new Projects(options(signal)).show(pull.source_project_id)))
                ?.path_with_namespace ?? "");
        return {
          ...facts,
          pull: {
            sourceRepository: source,
            sourceBranch: pull.source_branch,
            sourceCommit: pull.sha,
            targetBranch: pull.target_branch,
          },
        };
      }),
    listComments: (item, signal) =>
      answerForge(async () => {
        const all = await notes(item, signal).all(item.repository, item.number, {
          sort: "asc",
          orderBy: "created_at",
          ...PAGE_LIMITS,
        });
        return all
          .filter(({ system, type }) => system !== true && type !== "DiffNote")
          .map((note) => toForgeComment(note as unknown as Note));
      }),
    postComment: (item, comment, signal) =>
      answerForge(async () => {
        const body = postedComment("gitlab", comment);
        return toForgeComment(
          (await notes(item, signal).create(item.repository, item.number, body)) as unknown as Note,
        );
      }),
    editComment: (item, commentId, comment, signal) =>
      answerForge(async () => {
        const body = postedComment("gitlab", comment);
        const edited = await notes(item, signal).edit(item.repository, item.number, Number(commentId), {
          body,
        });
        return toForgeComment(edited as unknown as Note);
      }),
    addLabel: (item, label, signal) => answerForge(() => edit(item, { addLabels: label }, signal)),
    removeLabel: (item, label, signal) => answerForge(() => edit(item, { removeLabels: label }, signal)),
    assign: (item, { id }, signal) =>
      answerForge(async () => {
        const ids = await assigneeIds(item, signal);
        if (!ids.includes(id)) await edit(item, { assigneeIds: [...ids, id] }, signal);
      }),
    unassign: (item, { id }, signal) =>
      answerForge(async () => {
        const ids = await assigneeIds(item, signal);
        const rest = ids.filter((each) => each !== id);
        // GitLab reads a single 0 as "nobody".
        if (rest.length < ids.length) await edit(item, { assigneeIds: rest.length > 0 ? rest : [0] }, signal);
      }),
    findRequest: (item, { label, assignee }, signal) =>
      answerForge(async () => {
        const LabelEvents = item.kind === "issue" ? IssueLabelEvents : MergeRequestLabelEvents;
        const labels = (await new LabelEvents(options(signal)).all(
          item.repository,
          item.number,
          PAGE_LIMITS,
        )) as unknown as LabelEvent[];
        // GitLab tells of an assignment only in a note of its own.
        const all = (await notes(item, signal).all(item.repository, item.number, {
          sort: "asc",
          ...PAGE_LIMITS,
        })) as unknown as Note[];
        return newestRequest(labels, all, { label, assignee });
      }),
    listSaid: (repository, since, signal) =>
      answerForge(async () => {
        const query = {
          projectId: repository,
          state: "opened" as const,
          createdAfter: since.toISOString(),
          ...PAGE_LIMITS,
        };
        const issues = (await new Issues(options(signal)).all(query)) as unknown as Issue[];
        const pulls = (await new MergeRequests(options(signal)).all(query as never)) as unknown as Issue[];
        // Events are told by the day, which does not count itself.
        const day = new Date(since.getTime() - 24 * 3600 * 1000).toISOString().slice(0, 10);
        const events = await new Events(options(signal)).all({
          projectId: repository,
          action: "commented",
          after: day,
          ...PAGE_LIMITS,
        });
        return [
          ...issues.map((issue) => toForgeSaid(issue, ref(repository, "issue", issue.iid))),
          ...pulls.map((pull) => toForgeSaid(pull, ref(repository, "pull", pull.iid))),
          ...(events as unknown as NoteEvent[]).flatMap((event) =>
            readNoteEvent(event, since, (kind, number) => ref(repository, kind, number)),
          ),
        ];
      }),
    listWork: (repository, { label, assignee }, signal) =>
      answerForge(async () => {
        const filters = [{ labels: label }, { assigneeUsername: [assignee] }];
        const found = new Map<string, ForgeItem>();
        for (const filter of filters) {
          const query = { projectId: repository, state: "opened" as const, ...PAGE_LIMITS };
          const issues = await new Issues(options(signal)).all({ ...query, ...filter });
          const pulls = await new MergeRequests(options(signal)).all({
            ...query,
            ...("labels" in filter ? filter : { assigneeUsername: assignee }),
          } as never);
          for (const [kind, list] of [["issue", issues] as const, ["pull", pulls as unknown[]] as const])
            for (const each of list as unknown as Issue[])
              found.set(`${kind}${each.iid}`, toForgeItem(each, ref(repository, kind, each.iid)));
        }
        return [...found.values()];
      }),
  };
}
