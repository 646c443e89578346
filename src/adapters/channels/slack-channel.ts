import type { ReceiverEvent } from "@slack/bolt";
import { App, type Receiver, verifySlackRequest } from "@slack/bolt";
import { SocketModeClient } from "@slack/socket-mode";
import type { InboundMessage, Receive } from "../../application/ports/channel.ts";
import type { SlackMessages } from "../../domain/texts/texts.ts";
import { ACTION } from "./blocks.ts";
import { fromSlackText } from "./slack-text.ts";

export interface SlackAppDeps {
  readonly botToken: string;
  /** With it events come over a socket; without, over HTTP. */
  readonly appToken: string | null;
  readonly signingSecret: string | null;
  /** Another address than Slack's own. */
  readonly apiUrl: string | null;
  readonly receive: Receive;
  readonly texts: () => SlackMessages;
  readonly onTrouble: (error: unknown) => void;
}

export interface SlackApp {
  readonly client: App["client"];
  /** `/webhooks/slack`; null where no signing secret is set. */
  readonly webhook: ((request: Request) => Promise<Response>) | null;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export const LIMIT_BYTES = 1024 ** 2;
const MOST_AHEAD_MS = 5 * 60_000;
/** What a person said all the same: with a file, and in a thread with a copy to the channel. */
const SPOKEN_SUBTYPES = new Set<string>(["file_share", "thread_broadcast"]);

/**
 * Mentions, direct messages, buttons and the slash command. Whichever way an event comes, it is acknowledged only
 * after it was stored: Slack sends it again otherwise, and the same event twice is one message.
 */
export function createSlackApp(parts: SlackAppDeps): SlackApp {
  const quiet = {
    debug() {},
    info() {},
    warn() {},
    error: parts.onTrouble,
    setLevel() {},
    getLevel: () => "error" as never,
    setName() {},
  };
  const socket =
    parts.appToken === null
      ? null
      : new SocketModeClient({
          appToken: parts.appToken,
          logger: quiet,
          ...(parts.apiUrl !== null && { clientOptions: { slackApiUrl: parts.apiUrl } }),
        });
  const receiver: Receiver = { init() {}, start: async () => {}, stop: async () => {} };
  const app = new App({
    token: parts.botToken,
    receiver,
    logger: quiet,
    ignoreSelf: true,
    tokenVerificationEnabled: false,
    deferInitialization: false,
    botId: "unused",
    botUserId: "unused",
    convoStore: false,
    clientOptions: {
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      ...(parts.apiUrl !== null && { slackApiUrl: parts.apiUrl }),
    },
  } as ConstructorParameters<typeof App>[0]);
  // What could not be stored must reach whoever acknowledges.
  app.error(async (error) => {
    throw error;
  });
  listenToSlack(app, parts);

  /** Hands an event in; what Slack is answered, once everything about it is stored. */
  const process = async (
    body: unknown,
    retry: Pick<ReceiverEvent, "retryNum" | "retryReason">,
  ): Promise<unknown> => {
    let answer: unknown;
    await app.processEvent({
      body: body as ReceiverEvent["body"],
      ...retry,
      ack: async (response) => {
        answer = response;
      },
    } as ReceiverEvent);
    return answer;
  };
  socket?.on("slack_event", async ({ ack, body, retry_num: retryNum, retry_reason: retryReason }) => {
    try {
      const answer = await process(body, { retryNum, retryReason });
      await ack(typeof answer === "string" ? { text: answer } : (answer as never));
    } catch (error) {
      parts.onTrouble(error);
    }
  });
  const { signingSecret } = parts;
  return {
    client: app.client,
    webhook:
      signingSecret === null ? null : (request) => overHttp(request, signingSecret, process, parts.onTrouble),
    start: async () => void (await socket?.start()),
    stop: async () => void (await socket?.disconnect()),
  };
}

function listenToSlack(app: App, { receive, texts }: SlackAppDeps): void {
  const receiveOrRefuse = async (
    message: Omit<InboundMessage, "channel">,
    refused: (text: string) => Promise<unknown>,
  ) => {
    const received = await receive({ channel: "slack", ...message });
    if (received.status === "refused" && received.text !== "") await refused(received.text);
  };
  const tellPrivately =
    (client: App["client"], channel: string, user: string, thread?: string) => (text: string) =>
      client.chat
        .postEphemeral({ channel, user, text, ...(thread !== undefined && { thread_ts: thread }) })
        .catch(() => {});

  app.event("app_mention", async ({ event, body, client }) => {
    const thread = event.thread_ts ?? event.ts;
    const user = event.user ?? "";
    if (user === "") return;
    await receiveOrRefuse(
      {
        eventId: body.event_id,
        chatId: `${event.channel}:${thread}`,
        userId: user,
        text: fromSlackText(withoutOwnName(event.text, ownId(body))),
        ...attachedFiles(event),
        replyTo: { channel: event.channel, thread },
      },
      tellPrivately(client, event.channel, user, thread),
    );
  });
  app.message(async ({ message, body, client }) => {
    if (message.channel_type !== "im" || "bot_id" in message) return;
    if (message.subtype !== undefined && !SPOKEN_SUBTYPES.has(message.subtype)) return;
    const {
      channel,
      user,
      text = "",
      thread_ts: thread,
    } = message as {
      channel: string;
      user: string;
      text?: string;
      thread_ts?: string;
    };
    await receiveOrRefuse(
      {
        eventId: body.event_id,
        chatId: thread === undefined ? channel : `${channel}:${thread}`,
        userId: user,
        text: fromSlackText(text),
        ...attachedFiles(message),
        replyTo: { channel, ...(thread !== undefined && { thread }) },
      },
      (refusal) => client.chat.postMessage({ channel, text: refusal }).catch(() => {}),
    );
  });
  app.action(new RegExp(`^${ACTION}:`), async ({ action, body, ack, client }) => {
    const pressed = action as { value?: string; action_ts?: string };
    const { channel, message, user } = body as {
      channel?: { id: string };
      message?: { ts: string; thread_ts?: string; text?: string; blocks?: readonly unknown[] };
      user: { id: string };
    };
    if (channel === undefined || pressed.value === undefined) return ack();
    const thread = message?.thread_ts;
    await receiveOrRefuse(
      {
        eventId: `action:${pressed.action_ts}:${user.id}`,
        chatId: thread === undefined ? channel.id : `${channel.id}:${thread}`,
        userId: user.id,
        text: pressed.value,
        replyTo: {
          channel: channel.id,
          ...(thread !== undefined && { thread }),
          ...(message?.blocks !== undefined && {
            pressed: { ts: message.ts, text: message.text ?? "", blocks: message.blocks },
          }),
        },
      },
      tellPrivately(client, channel.id, user.id, thread),
    );
    await ack();
  });
  app.command("/picoclaw", async ({ command, ack }) => {
    const { text, channel_id: channel, user_id: userId, trigger_id: trigger } = command;
    if (text.trim() === "") return ack(texts().usage);
    const received = await receive({
      channel: "slack",
      eventId: `command:${trigger}`,
      chatId: channel,
      userId,
      text: fromSlackText(text),
      replyTo: { channel },
    });
    if (received.status !== "refused") await ack(texts().accepted);
    else await (received.text === "" ? ack() : ack(received.text));
  });
}

/** The bot's user, as the event names it; null where it does not. */
function ownId(body: object): string | null {
  const { authorizations } = body as { authorizations?: readonly { user_id?: string; is_bot?: boolean }[] };
  return authorizations?.find(({ is_bot: isBot }) => isBot === true)?.user_id ?? null;
}

/** Somebody else may be named before the bot; only its own name is no part of what was said. */
function withoutOwnName(text: string, own: string | null): string {
  const name = new RegExp(`<@${own ?? "[A-Z0-9]+"}(?:\\|[^>]*)?>`, "i");
  return text.replace(name, "").replace(/ {2,}/g, " ").trim();
}

/** Name and size of what came along; reading it would need one more right of the app. */
function attachedFiles(message: object): Pick<InboundMessage, "attachments"> {
  const { files } = message as { files?: readonly { name?: string; mimetype?: string; size?: number }[] };
  if (!Array.isArray(files) || files.length === 0) return {};
  return {
    attachments: files.map(({ name, mimetype, size }) => ({
      name: name ?? "file",
      mediaType: mimetype ?? "application/octet-stream",
      sizeBytes: size ?? 0,
    })),
  };
}

/** HTTP: the signature over time and raw body, not older than five minutes, before anything is read. */
async function overHttp(
  request: Request,
  signingSecret: string,
  process: (body: unknown, retry: Pick<ReceiverEvent, "retryNum" | "retryReason">) => Promise<unknown>,
  onTrouble: (error: unknown) => void,
): Promise<Response> {
  const body = await request.text();
  if (body.length > LIMIT_BYTES) return new Response(null, { status: 413 });
  // The library looks for what is too old only; what is dated ahead could be sent again until then.
  const told = Number(request.headers.get("x-slack-request-timestamp") ?? Number.NaN);
  if (!(told * 1000 < Date.now() + MOST_AHEAD_MS)) return new Response(null, { status: 401 });
  try {
    verifySlackRequest({
      signingSecret,
      body,
      headers: {
        "x-slack-signature": request.headers.get("x-slack-signature") ?? "",
        "x-slack-request-timestamp": told,
      },
    });
  } catch {
    return new Response(null, { status: 401 });
  }
  const parsed = parseBody(body, request.headers.get("content-type") ?? "");
  if (parsed === null) return new Response(null, { status: 400 });
  if (parsed.type === "url_verification") return Response.json({ challenge: parsed.challenge });
  const retryNum = Number(request.headers.get("x-slack-retry-num") ?? Number.NaN);
  try {
    const answer = await process(parsed, {
      ...(Number.isFinite(retryNum) && { retryNum }),
      retryReason: request.headers.get("x-slack-retry-reason") ?? "",
    });
    if (typeof answer === "string") return new Response(answer);
    return answer === undefined ? new Response(null, { status: 200 }) : Response.json(answer);
  } catch (error) {
    onTrouble(error);
    return new Response(null, { status: 500 });
  }
}

function parseBody(body: string, type: string): Record<string, unknown> | null {
  try {
    if (!type.includes("application/x-www-form-urlencoded"))
      return JSON.parse(body) as Record<string, unknown>;
    const form = new URLSearchParams(body);
    const payload = form.get("payload");
    return payload === null ? Object.fromEntries(form) : (JSON.parse(payload) as Record<string, unknown>);
  } catch {
    return null;
  }
}
