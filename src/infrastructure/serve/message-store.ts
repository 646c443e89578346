import type { Kysely } from "kysely";
import type { MessageStore, NewMessage } from "../../application/ports/serve.ts";
import type { WorkQueue } from "../../application/ports/work-queue.ts";
import type { StoreTransaction } from "./work-engine.ts";
import { adoptOldRows } from "./adopt-old-rows.ts";
import { fromMessageRow, toMessageRow } from "./message-rows.ts";
import { createMessageViews } from "./message-views.ts";
import { workOfMessage, workspaceQueues } from "./message-work.ts";
import { migrate } from "../store/migrate.ts";
import { createReplyStore } from "./reply-store.ts";
import type { Database } from "../store/schema.ts";
import { storable } from "../store/storable.ts";

export interface MessageStoreDeps {
  readonly db: Kysely<Database>;
  readonly now: () => Date;
  /** The root of the workspace whose messages are kept, claimed and shown. */
  readonly workspace: string;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly newWorkId: () => string;
}

/** Inbox and outbox: rows for people to read, and work in the queue that says what is to be done with them. */
export async function createMessageStore(parts: MessageStoreDeps): Promise<MessageStore> {
  const { db, now, workspace, queue, newWorkId } = parts;
  await migrate(db, now);
  const next = positions(now);
  const places = workspaceQueues(workspace);
  const replies = createReplyStore({ db, queue, workspace, queueName: places.replies, newWorkId, next, now });
  await adoptOldRows({ db, queue, workspace, places, newWorkId });

  async function insert(within: StoreTransaction, { message, id, at, beside, light }: NewMessage) {
    const workId = newWorkId();
    const row = toMessageRow(message, {
      id,
      workspace,
      received_at: at,
      position: next(),
      work_id: workId,
    });
    const { numInsertedOrUpdatedRows = 0n } = await within
      .insertInto("messages")
      .values(row)
      .onConflict((conflict) => conflict.columns(["channel", "event_id"]).doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows > 0n) {
      const of = { id, channel: row.channel, chatId: row.chat_id, userId: row.user_id, beside, light };
      const work = workOfMessage(of, { id: workId, queue: places.messages, workspace });
      return { added: true, id, work };
    }
    const known = await within
      .selectFrom("messages")
      .select("id")
      .where("channel", "=", row.channel)
      .where("event_id", "=", row.event_id)
      .executeTakeFirstOrThrow();
    return { added: false, id: known.id, work: null };
  }

  const setState = (within: StoreTransaction, id: string, state: "received" | "done") =>
    within
      .updateTable("messages")
      .set({ state, finished_at: state === "done" ? now().toISOString() : null })
      .where("id", "=", id)
      .execute();

  const store: MessageStore = {
    ...createMessageViews(db, workspace),
    ...replies.store,
    addAll: (messages, onlyIf) =>
      db.transaction().execute(async (within) => {
        if (onlyIf !== undefined && !(await onlyIf(within))) return [];
        const results: Awaited<ReturnType<typeof insert>>[] = [];
        for (const message of messages) results.push(await insert(within, message));
        const work = results.flatMap((result) => result.work ?? []);
        await queue.add(work, within);
        return results.map(({ added, id }) => ({ added, id }));
      }),
    async claimMessage(request) {
      const claimed = await queue.claim({ ...request, queue: places.messages }, (work, within) =>
        within
          .updateTable("messages")
          .set({ state: "working", attempts: work.attempt })
          .where("id", "=", work.ref)
          .returningAll()
          .executeTakeFirst(),
      );
      if (claimed === null) return null;
      const { work, read: row } = claimed;
      if (row !== undefined) return { work, message: fromMessageRow(row) };
      // Somebody deleted it; there is nothing to answer.
      await queue.finish(work, {});
      return store.claimMessage(request);
    },
    finish: (work, { replies: answers, dead }) => {
      const made = answers.map(replies.make);
      return queue.finish(work, {
        add: made.map(({ work: sending }) => sending),
        ...(dead !== undefined && { dead }),
        write: async (within) => {
          await setState(within, work.ref, "done");
          for (const { row } of made) await within.insertInto("replies").values(row).execute();
        },
      });
    },
    handBack: (work, { begun }) =>
      queue.handBack(work, {
        begun,
        write: async (within) => void (await setState(within, work.ref, "received")),
      }),
    async noteJob({ jobId, channel, userId, messageId, at }) {
      await db
        .insertInto("job_owners")
        .values({
          job_id: jobId,
          workspace,
          channel: storable(channel),
          user_id: storable(userId),
          message_id: messageId,
          at,
        })
        .onConflict((conflict) => conflict.column("job_id").doNothing())
        .execute();
    },
  };
  return store;
}

/** Microseconds that only grow, also when several messages come in one of them. */
function positions(now: () => Date): () => number {
  const last = { at: 0 };
  return () => {
    last.at = Math.max(last.at + 1, now().getTime() * 1000);
    return last.at;
  };
}
