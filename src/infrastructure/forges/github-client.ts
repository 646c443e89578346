import { Octokit } from "@octokit/rest";
import type {
  Forge,
  ForgeComment,
  ForgeItem,
  ForgePull,
  ForgeRequest,
  Permission,
} from "../../application/ports/forges.ts";
import type { ItemRef } from "../../domain/forges/forge-items.ts";
import { postedComment, postedPull } from "../../domain/forges/posted-text.ts";
import type { ForgeSettings } from "./forge-entry.ts";
import {
  answerForge,
  type ForgeItems,
  type ForgePulls,
  findForgeFault,
  nullIfMissing,
  requireOwnAddress,
} from "./forge-fetch.ts";

export interface GitHubDeps extends Omit<ForgeSettings, "baseUrl"> {
  /** Where the API answers: `https://api.github.com`, or `https://host/api/v3`. */
  readonly apiUrl: string;
}

const PAGE_SIZE = 100;

type GitHubApi = ReturnType<typeof createGitHubApi>;

/** The official client, and how GitHub names repositories and items. */
function createGitHubApi({ token, apiUrl, site, fetch, userAgent }: GitHubDeps) {
  // To make a client takes longer than to ask with it, and a task asks many times with one signal.
  const clients = new WeakMap<AbortSignal, Octokit>();
  const octokit = (signal: AbortSignal) => {
    const known = clients.get(signal);
    if (known !== undefined) return known;
    const made = new Octokit({
      auth: token,
      baseUrl: apiUrl,
      userAgent,
      log: { debug: ignoreLog, info: ignoreLog, warn: ignoreLog, error: ignoreLog },
      request: { fetch: (url: string, init: RequestInit) => fetch(new Request(url, init), signal) },
    });
    clients.set(signal, made);
    return made;
  };
  const client = (signal: AbortSignal) => octokit(signal).rest;
  const at = (item: ItemRef) => ({ ...splitRepository(item.repository), issue_number: item.number });
  const pullAt = (item: ItemRef) => ({ ...splitRepository(item.repository), pull_number: item.number });
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
  return { octokit, client, at, pullAt, ref, toPull };
}

function ignoreLog(): void {}

function splitRepository(repository: string): { owner: string; repo: string } {
  const [owner = "", repo = ""] = repository.split("/");
  return { owner, repo };
}

