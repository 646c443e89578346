/** Processes of one store are killed while they receive, answer and send: every message is answered once and in order. */
import { expect, test } from "bun:test";
import { type Kysely, sql } from "kysely";
import { openSqlite } from "../../src/infrastructure/store/open-store.ts";
import { openPostgres } from "../../src/infrastructure/store/postgres.ts";
import type { Database } from "../../src/infrastructure/store/schema.ts";
import { createServer, type Server } from "../adapters/web/web-kit.ts";
import { until } from "../e2e/cli-kit.ts";
import { startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart, runs } from "../require.ts";
import { insist } from "./insist.ts";

const PROCESSES = 2;
const CHATS = 10;
const KILLS = runs(2);
const MESSAGES = runs(20);

/** Starts processes, kills them one after another, and sends every message again meanwhile. */
async function suffer(server: Server, settled: () => Promise<void>): Promise<void> {
  const token = server.token("--user", "alice", "--role", "user", "--scope", "read,chat");
  const start = async () => {
    const child = server.start(["serve", "--port", "0", "--json"]);
    let out = "";
    child.stdout?.on("data", (data) => {
      out += String(data);
    });
    child.stderr?.resume();
    await until(() => out.includes("\n"));
    return { url: (JSON.parse(out) as { url: string }).url, child };
  };
  const processes = await Promise.all(Array.from({ length: PROCESSES }, start));
  const random = (below: number) => Math.floor(Math.random() * below);
  const kill = async () => {
    for (let n = 0; n < KILLS; n += 1) {
      await Bun.sleep(300 + random(900));
      const at = random(PROCESSES);
      processes[at]?.child.kill("SIGKILL");
      processes[at] = await start();
    }
  };
  const anyUrl = () => `${processes[random(PROCESSES)]?.url}`;
  const send = (n: number) =>
    insist(anyUrl, token, { chat: `c${n % CHATS}`, text: `m${n}`, event_id: `e${n}` });
  const speak = async (chat: number) => {
    for (let n = chat; n < MESSAGES; n += CHATS) await send(n);
  };
  try {
    await Promise.all([kill(), ...Array.from({ length: CHATS }, (_, chat) => speak(chat))]);
    await settled();
  } finally {
    for (const { child } of processes) child.kill("SIGKILL");
  }
}

interface Told {
  readonly chat_id: string;
  readonly body: string;
  readonly content: string | null;
  readonly state: string | null;
}

async function told(db: Kysely<Database>): Promise<Map<string, string[]>> {
  const { rows } = await sql<Told>`select m.chat_id, m.body, r.content, r.state
    from messages m left join replies r on r.message_id = m.id
    order by m.chat_id, r.position, m.position`.execute(db);
  const texts = rows.map(({ chat_id: chat, body, content, state }) => {
    const { text } = JSON.parse(body) as { text: string };
    const reply = content === null ? "" : (JSON.parse(content) as { reply: { text: string } }).reply.text;
    return { chat, line: `${text} ${state} ${reply.includes(`re: ${text}`)}` };
  });
  return new Map(
    [...Map.groupBy(texts, ({ chat }) => chat)].map(([chat, all]) => [chat, all.map(({ line }) => line)]),
  );
}

async function scenario(databaseUrl: string | null): Promise<void> {
  const place = databaseUrl === null ? "" : `database_url: "${databaseUrl}"\n`;
  const script = [{ text: "re: {{message}}", delay_ms: 30 }];
  const opened = await createServer({ script, config: `${place}serve: { rate_limit: 0 }\n` });
  const db = databaseUrl === null ? openSqlite(`${opened.home}/picoclaw.db`) : openPostgres(databaseUrl);
  const settled = async () => {
    for (;;) {
      const { rows } = await sql<{
        n: number;
      }>`select count(*) as n from replies where state = 'sent'`.execute(db);
      if (Number(rows[0]?.n) >= MESSAGES) return;
      await Bun.sleep(100);
    }
  };
  try {
    await suffer(opened, settled);
    const expected = Array.from({ length: CHATS }, (_, chat) => [
      `alice.c${chat}`,
      Array.from({ length: MESSAGES / CHATS }, (_one, n) => `m${chat + n * CHATS} sent true`),
    ]);
    expect(Object.fromEntries(await told(db))).toEqual(Object.fromEntries(expected));
    expect((await sql`select id from work_claims`.execute(db)).rows).toEqual([]);
  } finally {
    await db.destroy();
    await opened.close();
  }
}

test("on one machine, over SQLite", () => scenario(null), 60_000 * runs(1));

test.if(requirePart("postgres"))(
  "over Postgres",
  async () => {
    const postgres = startPostgres();
    try {
      await scenario(postgres.newDatabase());
    } finally {
      postgres.stop();
    }
  },
  60_000 * runs(1),
);
