import { createRequesterFn } from "@gitbeaker/requester-utils";
import {
  Branches,
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
import type {
  Forge,
  ForgeComment,
  ForgeItem,
  ForgePull,
  ForgeRequest,
  ForgeSaid,
  Permission,
} from "../../application/ports/forges.ts";
import { type ItemRef, itemUrl } from "../../domain/forges/forge-items.ts";
import { type PullText, postedComment, postedPull } from "../../domain/forges/posted-text.ts";
import type {
  GitLabItem,
  GitLabLabelEvent,
  GitLabNote,
  GitLabNoteEvent,
  GitLabPermissions,
  GitLabPull,
} from "./answer-shapes.ts";
import type { ForgeSettings } from "./forge-entry.ts";
import {
  answerForge,
  type ForgeFetch,
  type ForgeItems,
  type ForgePulls,
  nullIfMissing,
  requireOwnAddress,
} from "./forge-fetch.ts";

/** The client library's own handler repeats a refused request within milliseconds; ours waits as long as the server asks. */
export function gitlabRequester(fetch: ForgeFetch, signal: AbortSignal) {
  return createRequesterFn(
    (_, options) => Promise.resolve(options),
    async (endpoint, options = {}) => {
      const { prefixUrl, searchParams, method, headers, body } = options as {
        prefixUrl?: string;
        searchParams?: string;
        method?: string;
        headers?: Record<string, string>;
        body?: string;
      };
      const url = new URL(endpoint, prefixUrl?.endsWith("/") ? prefixUrl : `${prefixUrl}/`);
      url.search = searchParams ?? "";
      const response = await fetch(
        new Request(url.href, {
          ...(method !== undefined && { method }),
          ...(headers !== undefined && { headers }),
          ...(body !== undefined && { body }),
        }),
        signal,
      );
      const text = await response.text();
      return {
        body: text === "" ? null : (JSON.parse(text) as Record<string, unknown>),
        headers: Object.fromEntries(response.headers.entries()),
        status: response.status,
      };
    },
  );
}

const REPORTER = 20;
const DEVELOPER = 30;
const MAINTAINER = 40;

function accessLevel(permissions: GitLabPermissions): number {
  return Math.max(
    permissions?.project_access?.access_level ?? 0,
    permissions?.group_access?.access_level ?? 0,
  );
}

function toPermission(level: number): Permission {
  if (level >= MAINTAINER) return "admin";
  if (level >= DEVELOPER) return "write";
  return level >= REPORTER ? "read" : "none";
}

function toForgeItem(issue: GitLabItem, ref: ItemRef): ForgeItem {
  return {
    ref,
    title: issue.title,
    body: issue.description ?? "",
    author: issue.author?.username ?? "",
    open: issue.state === "opened",
    labels: issue.labels ?? [],
    assignees: (issue.assignees ?? []).map(({ username }) => username),
  };
}

function toForgeComment({ id, body, author, created_at }: GitLabNote): ForgeComment {
  return { id: String(id), author: author?.username ?? "", body: body ?? "", createdAt: created_at };
}

function toForgeSaid(issue: GitLabItem, ref: ItemRef): ForgeSaid {
  const { author, body } = toForgeItem(issue, ref);
  return { ref, commentId: null, author, body };
}

/** Nothing when the event is older, of GitLab's own doing, on a line, or not about an issue or a merge request. */
function readNoteEvent(
  { note }: GitLabNoteEvent,
  since: Date,
  ref: (kind: ItemRef["kind"], number: number) => ItemRef,
): readonly ForgeSaid[] {
  if (note === undefined || note.system === true || note.type === "DiffNote") return [];
  const kind = NOTEABLE.get(note.noteable_type);
  const { id, body, author, noteable_iid: number } = note;
  if (kind === undefined || typeof number !== "number" || Date.parse(note.created_at) < since.getTime())
    return [];
  return [
    { ref: ref(kind, number), commentId: String(id), author: author?.username ?? "", body: body ?? "" },
  ];
}

const NOTEABLE = new Map<string, ItemRef["kind"]>([
  ["Issue", "issue"],
  ["WorkItem", "issue"],
  ["MergeRequest", "pull"],
]);

/** The newest of the label's events and of GitLab's own notes "assigned to @name". */
function newestRequest(
  labels: readonly GitLabLabelEvent[],
  notes: readonly GitLabNote[],
  { label, assignee }: { readonly label: string; readonly assignee: string },
): ForgeRequest | null {
  const found: ForgeRequest[] = [];
  for (const { id, action, created_at: at, user, label: on } of labels)
    if (action === "add" && on?.name === label)
      found.push({ id: `gitlab-label-${id}`, actor: user?.username ?? "", kind: "labeled", at });
  for (const { id, body, system, author, created_at: at } of notes)
    if (system === true && /^assigned to /.test(body ?? "") && mentionsLogin(body ?? "", assignee))
      found.push({ id: `gitlab-note-${id}`, actor: author?.username ?? "", kind: "assigned", at });
  return found.sort((a, b) => a.at.localeCompare(b.at)).at(-1) ?? null;
}

function mentionsLogin(body: string, login: string): boolean {
  return body.split(/[\s,]+/).some((word) => word.toLowerCase() === `@${login.toLowerCase()}`);
}

/** `site`: `https://gitlab.com`, or a self-hosted address; the API is below it. */
type GitLabDeps = Pick<ForgeSettings, "token" | "site" | "fetch">;

const PAGE_LIMITS = { perPage: 100, maxPages: 10 } as const;

type GitLabApi = ReturnType<typeof createGitLabApi>;

/** How the official client is opened, and what issues and merge requests have in common. */
function createGitLabApi({ token, site, fetch }: GitLabDeps) {
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
  const toPull = (repository: string, { iid }: { iid: number }): ForgePull => {
    const pull = ref(repository, "pull", iid);
    return { ref: pull, url: itemUrl(pull) };
  };
  return { options, ref, toPull };
}

/** An answer as `answer-shapes.ts` has checked it; the library's own types say other things of some of its members. */
function checked<Shape>(answer: Promise<unknown>): Promise<Shape> {
  return answer as Promise<Shape>;
}

/** Issues and merge requests as people write about them: texts, comments, labels, and what asks for work. */
function createGitLabItems({ options, ref }: GitLabApi): ForgeItems {
  const notes = (item: ItemRef, signal: AbortSignal) =>
    item.kind === "issue" ? new IssueNotes(options(signal)) : new MergeRequestNotes(options(signal));
  const read = (item: ItemRef, signal: AbortSignal) =>
    checked<GitLabPull>(
      item.kind === "issue"
        ? new Issues(options(signal)).show(item.number, { projectId: item.repository })
        : new MergeRequests(options(signal)).show(item.repository, item.number),
    );
  /** Empty where the fork is gone. */
  const sourceOf = async (projectId: number | null | undefined, signal: AbortSignal) => {
    if (projectId === null || projectId === undefined) return "";
    const project = await nullIfMissing(new Projects(options(signal)).show(projectId));
    return project?.path_with_namespace ?? "";
  };
  return {
    readItem: async (item, signal) => {
      const pull = await read(item, signal);
      const facts = toForgeItem(pull, item);
      if (item.kind === "issue") return facts;
      const source =
        pull.source_project_id === pull.target_project_id
          ? item.repository
          : await sourceOf(pull.source_project_id, signal);
      return {
        ...facts,
        pull: {
          sourceRepository: source,
          sourceBranch: pull.source_branch,
          targetBranch: pull.target_branch,
        },
      };
    },
    listComments: async (item, signal) => {
      const order = { sort: "asc", orderBy: "created_at" } as const;
      const all = await checked<GitLabNote[]>(
        notes(item, signal).all(item.repository, item.number, { ...order, ...PAGE_LIMITS }),
      );
      return all.filter(({ system, type }) => system !== true && type !== "DiffNote").map(toForgeComment);
    },
    postComment: async (item, comment, signal) => {
      const body = postedComment("gitlab", comment);
      return toForgeComment(await checked(notes(item, signal).create(item.repository, item.number, body)));
    },
    editComment: async (item, commentId, comment, signal) => {
      const body = postedComment("gitlab", comment);
      const { repository, number } = item;
      return toForgeComment(
        await checked(notes(item, signal).edit(repository, number, Number(commentId), { body })),
      );
    },
    findRequest: async (item, { label, assignee }, signal) => {
      const { repository, number } = item;
      const LabelEvents = item.kind === "issue" ? IssueLabelEvents : MergeRequestLabelEvents;
      const labels = await checked<GitLabLabelEvent[]>(
        new LabelEvents(options(signal)).all(repository, number, PAGE_LIMITS),
      );
      // GitLab reports an assignment only in a system note.
      const all = await checked<GitLabNote[]>(
        notes(item, signal).all(repository, number, { sort: "asc", ...PAGE_LIMITS }),
      );
      return newestRequest(labels, all, { label, assignee });
    },
    listSaid: async (repository, since, signal) => {
      const query = {
        projectId: repository,
        state: "opened" as const,
        createdAfter: since.toISOString(),
        ...PAGE_LIMITS,
      };
      const issues = await checked<GitLabItem[]>(new Issues(options(signal)).all(query));
      const pulls = await checked<GitLabItem[]>(new MergeRequests(options(signal)).all(query as never));
      // Events are listed by day, and the named day itself is not included.
      const day = new Date(since.getTime() - 24 * 3600 * 1000).toISOString().slice(0, 10);
      const wanted = { projectId: repository, action: "commented", after: day } as const;
      const events = await checked<GitLabNoteEvent[]>(
        new Events(options(signal)).all({ ...wanted, ...PAGE_LIMITS }),
      );
      return [
        ...issues.map((issue) => toForgeSaid(issue, ref(repository, "issue", issue.iid))),
        ...pulls.map((pull) => toForgeSaid(pull, ref(repository, "pull", pull.iid))),
        ...events.flatMap((event) =>
          readNoteEvent(event, since, (kind, number) => ref(repository, kind, number)),
        ),
      ];
    },
    listWork: async (repository, { label, assignee }, signal) => {
      const filters = [{ labels: label }, { assigneeUsername: [assignee] }];
      const found = new Map<string, ForgeItem>();
      for (const filter of filters) {
        const query = { projectId: repository, state: "opened" as const, ...PAGE_LIMITS };
        const ofPulls = { ...query, ...("labels" in filter ? filter : { assigneeUsername: assignee }) };
        const lists = {
          issue: await checked<GitLabItem[]>(new Issues(options(signal)).all({ ...query, ...filter })),
          pull: await checked<GitLabItem[]>(new MergeRequests(options(signal)).all(ofPulls as never)),
        };
        for (const kind of ["issue", "pull"] as const)
          for (const each of lists[kind])
            found.set(`${kind}${each.iid}`, toForgeItem(each, ref(repository, kind, each.iid)));
      }
      return [...found.values()];
    },
  };
}

/** Merge requests and their reviews. */
function createGitLabPulls({ options, ref, toPull }: GitLabApi): ForgePulls {
  return {
    listReviewComments: async (item, signal) => {
      const discussions = await checked<{ id: string; notes?: GitLabNote[] | null }[]>(
        new MergeRequestDiscussions(options(signal)).all(item.repository, item.number, PAGE_LIMITS),
      );
      return discussions.flatMap(({ id: thread, notes }) =>
        (notes ?? []).flatMap((note) => {
          const { position } = note;
          if (position === undefined || position === null || note.system) return [];
          const line = position.new_line ?? position.old_line ?? null;
          const path = position.new_path ?? position.old_path ?? "";
          return [{ ...toForgeComment(note), path, line, lineNow: position.new_line ?? null, thread }];
        }),
      );
    },
    replyTo: async (item, thread, comment, signal) => {
      const discussions = new MergeRequestDiscussions(options(signal));
      const body = postedComment("gitlab", comment);
      await discussions.addNote(item.repository, item.number, thread, body);
    },
    findPull: async (repository, head, signal) => {
      const wanted = { projectId: repository, sourceBranch: head, state: "opened" } as const;
      const [found] = await checked<GitLabItem[]>(
        new MergeRequests(options(signal)).all({ ...wanted, perPage: 1, maxPages: 1 }),
      );
      return found === undefined ? null : toPull(repository, found);
    },
    listOpenPulls: async (repository, signal) => {
      const wanted = { projectId: repository, state: "opened", orderBy: "updated_at" } as const;
      const found = await checked<GitLabItem[]>(
        new MergeRequests(options(signal)).all({ ...wanted, ...PAGE_LIMITS, maxPages: 1 }),
      );
      return found.map((each) => {
        const { author, title, body } = toForgeItem(each, ref(repository, "pull", each.iid));
        return { ...toPull(repository, each), author, title, body };
      });
    },
    openPull: async ({ repository, head, base, ...text }, signal) => {
      const { title, description } = pullFields(text);
      const requests = new MergeRequests(options(signal));
      return toPull(
        repository,
        await checked(requests.create(repository, head, base, title, { description })),
      );
    },
    updatePull: async (pull, text, signal) => {
      await new MergeRequests(options(signal)).edit(pull.repository, pull.number, pullFields(text));
      return toPull(pull.repository, { iid: pull.number });
    },
  };
}

/** On GitLab the title makes the draft. */
function pullFields(text: PullText): { readonly title: string; readonly description: string } {
  const { title, body } = postedPull("gitlab", text);
  return { title: text.draft ? `Draft: ${title}` : title, description: body };
}

export function createGitLab(deps: GitLabDeps): Forge {
  const { site } = deps;
  const api = createGitLabApi(deps);
  const { options } = api;
  return answerForge({
    kind: "gitlab",
    credentials: { username: "oauth2", token: deps.token },
    whoAmI: async (signal) => {
      const user = await new Users(options(signal)).showCurrentUser();
      return { id: user.id, login: user.username };
    },
    readRepository: async (repository, signal) => {
      const project = await new Projects(options(signal)).show(repository);
      const { permissions } = project as unknown as { permissions?: GitLabPermissions };
      return {
        name: project.path_with_namespace,
        // A project without a commit has none.
        defaultBranch: (project.default_branch as string | null | undefined) || null,
        cloneUrl: requireOwnAddress(project.http_url_to_repo, site),
        archived: project.archived === true,
        canPush: accessLevel(permissions) >= DEVELOPER,
      };
    },
    listFiles: async (repository, branch, signal) => {
      const tree = await new Repositories(options(signal)).allRepositoryTrees(repository, {
        ref: branch,
        recursive: true,
        pagination: "keyset",
        ...PAGE_LIMITS,
      });
      return tree.filter(({ type }) => type === "blob").map(({ path }) => path);
    },
    permissionOf: async (repository, user, signal) => {
      const found = await new ProjectMembers(options(signal)).all(repository, {
        includeInherited: true,
        query: user,
        ...PAGE_LIMITS,
      });
      const member = found.find(({ username }) => username.toLowerCase() === user.toLowerCase());
      return toPermission((member as { access_level?: number } | undefined)?.access_level ?? 0);
    },
    readBranch: async (repository, branch, signal) => {
      const found = await nullIfMissing(new Branches(options(signal)).show(repository, branch));
      if (found === null) return null;
      const { name, commit, protected: isProtected } = found;
      return { name, commit: commit.id, protected: isProtected === true };
    },
    ...createGitLabItems(api),
    ...createGitLabPulls(api),
  });
}
