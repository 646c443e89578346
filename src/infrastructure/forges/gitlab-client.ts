import { z } from "zod";
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
import type { ForgeSettings } from "./forge-entry.ts";
import { answerForge, createForgeApi, nullIfMissing, requireOwnAddress } from "./forge-fetch.ts";

const text = z.string().nullish();
const person = z.object({ username: z.string() }).nullish();
const item = z.object({
  iid: z.int(),
  title: z.string(),
  state: z.string(),
  description: text,
  author: person,
  labels: z.array(z.string()).nullish(),
  assignees: z.array(z.object({ username: z.string() })).nullish(),
});
const pull = item.extend({
  source_project_id: z.int().nullish(),
  target_project_id: z.int(),
  source_branch: z.string(),
  target_branch: z.string(),
});
const madePull = z.object({ iid: z.int() });
const note = z.object({
  id: z.int(),
  created_at: z.string(),
  body: text,
  author: person,
  system: z.boolean().nullish(),
  type: text,
});
const line = z.number().nullish();
const position = z.object({ new_path: text, old_path: text, new_line: line, old_line: line });
const discussion = z.object({
  id: z.string(),
  notes: z.array(note.extend({ position: position.nullish() })).nullish(),
});
const labelEvent = z.object({
  id: z.int(),
  action: z.string(),
  created_at: z.string(),
  user: person,
  label: z.object({ name: z.string() }).nullish(),
});
/** An event "commented on" in the activity of a project. */
const noteEvent = z.object({
  note: note.extend({ noteable_type: z.string(), noteable_iid: z.int().nullish() }).optional(),
});
const access = z.object({ access_level: z.number() }).nullish();
const project = z.object({
  path_with_namespace: z.string(),
  default_branch: text,
  http_url_to_repo: z.string(),
  archived: z.unknown().optional(),
  permissions: z.object({ project_access: access, group_access: access }).nullish(),
});
const branchFacts = z.object({
  name: z.string(),
  commit: z.object({ id: z.string() }),
  protected: z.unknown().optional(),
});
const member = z.object({ username: z.string(), access_level: z.number() });

const REPORTER = 20;
const DEVELOPER = 30;
const MAINTAINER = 40;

function toPermission(level: number): Permission {
  if (level >= MAINTAINER) return "admin";
  if (level >= DEVELOPER) return "write";
  return level >= REPORTER ? "read" : "none";
}

function toForgeItem(found: z.infer<typeof item>, ref: ItemRef): ForgeItem {
  return {
    ref,
    title: found.title,
    body: found.description ?? "",
    author: found.author?.username ?? "",
    open: found.state === "opened",
    labels: found.labels ?? [],
    assignees: (found.assignees ?? []).map(({ username }) => username),
  };
}

function toForgeComment({ id, body, author, created_at }: z.infer<typeof note>): ForgeComment {
  return { id: String(id), author: author?.username ?? "", body: body ?? "", createdAt: created_at };
}

const NOTEABLE = new Map<string, ItemRef["kind"]>([
  ["Issue", "issue"],
  ["WorkItem", "issue"],
  ["MergeRequest", "pull"],
]);

/** Nothing when the event is older, of GitLab's own doing, on a line, or not about an issue or a merge request. */
function readNoteEvent(
  { note: said }: z.infer<typeof noteEvent>,
  since: Date,
  toRef: (kind: ItemRef["kind"], number: number) => ItemRef,
): readonly ForgeSaid[] {
  if (said === undefined || said.system === true || said.type === "DiffNote") return [];
  const kind = NOTEABLE.get(said.noteable_type);
  const { id: commentId, author, body, createdAt } = toForgeComment(said);
  const { noteable_iid: number } = said;
  if (kind === undefined || typeof number !== "number" || Date.parse(createdAt) < since.getTime()) return [];
  return [{ ref: toRef(kind, number), commentId, author, body }];
}