/** At most ten pages: a thread of a thousand comments has said what it has to say. */
async function readAllPages<T>(
  read: (paging: { readonly per_page: number; readonly page: number }) => Promise<{ data: T[] }>,
): Promise<T[]> {
  const all: T[] = [];
  for (let page = 1; page <= 10; page++) {
    const { data } = await read({ per_page: PAGE_SIZE, page });
    all.push(...data);
    if (data.length < PAGE_SIZE) break;
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

function toForgeRequest(
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

function toForgeItem(issue: Issue, ref: (kind: ItemRef["kind"]) => ItemRef): ForgeItem {
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

function toForgeComment(comment: {
  readonly id: number;
  readonly body?: string | null;
  readonly user: { readonly login: string } | null;
  readonly created_at: string;
}): ForgeComment {
  const { id, body, user, created_at } = comment;
  return { id: String(id), author: user?.login ?? "", body: body ?? "", createdAt: created_at };
}

function toPermission(said: string | undefined): Permission {
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

/** Issues and pull requests as people write about them: texts, comments, labels, and what asks for work. */
function createGitHubItems({ client, at, pullAt, ref }: GitHubApi): ForgeItems {
  return {
    readItem: async (item, signal) => {
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
          targetBranch: pull.base.ref,
        },
      };
    },
    listComments: async (item, signal) =>
      (await readAllPages((paging) => client(signal).issues.listComments({ ...at(item), ...paging }))).map(
        toForgeComment,
      ),
    postComment: async (item, comment, signal) => {
      const body = postedComment("github", comment);
      return toForgeComment((await client(signal).issues.createComment({ ...at(item), body })).data);
    },
    editComment: async (item, commentId, comment, signal) => {
      const where = { ...splitRepository(item.repository), comment_id: Number(commentId) };
      const body = postedComment("github", comment);
      return toForgeComment((await client(signal).issues.updateComment({ ...where, body })).data);
    },
    findRequest: async (item, { label, assignee }, signal) => {
      const events = (await readAllPages((paging) =>
        client(signal).issues.listEvents({ ...at(item), ...paging }),
      )) as readonly IssueEvent[];
      for (const event of [...events].reverse()) {
        const found = toForgeRequest(event, { label, assignee });
        if (found !== null) return found;
      }
      return null;
    },
    listSaid: async (repository, since, signal) => {
      const from = { ...splitRepository(repository), since: since.toISOString() };
      const items = await readAllPages((paging) =>
        client(signal).issues.listForRepo({ ...from, state: "open", ...paging }),
      );
      const comments = await readAllPages((paging) =>
        client(signal).issues.listCommentsForRepo({ ...from, ...paging }),
      );
      // `since` is about the last change; an edit is nothing new.
      const isNew = ({ created_at: at }: { created_at: string }) => Date.parse(at) >= since.getTime();
      return [
        ...items.filter(isNew).map((issue) => {
          const { ref: at, author, body } = toForgeItem(issue, (kind) => ref(repository, kind, issue.number));
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
    },
    listWork: async (repository, { label, assignee }, signal) => {
      const list = (filter: { labels?: string; assignee?: string }) =>
        readAllPages((paging) =>
          client(signal).issues.listForRepo({
            ...splitRepository(repository),
            state: "open",
            ...filter,
            ...paging,
          }),
        );
      const found = [...(await list({ labels: label })), ...(await list({ assignee }))];
      const byNumber = new Map(found.map((each) => [each.number, each]));
      return [...byNumber.values()].map((each) =>
        toForgeItem(each, (kind) => ref(repository, kind, each.number)),
      );
    },
  };
}

/** Some plans of GitHub have no drafts in private repositories. */
function isDraftRefused(error: unknown): boolean {
  const failure = findForgeFault(error)?.failure;
  return failure?.code === "invalid" && /draft/i.test(failure.message);
}

/** Only GraphQL makes a draft of a pull, or a pull of a draft. False where it does not. */
async function setDraft(
  octokit: Pick<Octokit, "graphql">,
  pullRequestId: string,
  draft: boolean,
): Promise<boolean> {
  const mutation = draft ? "convertPullRequestToDraft" : "markPullRequestReadyForReview";
  const query = `mutation($id: ID!) { ${mutation}(input: { pullRequestId: $id }) { clientMutationId } }`;
  return octokit.graphql(query, { id: pullRequestId }).then(
    () => true,
    () => false,
  );
}

/** Pull requests and their reviews. */
function createGitHubPulls({ octokit, client, pullAt, toPull }: GitHubApi): ForgePulls {
  return {
    listReviewComments: async (item, signal) =>
      (
        await readAllPages((paging) =>
          client(signal).pulls.listReviewComments({ ...pullAt(item), ...paging }),
        )
      ).map((comment) => ({
        ...toForgeComment(comment),
        path: (comment.path as string | null | undefined) ?? "",
        line: comment.line ?? comment.original_line ?? null,
        lineNow: comment.side === "LEFT" ? null : (comment.line ?? null),
        thread: String(comment.in_reply_to_id ?? comment.id),
      })),
    replyTo: async (item, thread, comment, signal) => {
      const where = { ...pullAt(item), comment_id: Number(thread) };
      const body = postedComment("github", comment);
      await client(signal).pulls.createReplyForReviewComment({ ...where, body });
    },
    findPull: async (repository, head, signal) => {
      const { owner, repo } = splitRepository(repository);
      const { data } = await client(signal).pulls.list({
        owner,
        repo,
        head: `${owner}:${head}`,
        state: "open",
        per_page: 1,
      });
      return data[0] === undefined ? null : toPull(repository, data[0]);
    },
    listOpenPulls: async (repository, signal) => {
      const { data } = await client(signal).pulls.list({
        ...splitRepository(repository),
        state: "open",
        sort: "updated",
        direction: "desc",
        per_page: PAGE_SIZE,
      });
      return data.map((pull) => ({
        ...toPull(repository, pull),
        author: pull.user?.login ?? "",
        title: (pull.title as string | null | undefined) ?? "",
        body: pull.body ?? "",
      }));
    },
    openPull: async ({ repository, head, base, ...text }, signal) => {
      const posted = { ...splitRepository(repository), head, base, ...postedPull("github", text) };
      const create = (draft: boolean) => client(signal).pulls.create({ ...posted, ...(draft && { draft }) });
      const plain = () => client(signal).pulls.create({ ...posted, title: `Draft: ${posted.title}` });
      const { data } = await create(text.draft).catch((error: unknown) =>
        text.draft && isDraftRefused(error) ? plain() : Promise.reject(error),
      );
      return toPull(repository, data);
    },
    updatePull: async (pull, text, signal) => {
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
    },
  };
}

export function createGitHub(deps: GitHubDeps): Forge {
  const api = createGitHubApi(deps);
  const { client } = api;
  return answerForge({
    kind: "github",
    credentials: { username: "x-access-token", token: deps.token },
    whoAmI: async (signal) => {
      const { data } = await client(signal).users.getAuthenticated();
      return { id: data.id, login: data.login };
    },
    readRepository: async (repository, signal) => {
      const { data } = await client(signal).repos.get(splitRepository(repository));
      return {
        name: data.full_name,
        defaultBranch: data.default_branch,
        cloneUrl: requireOwnAddress(data.clone_url, deps.site),
        archived: data.archived === true,
        // GitHub reports no rights of an app's token here; git itself refuses its push.
        canPush: deps.token.startsWith("ghs_") || data.permissions?.push === true,
      };
    },
    listFiles: async (repository, branch, signal) => {
      const where = { ...splitRepository(repository), tree_sha: branch, recursive: "1" };
      const { data } = await client(signal).git.getTree(where);
      return data.tree.flatMap(({ type, path }) => (type === "blob" && path !== undefined ? [path] : []));
    },
    permissionOf: async (repository, username, signal) => {
      const found = await nullIfMissing(
        client(signal).repos.getCollaboratorPermissionLevel({ ...splitRepository(repository), username }),
      );
      return toPermission(found?.data.permission);
    },
    readBranch: async (repository, branch, signal) => {
      const found = await nullIfMissing(
        client(signal).repos.getBranch({ ...splitRepository(repository), branch }),
      );
      if (found === null) return null;
      const { name, commit, protected: isProtected } = found.data;
      return { name, commit: commit.sha, protected: isProtected === true };
    },
    ...createGitHubItems(api),
    ...createGitHubPulls(api),
  });
}
