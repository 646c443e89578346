import { verifySlackRequest, webApi } from "@slack/bolt";
import type { Timers } from "../../application/ports/platform.ts";
import type { Attachment, InboundMessage, Receive } from "../../application/ports/serve.ts";
import {
  isServiceId,
  type JsonObject,
  parseEvent,
  parseEventForm,
  readObject,
} from "../../domain/platform/json-members.ts";
import type { ChannelMessages } from "../../domain/texts/channels.ts";
import { answerEvent, inTime, type ServiceTrouble } from "./service-call.ts";
import { ACTION, type Block, fromSlackText, NO_PREVIEWS } from "./slack-channel.ts";
import { createSlackSocket } from "./slack-socket.ts";

export interface SlackAppDeps {
  readonly botToken: string;
  /** With it events come over a socket; without, over HTTP. */
  readonly appToken: string | null;
  readonly signingSecret: string | null;
  readonly apiUrl: string | null;
  readonly receive: Receive;
  readonly texts: () => ChannelMessages;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

export type SlackApp = ReturnType<typeof createSlackApp>;

export const LIMIT_BYTES = 1024 ** 2;
const MOST_AHEAD_MS = 5 * 60_000;
const ANSWER_MS = 20_000;
/** A person's messages with a file, and those of a thread with a copy to the channel. */
const SPOKEN_SUBTYPES = new Set<unknown>([undefined, "file_share", "thread_broadcast"]);

/**
 * Mentions, direct messages, buttons and the slash command. On either way in, an event is acknowledged only
 * after it was stored: Slack sends it again otherwise, and the same event twice is one message. An event of
 * another shape, or of another team, is acknowledged and left alone: sent again, it would be the same.
 */
export function createSlackApp(deps: SlackAppDeps) {
  const quiet = {
    debug() {},
    info() {},
    warn() {},
    error: deps.onTrouble,
    setLevel() {},
    getLevel: () => "error" as never,
    setName() {},
  };
  const openClient = (token: string) =>
    new webApi.WebClient(token, {
      logger: quiet,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      ...(deps.apiUrl !== null && { slackApiUrl: deps.apiUrl }),
    });
  const client = openClient(deps.botToken);
  const isOwn = createTeamCheck(client);
  const take = async (body: JsonObject): Promise<string | undefined> => {
    const event = readSlackEvent(body);
    return event === null || !(await isOwn(body)) ? undefined : takeSlackEvent(event, client, deps);
  };
  const socket = deps.appToken === null ? null : openSocket(openClient(deps.appToken), take, deps);
  const { signingSecret } = deps;
  return {
    client,
    /** `/webhooks/slack`; null where no signing secret is set. */
    webhook:
      signingSecret === null
        ? null
        : (request: Request) => overHttp(request, signingSecret, take, deps.onTrouble),
    start: async (): Promise<void> => socket?.start(),
    /** Why no events come in over the socket just now; null where they do, or come over HTTP. */
    socketTrouble: (): ServiceTrouble | null => socket?.trouble() ?? null,
    stop: async (): Promise<void> => socket?.stop(),
  };
}

function openSocket(
  client: webApi.WebClient,
  take: (body: JsonObject) => Promise<string | undefined>,
  { timers, onTrouble }: SlackAppDeps,
) {
  const openAddress = async () => {
    const asked = client.apps.connections.open({});
    return (await inTime(asked, AbortSignal.timeout(ANSWER_MS))).url;
  };
  return createSlackSocket({ openAddress, take, timers, onTrouble });
}

/**
 * Whether an event is about the installation that the bot's token belongs to. One secret signs for every team
 * that has installed the app, and the ids of people are unique in their team alone. Rejects where Slack does not say
 * which team the token is for: the event must then come again.
 */
function createTeamCheck(client: webApi.WebClient): (body: JsonObject) => Promise<boolean> {
  let asked: Promise<webApi.AuthTestResponse> | null = null;
  const ownTeam = () => {
    const ask = () => inTime(client.auth.test(), AbortSignal.timeout(ANSWER_MS));
    asked ??= ask().catch((error: unknown) => {
      asked = null;
      throw error;
    });
    return asked;
  };
  return async (body) => {
    const { team_id: team, enterprise_id: enterprise, is_enterprise_install: wide } = await ownTeam();
    const named = readInstallation(body);
    return wide === true
      ? isServiceId(enterprise) && named.enterprise === enterprise
      : isServiceId(team) && named.team === team;
  };
}

/** An event names the installation that may see it; a button and a command name the team of the person. */
function readInstallation(body: JsonObject): { readonly team: unknown; readonly enterprise: unknown } {
  const [authorized] = Array.isArray(body.authorizations) ? body.authorizations : [];
  if (isServiceId(readObject(authorized).team_id) || isServiceId(readObject(authorized).enterprise_id)) {
    const { team_id: team, enterprise_id: enterprise } = readObject(authorized);
    return { team, enterprise };
  }
  return {
    team: readObject(body.team).id ?? body.context_team_id ?? body.team_id,
    enterprise: readObject(body.enterprise).id ?? body.context_enterprise_id ?? body.enterprise_id,
  };
}

/** An event that a person caused, with nothing in it of a shape that Slack does not describe. */
type SlackEvent =
  | { readonly kind: "mention" | "direct" | "button"; readonly said: SlackSaid }
  /** Without a message: the person asks how it is used. */
  | { readonly kind: "command"; readonly said: SlackSaid | null };

type SlackSaid = Omit<InboundMessage, "channel"> & {
  readonly replyTo: { readonly channel: string; readonly thread?: string };
};

/** Null for all that is not for the bot, or of another shape. */
function readSlackEvent(body: JsonObject): SlackEvent | null {
  if (body.type === "event_callback") return readCallback(body, readObject(body.event));
  if (body.type === "block_actions") return readButton(body);
  return body.command === "/picoclaw" ? readSlashCommand(body) : null;
}

function readCallback(body: JsonObject, event: JsonObject): SlackEvent | null {
  const { type, channel, user, text: typed = "", thread_ts: inThread, ts } = event;
  const isMention = type === "app_mention";
  if (!isMention && (type !== "message" || event.channel_type !== "im" || "bot_id" in event)) return null;
  if (!isMention && !SPOKEN_SUBTYPES.has(event.subtype)) return null;
  const thread = inThread ?? (isMention ? ts : undefined);
  const { event_id: eventId } = body;
  if (!isServiceId(eventId) || !isServiceId(channel) || !isServiceId(user)) return null;
  if (typeof typed !== "string" || (thread !== undefined && !isServiceId(thread))) return null;
  const attachments = attachedFiles(event.files);
  return {
    kind: isMention ? "mention" : "direct",
    said: {
      eventId,
      chatId: thread === undefined ? channel : `${channel}:${thread}`,
      userId: user,
      text: fromSlackText(isMention ? withoutOwnName(typed, ownId(body.authorizations)) : typed),
      ...(attachments.length > 0 && { attachments }),
      replyTo: { channel, ...(thread !== undefined && { thread }) },
    },
  };
}

function readButton(body: JsonObject): SlackEvent | null {
  const [first] = Array.isArray(body.actions) ? body.actions : [];
  const { action_id: name, value, action_ts: at } = readObject(first);
  const [channel, user] = [readObject(body.channel).id, readObject(body.user).id];
  const { ts, thread_ts: thread, text, blocks } = readObject(body.message);
  if (typeof name !== "string" || !name.startsWith(`${ACTION}:`) || typeof value !== "string") return null;
  if (!isServiceId(channel) || !isServiceId(user) || !isServiceId(at)) return null;
  if (thread !== undefined && !isServiceId(thread)) return null;
  const canBeRedrawn = isServiceId(ts) && Array.isArray(blocks) && blocks.every(isBlock);
  return {
    kind: "button",
    said: {
      eventId: `action:${at}:${user}`,
      chatId: thread === undefined ? channel : `${channel}:${thread}`,
      userId: user,
      text: value,
      replyTo: {
        channel,
        ...(thread !== undefined && { thread }),
        ...(canBeRedrawn && { pressed: { ts, text: typeof text === "string" ? text : "", blocks } }),
      },
    },
  };
}

/** Of a message whose buttons are redrawn, the buttons must be ours; the rest is sent back to Slack unchanged. */
function isBlock(block: unknown): block is Block {
  const { type, elements } = readObject(block);
  const isButton = (element: unknown) => {
    const { text, value } = readObject(element);
    return typeof value === "string" && typeof readObject(text).text === "string";
  };
  return type === "actions" ? Array.isArray(elements) && elements.every(isButton) : typeof type === "string";
}

function readSlashCommand(body: JsonObject): SlackEvent | null {
  const { text, channel_id: channel, user_id: user, trigger_id: trigger } = body;
  if (typeof text !== "string") return null;
  if (text.trim() === "") return { kind: "command", said: null };
  if (!isServiceId(channel) || !isServiceId(user) || !isServiceId(trigger)) return null;
  const said = { eventId: `command:${trigger}`, chatId: channel, userId: user, replyTo: { channel } };
  return { kind: "command", said: { ...said, text: fromSlackText(text) } };
}

/** Stores a message. Rejects if that failed. Slack shows the answer to the sender. */
async function takeSlackEvent(
  { kind, said }: SlackEvent,
  client: webApi.WebClient,
  { receive, texts }: SlackAppDeps,
): Promise<string | undefined> {
  if (said === null) return texts().usage;
  const received = await receive({ channel: "slack", ...said });
  const refusal = received.status === "refused" ? received.text : null;
  if (kind === "command") return refusal === null ? texts().accepted : refusal || undefined;
  if (refusal === null || refusal === "") return undefined;
  const { channel, thread } = said.replyTo;
  const sending =
    kind === "direct"
      ? client.chat.postMessage({ channel, text: refusal, ...NO_PREVIEWS })
      : client.chat.postEphemeral({
          channel,
          user: said.userId,
          text: refusal,
          ...NO_PREVIEWS,
          ...(thread !== undefined && { thread_ts: thread }),
        });
  await sending.catch(() => {});
  return undefined;
}

/** The bot's user, as the event names it; null where it does not. */
function ownId(authorizations: unknown): string | null {
  const all = Array.isArray(authorizations) ? authorizations.map(readObject) : [];
  const id = all.find(({ is_bot: isBot }) => isBot === true)?.user_id;
  return typeof id === "string" && /^\w+$/.test(id) ? id : null;
}

/** Another user may be named before the bot; only the bot's own name is not part of the message. */
function withoutOwnName(text: string, own: string | null): string {
  const name = new RegExp(`<@${own ?? "[A-Z0-9]+"}(?:\\|[^>]*)?>`, "i");
  return text.replace(name, "").replace(/ {2,}/g, " ").trim();
}

/** Name and size of the attached files; images can be fetched if the app has the right `files:read`. */
function attachedFiles(files: unknown): readonly Attachment[] {
  return (Array.isArray(files) ? files : []).map((file) => {
    const { name, mimetype, size, url_private: url } = readObject(file);
    const mediaType = typeof mimetype === "string" ? mimetype : "application/octet-stream";
    return {
      name: typeof name === "string" ? name : "file",
      mediaType,
      sizeBytes: typeof size === "number" ? size : 0,
      ...(typeof url === "string" && /^image\/(?!svg)/.test(mediaType) && { remote: url }),
    };
  });
}

/** HTTP: the signature over time and raw body, not older than five minutes, before anything is read. */
async function overHttp(
  request: Request,
  signingSecret: string,
  take: (body: JsonObject) => Promise<string | undefined>,
  onTrouble: (error: unknown) => void,
): Promise<Response> {
  const body = await request.text();
  // The library refuses only old requests; one dated ahead could be replayed until its time.
  const seconds = Number(request.headers.get("x-slack-request-timestamp") ?? Number.NaN);
  if (!(seconds * 1000 < Date.now() + MOST_AHEAD_MS)) return new Response(null, { status: 401 });
  try {
    verifySlackRequest({
      signingSecret,
      body,
      headers: {
        "x-slack-signature": request.headers.get("x-slack-signature") ?? "",
        "x-slack-request-timestamp": seconds,
      },
    });
  } catch {
    return new Response(null, { status: 401 });
  }
  const parsed = parseBody(body, request.headers.get("content-type") ?? "");
  if (parsed === null) return new Response(null, { status: 400 });
  if (parsed.type === "url_verification") return Response.json({ challenge: parsed.challenge });
  return answerEvent(() => take(parsed), onTrouble);
}

function parseBody(body: string, type: string): JsonObject | null {
  const isForm = type.includes("application/x-www-form-urlencoded");
  const form = isForm ? parseEventForm(body) : null;
  if (isForm && form === null) return null;
  const payload = form === null ? body : form.get("payload");
  if (payload === null) return Object.fromEntries(form ?? []);
  const event = parseEvent(payload);
  return typeof event === "object" && event !== null ? readObject(event) : null;
}
