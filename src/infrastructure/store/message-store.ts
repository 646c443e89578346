import type { Kysely, Transaction } from "kysely";
import type { InboundMessage } from "../../application/ports/channel.ts";
import type { ChatKey, Claim, MessageStore, NewReply } from "../../application/ports/message-store.ts";
import { fromMessageRow, toClaimedReply, toMessageRow, toReplyRow } from "./message-rows.ts";
import { createMessageViews } from "./message-views.ts";
import { migrate } from "./migrate.ts";
import type { Database } from "./schema.ts";

type Place = Kysely<Database> | Transaction<Database>;

export interface MessageStoreParts {
  readonly db: Kysely<Database>;
  readonly now: () => Date;
  /** The root of the workspace whose messages are kept, claimed and shown. */
  readonly workspace: string;
}

/** Inbox and outbox in the store. A claim is an update that names the state it expects, so that one of many wins. */
export async function createMessageStore({ db, now, workspace }: MessageStoreParts): Promise<MessageStore> {
  await migrate(db, now);
  const next = positions(now);
  /** Of this workspace, or of none: those came before messages had one. */
  const ours = ["", workspace];
  const toRow = (message: InboundMessage, id: string, at: string) =>
    toMessageRow(message, { id, workspace, received_at: at, position: next() });

  async function insert(place: Place, row: ReturnType<typeof toMessageRow>) {
    const { numInsertedOrUpdatedRows = 0n } = await place
      .insertInto("messages")
      .values(row)
      .onConflict((conflict) => conflict.columns(["channel", "event_id"]).doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows > 0n) return { added: true, id: row.id };
    const { id } = await place
      .selectFrom("messages")
      .select("id")
      .where("channel", "=", row.channel)
      .where("event_id", "=", row.event_id)
      .executeTakeFirstOrThrow();
    return { added: false, id };
  }

  const insertReplies = async (place: Place, replies: readonly NewReply[]) => {
    for (const reply of replies)
      await place
        .insertInto("replies")
        .values(toReplyRow(reply, workspace, next()))
        .execute();
  };

  return {
    ...createMessageViews(db, workspace),
    add: (message, id, at) => insert(db, toRow(message, id, at)),
    addAll: (messages) =>
      db.transaction().execute(async (place) => {
        const results: { added: boolean; id: string }[] = [];
        for (const { message, id, at } of messages) results.push(await insert(place, toRow(message, id, at)));
        return results;
      }),
    async waitingChats(at) {
      const rows = await db
        .selectFrom("messages")
        .select(["channel", "chat_id"])
        .distinct()
        .where("workspace", "in", ours)
        .where((is) =>
          is.or([is("state", "=", "received"), is("state", "=", "working").and("lease_until", "<", at)]),
        )
        .execute();
      return rows.map(toChat);
    },
    async claimNext(chat, claim) {
      const working = await first(db, ours, chat, "working");
      if (working !== undefined && (working.lease_until ?? "") >= claim.now) return null;
      const row = working ?? (await first(db, ours, chat, "received"));
      if (row === undefined) return null;
      const { numUpdatedRows } = await db
        .updateTable("messages")
        .set({
          state: "working",
          owner: claim.owner,
          lease_until: claim.leaseUntil,
          attempts: Number(row.attempts) + 1,
        })
        .where("id", "=", row.id)
        .where("state", "=", row.state)
        .where("attempts", "=", row.attempts)
        // Somebody may have claimed an earlier one between the two questions above.
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("messages as other")
                .select("other.id")
                .where("other.workspace", "in", ours)
                .where("other.channel", "=", chat.channel)
                .where("other.chat_id", "=", chat.chatId)
                .where("other.state", "=", "working")
                .where("other.id", "!=", row.id),
            ),
          ),
        )
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return null;
      return fromMessageRow({ ...row, state: "working", attempts: Number(row.attempts) + 1 });
    },
    async claimBeside(messageId, claim) {
      const row = await db
        .updateTable("messages")
        .set({ state: "working", owner: claim.owner, lease_until: claim.leaseUntil, attempts: 1 })
        .where("id", "=", messageId)
        .where("workspace", "in", ours)
        .where("state", "=", "received")
        .where("attempts", "=", 0)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : fromMessageRow(row);
    },
    async renew(owner, leaseUntil) {
      for (const [table, state] of [
        ["messages", "working"],
        ["replies", "sending"],
      ] as const)
        await db
          .updateTable(table)
          .set({ lease_until: leaseUntil })
          .where("state", "=", state)
          .where("owner", "=", owner)
          .execute();
    },
    async noteJob(job) {
      await db
        .insertInto("job_owners")
        .values({
          job_id: job.jobId,
          workspace,
          channel: job.channel,
          user_id: job.userId,
          message_id: job.messageId,
          at: job.at,
        })
        .onConflict((conflict) => conflict.column("job_id").doNothing())
        .execute();
    },
    finish: (messageId, owner, replies) =>
      db.transaction().execute(async (place) => {
        const { numUpdatedRows } = await place
          .updateTable("messages")
          .set({ state: "done", owner: null, lease_until: null, finished_at: now().toISOString() })
          .where("id", "=", messageId)
          .where("state", "=", "working")
          .where("owner", "=", owner)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return false;
        await insertReplies(place, replies);
        return true;
      }),
    async handBack(messageId, owner, { begun }) {
      await db
        .updateTable("messages")
        .set((is) => ({
          state: "received",
          owner: null,
          lease_until: null,
          attempts: is("attempts", "-", begun ? 0 : 1),
        }))
        .where("id", "=", messageId)
        .where("owner", "=", owner)
        .where("state", "=", "working")
        .execute();
    },
    post: (reply) => insertReplies(db, [reply]),
    async replyChats() {
      const rows = await db
        .selectFrom("replies")
        .select(["channel", "chat_id"])
        .distinct()
        .where("workspace", "in", ours)
        .where("state", "in", ["waiting", "sending"])
        .execute();
      return rows.map(toChat);
    },
    claimReply: (chat, claim) => claimReply(db, ours, chat, claim),
    markSent: (key, at) => end(db, key, { state: "sent", finished_at: at, reason: null }),
    retryAt: (key, at, reason) => end(db, key, { state: "waiting", next_at: at, reason }),
    giveUp: (key, at, reason) => end(db, key, { state: "failed", finished_at: at, reason }),
    async releaseDead(isGone) {
      let released = 0;
      for (const [table, from] of [
        ["messages", "working"],
        ["replies", "sending"],
      ] as const) {
        const owners = await db
          .selectFrom(table)
          .select("owner")
          .distinct()
          .where("state", "=", from)
          .execute();
        for (const { owner } of owners) {
          if (owner === null || !isGone(owner)) continue;
          // A lease that is over, rather than another state: what was being sent may have arrived.
          const { numUpdatedRows } = await db
            .updateTable(table)
            .set({ lease_until: "" })
            .where("owner", "=", owner)
            .where("state", "=", from)
            .executeTakeFirst();
          released += Number(numUpdatedRows);
        }
      }
      return released;
    },
  };
}

