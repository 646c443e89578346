import { Octokit } from "@octokit/rest";
import type {
  Checks,
  Forge,
  ForgeComment,
  ForgeItem,
  ForgePull,
  ForgeRequest,
  Permission,
} from "../../application/ports/forge.ts";
import type { ItemRef } from "../../domain/forges/item-url.ts";
import { postedComment, postedPull } from "../../domain/forges/posted.ts";
import { answer, orNull } from "./forge-fault.ts";
import type { ForgeFetch } from "./forge-fetch.ts";
import { isDraftRefused, turnDraft } from "./github-drafts.ts";

export interface GitHubParts {
  readonly token: string;
  /** Where the API answers: `https://api.github.com`, or `https://host/api/v3`. */
  readonly apiUrl: string;
  /** Where people look: `https://github.com`. */
  readonly site: string;
  readonly fetch: ForgeFetch;
  readonly userAgent: string;
}

const PAGE = 100;

export function createGitHub({ token, apiUrl, site, fetch, userAgent }: GitHubParts): Forge {
  const octokit = (signal: AbortSignal) =>
    new Octokit({
      auth: token,
      baseUrl: apiUrl,
      userAgent,
      log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
      request: { fetch: (url: string, init: RequestInit) => fetch(new Request(url, init), signal) },
    });
  const client = (signal: AbortSignal) => octokit(signal).rest;
  const at = (item: ItemRef) => ({ ...split(item.repository), issue_number: item.number });
  const pullAt = (item: ItemRef) => ({ ...split(item.repository), pull_number: item.number });
  const ref = (repository: string, kind: ItemRef["kind"], number: number): ItemRef => ({
    forge: "github",
    site,
    repository,
    kind,
    number,
  });
  const toPull = (repository: string, pull: { number: number; html_url: string }): ForgePull => ({
    ref: ref(repository, "pull", pull.number),
    url: pull.html_url,
  });

  return {
    kind: "github",
    credentials: { username: "x-access-token", token },
    whoAmI: (signal) =>
      answer(async () => {
        const { data } = await client(signal).users.getAuthenticated();
        return { id: data.id, login: data.login };
      }),
    readRepository: (repository, signal) =>
      answer(async () => {
        const { data } = await client(signal).repos.get(split(repository));
        return {
          name: data.full_name,
          defaultBranch: data.default_branch,
          cloneUrl: data.clone_url,
          archived: data.archived,
          canPush: data.permissions?.push === true,
        };
      }),
    listFiles: (repository, branch, signal) =>
      answer(async () => {
        const where = { ...split(repository), tree_sha: branch, recursive: "1" };
        const { data } = await client(signal).git.getTree(where);
        return data.tree.flatMap(({ type, path }) => (type === "blob" && path !== undefined ? [path] : []));
      }),
    readItem: (item, signal) =>
      answer(async () => {
        const rest = client(signal);
        const { data } = await rest.issues.get(at(item));
        const found = itemOf(data, (kind) => ref(item.repository, kind, data.number));
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
      answer(async () =>
        (
          await pages((page) => client(signal).issues.listComments({ ...at(item), per_page: PAGE, page }))
        ).map(commentOf),
      ),
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
    postComment: (item, comment, signal) =>
      answer(async () => {
        const body = postedComment("github", comment);
        return commentOf((await client(signal).issues.createComment({ ...at(item), body })).data);
      }),
    replyTo: (item, thread, comment, signal) =>
      answer(async () => {
        const where = { ...pullAt(item), comment_id: Number(thread) };
        const body = postedComment("github", comment);
        await client(signal).pulls.createReplyForReviewComment({ ...where, body });
      }),
    editComment: (item, commentId, comment, signal) =>
      answer(async () => {
        const where = { ...split(item.repository), comment_id: Number(commentId) };
        const body = postedComment("github", comment);
        return commentOf((await client(signal).issues.updateComment({ ...where, body })).data);
      }),
    addLabel: (item, label, signal) =>
      answer(async () => void (await client(signal).issues.addLabels({ ...at(item), labels: [label] }))),
    removeLabel: (item, label, signal) =>
      answer(
        async () => void (await orNull(client(signal).issues.removeLabel({ ...at(item), name: label }))),
      ),
    assign: (item, { login }, signal) =>
      answer(
        async () => void (await client(signal).issues.addAssignees({ ...at(item), assignees: [login] })),
      ),
    unassign: (item, { login }, signal) =>
      answer(
        async () => void (await client(signal).issues.removeAssignees({ ...at(item), assignees: [login] })),
      ),
    permissionOf: (repository, username, signal) =>
      answer(async () => {
        const found = await orNull(
          client(signal).repos.getCollaboratorPermissionLevel({ ...split(repository), username }),
        );
        return permission(found?.data.permission);
      }),
    readBranch: (repository, branch, signal) =>
      answer(async () => {
        const found = await orNull(client(signal).repos.getBranch({ ...split(repository), branch }));
        if (found === null) return null;
        const { name, commit, protected: isProtected } = found.data;
        return { name, commit: commit.sha, protected: isProtected };
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
        return checks(data.check_runs);
      }),
    findRequest: (item, { label, assignee }, signal) =>
      answer(async () => {
        const events = (await pages((page) =>
          client(signal).issues.listEvents({ ...at(item), per_page: PAGE, page }),
        )) as readonly IssueEvent[];
        for (const event of [...events].reverse()) {
          const found = requestOf(event, { label, assignee });
          if (found !== null) return found;
        }
        return null;
      }),
    listSaid: (repository, since, signal) =>
      answer(async () => {
        const from = { ...split(repository), since: since.toISOString(), per_page: PAGE };
        const items = await pages((page) =>
          client(signal).issues.listForRepo({ ...from, state: "open", page }),
        );
        const comments = await pages((page) => client(signal).issues.listCommentsForRepo({ ...from, page }));
        // `since` is about the last change; an edit is nothing new.
        const isNew = ({ created_at: at }: { created_at: string }) => Date.parse(at) >= since.getTime();
        return [
          ...items.filter(isNew).map((issue) => {
            const { ref: at, author, body } = itemOf(issue, (kind) => ref(repository, kind, issue.number));
            return { ref: at, commentId: null, author, body };
          }),
          ...comments.filter(isNew).flatMap((comment) => {
            const { id, author, body } = commentOf(comment);
            const found = /\/(issues|pull)\/(\d+)(?:#|$)/.exec(comment.html_url);
            if (found === null) return [];
            const kind = found[1] === "pull" ? "pull" : "issue";
            return [{ ref: ref(repository, kind, Number(found[2])), commentId: id, author, body }];
          }),
        ];
      }),
    listWork: (repository, { label, assignee }, signal) =>
      answer(async () => {
        const list = (filter: { labels?: string; assignee?: string }) =>
          pages((page) =>
            client(signal).issues.listForRepo({
              ...split(repository),
              state: "open",
              ...filter,
              per_page: PAGE,
              page,
            }),
          );
        const found = [...(await list({ labels: label })), ...(await list({ assignee }))];
        const byNumber = new Map(found.map((each) => [each.number, each]));
        return [...byNumber.values()].map((each) =>
          itemOf(each, (kind) => ref(repository, kind, each.number)),
        );
      }),
  };
}

function ignore(): void {}

function split(repository: string): { owner: string; repo: string } {
  const [owner = "", repo = ""] = repository.split("/");
  return { owner, repo };
}

/** At most ten pages: a thread of a thousand comments has said what it has to say. */
async function pages<T>(read: (page: number) => Promise<{ data: T[] }>): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; page <= 10; page++) {
    const { data } = await read(page);
    all.push(...data);
    if (data.length < PAGE) break;
  }
  return all;
}

interface IssueEvent {
  readonly id: number;
  readonly event: string;
  readonly actor: { readonly login: string } | null;
  readonly created_at: string;
  readonly label?: { readonly name: string | null };
  readonly assignee?: { readonly login: string } | null;
}

function requestOf(
  { id, event, actor, created_at: at, label, assignee }: IssueEvent,
  wanted: { readonly label: string; readonly assignee: string },
): ForgeRequest | null {
  const made = { id: `github-event-${id}`, actor: actor?.login ?? "", at };
  if (event === "labeled" && label?.name === wanted.label) return { ...made, kind: "labeled" };
  return event === "assigned" && assignee?.login === wanted.assignee ? { ...made, kind: "assigned" } : null;
}

interface Issue {
  readonly number: number;
  readonly title: string;
  readonly body?: string | null;
  readonly state: string;
  readonly user: { readonly login: string } | null;
  readonly labels: readonly (string | { readonly name?: string | null })[];
  readonly assignees?: readonly { readonly login: string }[] | null;
  readonly pull_request?: unknown;
}

function itemOf(issue: Issue, ref: (kind: ItemRef["kind"]) => ItemRef): ForgeItem {
  return {
    ref: ref(issue.pull_request === undefined ? "issue" : "pull"),
    title: issue.title,
    body: issue.body ?? "",
    author: issue.user?.login ?? "",
    open: issue.state === "open",
    labels: issue.labels.map((label) => (typeof label === "string" ? label : (label.name ?? ""))),
    assignees: (issue.assignees ?? []).map(({ login }) => login),
  };
}

function commentOf(comment: {
  readonly id: number;
  readonly body?: string;
  readonly user: { readonly login: string } | null;
  readonly created_at: string;
}): ForgeComment {
  const { id, body = "", user, created_at } = comment;
  return { id: String(id), author: user?.login ?? "", body, createdAt: created_at };
}

function permission(said: string | undefined): Permission {
  switch (said) {
    case "admin":
    case "write":
    case "read":
      return said;
    case "maintain":
      return "write";
    case "triage":
      return "read";
    default:
      return "none";
  }
}

function checks(runs: readonly { readonly status: string; readonly conclusion: string | null }[]): Checks {
  if (runs.length === 0) return "none";
  if (runs.some(({ status }) => status !== "completed")) return "pending";
  const fine = new Set(["success", "neutral", "skipped"]);
  return runs.every(({ conclusion }) => fine.has(conclusion ?? "")) ? "success" : "failure";
}
