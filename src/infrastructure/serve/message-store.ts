import { type Kysely, sql } from "kysely";
import { chatKeyOf } from "../../application/ports/chat.ts";
import type {
  ChatKey,
  MessageStore,
  NewMessage,
  NewReply,
  NewWork,
  WorkQueue,
} from "../../application/ports/serve.ts";
import { hashHex } from "../platform/hash.ts";
import {
  type Database,
  insertRows,
  type MessageRow,
  migrate,
  type StoreTransaction,
  selectRows,
  storable,
  updateRows,
  upsertRow,
} from "../store/schema.ts";
import {
  createMessageViews,
  fromMessageRow,
  toClaimedReply,
  toMessageRow,
  toReplyRow,
} from "./message-views.ts";
import { toIndexedText, type WorkspaceQueues, workKeyOfChat, workspaceQueues } from "./work-places.ts";

interface WorkSubject extends ChatKey {
  readonly userId: string;
  /** The id of a message, or the key of a reply. */
  readonly ref: string;
  readonly beside?: boolean;
  readonly light?: boolean;
}

function workOf(
  { channel, chatId, userId, ref, beside = false, light = false }: WorkSubject,
  at: { readonly id: string; readonly queue: string; readonly workspace: string },
): NewWork {
  const key = workKeyOfChat(at.workspace, chatKeyOf(channel, chatId));
  return {
    id: at.id,
    queue: at.queue,
    // A message that does not wait for its turn has a line of its own.
    key: beside ? hashHex("sha256", `${key} ${ref}`) : key,
    group: workGroupOf(channel, userId),
    ref,
    light,
  };
}

function workGroupOf(channel: string, userId: string): string {
  return toIndexedText(`${channel}:${userId}`);
}

interface CopiedRowsDeps extends Pick<MessageStoreDeps, "db" | "queue" | "workspace" | "newWorkId"> {
  readonly places: WorkspaceQueues;
}

/** A copy of a store takes no work along: what waits gets its work now, in order, from one of the processes that start. */
async function giveWorkToCopiedRows(deps: CopiedRowsDeps): Promise<void> {
  const { db, queue, workspace, places, newWorkId } = deps;
  for (const [table, key, states, name] of [
    ["messages", "id", ["received", "working"], places.messages],
    ["replies", "key", ["waiting", "sending"], places.replies],
  ] as const) {
    const { rows } = await sql<WorkSubject>`
      select ${sql.raw(key)} as ref, channel, chat_id as "chatId", user_id as "userId" from ${sql.raw(table)}
      where workspace = ${workspace} and work_id is null and state in (${sql.join(states)})
      order by position`.execute(db);
    for (const subject of rows)
      await db.transaction().execute(async (within) => {
        const id = newWorkId();
        const isIt = sql`and ${sql.raw(key)} = ${subject.ref}`;
        if ((await updateRows(within, table, { work_id: null }, { work_id: id }, isIt)) > 0)
          await queue.add([workOf(subject, { id, queue: name, workspace })], within);
      });
  }
}

type ReplyStore = Pick<
  MessageStore,
  "post" | "claimReply" | "endReply" | "restReply" | "resendReply" | "handBackReply"
>;

interface ReplyStoreDeps extends MessageStoreDeps {
  readonly queueName: string;
  readonly next: () => number;
}

/** Longer than any pause between two tries. */
const LONGEST_REST_MS = 60 * 60_000;

/** A reply that was never tried is due, and no pause is longer than the longest: a clock that was fast wrote the time. */
function mustRest(row: { readonly attempts: unknown; readonly next_at: string }, now: Date): boolean {
  const leftMs = Date.parse(row.next_at) - now.getTime();
  return Number(row.attempts) > 0 && leftMs > 0 && leftMs <= LONGEST_REST_MS;
}

