import type { DeliveryFormat, IntakeEvent } from "../../application/ports/forges.ts";
import { commentDeliveryId, type ItemRef, openedDeliveryId } from "../../domain/forges/forge-items.ts";
import type { ForgeEvent } from "../../domain/forges/trigger.ts";
import { parseEvent, readObject } from "../../domain/platform/json-members.ts";
import { deliveryDigest, type ForgeEntry, isSameSecret } from "./forge-entry.ts";

interface GitLabPayload {
  readonly object_kind?: string;
  readonly user?: { readonly username?: string };
  readonly project?: { readonly path_with_namespace?: string };
  readonly object_attributes?: {
    readonly id?: number;
    readonly iid?: number;
    readonly description?: string | null;
    readonly created_at?: string;
    readonly updated_at?: string;
    readonly action?: string;
    readonly author_id?: number;
    readonly note?: string;
    readonly noteable_type?: string;
    readonly type?: string | null;
    /** GitLab's own note about what a person did. */
    readonly system?: boolean;
  };
  readonly issue?: { readonly iid?: number };
  readonly merge_request?: { readonly iid?: number; readonly author_id?: number };
  readonly assignees?: readonly GitLabAssignee[];
  readonly labels?: readonly GitLabLabel[];
  readonly changes?: {
    readonly assignees?: GitLabChange<GitLabAssignee>;
    readonly labels?: GitLabChange<GitLabLabel>;
  };
}

interface GitLabAssignee {
  readonly username?: string;
}

interface GitLabLabel {
  readonly title?: string;
}

interface GitLabChange<T> {
  readonly previous?: readonly T[];
  readonly current?: readonly T[];
}

/** One delivery may report several changes, each of which is an event. Empty if it is about something else. */
function readGitLabEvents(
  body: unknown,
  { site, deliveryId }: { readonly site: string; readonly deliveryId: string },
): readonly IntakeEvent[] {
  const payload = (body ?? {}) as GitLabPayload;
  const repository = payload.project?.path_with_namespace;
  const actor = payload.user?.username;
  const found = gitlabItemOf(payload);
  if (repository === undefined || actor === undefined || found === null) return [];
  const { kind, number, author } = found;
  const item: ItemRef = { forge: "gitlab", site, repository, kind, number };
  const whose = author === undefined ? {} : { pullAuthor: author };
  const at = payload.object_attributes?.updated_at;
  const when = at === undefined ? {} : { at };
  return readGitLabHappenings(payload).map((event, i) => ({
    deliveryId: gitlabDeliveryId(payload, item, event) ?? `gitlab:${deliveryId}:${i}`,
    item,
    event: { ...event, actor, ...whose, ...when },
  }));
}

function gitlabItemOf(
  payload: GitLabPayload,
): { kind: ItemRef["kind"]; number: number; author?: number } | null {
  const { object_kind: kind, object_attributes: object, issue, merge_request: pull } = payload;
  const at = (of: ItemRef["kind"], number: number | undefined, author?: number) =>
    number === undefined
      ? null
      : { kind: of, number, ...(of === "pull" && author !== undefined && { author }) };
  switch (kind) {
    case "issue":
    case "work_item":
      return at("issue", object?.iid);
    case "merge_request":
      return at("pull", object?.iid, object?.author_id);
    case "note":
      return pull?.iid === undefined ? at("issue", issue?.iid) : at("pull", pull.iid, pull.author_id);
    default:
      return null;
  }
}

/** Null where polling finds no such thing: the delivery is named by the forge, or by what it says. */
function gitlabDeliveryId(
  { object_attributes: object }: GitLabPayload,
  item: ItemRef,
  { kind }: Omit<ForgeEvent, "actor">,
): string | null {
  if (kind === "opened") return openedDeliveryId(item);
  return kind === "commented" && typeof object?.id === "number" ? commentDeliveryId(item, object.id) : null;
}

function readGitLabHappenings(payload: GitLabPayload): Omit<ForgeEvent, "actor">[] {
  const { object_kind, object_attributes: object, changes } = payload;
  if (object_kind === "note") {
    const kind = object?.type === "DiffNote" ? "reviewed" : "commented";
    if (object?.note === undefined || object.system === true || isEdited(object)) return [];
    return [{ kind, text: object.note }];
  }
  // The initial values of an item are beside it; `changes` contains only later changes.
  const opened = object?.action === "open";
  const assignees = compareLists(
    changes?.assignees,
    opened ? payload.assignees : [],
    ({ username }) => username,
  );
  const labels = compareLists(changes?.labels, opened ? payload.labels : [], ({ title }) => title);
  return [
    ...(opened ? [{ kind: "opened", text: object.description ?? "" } as const] : []),
    ...assignees.added.map((assignee) => ({ kind: "assigned", assignee }) as const),
    ...assignees.removed.map((assignee) => ({ kind: "unassigned", assignee }) as const),
    ...labels.added.map((label) => ({ kind: "labeled", label }) as const),
    ...labels.removed.map((label) => ({ kind: "unlabeled", label }) as const),
    ...(object?.action === "close" || object?.action === "merge" ? [{ kind: "closed" } as const] : []),
  ];
}

/** GitLab delivers an edited comment as it delivers a new one; older ones do not name the action. */
function isEdited({
  action,
  created_at,
  updated_at,
}: NonNullable<GitLabPayload["object_attributes"]>): boolean {
  return action === undefined
    ? created_at !== undefined && updated_at !== undefined && created_at !== updated_at
    : action !== "create";
}

function compareLists<T>(
  change: GitLabChange<T> | undefined,
  given: readonly T[] | undefined,
  name: (each: Partial<T>) => unknown,
): { readonly added: readonly string[]; readonly removed: readonly string[] } {
  const names = (list: readonly T[] | undefined) => {
    const all = (Array.isArray(list) ? list : []).map((each) => name(readObject(each) as Partial<T>));
    return new Set(all.filter((each) => typeof each === "string"));
  };
  const before = names(change?.previous);
  const after = new Set([...names(change?.current), ...names(given)]);
  return {
    added: [...after].filter((each) => !before.has(each)),
    removed: [...before].filter((each) => !after.has(each)),
  };
}

const gitlabDeliveries: DeliveryFormat = {
  signedBy: "x-gitlab-token",
  isGenuine: (headers, _bytes, secret) => isSameSecret(headers.get("x-gitlab-token") ?? "", secret),
  parse: (_headers, bytes) => parseEvent(new TextDecoder().decode(bytes)),
  read({ headers, bytes, body, site }) {
    const deliveryId =
      headers.get("idempotency-key") ?? headers.get("x-gitlab-event-uuid") ?? deliveryDigest(bytes);
    return readGitLabEvents(body, { site, deliveryId });
  },
};

export const gitlab: ForgeEntry = {
  open: async (settings) => (await import("./gitlab-client.ts")).createGitLab(settings),
  deliveries: gitlabDeliveries,
};
