import {
  Branches,
  Commits,
  Events,
  IssueLabelEvents,
  IssueNotes,
  Issues,
  MergeRequestDiscussions,
  MergeRequestLabelEvents,
  MergeRequestNotes,
  MergeRequests,
  ProjectMembers,
  Projects,
  Repositories,
  Users,
} from "@gitbeaker/rest";
import type { Forge, ForgeItem, ForgePull, ForgeUser } from "../../application/ports/forge.ts";
import { type ItemRef, itemUrl } from "../../domain/forges/item-url.ts";
import { type PullText, postedComment, postedPull } from "../../domain/forges/posted.ts";
import { answer, orNull } from "./forge-fault.ts";
import type { ForgeFetch } from "./forge-fetch.ts";
import { gitlabRequester } from "./gitlab-requester.ts";
import {
  type Change,
  checks,
  commentOf,
  DEVELOPER,
  type Issue,
  itemOf,
  type LabelEvent,
  levelOf,
  type MergeRequest,
  type Note,
  type NoteEvent,
  newestRequest,
  type Permissions,
  permission,
  saidIn,
  wordsOf,
} from "./gitlab-shapes.ts";

export interface GitLabParts {
  readonly token: string;
  /** `https://gitlab.com`, or a self-hosted address; the API lies below it. */
  readonly site: string;
  readonly fetch: ForgeFetch;
}

const PAGES = { perPage: 100, maxPages: 10 } as const;

