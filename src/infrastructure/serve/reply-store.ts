import type { Kysely } from "kysely";
import type { MessageStore, NewReply } from "../../application/ports/serve.ts";
import type { WorkQueue } from "../../application/ports/work-queue.ts";
import type { StoreTransaction } from "./work-engine.ts";
import { toClaimedReply, toReplyRow } from "./message-rows.ts";
import { workGroupOf, workOfReply, workspaceQueues } from "./message-work.ts";
import type { Database } from "../store/schema.ts";

type ReplyStore = Pick<
  MessageStore,
  "post" | "claimReply" | "endReply" | "restReply" | "resendReply" | "handBackReply"
>;

export interface ReplyStoreDeps {
  readonly db: Kysely<Database>;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly workspace: string;
  readonly queueName: string;
  readonly newWorkId: () => string;
  /** The place of the next row. */
  readonly next: () => number;
  readonly now: () => Date;
}

/** The outbox. A reply is marked while it is being sent, so that whoever takes it over knows that it may have arrived. */
export function createReplyStore(parts: ReplyStoreDeps) {
  const { db, queue, workspace, queueName } = parts;

  function make(reply: NewReply) {
    const id = parts.newWorkId();
    const row = toReplyRow(reply, { workspace, position: parts.next(), work_id: id });
    return { row, work: workOfReply(reply, { id, queue: queueName, workspace }) };
  }

  async function read(within: StoreTransaction, key: string) {
    const row = await within.selectFrom("replies").selectAll().where("key", "=", key).executeTakeFirst();
    if (row === undefined) return null;
    // One that rests is not marked: whoever rests with it may die as well, and it has certainly not arrived.
    if (row.state === "waiting" && row.next_at > parts.now().toISOString())
      return toClaimedReply(row, row.next_at);
    await within
      .updateTable("replies")
      .set({ state: "sending", attempts: Number(row.attempts) + 1 })
      .where("key", "=", key)
      .execute();
    return toClaimedReply(row, null);
  }

  const store: ReplyStore = {
    post: (reply, onlyIf) =>
      db.transaction().execute(async (within) => {
        if (onlyIf !== undefined && !(await onlyIf(within))) return;
        const { row, work } = make(reply);
        await within.insertInto("replies").values(row).execute();
        await queue.add([work], within);
      }),
    async claimReply(away) {
      const request =
        away === undefined
          ? { queue: queueName }
          : {
              queue: workspaceQueues(away.workspace).replies,
              notGroups: away.except.map(({ channel, userId }) => workGroupOf(channel, userId)),
            };
      const claimed = await queue.claim(request, (work, within) => read(within, work.ref));
      if (claimed === null) return null;
      const { work, read: reply } = claimed;
      if (reply !== null) return { work, reply };
      // Somebody deleted it; there is nothing to send.
      await queue.finish(work, {});
      return store.claimReply(away);
    },
    endReply: (work, { state, at, reason }) =>
      queue.finish(work, {
        write: async (within) =>
          void (await within
            .updateTable("replies")
            .set({ state, finished_at: at, reason })
            .where("key", "=", work.ref)
            .execute()),
      }),
    handBackReply: (work) => queue.handBack(work, { begun: true }),
    async restReply(key, until, reason) {
      const rest = { state: "waiting", next_at: until, reason };
      await db
        .updateTable("replies")
        .set(rest)
        .where("key", "=", key)
        .where("state", "=", "sending")
        .execute();
    },
    async resendReply(key) {
      await db
        .updateTable("replies")
        .set((is) => ({ state: "sending", attempts: is("attempts", "+", 1) }))
        .where("key", "=", key)
        .where("state", "=", "waiting")
        .execute();
    },
  };
  return { store, make };
}
