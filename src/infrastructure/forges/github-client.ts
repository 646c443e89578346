import { z } from "zod";
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
import { answerForge, createForgeApi, ForgeFault, nullIfMissing, requireOwnAddress } from "./forge-fetch.ts";

export interface GitHubDeps extends Omit<ForgeSettings, "baseUrl"> {
  /** Where the API answers: `https://api.github.com`, or `https://host/api/v3`. */
  readonly apiUrl: string;
}

const text = z.string().nullish();
const person = z.object({ login: z.string() }).nullish();
const issue = z.object({
  number: z.int(),
  title: z.string(),
  state: z.string(),
  user: person,
  body: text,
  created_at: text,
  labels: z.array(z.union([z.string(), z.object({ name: text })])),
  assignees: z.array(z.object({ login: z.string() })).nullish(),
  pull_request: z.unknown().optional(),
});
const comment = z.object({ id: z.int(), created_at: z.string(), user: person, body: text, html_url: text });
const line = z.number().nullish();
const reviewComment = comment.extend({
  path: text,
  line,
  original_line: line,
  side: text,
  in_reply_to_id: z.int().nullish(),
});
const pull = z.object({
  number: z.int(),
  html_url: z.string().regex(/^https?:\/\//),
  title: text,
  body: text,
  user: person,
  draft: z.boolean().nullish(),
  node_id: text,
});
const wholePull = pull.extend({
  head: z.object({ ref: z.string(), repo: z.object({ full_name: z.string() }).nullish() }),
  base: z.object({ ref: z.string() }),
});
const issueEvent = z.object({
  id: z.int(),
  event: z.string(),
  created_at: z.string(),
  actor: person,
  label: z.object({ name: text }).nullish(),
  assignee: person,
});
const repositoryFacts = z.object({
  full_name: z.string(),
  default_branch: z.string(),
  clone_url: z.string(),
  archived: z.unknown().optional(),
  permissions: z.object({ push: z.unknown().optional() }).nullish(),
});
const branchFacts = z.object({
  name: z.string(),
  commit: z.object({ sha: z.string() }),
  protected: z.unknown().optional(),
});
const tree = z.object({ tree: z.array(z.object({ type: text, path: z.string().optional() })) });

function toForgeRequest(
  { id, event, actor, created_at: at, label, assignee }: z.infer<typeof issueEvent>,
  wanted: { readonly label: string; readonly assignee: string },
): ForgeRequest | null {
  const made = { id: `github-event-${id}`, actor: actor?.login ?? "", at };
  if (event === "labeled" && label?.name === wanted.label) return { ...made, kind: "labeled" };
  return event === "assigned" && assignee?.login === wanted.assignee ? { ...made, kind: "assigned" } : null;
}

function toForgeComment({ id, body, user, created_at }: z.infer<typeof comment>): ForgeComment {
  return { id: String(id), author: user?.login ?? "", body: body ?? "", createdAt: created_at };
}

const PERMISSIONS: Readonly<Record<string, Permission>> = {
  admin: "admin",
  maintain: "write",
  write: "write",
  triage: "read",
  read: "read",
};

/** Some plans of GitHub have no drafts in private repositories. */
function isDraftRefused(error: unknown): boolean {
  const failure = error instanceof ForgeFault ? error.failure : null;
  return failure?.code === "invalid" && /draft/i.test(failure.message);
}

export function createGitHub({ token, apiUrl, site, fetch, userAgent }: GitHubDeps): Forge {
  const headers = {
    accept: "application/vnd.github+json",
    authorization: `token ${token}`,
    "user-agent": userAgent,
  };
  const { get, list, send } = createForgeApi({ root: apiUrl, headers, fetch });
  const repoAt = (repository: string) => `/repos/${repository.split("/").map(encodeURIComponent).join("/")}`;
  const issueAt = ({ repository, number }: ItemRef) => `${repoAt(repository)}/issues/${number}`;
  const pullAt = ({ repository, number }: ItemRef) => `${repoAt(repository)}/pulls/${number}`;
  const toRef = (repository: string, kind: ItemRef["kind"], number: number): ItemRef => ({
    forge: "github",
    site,
    repository,
    kind,
    number,
  });
  const toForgeItem = (repository: string, found: z.infer<typeof issue>): ForgeItem => ({
    ref: toRef(repository, found.pull_request === undefined ? "issue" : "pull", found.number),
    title: found.title,
    body: found.body ?? "",
    author: found.user?.login ?? "",
    open: found.state === "open",
    labels: found.labels.map((label) => (typeof label === "string" ? label : (label.name ?? ""))),
    assignees: (found.assignees ?? []).map(({ login }) => login),
  });
  const toPull = (repository: string, found: z.infer<typeof pull>): ForgePull => ({
    ref: toRef(repository, "pull", found.number),
    url: found.html_url,
  });
  const listIssues = (repository: string, signal: AbortSignal, query: Readonly<Record<string, string>>) =>
    list(`${repoAt(repository)}/issues`, issue, signal, { state: "open", ...query });
  /** Only GraphQL makes a draft of a pull, or a pull of a draft. False where it does not. */
  const setDraft = async (id: string, draft: boolean, signal: AbortSignal): Promise<boolean> => {
    const mutation = draft ? "convertPullRequestToDraft" : "markPullRequestReadyForReview";
    const query = `mutation($id: ID!) { ${mutation}(input: { pullRequestId: $id }) { clientMutationId } }`;
    const url = apiUrl.endsWith("/api/v3") ? apiUrl.replace(/v3$/, "graphql") : `${apiUrl}/graphql`;
    const answered = z.object({ errors: z.undefined().optional() });
    return send("POST", url, { query, variables: { id } }, signal, answered).then(
      () => true,
      () => false,
    );
  };
  return answerForge({
    kind: "github",
    credentials: { username: "x-access-token", token },
    whoAmI: (signal) => get("/user", z.object({ id: z.int(), login: z.string() }), signal),
    readRepository: async (repository, signal) => {
      const found = await get(repoAt(repository), repositoryFacts, signal);
      return {
        name: found.full_name,
        defaultBranch: found.default_branch,
        cloneUrl: requireOwnAddress(found.clone_url, site),
        archived: found.archived === true,
        // GitHub reports no rights of an app's token here; git itself refuses its push.
        canPush: token.startsWith("ghs_") || found.permissions?.push === true,
      };
    },
    listFiles: async (repository, branch, signal) => {
      const path = `${repoAt(repository)}/git/trees/${encodeURIComponent(branch)}`;
      const found = await get(path, tree, signal, { recursive: "1" });
      return found.tree.flatMap(({ type, path }) => (type === "blob" && path !== undefined ? [path] : []));
    },
    permissionOf: async (repository, user, signal) => {
      const path = `${repoAt(repository)}/collaborators/${encodeURIComponent(user)}/permission`;
      const found = await nullIfMissing(get(path, z.object({ permission: z.string() }), signal));
      return PERMISSIONS[found?.permission ?? ""] ?? "none";
    },
    readBranch: async (repository, branch, signal) => {
      const path = `${repoAt(repository)}/branches/${encodeURIComponent(branch)}`;
      const found = await nullIfMissing(get(path, branchFacts, signal));
      return found && { name: found.name, commit: found.commit.sha, protected: found.protected === true };
    },
    readItem: async (item, signal) => {
      const found = toForgeItem(item.repository, await get(issueAt(item), issue, signal));
      if (found.ref.kind === "issue") return found;
      const { head, base } = await get(pullAt(item), wholePull, signal);
      const sourceRepository = head.repo?.full_name ?? "";
      return { ...found, pull: { sourceRepository, sourceBranch: head.ref, targetBranch: base.ref } };
    },
    listComments: async (item, signal) =>
      (await list(`${issueAt(item)}/comments`, comment, signal)).map(toForgeComment),
    postComment: async (item, words, signal) => {
      const body = postedComment("github", words);
      return toForgeComment(await send("POST", `${issueAt(item)}/comments`, { body }, signal, comment));
    },
    editComment: async ({ repository }, commentId, words, signal) => {
      const path = `${repoAt(repository)}/issues/comments/${Number(commentId)}`;
      const body = postedComment("github", words);
      return toForgeComment(await send("PATCH", path, { body }, signal, comment));
    },
    findRequest: async (item, wanted, signal) => {
      const events = await list(`${issueAt(item)}/events`, issueEvent, signal);
      return events.flatMap((event) => toForgeRequest(event, wanted) ?? []).at(-1) ?? null;
    },
    listSaid: async (repository, from, signal) => {
      const since = { since: from.toISOString() };
      const items = await listIssues(repository, signal, since);
      const comments = await list(`${repoAt(repository)}/issues/comments`, comment, signal, since);
      // `since` is about the last change; an edit is nothing new.
      const isNew = ({ created_at: at }: { readonly created_at?: string | null | undefined }) =>
        Date.parse(at ?? "") >= from.getTime();
      return [
        ...items.filter(isNew).map((found) => {
          const { ref, author, body } = toForgeItem(repository, found);
          return { ref, commentId: null, author, body };
        }),
        ...comments.filter(isNew).flatMap((found) => {
          const { id, author, body } = toForgeComment(found);
          const [, kind, number] = /\/(issues|pull)\/(\d+)(?:#|$)/.exec(found.html_url ?? "") ?? [];
          if (kind === undefined) return [];
          const ref = toRef(repository, kind === "pull" ? "pull" : "issue", Number(number));
          return [{ ref, commentId: id, author, body }];
        }),
      ];
    },
    listWork: async (repository, { label, assignee }, signal) => {
      const labeled = await listIssues(repository, signal, { labels: label });
      const assigned = await listIssues(repository, signal, { assignee });
      const byNumber = new Map([...labeled, ...assigned].map((each) => [each.number, each]));
      return [...byNumber.values()].map((each) => toForgeItem(repository, each));
    },
    listReviewComments: async (item, signal) =>
      (await list(`${pullAt(item)}/comments`, reviewComment, signal)).map((found) => ({
        ...toForgeComment(found),
        path: found.path ?? "",
        line: found.line ?? found.original_line ?? null,
        lineNow: found.side === "LEFT" ? null : (found.line ?? null),
        thread: String(found.in_reply_to_id ?? found.id),
      })),
    replyTo: async (item, thread, words, signal) => {
      const path = `${pullAt(item)}/comments/${Number(thread)}/replies`;
      await send("POST", path, { body: postedComment("github", words) }, signal, z.unknown());
    },
    findPull: async (repository, branch, signal) => {
      const head = `${repository.split("/")[0]}:${branch}`;
      const query = { head, state: "open", per_page: "1" };
      const [found] = await get(`${repoAt(repository)}/pulls`, z.array(pull), signal, query);
      return found === undefined ? null : toPull(repository, found);
    },
    listOpenPulls: async (repository, signal) => {
      const query = { state: "open", sort: "updated", direction: "desc", per_page: "100" };
      const found = await get(`${repoAt(repository)}/pulls`, z.array(pull), signal, query);
      return found.map((each) => ({
        ...toPull(repository, each),
        author: each.user?.login ?? "",
        title: each.title ?? "",
        body: each.body ?? "",
      }));
    },
    openPull: async ({ repository, head, base, ...words }, signal) => {
      const posted = { head, base, ...postedPull("github", words) };
      const create = (body: object) => send("POST", `${repoAt(repository)}/pulls`, body, signal, pull);
      if (!words.draft) return toPull(repository, await create(posted));
      const made = await create({ ...posted, draft: true }).catch((error: unknown) => {
        if (!isDraftRefused(error)) throw error;
        return create({ ...posted, title: `Draft: ${posted.title}` });
      });
      return toPull(repository, made);
    },
    updatePull: async (ref, words, signal) => {
      const posted = postedPull("github", words);
      const edit = (body: object) => send("PATCH", pullAt(ref), body, signal, pull);
      const found = await edit(posted);
      const isAsWanted = (found.draft === true) === words.draft;
      if (!isAsWanted && !(await setDraft(found.node_id ?? "", words.draft, signal)))
        await edit({ title: words.draft ? `Draft: ${posted.title}` : posted.title });
      return toPull(ref.repository, found);
    },
  });
}
