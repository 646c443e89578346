import { createHmac, timingSafeEqual } from "node:crypto";
import type { IntakeEvent, Taken } from "../../application/tasks/intake.ts";
import { readGitHubEvent } from "./github-event.ts";
import { readGitLabEvents } from "./gitlab-event.ts";

export interface WebhookParts {
  /** Null where the forge has no secret: its deliveries are all refused. */
  readonly github: { readonly secret: string; readonly site: string } | null;
  readonly gitlab: { readonly secret: string; readonly site: string } | null;
  readonly intake: (event: IntakeEvent) => Promise<Taken>;
}

export type ForgeWebhook = "github" | "gitlab";

const LIMIT_BYTES = 25 * 1024 ** 2;

/**
 * `/webhooks/github` and `/webhooks/gitlab`. Whatever is not signed by the secret that was agreed on is refused before
 * it is read; what is signed is answered when it was acted on, so that a delivery that failed can be sent again.
 */
export function createWebhooks(
  parts: WebhookParts,
): (forge: ForgeWebhook, request: Request) => Promise<Response> {
  return async (forge, request) => {
    const settings = parts[forge];
    if (settings === null) return say(404, "not configured");
    if (Number(request.headers.get("content-length") ?? 0) > LIMIT_BYTES) return say(413, "too large");
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > LIMIT_BYTES) return say(413, "too large");
    const genuine =
      forge === "github"
        ? isSigned(bytes, request.headers.get("x-hub-signature-256"), settings.secret)
        : isSame(request.headers.get("x-gitlab-token") ?? "", settings.secret);
    if (!genuine) return say(401, "bad signature");
    const events = eventsOf(forge, request.headers, bytes, settings.site);
    if (events === null) return say(400, "not a delivery of this forge");
    const done: string[] = [];
    for (const event of events) {
      const taken = await parts.intake(event);
      if (taken.did === "failed") return say(503, "try again later");
      done.push(taken.did);
    }
    return Response.json({ did: done });
  };
}

function eventsOf(
  forge: ForgeWebhook,
  headers: Headers,
  bytes: Uint8Array,
  site: string,
): readonly IntakeEvent[] | null {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
  if (forge === "gitlab") {
    const deliveryId = headers.get("idempotency-key") ?? headers.get("x-gitlab-event-uuid") ?? sha256(bytes);
    return readGitLabEvents(body, { site, deliveryId });
  }
  // The delivery's own id is not signed, the body is: what is sent again under another id is known all the same.
  const deliveryId = sha256(bytes);
  const event = readGitHubEvent(headers.get("x-github-event") ?? "", body, { site, deliveryId });
  return event === null ? [] : [event];
}

function isSigned(bytes: Uint8Array, signature: string | null, secret: string): boolean {
  return isSame(signature ?? "", `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`);
}

/** In a time that tells nothing, whatever the lengths. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHmac("sha256", "compare").update(text).digest();
  return expected !== "" && timingSafeEqual(digest(given), digest(expected));
}

function sha256(bytes: Uint8Array): string {
  return createHmac("sha256", "delivery").update(bytes).digest("hex");
}

function say(status: number, message: string): Response {
  return Response.json({ message }, { status });
}
