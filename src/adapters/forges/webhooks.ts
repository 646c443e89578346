import { createHmac, timingSafeEqual } from "node:crypto";
import type { IntakeEvent, IntakeOutcome } from "../../application/ports/forges.ts";
import { LARGEST_BODY_BYTES, type Webhook } from "../../application/ports/platform.ts";
import {
  commentDeliveryId,
  type ForgeKind,
  type ItemRef,
  openedDeliveryId,
} from "../../domain/forges/forge-items.ts";
import type { ForgeEvent } from "../../domain/forges/trigger.ts";

interface Delivery {
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** The parsed content of the bytes. */
  readonly body: unknown;
  readonly site: string;
}

/** How one forge signs and words what it posts. */
interface DeliveryFormat {
  /** The header without which nothing is genuine. */
  readonly signedBy: string;
  isGenuine(headers: Headers, bytes: Uint8Array, secret: string): boolean;
  /** The JSON in a delivery's bytes; undefined if there is none. */
  parse(headers: Headers, bytes: Uint8Array): unknown;
  /** None when it says nothing to us; null when it is no delivery of this forge. */
  read(delivery: Delivery): readonly IntakeEvent[] | null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** In a time that tells nothing, whatever the lengths. */
function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHmac("sha256", "compare").update(text).digest();
  return expected !== "" && timingSafeEqual(digest(given), digest(expected));
}

/** Names a delivery by what it says. */
function deliveryDigest(bytes: Uint8Array): string {
  return createHmac("sha256", "delivery").update(bytes).digest("hex");
}

interface GitHubPayload {
  readonly action?: string;
  readonly sender?: { readonly login?: string };
  readonly repository?: { readonly full_name?: string };
  readonly issue?: GitHubPayloadItem & { readonly pull_request?: unknown };
  readonly pull_request?: GitHubPayloadItem;
  readonly label?: { readonly name?: string };
  readonly assignee?: { readonly login?: string };
  readonly comment?: { readonly id?: number; readonly body?: string };
  readonly review?: { readonly body?: string | null };
}

interface GitHubPayloadItem {
  readonly number?: number;
  readonly user?: { readonly login?: string } | null;
  readonly body?: string | null;
  readonly updated_at?: string;
}

const GITHUB_ACTIONS: Readonly<Record<string, Readonly<Record<string, ForgeEvent["kind"]>>>> = {
  issues: {
    opened: "opened",
    assigned: "assigned",
    unassigned: "unassigned",
    labeled: "labeled",
    unlabeled: "unlabeled",
    closed: "closed",
  },
  pull_request: {
    opened: "opened",
    assigned: "assigned",
    unassigned: "unassigned",
    labeled: "labeled",
    unlabeled: "unlabeled",
    closed: "closed",
  },
  issue_comment: { created: "commented" },
  pull_request_review_comment: { created: "reviewed" },
  pull_request_review: { submitted: "reviewed" },
};

/** A delivery of GitHub in the forges' common shape; null when it is about something else. */
function readGitHubEvent(
  name: string,
  body: unknown,
  { site, deliveryId }: { readonly site: string; readonly deliveryId: string },
): IntakeEvent | null {
  const payload = (body ?? {}) as GitHubPayload;
  const kind = GITHUB_ACTIONS[name]?.[payload.action ?? ""];
  const item = payload.pull_request ?? payload.issue;
  const repository = payload.repository?.full_name;
  const actor = payload.sender?.login;
  if (kind === undefined || item?.number === undefined || repository === undefined || actor === undefined)
    return null;
  const isPull = payload.pull_request !== undefined || payload.issue?.pull_request !== undefined;
  const said = kind === "opened" ? item.body : (payload.comment?.body ?? payload.review?.body);
  const text = said ?? undefined;
  // A review without words comes with its line comments, each of which is delivered by itself.
  if (name === "pull_request_review" && (text ?? "") === "") return null;
  const ref = {
    forge: "github",
    site,
    repository,
    kind: isPull ? "pull" : "issue",
    number: item.number,
  } as const;
  return {
    deliveryId: githubDeliveryId(name, payload, ref) ?? `github:${deliveryId}`,
    item: ref,
    event: {
      kind,
      actor,
      ...(payload.assignee?.login !== undefined && { assignee: payload.assignee.login }),
      ...(payload.label?.name !== undefined && { label: payload.label.name }),
      ...(text !== undefined && { text }),
      ...(item.updated_at !== undefined && { at: item.updated_at }),
      ...(isPull && item.user?.login !== undefined && { pullAuthor: item.user.login }),
    },
  };
}

