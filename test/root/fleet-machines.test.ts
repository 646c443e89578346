/**
 * A fleet under fire. A machine is a network and a pid namespace with a home and a workspace of its own; all share one
 * Postgres, reached by its socket. Processes are ended without a word at random moments and started again. Whatever
 * happens, each message is answered once, in its chat's order, and what it changes is changed once.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { machineIdOf } from "../../src/infrastructure/fleet/machine-id.ts";
import { openPostgres } from "../../src/infrastructure/store/postgres.ts";
import type { Database } from "../../src/infrastructure/store/schema.ts";
import { type Cli, createCli, PROGRAM, until } from "../e2e/cli-kit.ts";
import { newMessage, openMessages } from "../infrastructure/store/open-messages.ts";
import { type PostgresServer, startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart, runs } from "../require.ts";

const APPEND = JSON.stringify([
  { type: "file_edit", action: "append", target: "{{1}}.txt", content: "{{1}}\n" },
]);
const SCRIPT = [
  {
    when: { message: "/write (\\w+)$/" },
    text: `## Plan\nwrite\n## Patch\n\`\`\`json\n${APPEND}\n\`\`\`\n## Risk\nlow\n`,
    delay_ms: 100,
  },
  { text: "re: {{message}}", delay_ms: 50 },
];
const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];
const [KILLS, MESSAGES, CHATS] = [runs(3), runs(16), 4];

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const possible =
  process.getuid?.() === 0 && spawnSync("unshare", ["--net", "--pid", "--fork", "true"]).status === 0;
if (!possible) console.error("skipped: unshare — run the suite as root on a machine with namespaces");

describe.if(possible && requirePart("postgres"))("machines in namespaces", () => {
  let postgres: PostgresServer;
  const closing: (() => Promise<unknown> | unknown)[] = [];
  beforeAll(() => {
    postgres = startPostgres();
  }, 60_000);
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  }, 60_000);
  afterAll(() => postgres.stop());

  function openDatabase() {
    const url = postgres.newDatabase();
    const db = openPostgres(url);
    closing.push(() => db.destroy());
    return { db, url };
  }

  function machine(url: string) {
    const cli = createCli();
    closing.push(() => cli.remove());
    mkdirSync(cli.home, { recursive: true });
    const roles = ROLES.map((role) => `  ${role}: { provider: demo, model: demo }`).join("\n");
    const provider = "  demo: { type: scripted, model: demo, script: script.json, local: true }";
    writeFileSync(
      join(cli.home, "config.yaml"),
      `providers:\n${provider}\nroles:\n${roles}\ndatabase_url: "${url}"\nchecks: { enabled: never }\n`,
    );
    writeFileSync(join(cli.home, "script.json"), JSON.stringify({ answers: SCRIPT }));
    const flags = ["--net", "--pid", "--fork", "--mount-proc", "--kill-child"];
    const holder = spawn("unshare", [...flags, "sleep", "100000"], { stdio: "ignore" });
    closing.push(() => void holder.kill("SIGKILL"));
    return { cli, holder };
  }
  type Machine = ReturnType<typeof machine>;

  /** `join` on that machine; resolves when it works, or has ended. */
  async function joinFrom({ cli, holder }: Machine) {
    const inside = () => childrenOf(String(holder.pid))[0] ?? "";
    await until(() => inside() !== "", 10_000);
    const child = spawn(
      "nsenter",
      ["-t", inside(), "-n", "-p", "-m", PROGRAM, "join", "--workspace", cli.workspace, "--json"],
      {
        cwd: cli.workspace,
        env: {
          PATH: process.env.PATH ?? "",
          HOME: join(cli.folder, "user"),
          PICOCLAW_HOME: cli.home,
          PICOCLAW_LOCALE: "en",
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    closing.push(() => killTree(child));
    const said = { out: "", err: "" };
    child.stdout?.on("data", (data) => {
      said.out += String(data);
    });
    child.stderr?.on("data", (data) => {
      said.err += String(data);
    });
    await until(() => said.out.includes("\n") || child.exitCode !== null, 30_000);
    return { child, said };
  }

  async function say(db: Kysely<Database>, url: string, { cli }: Machine, name: string, count: number) {
    const workspace = `${machineIdOf(cli.home)}:${cli.workspace}`;
    const { store, queue } = await openMessages({
      db,
      databaseUrl: url,
      now: () => new Date(),
      workspace,
      owner: `test ${name}`,
    });
    closing.push(() => queue.close().catch(() => {}));
    for (let n = 0; n < count; n += 1) {
      const word = `${name}${n}`;
      const text = n % 2 === 0 ? `/code3 write ${word}` : `hello ${word}`;
      const chatId = `${name}.c${n % CHATS}`;
      const message = { channel: "web", eventId: word, chatId, userId: name, text };
      await store.addAll([newMessage(message, `msg_${word}`, new Date().toISOString())]);
    }
  }

  const waiting = async (db: Kysely<Database>) => {
    const messages = await sql<{
      count: string;
    }>`select count(*) from messages where state <> 'done'`.execute(db);
    const replies = await sql<{ count: string }>`select count(*) from replies where state <> 'sent'`.execute(
      db,
    );
    return Number(messages.rows[0]?.count) + Number(replies.rows[0]?.count);
  };

  const working = async (db: Kysely<Database>) => {
    const { rows } = await sql<{
      count: string;
    }>`select count(*) from messages where state = 'working'`.execute(db);
    return Number(rows[0]?.count);
  };

  /** Every message answered once, in order, and its change there once, over database and workspaces. */
  async function check(db: Kysely<Database>, machines: readonly (readonly [string, Cli])[], count: number) {
    const answers = await sql<{ id: string; chat: string; answers: string; at: string }>`
      select m.id, m.chat_id as chat, count(r.key) as answers, min(r.position) as at
      from messages m left join replies r on r.message_id = m.id
      group by m.id, m.chat_id, m.position order by m.position`.execute(db);
    expect(answers.rows.filter((row) => Number(row.answers) !== 1)).toEqual([]);
    for (const rows of Map.groupBy(answers.rows, ({ chat }) => chat).values()) {
      const at = rows.map((row) => Number(row.at));
      expect(at).toEqual(at.toSorted((a, b) => a - b));
    }
    for (const [name, cli] of machines) {
      const words = Array.from({ length: count }, (_, n) => `${name}${n}`).filter((_, n) => n % 2 === 0);
      const wanted = words.map((word) => [`${word}.txt`, `${word}\n`] as const);
      expect(cli.tree()).toEqual(Object.fromEntries(wanted));
    }
    const left = await sql<{ count: string }>`select count(*) from work_claims`.execute(db);
    expect(Number(left.rows[0]?.count)).toBe(0);
  }

  test(`${KILLS} deaths: each message is answered once, in order, and changes what it changes once`, async () => {
    const { db, url } = openDatabase();
    const [a, b] = [machine(url), machine(url)];
    const living = [await joinFrom(a), await joinFrom(b)];
    const incarnations = await sql<{
      incarnation: string;
    }>`select distinct incarnation from machines`.execute(db);
    // Each takes the other for a stranger.
    expect(incarnations.rows).toHaveLength(2);
    await say(db, url, a, "a", MESSAGES);
    await say(db, url, b, "b", MESSAGES);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await Bun.sleep(Math.random() * 1_500);
      const which = Math.random() < 0.5 ? 0 : 1;
      killTree((living[which] as (typeof living)[number]).child);
      living[which] = await joinFrom(which === 0 ? a : b);
    }
    const began = performance.now();
    while ((await waiting(db)) > 0 && performance.now() - began < 120_000) await Bun.sleep(100);
    expect(await waiting(db)).toBe(0);
    await check(
      db,
      [
        ["a", a.cli],
        ["b", b.cli],
      ],
      MESSAGES,
    );
  }, 600_000);

  const stoppedForLong: Parameters<typeof test> = [
    "a process that was stopped for longer than its claims hold changes nothing under them when it goes on",
    async () => {
      const { db, url } = openDatabase();
      const a = machine(url);
      const stopped = await joinFrom(a);
      await say(db, url, a, "a", MESSAGES);
      while ((await working(db)) === 0) await Bun.sleep(10);
      signalTree(stopped.child, "SIGSTOP");
      await joinFrom(a);
      const began = performance.now();
      while ((await waiting(db)) > 0 && performance.now() - began < 60_000) await Bun.sleep(100);
      signalTree(stopped.child, "SIGCONT");
      await Bun.sleep(5_000);
      expect(await waiting(db)).toBe(0);
      await check(db, [["a", a.cli]], MESSAGES);
    },
    180_000,
  ];
  if (nightly) test(...stoppedForLong);

  test("a copied home is refused while the first is there, and takes over when that is silent", async () => {
    const { db, url } = openDatabase();
    const [a, copy] = [machine(url), machine(url)];
    const first = await joinFrom(a);
    expect(first.child.exitCode).toBeNull();
    copyFileSync(join(a.cli.home, "machine-id"), join(copy.cli.home, "machine-id"));
    const second = await joinFrom(copy);
    await until(() => second.child.exitCode !== null, 30_000);
    expect(second.child.exitCode).toBe(3);
    expect(second.said.err + second.said.out).toContain("machine id");
    // Ended without a word, the first is taken for dead, and its place may be taken.
    killTree(first.child);
    a.holder.kill("SIGKILL");
    const third = await joinFrom(copy);
    expect(third.child.exitCode).toBeNull();
    const rows = await sql<{ count: string }>`select count(*) from machines`.execute(db);
    expect(Number(rows.rows[0]?.count)).toBe(1);
  }, 120_000);
});

/** What `nsenter` started, all of it: its children are processes of the namespace. */
const killTree = (child: ChildProcess): void => signalTree(child, "SIGKILL");

function signalTree(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.exitCode !== null || child.pid === undefined) return;
  const of = (pid: string): string[] => childrenOf(pid).flatMap((one) => [...of(one), one]);
  for (const pid of [...of(String(child.pid)), String(child.pid)])
    try {
      process.kill(Number(pid), signal);
    } catch {
      // It is gone already.
    }
}

function childrenOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .trim()
      .split(" ")
      .filter((one) => one !== "");
  } catch {
    return [];
  }
}
