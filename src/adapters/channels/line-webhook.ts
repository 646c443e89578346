import { validateSignature, type webhook } from "@line/bot-sdk";
import type { InboundMessage, Receive } from "../../application/ports/channel.ts";
import type { Route } from "../../application/ports/conversation.ts";
import type { LineChannel } from "./line-channel.ts";
import { COLLECT } from "./line-messages.ts";

export interface LineWebhookDeps {
  readonly secret: string;
  readonly channel: LineChannel;
  readonly receive: Receive;
  readonly forcedRoute: () => Route | null;
  readonly strict: () => boolean;
  /** A stored event whose reply waits is to be looked at again. */
  readonly sendWaiting: (chatId: string) => void;
  readonly onTrouble: (error: unknown) => void;
}

export const LIMIT_BYTES = 1024 ** 2;

/**
 * The webhook of LINE. The signature is over the bytes as they came; every event of a genuine request is stored before
 * the 200, and what cannot be stored is answered 500, so that LINE sends it again.
 */
export function createLineWebhook(parts: LineWebhookDeps): (request: Request) => Promise<Response> {
  return async (request) => {
    const bytes = Buffer.from(await request.arrayBuffer());
    const signature = request.headers.get("x-line-signature") ?? "";
    if (bytes.length > LIMIT_BYTES) return new Response(null, { status: 413 });
    if (signature === "" || !validateSignature(bytes, parts.secret, signature))
      return new Response(null, { status: 401 });
    const events = eventsIn(bytes);
    if (events === null) return new Response(null, { status: 400 });
    try {
      await Promise.all(events.map((event) => takeEvent(parts, event)));
    } catch (error) {
      parts.onTrouble(error);
      return new Response(null, { status: 500 });
    }
    return new Response(null, { status: 200 });
  };
}

async function takeEvent(parts: LineWebhookDeps, event: webhook.Event): Promise<void> {
  const place = readLineSource(event);
  if (place === null) return;
  const { chatId, userId, single, replyToken } = place;
  if (event.type === "postback" && event.postback.data === COLLECT) {
    // A fresh token, for what waits; where nothing waits yet, it is spent like any other.
    parts.channel.keepToken({ chatId, replyToken, at: event.timestamp, single });
    parts.sendWaiting(chatId);
    return;
  }
  const content = readContent(event, single);
  if (content === null) return;
  const forcedRoute = parts.forcedRoute();
  const received = await parts.receive({
    channel: "line",
    eventId: event.webhookEventId,
    chatId,
    userId,
    ...content,
    ...(forcedRoute !== null && { forcedRoute, strict: parts.strict() }),
    replyTo: { token: replyToken },
  });
  if (received.status === "refused") {
    if (received.text !== "") await parts.channel.answer(replyToken, received.text);
  } else parts.channel.keepToken({ chatId, replyToken, at: event.timestamp, single });
}

interface LineSource {
  readonly chatId: string;
  readonly userId: string;
  readonly single: boolean;
  readonly replyToken: string;
}

/** Where an event belongs; null for those that nobody waits an answer for. */
function readLineSource(event: webhook.Event): LineSource | null {
  if ((event.type !== "message" && event.type !== "postback") || event.mode !== "active") return null;
  const { source, replyToken } = event;
  const userId = source !== undefined && "userId" in source ? source.userId : undefined;
  if (userId === undefined || replyToken === undefined) return null;
  switch (source?.type) {
    case "user":
      return { chatId: userId, userId, single: true, replyToken };
    case "group":
      return { chatId: (source as webhook.GroupSource).groupId, userId, single: false, replyToken };
    case "room":
      return { chatId: (source as webhook.RoomSource).roomId, userId, single: false, replyToken };
    default:
      return null;
  }
}

/** What was content to us: everything in a chat for two, among several only what names us or is a command. */
function readContent(
  event: webhook.Event,
  single: boolean,
): Pick<InboundMessage, "text" | "attachments"> | null {
  if (event.type === "postback") return { text: event.postback.data };
  if (event.type !== "message") return null;
  const { message } = event;
  if (message.type === "text") {
    const { text, mention } = message as webhook.TextMessageContent;
    const own = mention?.mentionees?.find(
      (each) => each.type === "user" && "isSelf" in each && each.isSelf === true,
    );
    if (own !== undefined)
      return { text: `${text.slice(0, own.index)}${text.slice(own.index + own.length)}`.trim() };
    return single || text.trimStart().startsWith("/") ? { text } : null;
  }
  if (message.type === "file" && single) {
    const { fileName, fileSize } = message as webhook.FileMessageContent;
    const file = { name: fileName, mediaType: "application/octet-stream", sizeBytes: fileSize };
    return { text: "", attachments: [file] };
  }
  return null;
}

function eventsIn(bytes: Buffer): readonly webhook.Event[] | null {
  try {
    const { events } = JSON.parse(bytes.toString("utf8")) as { events?: unknown };
    return Array.isArray(events) ? events.filter(isEvent) : null;
  } catch {
    return null;
  }
}

/** One event of another shape than LINE describes must not keep the others of its request from being taken. */
function isEvent(event: unknown): event is webhook.Event {
  const text = (from: unknown, ...path: string[]) =>
    typeof path.reduce((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], from) ===
    "string";
  if (!text(event, "type") || !text(event, "webhookEventId")) return false;
  const { type, message } = event as { type: string; message?: { type?: unknown } | null };
  if (type === "postback") return text(event, "postback", "data") && text(event, "source", "userId");
  if (type !== "message") return true;
  if (!text(event, "source", "userId") || !text(message, "type")) return false;
  return message?.type !== "text" || text(message, "text");
}
