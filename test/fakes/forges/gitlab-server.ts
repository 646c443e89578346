import { branchOf, filesOf } from "./branches.ts";
import { type Answer, type Call, type Route, serveApi } from "./serve-api.ts";
import {
  addComment,
  addItem,
  type Comment,
  type Item,
  type Person,
  type Repository,
  type World,
} from "./world.ts";

const LEVELS = { read: 20, write: 30, admin: 40 } as const;

/** GitLab's REST API, as far as a task uses it, over a world; also git over HTTP. */
export function startGitLab(world: World, host?: string) {
  const server = serveApi(
    world,
    {
      prefix: "/api/v4",
      authorized: (request) => request.headers.get("private-token") === world.token,
      routes: routes(world, () => server.url),
    },
    host,
  );
  return server;
}

function routes(world: World, site: () => string): readonly Route[] {
  const missing: Answer = { status: 404, body: { message: "404 Not found" } };
  const project = (id: string | undefined): Repository | null =>
    world.repositories.get(id ?? "") ??
    [...world.repositories.values()].find((each) => String(each.id) === id) ??
    null;
  const withItem = (
    kind: Item["kind"],
    { params }: Call,
    go: (item: Item, at: Repository) => Answer,
  ): Answer => {
    const at = project(params.id);
    const found = at?.items.get(Number(params.iid));
    return at === null || found === undefined || found.kind !== kind ? missing : go(found, at);
  };
  const itemJson = (at: Repository, item: Item) => ({
    id: at.id * 1000 + item.number,
    iid: item.number,
    title: item.title,
    description: item.body,
    created_at: item.createdAt,
    state: item.open ? "opened" : "closed",
    author: userJson(item.author),
    labels: item.labels,
    assignees: item.assignees.map(userJson),
    web_url: `${site()}/${at.name}/-/${item.kind === "issue" ? "issues" : "merge_requests"}/${item.number}`,
    ...(item.pull !== undefined && {
      source_project_id: world.repositories.get(item.pull.headRepository)?.id ?? 0,
      target_project_id: at.id,
      source_branch: item.pull.head,
      target_branch: item.pull.base,
      sha: branchOf(world.repositories.get(item.pull.headRepository), item.pull.head) ?? item.pull.headCommit,
    }),
  });
  const edit = (item: Item, body: unknown) => {
    const change = body as Record<string, unknown>;
    const names = (value: unknown) =>
      String(value ?? "")
        .split(",")
        .filter((name) => name !== "");
    if (change.title !== undefined) item.title = String(change.title);
    if (change.description !== undefined) item.body = String(change.description);
    item.labels = [...new Set([...item.labels, ...names(change.add_labels)])].filter(
      (label) => !names(change.remove_labels).includes(label),
    );
    if (Array.isArray(change.assignee_ids))
      item.assignees = [...world.people.values()].filter(({ id }) =>
        (change.assignee_ids as number[]).includes(id),
      );
  };
  const listOf =
    (kind: Item["kind"]) =>
    ({ params, query }: Call): Answer => {
      const at = project(params.id);
      if (at === null) return missing;
      const assignee = query.assignee_username ?? query["assignee_username[]"];
      const list = [...at.items.values()].filter(
        (each) =>
          each.kind === kind &&
          (query.state === undefined || each.open) &&
          (query.created_after === undefined || each.createdAt >= query.created_after) &&
          (query.labels === undefined || each.labels.includes(query.labels)) &&
          (assignee === undefined || each.assignees.some(({ login }) => login === assignee)) &&
          (query.source_branch === undefined || each.pull?.head === query.source_branch),
      );
      return { status: 200, body: list.map((each) => itemJson(at, each)) };
    };
  const forKind = (kind: Item["kind"], path: string): Route[] => [
    ["GET", `/projects/:id/${path}`, listOf(kind)],
    [
      "GET",
      `/projects/:id/${path}/:iid`,
      (call) => withItem(kind, call, (item, at) => ({ status: 200, body: itemJson(at, item) })),
    ],
    [
      "PUT",
      `/projects/:id/${path}/:iid`,
      (call) =>
        withItem(kind, call, (item, at) => {
          edit(item, call.body);
          return { status: 200, body: itemJson(at, item) };
        }),
    ],
    [
      "GET",
      `/projects/:id/${path}/:iid/notes`,
      (call) =>
        withItem(kind, call, (item) => ({
          status: 200,
          body: [
            ...item.events
              .filter((event) => event.kind === "assigned")
              .map(({ id, actor, what, at }) => ({
                id,
                author: userJson(actor),
                body: `assigned to @${what}`,
                created_at: at,
                system: true,
              })),
            ...item.comments.map(noteJson),
          ],
        })),
    ],
    [
      "GET",
      `/projects/:id/${path}/:iid/resource_label_events`,
      (call) =>
        withItem(kind, call, (item) => ({
          status: 200,
          body: item.events
            .filter((event) => event.kind === "labeled")
            .map(({ id, actor, what, at }) => ({
              id,
              action: "add",
              user: userJson(actor),
              label: { name: what },
              created_at: at,
            })),
        })),
    ],
    [
      "POST",
      `/projects/:id/${path}/:iid/notes`,
      (call) =>
        withItem(kind, call, (item) => ({
          status: 201,
          body: noteJson(addComment(item, world.bot, (call.body as { body: string }).body)),
        })),
    ],
    [
      "PUT",
      `/projects/:id/${path}/:iid/notes/:note`,
      (call) =>
        withItem(kind, call, (item) => {
          const found = item.comments.find(({ id }) => id === Number(call.params.note));
          if (found === undefined) return missing;
          found.body = (call.body as { body: string }).body;
          return { status: 200, body: noteJson(found) };
        }),
    ],
  ];

  return [
    ["GET", "/user", () => ({ status: 200, body: userJson(world.bot) })],
    [
      "GET",
      "/projects/:id/events",
      ({ params, query }) => {
        const at = project(params.id);
        if (at === null) return missing;
        const list = [...at.items.values()].flatMap((item) =>
          item.comments
            .filter(({ createdAt }) => createdAt.slice(0, 10) > (query.after ?? ""))
            .map((comment) => ({
              id: comment.id,
              action_name: "commented on",
              target_type: comment.review === undefined ? "Note" : "DiffNote",
              author_username: comment.author.login,
              note: {
                ...noteJson(comment),
                noteable_type: item.kind === "issue" ? "Issue" : "MergeRequest",
                noteable_iid: item.number,
              },
            })),
        );
        return { status: 200, body: query.action === "commented" ? list : [] };
      },
    ],
    ...forKind("issue", "issues"),
    ...forKind("pull", "merge_requests"),
    [
      "GET",
      "/projects/:id",
      ({ params }) => {
        const at = project(params.id);
        if (at === null) return missing;
        const permission = at.permissions.get(world.bot.login);
        return {
          status: 200,
          body: {
            id: at.id,
            path_with_namespace: at.name,
            default_branch: at.defaultBranch,
            http_url_to_repo: `${site()}/${at.name}.git`,
            archived: at.archived,
            permissions: {
              project_access: permission === undefined ? null : { access_level: LEVELS[permission] },
              group_access: null,
            },
          },
        };
      },
    ],
    [
      "GET",
      "/projects/:id/members/all",
      ({ params, query }) => {
        const at = project(params.id);
        if (at === null) return missing;
        const members = [...at.permissions].flatMap(([login, permission]) => {
          const person = world.people.get(login);
          const wanted = query.query === undefined || login.includes(query.query);
          return person === undefined || !wanted
            ? []
            : [{ ...userJson(person), access_level: LEVELS[permission] }];
        });
        return { status: 200, body: members };
      },
    ],
    [
      "GET",
      "/projects/:id/repository/tree",
      ({ params, query }) => {
        const tree = filesOf(project(params.id), query.ref);
        return tree === null ? missing : { status: 200, body: tree };
      },
    ],
    [
      "GET",
      "/projects/:id/repository/branches/:branch",
      ({ params }) => {
        const at = project(params.id);
        const commit = branchOf(at, params.branch);
        if (at === null || commit === null) return { status: 404, body: { message: "404 Branch Not Found" } };
        return {
          status: 200,
          body: {
            name: params.branch,
            commit: { id: commit },
            protected: at.protectedBranches.has(params.branch ?? ""),
          },
        };
      },
    ],
    [
      "POST",
      "/projects/:id/merge_requests",
      ({ params, body }) => {
        const at = project(params.id);
        if (at === null) return missing;
        const {
          source_branch: head,
          target_branch: base,
          title,
          description = "",
        } = body as Record<string, string>;
        const headCommit = branchOf(at, head);
        if (at.folder !== null && headCommit === null)
          return { status: 400, body: { message: { source_branch: ["does not exist"] } } };
        if ([...at.items.values()].some((each) => each.open && each.pull?.head === head))
          return {
            status: 409,
            body: { message: ["Another open merge request already exists for this source branch"] },
          };
        const made = addItem(at, {
          kind: "pull",
          title: title ?? "",
          body: description,
          author: world.bot,
          pull: {
            head: head ?? "",
            headRepository: at.name,
            headCommit: headCommit ?? "0".repeat(40),
            base: base ?? "",
          },
        });
        return { status: 201, body: itemJson(at, made) };
      },
    ],
    [
      "GET",
      "/projects/:id/merge_requests/:iid/discussions",
      (call) =>
        withItem("pull", call, (item) => ({
          status: 200,
          body: item.comments
            .filter(({ review }) => review?.repliesTo === undefined)
            .map((comment) => ({
              id: `d${comment.id}`,
              notes: item.comments
                .filter(({ id, review }) => id === comment.id || review?.repliesTo === comment.id)
                .map(noteJson),
            })),
        })),
    ],
    [
      "POST",
      "/projects/:id/merge_requests/:iid/discussions/:discussion/notes",
      (call) =>
        withItem("pull", call, (item) => {
          const root = item.comments.find(({ id }) => `d${id}` === call.params.discussion);
          if (root?.review === undefined) return missing;
          const review = { ...root.review, repliesTo: root.id };
          return {
            status: 201,
            body: noteJson(addComment(item, world.bot, (call.body as { body: string }).body, review)),
          };
        }),
    ],
  ];
}

function userJson({ id, login }: Person) {
  return { id, username: login, name: login, state: "active" };
}

function noteJson({ id, author, body, createdAt, review }: Comment) {
  return {
    id,
    author: userJson(author),
    body,
    created_at: createdAt,
    system: false,
    type: review === undefined ? null : "DiffNote",
    ...(review !== undefined && { position: { new_path: review.path, new_line: review.line } }),
  };
}
