import { type Kysely, sql } from "kysely";
import { giveWay } from "../../application/platform/give-way.ts";
import type { Reply } from "../../application/ports/chat.ts";
import type {
  ChatKey,
  ClaimedReply,
  Exchange,
  InboundMessage,
  MessageState,
  MessageStore,
  NewReply,
  Outgoing,
  ReplyState,
  StoredMessage,
} from "../../application/ports/serve.ts";
import {
  type Database,
  fromRow,
  isAnyOf,
  type MessageRow,
  queryRows,
  type ReplyRow,
  selectRows,
  storable,
} from "../store/schema.ts";

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
  const { body, position: _, work_id: __, finished_at: ___, ...rest } = row;
  return {
    ...(JSON.parse(body) as Pick<InboundMessage, "text">),
    ...fromRow(rest),
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
    state: reply.hasArrived === true ? "sent" : "waiting",
    attempts: reply.hasArrived === true ? 1 : 0,
    next_at: reply.at,
    finished_at: reply.hasArrived === true ? reply.at : null,
    reason: null,
    reply_to: reply.replyTo === undefined ? null : JSON.stringify(reply.replyTo),
    content: JSON.stringify(reply.content),
  };
}

export function toClaimedReply(row: ReplyRow, restsUntil: string | null): ClaimedReply {
  const { key, channel, chat_id, user_id, since } = row;
  return {
    ...fromRow({ key, channel, chat_id, user_id, since }),
    ...(row.message_id !== null && { messageId: row.message_id }),
    content: JSON.parse(row.content) as Outgoing,
    ...(row.reply_to !== null && { replyTo: JSON.parse(row.reply_to) as Record<string, unknown> }),
    attempt: Number(row.attempts) + 1,
    mayHaveArrived: row.state === "sending",
    createdAt: row.created_at,
    restsUntil,
  };
}

function toAnswer(row: ReplyRow): Exchange["replies"][number] {
  return { content: JSON.parse(row.content) as Outgoing, at: row.created_at, state: row.state as ReplyState };
}

type MessageViews = Pick<
  MessageStore,
  "standing" | "transcript" | "chats" | "message" | "repliesTo" | "jobsOf" | "jobIdsOf" | "ownerOf" | "counts"
>;

