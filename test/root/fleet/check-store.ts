/** The state of a fleet when everything was answered, after any faults. */
import { expect } from "bun:test";
import { type Kysely, sql } from "kysely";
import type { Database } from "../../../src/infrastructure/store/schema.ts";

export interface Told {
  readonly id: string;
  readonly chat: string;
  readonly text: string;
  readonly answers: readonly { readonly text: string; readonly ok: boolean; readonly state: string }[];
}

/** How many messages are not answered, and replies not sent. */
async function waiting(db: Kysely<Database>): Promise<number> {
  const { rows } = await sql<{ count: string }>`select
    (select count(*) from messages where state <> 'done')
    + (select count(*) from replies where state not in ('sent', 'failed')) as count`.execute(db);
  return Number(rows[0]?.count);
}

/** Resolves when everything was answered; how long that took. Fails when nothing of it moves for so long. */
export async function settled(db: Kysely<Database>, stillMs = 90_000): Promise<number> {
  const began = performance.now();
  const moved = { at: began, left: Number.NaN };
  for (;;) {
    const left = await waiting(db).catch(() => Number.NaN);
    const now = performance.now();
    if (left === 0) return now - began;
    if (left !== moved.left && !Number.isNaN(left)) Object.assign(moved, { at: now, left });
    if (now - moved.at > stillMs)
      throw new Error(`${left} messages or replies still wait: ${await stuck(db)}`);
    await Bun.sleep(50);
  }
}

async function stuck(db: Kysely<Database>): Promise<string> {
  const messages = await sql`select id, state, attempts from messages where state <> 'done' limit 5`.execute(
    db,
  );
  const replies =
    await sql`select key, state, attempts, reason from replies where state <> 'sent' limit 5`.execute(db);
  const claims = await sql`select ref, owner, attempts from work_claims limit 10`.execute(db);
  return JSON.stringify([messages.rows, replies.rows, claims.rows]);
}

/** Every message answered once, in its chat's order; nothing is claimed any more. */
export async function checkStore(db: Kysely<Database>): Promise<readonly Told[]> {
  const { rows } = await sql<{ id: string; chat: string; body: string; content: string; state: string }>`
    select m.id, m.workspace || ' ' || m.chat_id as chat, m.body, r.content, r.state
    from messages m left join replies r on r.message_id = m.id
    order by m.workspace, m.chat_id, m.position, r.position`.execute(db);
  const told = [...Map.groupBy(rows, ({ id }) => id)].map(([id, all]): Told => {
    const answers = all.flatMap(({ content, state }) => {
      if (content === null) return [];
      const { text, ok } = (JSON.parse(content) as { reply: { text: string; ok: boolean } }).reply;
      return [{ text, ok, state }];
    });
    const { text } = JSON.parse(all[0]?.body ?? "{}") as { text: string };
    return { id, chat: all[0]?.chat ?? "", text, answers };
  });
  expect(told.filter(({ answers }) => answers.length !== 1)).toEqual([]);
  expect(told.filter(({ answers }) => answers[0]?.state !== "sent")).toEqual([]);
  const disorder = await sql`select m.id from messages m join replies r on r.message_id = m.id
    join messages m2 on m2.workspace = m.workspace and m2.chat_id = m.chat_id and m2.position > m.position
    join replies r2 on r2.message_id = m2.id and r2.position < r.position`.execute(db);
  expect(disorder.rows).toEqual([]);
  const claims = await sql`select ref, owner from work_claims`.execute(db);
  expect(claims.rows).toEqual([]);
  return told;
}

export async function working(db: Kysely<Database>): Promise<number> {
  const { rows } = await sql<{
    count: string;
  }>`select count(*) from messages where state = 'working'`.execute(db);
  return Number(rows[0]?.count);
}

/** Each chat of LINE was shown each of its replies once, in order. */
export async function checkLine(
  db: Kysely<Database>,
  shown: readonly { readonly chatId: string; readonly text: string }[],
): Promise<void> {
  const { rows } = await sql<{ chat: string; content: string }>`
    select chat_id as chat, content from replies where channel = 'line' order by position`.execute(db);
  const head = (text: string) => text.split("\n")[0]?.slice(0, 40) ?? "";
  const sent = Map.groupBy(rows, ({ chat }) => chat);
  const seen = Map.groupBy(shown, ({ chatId }) => chatId);
  expect([...seen.keys()].toSorted()).toEqual([...sent.keys()].toSorted());
  for (const [chat, replies] of sent) {
    const texts = replies.map(
      ({ content }) => (JSON.parse(content) as { reply: { text: string } }).reply.text,
    );
    expect(seen.get(chat)?.map(({ text }) => head(text))).toEqual(texts.map(head));
  }
}
