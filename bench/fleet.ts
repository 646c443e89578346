import type { ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { PgBoss } from "pg-boss";
import { machineIdOf } from "../src/infrastructure/fleet/machine-id.ts";
import { openPostgres } from "../src/infrastructure/store/postgres.ts";
import type { Database } from "../src/infrastructure/store/schema.ts";
import { createCli, until } from "../test/e2e/cli-kit.ts";
import { newMessage, openMessages } from "../test/infrastructure/store/open-messages.ts";
import { startPostgres } from "../test/infrastructure/store/postgres-server.ts";
import type { Row } from "./measure.ts";

const MESSAGES = 400;
const CHATS = 100;
const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];
const now = () => new Date();

/** Whole answers by `picoclaw join` processes of one machine, from waiting in Postgres to a sent reply; and the engine alone. */
export async function fleet(): Promise<Row[]> {
  const server = startPostgres();
  try {
    const rows: Row[] = [];
    for (const processes of [1, 2, 4]) {
      const each = await answerAll(server.newDatabase(), processes);
      const name = `${processes} × join: messages a second, ${CHATS} chats, a scripted model`;
      rows.push({ name, figure: each.toFixed(0), target: "", ok: true });
    }
    const raw = await rawEngine(server.newDatabase());
    rows.push({
      name: "pg-boss alone: jobs a second, one process",
      figure: raw.toFixed(0),
      target: "",
      ok: true,
    });
    return rows;
  } finally {
    server.stop();
  }
}

async function answerAll(url: string, processes: number): Promise<number> {
  const cli = createCli();
  const db = openPostgres(url);
  const children: ChildProcess[] = [];
  try {
    mkdirSync(cli.home, { recursive: true });
    const roles = ROLES.map((role) => `  ${role}: { provider: demo, model: demo }`).join("\n");
    const provider = "  demo: { type: scripted, model: demo, script: script.json, local: true }";
    writeFileSync(
      join(cli.home, "config.yaml"),
      `providers:\n${provider}\nroles:\n${roles}\ndatabase_url: "${url}"\n`,
    );
    writeFileSync(join(cli.home, "script.json"), JSON.stringify({ answers: [{ text: "re" }] }));
    const workspace = `${machineIdOf(cli.home)}:${cli.workspace}`;
    const { store, queue } = await openMessages({ db, databaseUrl: url, now, workspace, owner: "bench" });
    const add = (from: number, count: number) =>
      store.addAll(
        Array.from({ length: count }, (_, k) => {
          const n = from + k;
          const chat = { channel: "web", chatId: `c${n % CHATS}`, userId: `u${n % CHATS}` };
          return newMessage({ ...chat, eventId: `e${n}`, text: "hello" }, `msg_${n}`, now().toISOString());
        }),
      );
    for (let n = 0; n < processes; n += 1) {
      const child = cli.start(["join", "--concurrency", "8", "--json"]);
      children.push(child);
      let out = "";
      child.stdout?.on("data", (data) => {
        out += String(data);
      });
      child.stderr?.resume();
      await until(() => out.includes("\n"), 60_000);
    }
    // What is compiled and opened for the first message is not counted.
    await add(0, CHATS);
    await emptied(db);
    const began = performance.now();
    await add(CHATS, MESSAGES);
    await emptied(db);
    const seconds = (performance.now() - began) / 1_000;
    await queue.close();
    return MESSAGES / seconds;
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await db.destroy();
    await cli.remove();
  }
}

async function emptied(db: Kysely<Database>): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ count: string }>`
      select (select count(*) from messages where state <> 'done')
        + (select count(*) from replies where state <> 'sent') as count`.execute(db);
    if (Number(rows[0]?.count) === 0) return;
    await Bun.sleep(20);
  }
}

async function rawEngine(url: string): Promise<number> {
  const boss = new PgBoss({ connectionString: url, schedule: false });
  await boss.start();
  try {
    await boss.createQueue("bench", { policy: "key_strict_fifo" });
    const jobs = Array.from({ length: MESSAGES }, (_, n) => ({
      singletonKey: `c${n % CHATS}`,
      data: { ref: `msg_${n}` },
    }));
    await boss.insert("bench", jobs);
    const began = performance.now();
    for (let done = 0; done < MESSAGES; ) {
      const [job] = await boss.fetch("bench");
      if (job === undefined) continue;
      await boss.complete("bench", job.id);
      done += 1;
    }
    return MESSAGES / ((performance.now() - began) / 1_000);
  } finally {
    await boss.stop({ graceful: false });
  }
}