/** The outbox. A reply is marked while it is being sent, so that a process that takes it over knows that it may have arrived. */
function createReplyStore(deps: ReplyStoreDeps) {
  const { db, queue, workspace, queueName } = deps;

  function make(reply: NewReply) {
    const id = reply.hasArrived === true ? null : deps.newWorkId();
    const row = toReplyRow(reply, { workspace, position: deps.next(), work_id: id });
    const work =
      id === null ? [] : [workOf({ ...reply, ref: reply.key }, { id, queue: queueName, workspace })];
    return { row, work };
  }

  async function read(within: StoreTransaction, key: string) {
    const [row] = await selectRows(within, "replies", { key });
    if (row === undefined) return null;
    // A reply that waits for a retry is not marked: its process may die meanwhile, and it has certainly not arrived.
    if (row.state === "waiting" && mustRest(row, deps.now())) return toClaimedReply(row, row.next_at);
    await updateRows(within, "replies", { key }, { state: "sending", attempts: Number(row.attempts) + 1 });
    return toClaimedReply(row, null);
  }

  const store: ReplyStore = {
    post: (reply, onlyIf) =>
      db.transaction().execute(async (within) => {
        if (onlyIf !== undefined && !(await onlyIf(within))) return;
        const { row, work } = make(reply);
        await insertRows(within, "replies", [row]);
        await queue.add(work, within);
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
      // The user deleted it; there is nothing to send.
      await queue.finish(work, {});
      return store.claimReply(away);
    },
    endReply: (work, { state, at, reason }) =>
      queue.finish(work, {
        write: (within) =>
          updateRows(within, "replies", { key: work.ref }, { state, finished_at: at, reason }),
      }),
    handBackReply: (work) => queue.handBack(work, { begun: true }),
    async restReply(key, until, reason) {
      const rest = { state: "waiting", next_at: until, reason };
      await updateRows(db, "replies", { key, state: "sending" }, rest);
    },
    async resendReply(key) {
      const again = { state: "sending", attempts: sql`attempts + 1` };
      await updateRows(db, "replies", { key, state: "waiting" }, again);
    },
  };
  return { store, make };
}

export interface MessageStoreDeps {
  readonly db: Kysely<Database>;
  readonly now: () => Date;
  readonly workspace: string;
  readonly queue: WorkQueue<StoreTransaction>;
  readonly newWorkId: () => string;
}

export async function createMessageStore(deps: MessageStoreDeps): Promise<MessageStore> {
  const { db, now, workspace, queue, newWorkId } = deps;
  await migrate(db, now);
  const next = positions(now);
  const places = workspaceQueues(workspace);
  const replies = createReplyStore({ db, queue, workspace, queueName: places.replies, newWorkId, next, now });
  await giveWorkToCopiedRows({ db, queue, workspace, places, newWorkId });

  async function insert(within: StoreTransaction, { message, id, at, beside, light }: NewMessage) {
    const workId = newWorkId();
    const row = toMessageRow(message, {
      id,
      workspace,
      received_at: at,
      position: next(),
      work_id: workId,
    });
    if ((await upsertRow(within, "messages", row, ["channel", "event_id"], [])) > 0) {
      const { channel, chat_id: chatId, user_id: userId } = row;
      const work = workOf(
        { channel, chatId, userId, ref: id, beside, light },
        { id: workId, queue: places.messages, workspace },
      );
      return { added: true, id, work };
    }
    const { channel, event_id } = row;
    const [known] = await selectRows(within, "messages", { channel, event_id });
    return { added: false, id: (known as MessageRow).id, work: null };
  }

  const setState = (within: StoreTransaction, id: string, state: "received" | "done") => {
    const finished_at = state === "done" ? now().toISOString() : null;
    return updateRows(within, "messages", { id }, { state, finished_at });
  };

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
        sql<MessageRow>`update messages set state = 'working', attempts = ${work.attempt}
          where id = ${work.ref} returning *`.execute(within),
      );
      if (claimed === null) return null;
      const { work, read } = claimed;
      const [row] = read.rows;
      if (row !== undefined) return { work, message: fromMessageRow(row) };
      await queue.finish(work, {});
      return store.claimMessage(request);
    },
    finish: (work, { replies: answers, dead }) => {
      const made = answers.map(replies.make);
      return queue.finish(work, {
        add: made.flatMap(({ work: sending }) => sending),
        ...(dead !== undefined && { dead }),
        write: async (within) => {
          await setState(within, work.ref, "done");
          for (const { row } of made) await insertRows(within, "replies", [row]);
        },
      });
    },
    handBack: (work, { begun }) =>
      queue.handBack(work, {
        begun,
        write: (within) => setState(within, work.ref, "received"),
      }),
    async noteJob({ jobId, channel, userId, messageId, at }) {
      const owner = { channel: storable(channel), user_id: storable(userId), message_id: messageId };
      await upsertRow(db, "job_owners", { job_id: jobId, workspace, ...owner, at }, ["job_id"], []);
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