export function createMessageViews(db: Kysely<Database>, workspace: string): MessageViews {
  return {
    async standing(chats) {
      if (chats.length === 0) return [];
      const these = chats.map(({ channel, chatId }) => ({ workspace, channel, chat_id: chatId }));
      const rows = await queryRows<Pick<MessageRow, "channel" | "chat_id" | "id" | "state">>(
        db,
        sql`select channel, chat_id, id, state from messages
          where ${isAnyOf(these)} and state in ('received', 'working')
          union select channel, chat_id, id, state from messages where position in
            (select max(position) from messages where ${isAnyOf(these)} group by channel, chat_id)`,
      );
      return rows.map(({ channel, chat_id, id, state }) => ({
        channel,
        chatId: chat_id,
        id,
        state: state as MessageState,
      }));
    },
    async transcript({ channel, chatId, limit, before }) {
      const rest = sql`${isBefore(before)} order by position desc limit ${limit}`;
      const chat = { workspace, channel, chat_id: chatId };
      const rows = (await selectRows(db, "messages", chat, rest)).reverse();
      const replies = await answersTo(rows.map(({ id }) => id));
      const notices = await noticesIn({ channel, chatId }, rows, before);
      return rows.map((row, n) => ({
        message: fromMessageRow(row),
        replies: [
          ...(replies.get(row.id) ?? []),
          ...notices
            .filter(
              ({ position }) =>
                Number(position) > Number(row.position) &&
                Number(position) < Number(rows[n + 1]?.position ?? Number.POSITIVE_INFINITY),
            )
            .map(toAnswer),
        ],
      }));
    },
    async chats({ channel, userId, limit }) {
      const isOn = channel === undefined ? sql`` : sql`and channel = ${channel}`;
      const isBy = userId === undefined ? sql`` : sql`and user_id = ${userId}`;
      const groups = await queryRows<{
        channel: string;
        chat_id: string;
        first: number;
        last: number;
        count: number;
      }>(
        db,
        sql`select channel, chat_id, min(position) as "first", max(position) as "last", count(*) as count
          from messages where workspace = ${workspace} ${isOn} ${isBy}
          group by channel, chat_id order by "last" desc limit ${limit}`,
      );
      if (groups.length === 0) return [];
      const places = groups.flatMap(({ channel, chat_id, first, last }) =>
        [first, last].map((position) => ({ channel, chat_id, position })),
      );
      const edges = await selectRows(db, "messages", { workspace }, sql`and ${isAnyOf(places)}`);
      const edgeAt = new Map(edges.map((row) => [`${row.channel}:${row.chat_id}:${row.position}`, row]));
      return groups.flatMap(({ channel: on, chat_id: chatId, first, last, count }) => {
        const [begun, ended] = [first, last].map((at) => edgeAt.get(`${on}:${chatId}:${at}`));
        if (begun === undefined || ended === undefined) return [];
        return {
          channel: on,
          chatId,
          userId: ended.user_id,
          messages: Number(count),
          lastAt: ended.received_at,
          firstText: fromMessageRow(begun).text,
        };
      });
    },
    async message(id) {
      const [row] = await selectRows(db, "messages", { workspace, id });
      return row === undefined ? null : fromMessageRow(row);
    },
    async repliesTo(messageId) {
      return (await answersTo([messageId])).get(messageId) ?? [];
    },
    async jobsOf(messageId) {
      const rows = await selectRows(db, "job_owners", { message_id: messageId }, sql`order by at`);
      return rows.map(({ job_id }) => job_id);
    },
    async jobIdsOf({ channel, userId }, limit) {
      const order = sql`order by at desc limit ${limit}`;
      const rows = await selectRows(db, "job_owners", { workspace, channel, user_id: userId }, order);
      return rows.map(({ job_id }) => job_id);
    },
    async ownerOf(jobId) {
      const [row] = await selectRows(db, "job_owners", { job_id: jobId });
      if (row === undefined) return null;
      const { workspace: _, ...owner } = row;
      return fromRow(owner);
    },
    async counts() {
      const of = async (table: "messages" | "replies", states: readonly string[]) => {
        const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.raw(table)}
          where workspace = ${workspace} and state in (${sql.join(states)})`.execute(db);
        return Number(rows[0]?.count);
      };
      return {
        received: await of("messages", ["received"]),
        working: await of("messages", ["working"]),
        waitingReplies: await of("replies", ["waiting", "sending"]),
        failedReplies: await of("replies", ["failed"]),
      };
    },
  };

  /** Unrequested notices are placed behind the message that they followed. */
  async function noticesIn(
    { channel, chatId }: ChatKey,
    rows: readonly { readonly position: number }[],
    before: string | undefined,
  ): Promise<ReplyRow[]> {
    const [first] = rows;
    if (first === undefined) return [];
    const rest = sql`and position > ${first.position} ${isBefore(before)} order by position`;
    return selectRows(db, "replies", { workspace, channel, chat_id: chatId, message_id: null }, rest);
  }

  /** Answers may be megabytes: they are read some at a time, and others have their turn in between. */
  async function answersTo(ids: readonly string[]): Promise<Map<string, Exchange["replies"]>> {
    const found = new Map<string, Exchange["replies"]>();
    if (ids.length === 0) return found;
    const listed = await queryRows<{ key: string; size: number }>(
      db,
      sql`select key, length(content) as size from replies where message_id in (${sql.join(ids)}) order by position`,
    );
    for (let at = 0; at < listed.length; ) {
      const some: string[] = [];
      for (let size = 0; at < listed.length && size < READ_AT_ONCE; at++) {
        size += Number(listed[at]?.size);
        some.push(listed[at]?.key ?? "");
      }
      const rest = sql`where key in (${sql.join(some)}) order by position`;
      const rows = await selectRows(db, "replies", {}, rest);
      for (const row of rows)
        found.set(row.message_id ?? "", [...(found.get(row.message_id ?? "") ?? []), toAnswer(row)]);
      if (at < listed.length) await giveWay();
    }
    return found;
  }
}

const isBefore = (messageId: string | undefined) =>
  messageId === undefined
    ? sql``
    : sql`and position < (select position from messages where id = ${messageId})`;

/** The trace of a message, of whichever workspace: any machine that has its channel may send the reply. */
export async function traceparentOf(db: Kysely<Database>, messageId: string): Promise<string | undefined> {
  const [row] = await selectRows(db, "messages", { id: messageId });
  return row === undefined ? undefined : (JSON.parse(row.body) as Partial<InboundMessage>).traceparent;
}

const READ_AT_ONCE = 512 * 1024;
