import { createHmac } from "node:crypto";
import type { DeliveryFormat, IntakeEvent } from "../../application/ports/forges.ts";
import { commentDeliveryId, type ItemRef, openedDeliveryId } from "../../domain/forges/forge-items.ts";
import type { ForgeEvent } from "../../domain/forges/trigger.ts";
import { parseEvent, parseEventForm } from "../../domain/platform/json-members.ts";
import { deliveryDigest, type ForgeEntry, isSameSecret } from "./forge-entry.ts";

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

type ActionKinds = ReadonlyMap<unknown, ForgeEvent["kind"]>;

const ITEM_ACTIONS: ActionKinds = new Map(
  (["opened", "assigned", "unassigned", "labeled", "unlabeled", "closed"] as const).map((kind) => [
    kind,
    kind,
  ]),
);

const GITHUB_ACTIONS: ReadonlyMap<string, ActionKinds> = new Map<string, ActionKinds>([
  ["issues", ITEM_ACTIONS],
  ["pull_request", ITEM_ACTIONS],
  ["issue_comment", new Map([["created", "commented"]])],
  ["pull_request_review_comment", new Map([["created", "reviewed"]])],
  ["pull_request_review", new Map([["submitted", "reviewed"]])],
]);

/** A delivery of GitHub in the forges' common shape; null when it is about something else. */
function readGitHubEvent(
  name: string,
  body: unknown,
  { site, deliveryId }: { readonly site: string; readonly deliveryId: string },
): IntakeEvent | null {
  const payload = (body ?? {}) as GitHubPayload;
  const kind = GITHUB_ACTIONS.get(name)?.get(payload.action);
  const item = payload.pull_request ?? payload.issue;
  const repository = payload.repository?.full_name;
  const actor = payload.sender?.login;
  if (kind === undefined || item?.number === undefined || repository === undefined || actor === undefined)
    return null;
  const isPull = payload.pull_request !== undefined || payload.issue?.pull_request !== undefined;
  const said = kind === "opened" ? item.body : (payload.comment?.body ?? payload.review?.body);
  const text = said ?? undefined;
  // A review without a text consists of its line comments, each of which is delivered by itself.
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
  return name === "issue_comment" && typeof comment?.id === "number"
    ? commentDeliveryId(ref, comment.id)
    : null;
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
    return parseEvent(isForm ? (parseEventForm(text)?.get("payload") ?? "") : text);
  },
  read({ headers, bytes, body, site }) {
    // The delivery's own id is not signed, the body is: what is sent again under another id is known all the same.
    const deliveryId = deliveryDigest(bytes);
    const event = readGitHubEvent(headers.get("x-github-event") ?? "", body, { site, deliveryId });
    return event === null ? [] : [event];
  },
};

export const github: ForgeEntry = {
  async open({ baseUrl, ...settings }) {
    const { createGitHub } = await import("./github-client.ts");
    const apiUrl = (baseUrl ?? "https://api.github.com").replace(/\/+$/, "");
    return createGitHub({ ...settings, apiUrl });
  },
  deliveries: githubDeliveries,
};