export function createGitLab({ token, site, fetch }: GitLabParts): Forge {
  const options = (signal: AbortSignal) => ({
    host: site,
    token,
    requesterFn: gitlabRequester(fetch, signal),
  });
  const ref = (repository: string, kind: ItemRef["kind"], number: number): ItemRef => ({
    forge: "gitlab",
    site,
    repository,
    kind,
    number,
  });
  const notes = (item: ItemRef, signal: AbortSignal) =>
    item.kind === "issue" ? new IssueNotes(options(signal)) : new MergeRequestNotes(options(signal));
  const read = async (item: ItemRef, signal: AbortSignal) =>
    item.kind === "issue"
      ? await new Issues(options(signal)).show(item.number, { projectId: item.repository })
      : await new MergeRequests(options(signal)).show(item.repository, item.number);
  const edit = async (item: ItemRef, change: Change, signal: AbortSignal) => {
    if (item.kind === "issue") await new Issues(options(signal)).edit(item.repository, item.number, change);
    else await new MergeRequests(options(signal)).edit(item.repository, item.number, change);
  };
  const assigneeIds = async (item: ItemRef, signal: AbortSignal) =>
    ((await read(item, signal)).assignees ?? []).map(({ id }) => id);
  const toPull = (repository: string, { iid }: { iid: number }): ForgePull => {
    const pull = ref(repository, "pull", iid);
    return { ref: pull, url: itemUrl(pull) };
  };

  return {
    kind: "gitlab",
    credentials: { username: "oauth2", token },
    whoAmI: (signal) =>
      answer(async (): Promise<ForgeUser> => {
        const user = await new Users(options(signal)).showCurrentUser();
        return { id: user.id, login: user.username };
      }),
    readRepository: (repository, signal) =>
      answer(async () => {
        const project = await new Projects(options(signal)).show(repository);
        const { permissions } = project as unknown as { permissions?: Permissions };
        return {
          name: project.path_with_namespace,
          defaultBranch: project.default_branch,
          cloneUrl: project.http_url_to_repo,
          archived: project.archived === true,
          canPush: levelOf(permissions) >= DEVELOPER,
        };
      }),
    listFiles: (repository, branch, signal) =>
      answer(async () => {
        const tree = await new Repositories(options(signal)).allRepositoryTrees(repository, {
          ref: branch,
          recursive: true,
          pagination: "keyset",
          ...PAGES,
        });
        return tree.filter(({ type }) => type === "blob").map(({ path }) => path);
      }),
    readItem: (item, signal) =>
      answer(async () => {
        const found = await read(item, signal);
        const facts = itemOf(found as unknown as Issue, item);
        if (item.kind === "issue") return facts;
        const pull = found as unknown as MergeRequest;
        const source =
          pull.source_project_id === pull.target_project_id
            ? item.repository
            : ((await orNull(new Projects(options(signal)).show(pull.source_project_id)))
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
      answer(async () => {
        const all = await notes(item, signal).all(item.repository, item.number, {
          sort: "asc",
          orderBy: "created_at",
          ...PAGES,
        });
        return all
          .filter(({ system, type }) => system !== true && type !== "DiffNote")
          .map((note) => commentOf(note as unknown as Note));
      }),
    listReviewComments: (item, signal) =>
      answer(async () => {
        const discussions = await new MergeRequestDiscussions(options(signal)).all(
          item.repository,
          item.number,
          PAGES,
        );
        const notes = discussions.flatMap(({ id, notes }) =>
          ((notes ?? []) as unknown as Note[]).map((note) => ({ thread: id, note })),
        );
        return notes.flatMap(({ thread, note }) => {
          const { position } = note;
          if (position === undefined || position === null || note.system) return [];
          const line = position.new_line ?? position.old_line ?? null;
          const path = position.new_path ?? position.old_path ?? "";
          return [{ ...commentOf(note), path, line, lineNow: position.new_line ?? null, thread }];
        });
      }),
    postComment: (item, comment, signal) =>
      answer(async () => {
        const body = postedComment("gitlab", comment);
        return commentOf(
          (await notes(item, signal).create(item.repository, item.number, body)) as unknown as Note,
        );
      }),
    replyTo: (item, thread, comment, signal) =>
      answer(async () => {
        const discussions = new MergeRequestDiscussions(options(signal));
        const body = postedComment("gitlab", comment);
        await discussions.addNote(item.repository, item.number, thread, body);
      }),
    editComment: (item, commentId, comment, signal) =>
      answer(async () => {
        const body = postedComment("gitlab", comment);
        const edited = await notes(item, signal).edit(item.repository, item.number, Number(commentId), {
          body,
        });
        return commentOf(edited as unknown as Note);
      }),
    addLabel: (item, label, signal) => answer(() => edit(item, { addLabels: label }, signal)),
    removeLabel: (item, label, signal) => answer(() => edit(item, { removeLabels: label }, signal)),
    assign: (item, { id }, signal) =>
      answer(async () => {
        const ids = await assigneeIds(item, signal);
        if (!ids.includes(id)) await edit(item, { assigneeIds: [...ids, id] }, signal);
      }),
    unassign: (item, { id }, signal) =>
      answer(async () => {
        const ids = await assigneeIds(item, signal);
        const rest = ids.filter((each) => each !== id);
        // GitLab reads a single 0 as "nobody".
        if (rest.length < ids.length) await edit(item, { assigneeIds: rest.length > 0 ? rest : [0] }, signal);
      }),
    permissionOf: (repository, user, signal) =>
      answer(async () => {
        const found = await new ProjectMembers(options(signal)).all(repository, {
          includeInherited: true,
          query: user,
          ...PAGES,
        });
        const member = found.find(({ username }) => username.toLowerCase() === user.toLowerCase());
        return permission((member as { access_level?: number } | undefined)?.access_level ?? 0);
      }),
    readBranch: (repository, branch, signal) =>
      answer(async () => {
        const found = await orNull(new Branches(options(signal)).show(repository, branch));
        if (found === null) return null;
        const { name, commit, protected: isProtected } = found;
        return { name, commit: commit.id, protected: isProtected === true };
      }),
    findPull: (repository, head, signal) =>
      answer(async () => {
        const found = await new MergeRequests(options(signal)).all({
          projectId: repository,
          sourceBranch: head,
          state: "opened",
          perPage: 1,
          maxPages: 1,
        });
        return found[0] === undefined ? null : toPull(repository, found[0] as unknown as { iid: number });
      }),
    openPull: ({ repository, head, base, ...text }, signal) =>
      answer(async () => {
        const { title, description } = words(text);
        const made = await new MergeRequests(options(signal)).create(repository, head, base, title, {
          description,
        });
        return toPull(repository, made as unknown as { iid: number });
      }),
    updatePull: (pull, text, signal) =>
      answer(async () => {
        await edit(pull, words(text), signal);
        return toPull(pull.repository, { iid: pull.number });
      }),
    checksOf: (repository, commit, signal) =>
      answer(async () => {
        const all = await new Commits(options(signal)).allStatuses(repository, commit);
        return checks((all as unknown as { status: string }[]).map(({ status }) => status));
      }),
    findRequest: (item, { label, assignee }, signal) =>
      answer(async () => {
        const LabelEvents = item.kind === "issue" ? IssueLabelEvents : MergeRequestLabelEvents;
        const labels = (await new LabelEvents(options(signal)).all(
          item.repository,
          item.number,
          PAGES,
        )) as unknown as LabelEvent[];
        // GitLab tells of an assignment only in a note of its own.
        const all = (await notes(item, signal).all(item.repository, item.number, {
          sort: "asc",
          ...PAGES,
        })) as unknown as Note[];
        return newestRequest(labels, all, { label, assignee });
      }),
    listSaid: (repository, since, signal) =>
      answer(async () => {
        const query = {
          projectId: repository,
          state: "opened" as const,
          createdAfter: since.toISOString(),
          ...PAGES,
        };
        const issues = (await new Issues(options(signal)).all(query)) as unknown as Issue[];
        const pulls = (await new MergeRequests(options(signal)).all(query as never)) as unknown as Issue[];
        // Events are told by the day, which does not count itself.
        const day = new Date(since.getTime() - 24 * 3600 * 1000).toISOString().slice(0, 10);
        const events = await new Events(options(signal)).all({
          projectId: repository,
          action: "commented",
          after: day,
          ...PAGES,
        });
        return [
          ...issues.map((issue) => wordsOf(issue, ref(repository, "issue", issue.iid))),
          ...pulls.map((pull) => wordsOf(pull, ref(repository, "pull", pull.iid))),
          ...(events as unknown as NoteEvent[]).flatMap((event) =>
            saidIn(event, since, (kind, number) => ref(repository, kind, number)),
          ),
        ];
      }),
    listWork: (repository, { label, assignee }, signal) =>
      answer(async () => {
        const filters = [{ labels: label }, { assigneeUsername: [assignee] }];
        const found = new Map<string, ForgeItem>();
        for (const filter of filters) {
          const query = { projectId: repository, state: "opened" as const, ...PAGES };
          const issues = await new Issues(options(signal)).all({ ...query, ...filter });
          const pulls = await new MergeRequests(options(signal)).all({
            ...query,
            ...("labels" in filter ? filter : { assigneeUsername: assignee }),
          } as never);
          for (const [kind, list] of [["issue", issues] as const, ["pull", pulls as unknown[]] as const])
            for (const each of list as unknown as Issue[])
              found.set(`${kind}${each.iid}`, itemOf(each, ref(repository, kind, each.iid)));
        }
        return [...found.values()];
      }),
  };
}

/** On GitLab the title makes the draft. */
function words(text: PullText): { readonly title: string; readonly description: string } {
  const { title, body } = postedPull("gitlab", text);
  return { title: text.draft ? `Draft: ${title}` : title, description: body };
}
