import type { ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { readMachineId } from "../src/infrastructure/fleet/workspace-name.ts";
import { openPostgres } from "../src/infrastructure/store/postgres.ts";
import type { Database } from "../src/infrastructure/store/schema.ts";
import { createCli, until } from "../test/e2e/cli-kit.ts";
import { newMessage, openMessages } from "../test/infrastructure/store/open-messages.ts";
import { startPostgres } from "../test/infrastructure/store/postgres-server.ts";
import { orderRows } from "./fleet-orders.ts";
import type { Row } from "./measure.ts";
import { postgresMs, processorMs } from "./processor-time.ts";

const [WARM_UP, MESSAGES, CHATS, MANY] = [100, 400, 100, 10_000];
const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];
const now = () => new Date();

interface Load {
  readonly processes: number;
  readonly chats: number;
  /** Added before any is answered. */
  readonly waiting: number;
}

interface Carried {
  readonly perSecond: number;
  /** Processor time a message. */
  readonly joinMs: number;
  readonly databaseMs: number;
  /** Of the machine's processors, by these processes. */
  readonly busy: number;
}

/** Whole answers by `picoclaw join` processes of one machine, from waiting in Postgres to a sent reply. */
export async function fleet(): Promise<Row[]> {
  const server = startPostgres();
  try {
    const rows: Row[] = [];
    for (const processes of [1, 2, 4])
      rows.push(
        rowOf(
          `${processes} × join, ${CHATS} chats`,
          await answer(server.newDatabase(), { processes, chats: CHATS, waiting: WARM_UP + MESSAGES }),
        ),
      );
    rows.push(
      rowOf(
        `1 × join, ${MANY} waiting in ${MANY} chats`,
        await answer(server.newDatabase(), { processes: 1, chats: MANY, waiting: MANY }),
      ),
    );
    rows.push(...(await orderRows(server.newDatabase())));
    return rows;
  } finally {
    server.stop();
  }
}

function rowOf(name: string, { perSecond, joinMs, databaseMs, busy }: Carried): Row {
  return {
    name: `${name}: messages a second, a scripted model`,
    figure: `${perSecond.toFixed(0)}; processor time of one ${joinMs.toFixed(1)} ms + Postgres ${databaseMs.toFixed(1)} ms; ${(busy * 100).toFixed(0)} % of ${availableParallelism()} cores`,
    target: "",
    ok: true,
  };
}

async function answer(url: string, { processes, chats, waiting }: Load): Promise<Carried> {
  const cli = createCli();
  const db = openPostgres(url);
  const children: ChildProcess[] = [];
  try {
    configure(cli.home, url);
    const workspace = `${readMachineId(cli.home)}:${cli.workspace}`;
    const { store, queue } = await openMessages({ db, databaseUrl: url, now, workspace, owner: "bench" });
    for (let n = 0; n < processes; n += 1) children.push(await startJoin(cli));
    for (let from = 0; from < waiting; from += 1_000)
      await store.addAll(
        Array.from({ length: Math.min(1_000, waiting - from) }, (_, k) => {
          const n = from + k;
          const chat = { channel: "web", chatId: `c${n % chats}`, userId: `u${n % chats}` };
          return newMessage({ ...chat, eventId: `e${n}`, text: "hello" }, `msg_${n}`, now().toISOString());
        }),
      );
    // Compiling and opening for the first messages is not counted.
    const from = await sent(db, WARM_UP);
    const spent = () => ({
      at: performance.now(),
      joinMs: children.reduce((sum, { pid }) => sum + processorMs(pid ?? 0), 0),
      databaseMs: postgresMs(url),
    });
    const before = spent();
    const to = await sent(db, WARM_UP + MESSAGES);
    const after = spent();
    await queue.close();
    const count = to - from;
    const wallMs = after.at - before.at;
    const join = after.joinMs - before.joinMs;
    const database = after.databaseMs - before.databaseMs;
    return {
      perSecond: (count / wallMs) * 1_000,
      joinMs: join / count,
      databaseMs: database / count,
      busy: (join + database) / (wallMs * availableParallelism()),
    };
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await db.destroy();
    await cli.remove();
  }
}

function configure(home: string, url: string): void {
  mkdirSync(home, { recursive: true });
  const roles = ROLES.map((role) => `  ${role}: { provider: demo, model: demo }`).join("\n");
  const provider = "  demo: { type: scripted, model: demo, script: script.json, local: true }";
  const config = `providers:\n${provider}\nroles:\n${roles}\ndatabase_url: "${url}"\n`;
  writeFileSync(join(home, "config.yaml"), config);
  writeFileSync(join(home, "script.json"), JSON.stringify({ answers: [{ text: "re" }] }));
}

async function startJoin(cli: ReturnType<typeof createCli>): Promise<ChildProcess> {
  const child = cli.start(["join", "--concurrency", "8", "--json"]);
  let out = "";
  child.stdout?.on("data", (data) => {
    out += String(data);
  });
  child.stderr?.resume();
  await until(() => out.includes("\n"), 60_000);
  return child;
}

/** Resolves when at least so many replies are sent, with how many are. */
async function sent(db: Kysely<Database>, wanted: number): Promise<number> {
  for (;;) {
    const { rows } = await sql<{ count: string }>`
      select count(*) as count from replies where state = 'sent'`.execute(db);
    const count = Number(rows[0]?.count);
    if (count >= wanted) return count;
    await Bun.sleep(50);
  }
}
