import type { DeliveryFormat, IntakeEvent, IntakeOutcome } from "../../application/ports/forges.ts";
import type { Webhook } from "../../application/ports/platform.ts";
import type { Config, Secrets } from "../../config/config.ts";
import { byForge, FORGE_KINDS, type ForgeKind } from "../../domain/config/configured-kinds.ts";
import { forgeSite } from "../../domain/forges/forge-items.ts";
import { isServiceId } from "../../domain/platform/json-members.ts";

/** An item and a comment of GitLab are a million characters each at most, those of GitHub far less. */
const LIMIT_BYTES = 4 * 1024 ** 2;

export interface WebhookDeps {
  /** Null where the forge has no secret: its deliveries are all refused. */
  readonly forges: Readonly<Record<ForgeKind, { readonly secret: string; readonly site: string } | null>>;
  readonly formats: Readonly<Record<ForgeKind, DeliveryFormat>>;
  readonly intake: (event: IntakeEvent) => Promise<IntakeOutcome>;
}

/** A delivery without the agreed signature is refused unread; a signed one is answered once it is stored. */
export function createWebhooks(deps: WebhookDeps): (forge: ForgeKind, request: Request) => Promise<Response> {
  return async (forge, request) => {
    const settings = deps.forges[forge];
    if (settings === null) return webhookReply(404, "not configured");
    if (Number(request.headers.get("content-length") ?? 0) > LIMIT_BYTES)
      return webhookReply(413, "too large");
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > LIMIT_BYTES) return webhookReply(413, "too large");
    const { isGenuine, parse, read } = deps.formats[forge];
    if (!isGenuine(request.headers, bytes, settings.secret)) return webhookReply(401, "bad signature");
    const body = parse(request.headers, bytes);
    const events =
      body === undefined ? null : read({ headers: request.headers, bytes, body, site: settings.site });
    if (events === null) return webhookReply(400, "not a delivery of this forge");
    const done: string[] = [];
    for (const event of events.filter(isInShape)) {
      const taken = await deps.intake(event);
      if (taken.did === "failed") return webhookReply(503, "try again later");
      done.push(taken.did);
    }
    return Response.json({ did: done }, { status: done.includes("kept") ? 202 : 200 });
  };
}

/** A signed delivery of another shape is acknowledged and left alone: delivered again, it would be the same. */
function isInShape({ item, event }: IntakeEvent): boolean {
  const { actor, assignee = "", label = "", text = "", at = "", pullAuthor = "" } = event;
  if (!Number.isSafeInteger(item.number) || !isServiceId(item.repository) || !isServiceId(actor))
    return false;
  const isAuthor = typeof pullAuthor === "string" || typeof pullAuthor === "number";
  return isAuthor && [assignee, label, text, at].every((each: unknown) => typeof each === "string");
}

/** The same for one forge, as the web server takes it in. */
export function forgeWebhook(
  forge: ForgeKind,
  { signedBy }: Pick<DeliveryFormat, "signedBy">,
  answer: ReturnType<typeof createWebhooks>,
): Webhook {
  return { signedBy, limitBytes: LIMIT_BYTES, answer: (request) => answer(forge, request) };
}

export interface ForgeWebhooksDeps extends Pick<WebhookDeps, "formats" | "intake"> {
  readonly config: Pick<Config, "forges">;
  readonly secrets: Pick<Secrets, "resolve">;
  /** Those that may be asked: the deliveries of another are refused, as those of one without a secret are. */
  readonly forges: ReadonlyMap<ForgeKind, unknown>;
}

export function openForgeWebhooks(deps: ForgeWebhooksDeps): ReadonlyMap<string, Webhook> {
  const { config, secrets, formats, intake } = deps;
  const forges = byForge((kind) => {
    const { webhook_secret: reference, base_url: baseUrl } = config.forges[kind];
    const secret = secrets.resolve(reference);
    return secret === undefined || !deps.forges.has(kind) ? null : { secret, site: forgeSite(kind, baseUrl) };
  });
  const answer = createWebhooks({ forges, formats, intake });
  return new Map(FORGE_KINDS.map((kind) => [kind, forgeWebhook(kind, formats[kind], answer)]));
}

function webhookReply(status: number, message: string): Response {
  return Response.json({ message }, { status });
}
