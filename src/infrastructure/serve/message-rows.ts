import type {
  InboundMessage,
  MessageState,
  Outgoing,
  StoredMessage,
} from "../../application/ports/channel.ts";
import type { Reply } from "../../application/ports/conversation.ts";
import type { ClaimedReply, Exchange, NewReply, ReplyState } from "../../application/ports/serve.ts";
import type { MessageRow, ReplyRow } from "../store/serve-tables.ts";
import { storable } from "../store/storable.ts";

export function toMessageRow(
  message: InboundMessage,
  kept: Pick<MessageRow, "id" | "workspace" | "received_at" | "position" | "work_id">,
): MessageRow {
  const { channel, eventId, chatId, userId, ...body } = message;
  return {
    ...kept,
    channel: storable(channel),
    event_id: storable(eventId),
    chat_id: storable(chatId),
    user_id: storable(userId),
    state: "received",
    attempts: 0,
    finished_at: null,
    body: JSON.stringify(body),
  };
}

export function fromMessageRow(row: MessageRow): StoredMessage {
  const body = JSON.parse(row.body) as Omit<InboundMessage, "channel" | "eventId" | "chatId" | "userId">;
  return {
    ...body,
    id: row.id,
    workspace: row.workspace,
    channel: row.channel,
    eventId: row.event_id,
    chatId: row.chat_id,
    userId: row.user_id,
    receivedAt: row.received_at,
    state: row.state as MessageState,
    attempts: Number(row.attempts),
  };
}

export function toReplyRow(
  reply: NewReply,
  kept: Pick<ReplyRow, "workspace" | "position" | "work_id">,
): ReplyRow {
  const { decision, model, usage }: Partial<Reply> =
    reply.content.kind === "reply" ? reply.content.reply : {};
  return {
    day: reply.day ?? null,
    route: decision?.route ?? null,
    provider: model?.provider ?? null,
    model: model?.model ?? null,
    is_local: model === undefined ? null : model.local ? 1 : 0,
    input_tokens: usage?.inputTokens ?? null,
    output_tokens: usage?.outputTokens ?? null,
    cost_usd: usage?.costUsd ?? null,
    ...kept,
    key: reply.key,
    message_id: reply.messageId,
    channel: storable(reply.channel),
    chat_id: storable(reply.chatId),
    user_id: storable(reply.userId),
    created_at: reply.at,
    since: reply.since,
    state: "waiting",
    attempts: 0,
    next_at: reply.at,
    finished_at: null,
    reason: null,
    reply_to: reply.replyTo === undefined ? null : JSON.stringify(reply.replyTo),
    content: JSON.stringify(reply.content),
  };
}

export function toClaimedReply(row: ReplyRow, restsUntil: string | null): ClaimedReply {
  return {
    key: row.key,
    channel: row.channel,
    chatId: row.chat_id,
    userId: row.user_id,
    ...(row.message_id !== null && { messageId: row.message_id }),
    content: JSON.parse(row.content) as Outgoing,
    ...(row.reply_to !== null && { replyTo: JSON.parse(row.reply_to) as Record<string, unknown> }),
    since: row.since,
    attempt: Number(row.attempts) + 1,
    mayHaveArrived: row.state === "sending",
    createdAt: row.created_at,
    restsUntil,
  };
}

export function toAnswer(row: ReplyRow): Exchange["replies"][number] {
  return { content: JSON.parse(row.content) as Outgoing, at: row.created_at, state: row.state as ReplyState };
}
