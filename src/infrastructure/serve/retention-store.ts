import { type Kysely, type RawBuilder, sql } from "kysely";
import type { KeptKind, RetentionStore } from "../../application/ports/serve.ts";
import { sliceOf } from "../../domain/models/model-facts.ts";
import { databaseClock } from "../store/liveness.ts";
import {
  type Database,
  deleteRows,
  queryRows,
  type SessionRow,
  type StoreTransaction,
  updateRows,
  upsertRow,
} from "../store/schema.ts";

/** The turn is a row among the schedules, of no workspace. */
const TURN = { workspace: "", name: "retention" } as const;

export function createRetentionStore(db: Kysely<Database>, now: () => Date): RetentionStore {
  const clock = databaseClock(db, now);
  return {
    async takeTurn(everyMs) {
      await upsertRow(db, "schedules", { ...TURN, rule: "", next_at: 0 }, ["workspace", "name"], []);
      const next = { next_at: sql<number>`${clock()} + ${sql.lit(everyMs)}` };
      return (await updateRows(db, "schedules", TURN, next, sql`and next_at <= ${clock()}`)) > 0;
    },
    forget: (kind, before, limit) =>
      db.transaction().execute((within) => FORGET_BY_KIND[kind](within, before, limit)),
  };
}

type ForgetRows = (within: StoreTransaction, before: Date, limit: number) => Promise<number>;

const FORGET_BY_KIND: Readonly<Record<KeptKind, ForgetRows>> = {
  messages: forgetMessages,
  sessions: forgetSessions,
  usage: forgetUsage,
  tasks: forgetTasks,
  dead_letters: forgetDead,
};

async function forgetMessages(within: StoreTransaction, before: Date, limit: number): Promise<number> {
  const until = before.toISOString();
  const sent = sql`state in ('sent', 'failed') and created_at < ${until}`;
  const done = sql`state = 'done' and received_at < ${until}`;
  const replies = await deleteSome(within, "replies", "key", sent, limit);
  const messages = await deleteSome(within, "messages", "id", done, limit);
  return replies + messages + (await forgetImages(within, until, limit));
}

/** Deletes at most so many of the rows for which that is true. How many there were. */
function deleteSome<Table extends "replies" | "messages" | "images" | "forge_deliveries" | "dead_work">(
  within: StoreTransaction,
  table: Table,
  key: keyof Database[Table] & string,
  isOver: RawBuilder<unknown>,
  limit: number,
): Promise<number> {
  const some = sql`select ${sql.raw(key)} from ${sql.raw(table)} where ${isOver} limit ${limit}`;
  return deleteRows(within, table, {}, sql`where ${sql.raw(key)} in (${some})`);
}

/**
 * Images are stored apart from their messages, and those of terminals and editors have none. A piece is a hundred kilobytes
 * long: few at once. Pieces go last, so that no image lacks one; so do those
 * whose image was never finished, because its process died.
 */
async function forgetImages(within: StoreTransaction, until: string, limit: number): Promise<number> {
  const images = await deleteSome(within, "images", "id", sql`at < ${until}`, Math.ceil(limit / 100));
  if (images > 0) return images;
  type Piece = Pick<Database["file_pieces"], "workspace" | "chat_key" | "file_id" | "position">;
  const old = await queryRows<Piece>(
    within,
    sql`select workspace, chat_key, file_id, position from file_pieces where at < ${until}
      limit ${Math.ceil(limit / 10)}`,
  );
  for (const piece of old) await deleteRows(within, "file_pieces", piece);
  return old.length;
}

/** Sessions that are over, with what was said, set aside, decided and noted in them. A session may be long: few at once. */
async function forgetSessions(within: StoreTransaction, before: Date, limit: number): Promise<number> {
  const old = await queryRows<Pick<SessionRow, "workspace" | "chat_key" | "session_id">>(
    within,
    sql`select workspace, chat_key, session_id from sessions where closed_at < ${before.toISOString()}
      limit ${Math.max(1, Math.floor(limit / 10))}`,
  );
  for (const { workspace, chat_key, session_id } of old) {
    const aside = `${session_id}~`;
    const isAside = sql`substr(session_id, 1, ${sql.lit(aside.length)}) = ${aside}`;
    const isOfIt = sql`and (session_id = ${session_id} or ${isAside})`;
    for (const table of ["turns", "daily_notes", "decisions", "sessions"] as const)
      await deleteRows(within, table, { workspace, chat_key }, isOfIt);
  }
  return old.length;
}

