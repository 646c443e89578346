import { branchOf, filesOf } from "./branches.ts";
import { openApiProblems } from "./github-openapi.ts";
import { type Answer, type Route, serveApi } from "./serve-api.ts";
import { addComment, addItem, type Comment, type Item, type Repository, type World } from "./world.ts";

/** GitHub's REST API, as far as a task uses it, over a world; also git over HTTP. Below `/api/v3`, as
 * Enterprise has it. Each request is held against GitHub's own description. */
export function startGitHub(world: World, host?: string) {
  const server = serveApi(
    world,
    {
      prefix: "/api/v3",
      authorized: (request) =>
        [`token ${world.token}`, `Bearer ${world.token}`].includes(
          request.headers.get("authorization") ?? "",
        ),
      routes: routes(world, () => server.url),
      graphql: (query, variables) => turnDraft(world, query, variables),
      check: openApiProblems,
    },
    host,
  );
  return server;
}

function routes(world: World, site: () => string): readonly Route[] {
  const repo = (params: Params): Repository | null =>
    world.repositories.get(`${params.owner}/${params.repo}`) ?? null;
  const item = (params: Params): Item | null => repo(params)?.items.get(Number(params.number)) ?? null;
  const missing: Answer = { status: 404, body: { message: "Not Found" } };
  const withItem = (params: Params, go: (found: Item, repository: Repository) => Answer): Answer => {
    const found = item(params);
    return found === null ? missing : go(found, repo(params) as Repository);
  };
  const url = (path: string) => `${site()}/${path}`;
  const htmlUrl = (repository: Repository, found: Item) =>
    url(`${repository.name}/${found.kind === "issue" ? "issues" : "pull"}/${found.number}`);
  const issueJson = (repository: Repository, found: Item) => ({
    id: found.number,
    number: found.number,
    title: found.title,
    body: found.body,
    state: found.open ? "open" : "closed",
    user: userJson(found.author),
    labels: found.labels.map((name) => ({ name })),
    assignees: found.assignees.map(userJson),
    html_url: htmlUrl(repository, found),
    created_at: found.createdAt,
    ...(found.kind === "pull" && { pull_request: { url: "" } }),
  });
  const pullJson = (repository: Repository, found: Item) => ({
    ...issueJson(repository, found),
    head: {
      ref: found.pull?.head,
      sha:
        branchOf(world.repositories.get(found.pull?.headRepository ?? ""), found.pull?.head) ??
        found.pull?.headCommit,
      repo: { full_name: found.pull?.headRepository },
    },
    base: { ref: found.pull?.base },
    draft: found.pull?.draft === true,
    node_id: `PR_${repository.name}#${found.number}`,
  });

  return [
    ["GET", "/user", () => ({ status: 200, body: userJson(world.bot) })],
    [
      "GET",
      "/repos/:owner/:repo",
      ({ params }) => {
        const found = repo(params);
        if (found === null) return missing;
        const permission = found.permissions.get(world.bot.login);
        return {
          status: 200,
          body: {
            id: found.id,
            full_name: found.name,
            default_branch: found.defaultBranch,
            clone_url: url(`${found.name}.git`),
            archived: found.archived,
            permissions: { push: permission === "write" || permission === "admin", pull: true },
          },
        };
      },
    ],
    [
      "GET",
      "/repos/:owner/:repo/git/trees/:sha",
      ({ params }) => {
        const tree = filesOf(repo(params), params.sha);
        return tree === null ? missing : { status: 200, body: { sha: params.sha, tree, truncated: false } };
      },
    ],
    [
      "GET",
      "/repos/:owner/:repo/issues",
      ({ params, query }) => {
        const found = repo(params);
        if (found === null) return missing;
        const list = [...found.items.values()].filter(
          (each) =>
            each.open &&
            (query.since === undefined || each.createdAt >= query.since) &&
            (query.labels === undefined || each.labels.includes(query.labels)) &&
            (query.assignee === undefined || each.assignees.some(({ login }) => login === query.assignee)),
        );
        return { status: 200, body: page(list, query).map((each) => issueJson(found, each)) };
      },
    ],
    [
      "GET",
      "/repos/:owner/:repo/issues/comments",
      ({ params, query }) => {
        const found = repo(params);
        if (found === null) return missing;
        const list = [...found.items.values()].flatMap((each) =>
          each.comments
            .filter(({ review, editedAt, createdAt }) => {
              return review === undefined && (editedAt ?? createdAt) >= (query.since ?? "");
            })
            .map((comment) => ({
              ...commentJson(comment),
              html_url: `${htmlUrl(found, each)}#issuecomment-${comment.id}`,
            })),
        );
        return { status: 200, body: page(list, query) };
      },
    ],
    [
      "GET",
      "/repos/:owner/:repo/issues/:number",
      ({ params }) => withItem(params, (found, at) => ({ status: 200, body: issueJson(at, found) })),
    ],
    [
      "GET",
      "/repos/:owner/:repo/issues/:number/comments",
      ({ params, query }) =>
        withItem(params, (found) => ({
          status: 200,
          body: page(
            found.comments.filter(({ review }) => review === undefined),
            query,
          ).map(commentJson),
        })),
    ],
    [
      "POST",
      "/repos/:owner/:repo/issues/:number/comments",
      ({ params, body }) =>
        withItem(params, (found) => ({
          status: 201,
          body: commentJson(addComment(found, world.bot, (body as { body: string }).body)),
        })),
    ],
    [
      "PATCH",
      "/repos/:owner/:repo/issues/comments/:id",
      ({ params, body }) => {
        const comments = [...(repo(params)?.items.values() ?? [])].flatMap((each) => each.comments);
        const found = comments.find(({ id }) => id === Number(params.id));
        if (found === undefined) return missing;
        if (found.author !== world.bot) return { status: 403, body: { message: "Must have admin rights" } };
        found.body = (body as { body: string }).body;
        return { status: 200, body: commentJson(found) };
      },
    ],
    [
      "GET",
      "/repos/:owner/:repo/issues/:number/events",
      ({ params, query }) =>
        withItem(params, (found) => ({
          status: 200,
          body: page(found.events, query).map(({ id, kind, actor, what, at }) => ({
            id,
            created_at: at,
            event: kind,
            actor: userJson(actor),
            ...(kind === "labeled" ? { label: { name: what } } : { assignee: { login: what } }),
          })),
        })),
    ],
    [
      "GET",
      "/repos/:owner/:repo/collaborators/:username/permission",
      ({ params }) => {
        const found = repo(params);
        const person = world.people.get(params.username ?? "");
        if (found === null || person === undefined) return missing;
        const permission = found.permissions.get(person.login) ?? "none";
        return { status: 200, body: { permission, role_name: permission, user: userJson(person) } };
      },
    ],
    [
      "GET",
      "/repos/:owner/:repo/branches/:branch",
      ({ params }) => {
        const found = repo(params);
        const branch = params.branch ?? "";
        const sha = branchOf(found, branch);
        if (found === null || sha === null) return { status: 404, body: { message: "Branch not found" } };
        return {
          status: 200,
          body: { name: branch, commit: { sha }, protected: found.protectedBranches.has(branch) },
        };
      },
    ],
    [
      "GET",
      "/repos/:owner/:repo/pulls",
      ({ params, query }) => {
        const found = repo(params);
        if (found === null) return missing;
        const list = [...found.items.values()].filter(
          (each) =>
            each.kind === "pull" &&
            each.open &&
            (query.head === undefined || `${params.owner}:${each.pull?.head}` === query.head),
        );
        return { status: 200, body: page(list, query).map((each) => pullJson(found, each)) };
      },
    ],
    [
      "GET",
      "/repos/:owner/:repo/pulls/:number",
      ({ params }) => withItem(params, (found, at) => ({ status: 200, body: pullJson(at, found) })),
    ],
    [
      "GET",
      "/repos/:owner/:repo/pulls/:number/comments",
      ({ params, query }) =>
        withItem(params, (found) => ({
          status: 200,
          body: page(
            found.comments.filter(({ review }) => review !== undefined),
            query,
          ).map((comment) => ({
            ...commentJson(comment),
            path: comment.review?.path,
            line: comment.review?.line,
            ...(comment.review?.repliesTo !== undefined && { in_reply_to_id: comment.review.repliesTo }),
          })),
        })),
    ],
    [
      "POST",
      "/repos/:owner/:repo/pulls/:number/comments/:id/replies",
      ({ params, body }) =>
        withItem(params, (found) => {
          const root = found.comments.find(({ id }) => id === Number(params.id))?.review;
          // GitHub takes the first comment of a thread only.
          if (root === undefined || root.repliesTo !== undefined) return missing;
          const review = { ...root, repliesTo: Number(params.id) };
          return {
            status: 201,
            body: commentJson(addComment(found, world.bot, (body as { body: string }).body, review)),
          };
        }),
    ],
    [
      "POST",
      "/repos/:owner/:repo/pulls",
      ({ params, body }) => {
        const found = repo(params);
        if (found === null) return missing;
        const {
          title,
          body: text = "",
          head,
          base,
          draft = false,
        } = body as Record<"title" | "body" | "head" | "base", string> & { draft?: boolean };
        const invalid = (message: string): Answer => ({
          status: 422,
          body: {
            message: "Validation Failed",
            errors: [{ resource: "PullRequest", code: "custom", message }],
          },
        });
        const headCommit = branchOf(found, head);
        if (found.folder !== null && headCommit === null)
          return {
            status: 422,
            body: { message: "Validation Failed", errors: [{ field: "head", code: "invalid" }] },
          };
        if ([...found.items.values()].some((each) => each.open && each.pull?.head === head))
          return invalid(`A pull request already exists for ${params.owner}:${head}.`);
        const made = addItem(found, {
          kind: "pull",
          title,
          body: text,
          author: world.bot,
          pull: { head, headRepository: found.name, headCommit: headCommit ?? "0".repeat(40), base, draft },
        });
        return { status: 201, body: pullJson(found, made) };
      },
    ],
    [
      "PATCH",
      "/repos/:owner/:repo/pulls/:number",
      ({ params, body }) =>
        withItem(params, (found, at) => {
          Object.assign(found, body);
          return { status: 200, body: pullJson(at, found) };
        }),
    ],
  ];
}

/** The two mutations that REST has not. */
function turnDraft(world: World, query: string, { id = "" }: Readonly<Record<string, string>>): unknown {
  const [, mutation] = /\{\s*(convertPullRequestToDraft|markPullRequestReadyForReview)\(/.exec(query) ?? [];
  const [, name = "", number] = /^PR_(.+)#(\d+)$/.exec(id) ?? [];
  const pull = world.repositories.get(name)?.items.get(Number(number))?.pull;
  if (mutation === undefined || pull === undefined) return { errors: [{ message: "Could not resolve" }] };
  pull.draft = mutation === "convertPullRequestToDraft";
  return { data: { [mutation]: { clientMutationId: null } } };
}

type Params = Readonly<Record<string, string>>;

function page<T>(list: readonly T[], query: Params): T[] {
  const size = Number(query.per_page ?? 30);
  const from = (Number(query.page ?? 1) - 1) * size;
  return list.slice(from, from + size);
}

function userJson({ id, login }: { id: number; login: string }) {
  return { id, login, type: "User" };
}

function commentJson({ id, author, body, createdAt }: Comment) {
  return { id, user: userJson(author), body, created_at: createdAt, updated_at: createdAt };
}