/** The newest of the label's events and of GitLab's own notes "assigned to @name". */
function newestRequest(
  labels: readonly z.infer<typeof labelEvent>[],
  notes: readonly z.infer<typeof note>[],
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

/** On GitLab the title makes the draft. */
function pullFields(words: PullText): { readonly title: string; readonly description: string } {
  const { title, body } = postedPull("gitlab", words);
  return { title: words.draft ? `Draft: ${title}` : title, description: body };
}

/** `site`: `https://gitlab.com`, or a self-hosted address; the API is below it. */
export function createGitLab({ token, site, fetch }: Pick<ForgeSettings, "token" | "site" | "fetch">): Forge {
  const { get, list, send } = createForgeApi({
    root: `${site}/api/v4`,
    headers: { "private-token": token },
    fetch,
  });
  const projectAt = (repository: string) => `/projects/${encodeURIComponent(repository)}`;
  const kindAt = (repository: string, kind: ItemRef["kind"]) =>
    `${projectAt(repository)}/${kind === "issue" ? "issues" : "merge_requests"}`;
  const itemAt = ({ repository, kind, number }: ItemRef) => `${kindAt(repository, kind)}/${number}`;
  const toRef = (repository: string, kind: ItemRef["kind"], number: number): ItemRef => ({
    forge: "gitlab",
    site,
    repository,
    kind,
    number,
  });
  const toPull = (repository: string, { iid }: { readonly iid: number }): ForgePull => {
    const ref = toRef(repository, "pull", iid);
    return { ref, url: itemUrl(ref) };
  };
  const listItems = async (
    repository: string,
    kind: ItemRef["kind"],
    signal: AbortSignal,
    query: Readonly<Record<string, string>>,
  ) => {
    const found = await list(kindAt(repository, kind), item, signal, { state: "opened", ...query });
    return found.map((each) => toForgeItem(each, toRef(repository, kind, each.iid)));
  };
  return answerForge({
    kind: "gitlab",
    credentials: { username: "oauth2", token },
    whoAmI: async (signal) => {
      const shape = z.object({ id: z.int(), username: z.string() });
      const { id, username: login } = await get("/user", shape, signal);
      return { id, login };
    },
    readRepository: async (repository, signal) => {
      const found = await get(projectAt(repository), project, signal);
      const { project_access: own, group_access: group } = found.permissions ?? {};
      return {
        name: found.path_with_namespace,
        // A project without a commit has none.
        defaultBranch: found.default_branch || null,
        cloneUrl: requireOwnAddress(found.http_url_to_repo, site),
        archived: found.archived === true,
        canPush: Math.max(own?.access_level ?? 0, group?.access_level ?? 0) >= DEVELOPER,
      };
    },
    listFiles: async (repository, ref, signal) => {
      const shape = z.object({ type: z.string(), path: z.string() });
      const path = `${projectAt(repository)}/repository/tree`;
      // By page numbers GitLab lists the whole tree for each page.
      const tree = await list(path, shape, signal, { ref, recursive: "true", pagination: "keyset" });
      return tree.filter(({ type }) => type === "blob").map(({ path }) => path);
    },
    permissionOf: async (repository, user, signal) => {
      const members = await list(`${projectAt(repository)}/members/all`, member, signal, { query: user });
      const found = members.find(({ username }) => username.toLowerCase() === user.toLowerCase());
      return toPermission(found?.access_level ?? 0);
    },
    readBranch: async (repository, branch, signal) => {
      const path = `${projectAt(repository)}/repository/branches/${encodeURIComponent(branch)}`;
      const found = await nullIfMissing(get(path, branchFacts, signal));
      return found && { name: found.name, commit: found.commit.id, protected: found.protected === true };
    },
    readItem: async (ref, signal) => {
      if (ref.kind === "issue") return toForgeItem(await get(itemAt(ref), item, signal), ref);
      const found = await get(itemAt(ref), pull, signal);
      const { source_project_id: source, target_project_id: target } = found;
      // The project of a fork that is gone has no name.
      const fork =
        source === target || source == null
          ? null
          : await nullIfMissing(get(`/projects/${source}`, project, signal));
      const sourceRepository = source === target ? ref.repository : (fork?.path_with_namespace ?? "");
      const branches = { sourceBranch: found.source_branch, targetBranch: found.target_branch };
      return { ...toForgeItem(found, ref), pull: { sourceRepository, ...branches } };
    },
    listComments: async (ref, signal) => {
      const order = { sort: "asc", order_by: "created_at" };
      const all = await list(`${itemAt(ref)}/notes`, note, signal, order);
      return all.filter(({ system, type }) => system !== true && type !== "DiffNote").map(toForgeComment);
    },
    postComment: async (ref, words, signal) => {
      const body = postedComment("gitlab", words);
      return toForgeComment(await send("POST", `${itemAt(ref)}/notes`, { body }, signal, note));
    },
    editComment: async (ref, commentId, words, signal) => {
      const path = `${itemAt(ref)}/notes/${Number(commentId)}`;
      const body = postedComment("gitlab", words);
      return toForgeComment(await send("PUT", path, { body }, signal, note));
    },
    findRequest: async (ref, wanted, signal) => {
      const labels = await list(`${itemAt(ref)}/resource_label_events`, labelEvent, signal);
      // GitLab reports an assignment only in a system note.
      const notes = await list(`${itemAt(ref)}/notes`, note, signal, { sort: "asc" });
      return newestRequest(labels, notes, wanted);
    },
    listSaid: async (repository, since, signal) => {
      const query = { created_after: since.toISOString() };
      const opened = [
        ...(await listItems(repository, "issue", signal, query)),
        ...(await listItems(repository, "pull", signal, query)),
      ];
      // Events are listed by day, and the named day itself is not included.
      const after = new Date(since.getTime() - 24 * 3600 * 1000).toISOString().slice(0, 10);
      const path = `${projectAt(repository)}/events`;
      const events = await list(path, noteEvent, signal, { action: "commented", after });
      return [
        ...opened.map(({ ref, author, body }) => ({ ref, commentId: null, author, body })),
        ...events.flatMap((event) =>
          readNoteEvent(event, since, (kind, number) => toRef(repository, kind, number)),
        ),
      ];
    },
    listWork: async (repository, { label, assignee }, signal) => {
      const found = [
        ...(await listItems(repository, "issue", signal, { labels: label })),
        ...(await listItems(repository, "pull", signal, { labels: label })),
        ...(await listItems(repository, "issue", signal, { "assignee_username[]": assignee })),
        ...(await listItems(repository, "pull", signal, { assignee_username: assignee })),
      ];
      return [...new Map(found.map((each) => [itemUrl(each.ref), each])).values()];
    },
    listReviewComments: async (ref, signal) => {
      const discussions = await list(`${itemAt(ref)}/discussions`, discussion, signal);
      return discussions.flatMap(({ id: thread, notes }) =>
        (notes ?? []).flatMap((each) => {
          const { position: at } = each;
          if (at == null || each.system === true) return [];
          const line = at.new_line ?? at.old_line ?? null;
          const path = at.new_path ?? at.old_path ?? "";
          return [{ ...toForgeComment(each), path, line, lineNow: at.new_line ?? null, thread }];
        }),
      );
    },
    replyTo: async (ref, thread, words, signal) => {
      const path = `${itemAt(ref)}/discussions/${encodeURIComponent(thread)}/notes`;
      await send("POST", path, { body: postedComment("gitlab", words) }, signal, z.unknown());
    },
    findPull: async (repository, head, signal) => {
      const query = { source_branch: head, state: "opened", per_page: "1" };
      const [found] = await get(kindAt(repository, "pull"), z.array(item), signal, query);
      return found === undefined ? null : toPull(repository, found);
    },
    listOpenPulls: async (repository, signal) => {
      const query = { state: "opened", order_by: "updated_at", per_page: "100" };
      const found = await get(kindAt(repository, "pull"), z.array(item), signal, query);
      return found.map((each) => {
        const { author, title, body } = toForgeItem(each, toRef(repository, "pull", each.iid));
        return { ...toPull(repository, each), author, title, body };
      });
    },
    openPull: async ({ repository, head, base, ...words }, signal) => {
      const posted = { source_branch: head, target_branch: base, ...pullFields(words) };
      return toPull(repository, await send("POST", kindAt(repository, "pull"), posted, signal, madePull));
    },
    updatePull: async (ref, words, signal) => {
      await send("PUT", itemAt(ref), pullFields(words), signal, madePull);
      return toPull(ref.repository, { iid: ref.number });
    },
  });
}