/** Entries have no id of their own: the oldest, by their time. A sum is deleted with the last of its entries. */
async function forgetUsage(within: StoreTransaction, before: Date, limit: number): Promise<number> {
  const oldest = sql`where at < ${before.toISOString()} order by at limit ${limit}`;
  const old = await queryRows<{ at: string }>(within, sql`select at from usage_entries ${oldest}`);
  const last = old.at(-1);
  if (last === undefined) return 0;
  const rows = await deleteRows(within, "usage_entries", {}, sql`where at <= ${last.at}`);
  const slice = sliceOf(new Date(last.at)).toISOString();
  await deleteRows(within, "usage_sums", {}, sql`where slice < ${slice}`);
  return rows;
}

/** Tasks that have ended and to which nothing happened since, with their steps. */
async function forgetTasks(within: StoreTransaction, before: Date, limit: number): Promise<number> {
  const until = before.toISOString();
  const old = await queryRows<{ id: string }>(
    within,
    sql`select id from solve_tasks where state in ('done', 'failed', 'stopped') and created_at < ${until}
      and not exists (select 1 from task_steps where task_id = solve_tasks.id and at >= ${until})
      limit ${Math.max(1, Math.floor(limit / 10))}`,
  );
  const ids = old.map(({ id }) => id);
  if (ids.length > 0) {
    await deleteRows(within, "task_steps", {}, sql`where task_id in (${sql.join(ids)})`);
    await deleteRows(within, "solve_tasks", {}, sql`where id in (${sql.join(ids)})`);
  }
  return ids.length + (await deleteSome(within, "forge_deliveries", "id", sql`seen_at < ${until}`, limit));
}

function forgetDead(within: StoreTransaction, before: Date, limit: number): Promise<number> {
  return deleteSome(within, "dead_work", "id", sql`at < ${before.getTime()}`, limit);
}

const BY_CHAT = [
  "sessions",
  "turns",
  "images",
  "file_pieces",
  "daily_notes",
  "chat_settings",
  "decisions",
  "learned_rules",
  "usage_entries",
] as const;
const BY_PERSON = ["messages", "replies", "job_owners", "people", "pairings", "told_away"] as const;
const OF_THE_WEB = ["web_sessions", "login_links", "api_tokens"] as const;

/**
 * Deletes what one person said and was answered, who they are to us, and everything about chats in which no other person
 * wrote. Returns the number of rows. Their jobs stay: these are changes to the workspace, not to them. So do the sums of
 * what models cost, which name no person.
 */
export function forgetPerson(
  db: Kysely<Database>,
  { channel, userId }: { readonly channel: string; readonly userId: string },
): Promise<number> {
  return db.transaction().execute(async (within) => {
    let rows = 0;
    const theirs = sql`select chat_id from messages where channel = ${channel} and user_id = ${userId}`;
    const spoken = await queryRows<{ chat_id: string; user_id: string }>(
      within,
      sql`select distinct chat_id, user_id from messages where channel = ${channel} and chat_id in (${theirs})`,
    );
    const shared = new Set(spoken.filter(({ user_id }) => user_id !== userId).map(({ chat_id }) => chat_id));
    const own = new Set([userId, ...spoken.map(({ chat_id }) => chat_id)]);
    const keys = [...own].filter((chat) => !shared.has(chat)).map((chat) => `${channel}:${chat}`);
    for (const table of BY_CHAT)
      for (const chat_key of keys) rows += await deleteRows(within, table, { chat_key });
    for (const table of BY_PERSON) rows += await deleteRows(within, table, { channel, user_id: userId });
    if (channel === "web")
      for (const table of OF_THE_WEB) rows += await deleteRows(within, table, { user_id: userId });
    return rows;
  });
}
