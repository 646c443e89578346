import type { IntakeEvent } from "../../application/tasks/intake.ts";
import type { ItemRef } from "../../domain/forges/item-url.ts";
import type { ForgeEvent } from "../../domain/forges/trigger.ts";
import { type Deliveries, isSame, nameOf } from "./deliveries.ts";

interface Payload {
  readonly object_kind?: string;
  readonly user?: { readonly username?: string };
  readonly project?: { readonly path_with_namespace?: string };
  readonly object_attributes?: {
    readonly iid?: number;
    readonly action?: string;
    readonly author_id?: number;
    readonly note?: string;
    readonly noteable_type?: string;
    readonly type?: string | null;
  };
  readonly issue?: { readonly iid?: number };
  readonly merge_request?: { readonly iid?: number; readonly author_id?: number };
  readonly changes?: {
    readonly assignees?: Change<{ readonly username?: string }>;
    readonly labels?: Change<{ readonly title?: string }>;
  };
}

interface Change<T> {
  readonly previous?: readonly T[];
  readonly current?: readonly T[];
}

/**
 * A delivery of GitLab in the forges' common shape. One delivery may tell of several changes; each is an event of its
 * own. None when it is about something else.
 */
function readGitLabEvents(
  body: unknown,
  { site, deliveryId }: { readonly site: string; readonly deliveryId: string },
): readonly IntakeEvent[] {
  const payload = (body ?? {}) as Payload;
  const repository = payload.project?.path_with_namespace;
  const actor = payload.user?.username;
  const found = placeOf(payload);
  if (repository === undefined || actor === undefined || found === null) return [];
  const { kind, number, author } = found;
  const item: ItemRef = { forge: "gitlab", site, repository, kind, number };
  const whose = author === undefined ? {} : { pullAuthor: author };
  return happenings(payload).map((event, i) => ({
    deliveryId: `gitlab:${deliveryId}:${i}`,
    item,
    event: { ...event, actor, ...whose },
  }));
}

function placeOf(payload: Payload): { kind: ItemRef["kind"]; number: number; author?: number } | null {
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
      return pull === undefined ? at("issue", issue?.iid) : at("pull", pull.iid, pull.author_id);
    default:
      return null;
  }
}

function happenings({
  object_kind,
  object_attributes: object,
  changes,
}: Payload): Omit<ForgeEvent, "actor">[] {
  if (object_kind === "note") {
    const kind = object?.type === "DiffNote" ? "reviewed" : "commented";
    return object?.note === undefined ? [] : [{ kind, text: object.note }];
  }
  const events: Omit<ForgeEvent, "actor">[] = [];
  const compare = <T>(change: Change<T> | undefined, name: (each: T) => string | undefined) => {
    const names = (list: readonly T[] | undefined) =>
      new Set((list ?? []).flatMap((each) => name(each) ?? []));
    const before = names(change?.previous);
    const after = names(change?.current);
    return {
      added: [...after].filter((each) => !before.has(each)),
      removed: [...before].filter((each) => !after.has(each)),
    };
  };
  const assignees = compare(changes?.assignees, ({ username }) => username);
  const labels = compare(changes?.labels, ({ title }) => title);
  for (const assignee of assignees.added) events.push({ kind: "assigned", assignee });
  for (const assignee of assignees.removed) events.push({ kind: "unassigned", assignee });
  for (const label of labels.added) events.push({ kind: "labeled", label });
  for (const label of labels.removed) events.push({ kind: "unlabeled", label });
  if (object?.action === "close" || object?.action === "merge") events.push({ kind: "closed" });
  return events;
}

export const gitlabDeliveries: Deliveries = {
  isGenuine: (headers, _bytes, secret) => isSame(headers.get("x-gitlab-token") ?? "", secret),
  read({ headers, bytes, body, site }) {
    const deliveryId = headers.get("idempotency-key") ?? headers.get("x-gitlab-event-uuid") ?? nameOf(bytes);
    return readGitLabEvents(body, { site, deliveryId });
  },
};