async function claimReply(db: Kysely<Database>, ours: readonly string[], chat: ChatKey, claim: Claim) {
  const sending = await firstReply(db, ours, chat, "sending");
  if (sending !== undefined && (sending.lease_until ?? "") >= claim.now)
    return { notBefore: sending.lease_until ?? claim.now };
  const row = sending ?? (await firstReply(db, ours, chat, "waiting"));
  if (row === undefined) return null;
  if (row.state === "waiting" && row.next_at > claim.now) return { notBefore: row.next_at };
  const { numUpdatedRows } = await db
    .updateTable("replies")
    .set({
      state: "sending",
      owner: claim.owner,
      lease_until: claim.leaseUntil,
      attempts: Number(row.attempts) + 1,
    })
    .where("key", "=", row.key)
    .where("state", "=", row.state)
    .where("attempts", "=", row.attempts)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("replies as other")
            .select("other.key")
            .where("other.workspace", "in", ours)
            .where("other.channel", "=", chat.channel)
            .where("other.chat_id", "=", chat.chatId)
            .where("other.state", "=", "sending")
            .where("other.key", "!=", row.key),
        ),
      ),
    )
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return { notBefore: claim.leaseUntil };
  return toClaimedReply(row, row.state === "sending");
}

async function end(
  db: Kysely<Database>,
  key: string,
  set: { state: string; reason: string | null; next_at?: string; finished_at?: string },
): Promise<void> {
  await db
    .updateTable("replies")
    .set({ ...set, owner: null, lease_until: null })
    .where("key", "=", key)
    .where("state", "=", "sending")
    .execute();
}

const first = (db: Kysely<Database>, ours: readonly string[], chat: ChatKey, state: string) =>
  db
    .selectFrom("messages")
    .selectAll()
    .where("workspace", "in", ours)
    .where("channel", "=", chat.channel)
    .where("chat_id", "=", chat.chatId)
    .where("state", "=", state)
    .orderBy("position")
    .limit(1)
    .executeTakeFirst();

const firstReply = (db: Kysely<Database>, ours: readonly string[], chat: ChatKey, state: string) =>
  db
    .selectFrom("replies")
    .selectAll()
    .where("workspace", "in", ours)
    .where("channel", "=", chat.channel)
    .where("chat_id", "=", chat.chatId)
    .where("state", "=", state)
    .orderBy("position")
    .limit(1)
    .executeTakeFirst();

const toChat = (row: { channel: string; chat_id: string }): ChatKey => ({
  channel: row.channel,
  chatId: row.chat_id,
});

/** Microseconds that only grow, also when several messages come in one of them. */
function positions(now: () => Date): () => number {
  const last = { at: 0 };
  return () => {
    last.at = Math.max(last.at + 1, now().getTime() * 1000);
    return last.at;
  };
}
