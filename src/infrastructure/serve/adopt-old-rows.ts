import type { Kysely } from "kysely";
import type { WorkQueue } from "../../application/ports/work-queue.ts";
import type { StoreTransaction } from "./work-engine.ts";
import { type WorkspaceQueues, workOfMessage, workOfReply } from "./message-work.ts";
import type { Database } from "../store/schema.ts";

export interface AdoptRowsDeps {
  readonly db: Kysely<Database>;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly workspace: string;
  readonly places: WorkspaceQueues;
  readonly newWorkId: () => string;
}

/**
 * What waited before there was a queue, of this workspace or of none, gets its work now, in its order. Of two processes
 * that start at once one gives it.
 */
export async function adoptOldRows({
  db,
  queue,
  workspace,
  places,
  newWorkId,
}: AdoptRowsDeps): Promise<void> {
  const ours = ["", workspace];
  const messages = await db
    .selectFrom("messages")
    .select(["id", "channel", "chat_id as chatId", "user_id as userId"])
    .where("state", "in", ["received", "working"])
    .where("work_id", "is", null)
    .where("workspace", "in", ours)
    .orderBy("position")
    .execute();
  for (const message of messages)
    await db.transaction().execute(async (within) => {
      const id = newWorkId();
      const { numUpdatedRows } = await within
        .updateTable("messages")
        .set({ work_id: id })
        .where("id", "=", message.id)
        .where("work_id", "is", null)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return;
      const of = { ...message, beside: false, light: false };
      await queue.add([workOfMessage(of, { id, queue: places.messages, workspace })], within);
    });
  const replies = await db
    .selectFrom("replies")
    .select(["key", "channel", "chat_id as chatId", "user_id as userId"])
    .where("state", "in", ["waiting", "sending"])
    .where("work_id", "is", null)
    .where("workspace", "in", ours)
    .orderBy("position")
    .execute();
  for (const reply of replies)
    await db.transaction().execute(async (within) => {
      const id = newWorkId();
      const { numUpdatedRows } = await within
        .updateTable("replies")
        .set({ work_id: id })
        .where("key", "=", reply.key)
        .where("work_id", "is", null)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) return;
      await queue.add([workOfReply(reply, { id, queue: places.replies, workspace })], within);
    });
}