/** Null where polling finds no such thing: the delivery is named by what it says. */
function githubDeliveryId(name: string, { action, comment }: GitHubPayload, ref: ItemRef): string | null {
  if (action === "opened") return openedDeliveryId(ref);
  return name === "issue_comment" && comment?.id !== undefined ? commentDeliveryId(ref, comment.id) : null;
}

const githubDeliveries: DeliveryFormat = {
  signedBy: "x-hub-signature-256",
  isGenuine: (headers, bytes, secret) =>
    isSameSecret(
      headers.get("x-hub-signature-256") ?? "",
      `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`,
    ),
  // As a form, which is what GitHub offers first, the JSON is one field of it.
  parse(headers, bytes) {
    const text = new TextDecoder().decode(bytes);
    const isForm = /^application\/x-www-form-urlencoded\b/i.test(headers.get("content-type") ?? "");
    return parseJson(isForm ? (new URLSearchParams(text).get("payload") ?? "") : text);
  },
  read({ headers, bytes, body, site }) {
    // The delivery's own id is not signed, the body is: what is sent again under another id is known all the same.
    const deliveryId = deliveryDigest(bytes);
    const event = readGitHubEvent(headers.get("x-github-event") ?? "", body, { site, deliveryId });
    return event === null ? [] : [event];
  },
};

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

/**
 * A delivery of GitLab in the forges' common shape. One delivery may tell of several changes; each is an event of its
 * own. None when it is about something else.
 */
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
      return pull === undefined ? at("issue", issue?.iid) : at("pull", pull.iid, pull.author_id);
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
  return kind === "commented" && object?.id !== undefined ? commentDeliveryId(item, object.id) : null;
}

function readGitLabHappenings(payload: GitLabPayload): Omit<ForgeEvent, "actor">[] {
  const { object_kind, object_attributes: object, changes } = payload;
  if (object_kind === "note") {
    const kind = object?.type === "DiffNote" ? "reviewed" : "commented";
    return object?.note === undefined || isEdited(object) ? [] : [{ kind, text: object.note }];
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
  name: (each: T) => string | undefined,
): { readonly added: readonly string[]; readonly removed: readonly string[] } {
  const names = (list: readonly T[] | undefined) => new Set((list ?? []).flatMap((each) => name(each) ?? []));
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
  parse: (_headers, bytes) => parseJson(new TextDecoder().decode(bytes)),
  read({ headers, bytes, body, site }) {
    const deliveryId =
      headers.get("idempotency-key") ?? headers.get("x-gitlab-event-uuid") ?? deliveryDigest(bytes);
    return readGitLabEvents(body, { site, deliveryId });
  },
};

/** One line a forge. */
const DELIVERY_FORMATS: Readonly<Record<ForgeKind, DeliveryFormat>> = {
  github: githubDeliveries,
  gitlab: gitlabDeliveries,
};

export interface WebhookDeps {
  /** Null where the forge has no secret: its deliveries are all refused. */
  readonly forges: Readonly<Record<ForgeKind, { readonly secret: string; readonly site: string } | null>>;
  readonly intake: (event: IntakeEvent) => Promise<IntakeOutcome>;
}

/**
 * `/webhooks/<forge>`. A delivery that is not signed with the agreed secret is refused before it is read; a
 * signed one is answered after it was acted on, so that a failed delivery can be sent again.
 */
export function createWebhooks(
  parts: WebhookDeps,
): (forge: ForgeKind, request: Request) => Promise<Response> {
  return async (forge, request) => {
    const settings = parts.forges[forge];
    if (settings === null) return webhookReply(404, "not configured");
    if (Number(request.headers.get("content-length") ?? 0) > LARGEST_BODY_BYTES)
      return webhookReply(413, "too large");
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > LARGEST_BODY_BYTES) return webhookReply(413, "too large");
    const { isGenuine, parse, read } = DELIVERY_FORMATS[forge];
    if (!isGenuine(request.headers, bytes, settings.secret)) return webhookReply(401, "bad signature");
    const body = parse(request.headers, bytes);
    const events =
      body === undefined ? null : read({ headers: request.headers, bytes, body, site: settings.site });
    if (events === null) return webhookReply(400, "not a delivery of this forge");
    const done: string[] = [];
    for (const event of events) {
      const taken = await parts.intake(event);
      if (taken.did === "failed") return webhookReply(503, "try again later");
      done.push(taken.did);
    }
    return Response.json({ did: done });
  };
}

/** The same for one forge, as the web server takes it in. */
export function forgeWebhook(forge: ForgeKind, answer: ReturnType<typeof createWebhooks>): Webhook {
  const { signedBy } = DELIVERY_FORMATS[forge];
  return { signedBy, limitBytes: LARGEST_BODY_BYTES, answer: (request) => answer(forge, request) };
}

function webhookReply(status: number, message: string): Response {
  return Response.json({ message }, { status });
}
