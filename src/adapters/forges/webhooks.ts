import type { DeliveryFormat, IntakeEvent, IntakeOutcome } from "../../application/ports/forges.ts";
import { LARGEST_BODY_BYTES, type Webhook } from "../../application/ports/platform.ts";
import type { ForgeKind } from "../../domain/config/forge-kinds.ts";

export interface WebhookDeps {
  /** Null where the forge has no secret: its deliveries are all refused. */
  readonly forges: Readonly<Record<ForgeKind, { readonly secret: string; readonly site: string } | null>>;
  readonly formats: Readonly<Record<ForgeKind, DeliveryFormat>>;
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
    const { isGenuine, parse, read } = parts.formats[forge];
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
export function forgeWebhook(
  forge: ForgeKind,
  { signedBy }: Pick<DeliveryFormat, "signedBy">,
  answer: ReturnType<typeof createWebhooks>,
): Webhook {
  return { signedBy, limitBytes: LARGEST_BODY_BYTES, answer: (request) => answer(forge, request) };
}

function webhookReply(status: number, message: string): Response {
  return Response.json({ message }, { status });
}
