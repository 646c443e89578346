/** Faults of a fleet beside the death of a process: partitions, a database that comes and goes, clocks, full disks. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { requirePart } from "../require.ts";
import { checkStore, settled, working } from "./fleet/check-store.ts";
import { checkWorkspace } from "./fleet/check-workspace.ts";
import { hasNamespaces, type Machine, signalTree } from "./fleet/machines.ts";
import { type Fleet, fleetKit } from "./fleet/open-fleet.ts";
import { WRITES } from "./fleet/say.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const POISON = [{ when: { message: "/poison$/" }, text: "late", delay_ms: 3_600_000 }, ...WRITES];
const RIGHTS = [
  "create role app login",
  "grant usage on schema public, picoclaw_queue to app",
  "grant select, insert, update, delete on all tables in schema public, picoclaw_queue to app",
];
const FAKE_CLOCK = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/** Resolves when a process works on a message for the nth time. */
async function workingOn({ db }: Fleet, id: string, attempt: number): Promise<void> {
  for (;;) {
    const { rows } = await sql`select id from messages where id = ${id} and attempts = ${attempt}`.execute(
      db,
    );
    if (rows.length > 0) return;
    await Bun.sleep(10);
  }
}

async function check(fleet: Fleet, machines: readonly Machine[]): Promise<void> {
  const told = await checkStore(fleet.db);
  for (const { cli } of machines)
    await checkWorkspace(
      cli,
      told.filter(({ chat }) => chat.includes(cli.workspace)),
      { "shared.txt": "" },
    );
}

describe.if(hasNamespaces() && requirePart("postgres"))("a fleet", () => {
  const kit = fleetKit();

  test("a message that ends its process three times is given up and reported, and its chat continues", async () => {
    const fleet = kit.open();
    const a = await fleet.machine({ script: POISON });
    const text = (word: string) => (word === "a0" ? "poison" : `hello ${word}`);
    const said = fleet.say({ machine: a, name: "a", count: 2, chats: 1, text });
    for (const attempt of [1, 2, 3]) {
      const living = await a.start();
      await said;
      await workingOn(fleet, "msg_a0", attempt);
      signalTree(living.child, "SIGKILL");
    }
    const began = performance.now();
    await a.start();
    await settled(fleet.db);
    console.log(
      `a host workspace went on ${Math.round(performance.now() - began)} ms after its machine was started`,
    );
    const [poison, next] = await checkStore(fleet.db);
    expect(poison?.answers[0]?.text).toContain("ended 3 times");
    expect(next?.answers[0]?.text).toContain("re: hello a1");
    const dead = await sql<{ ref: string }>`select ref from dead_work`.execute(fleet.db);
    expect(dead.rows).toEqual([{ ref: "msg_a0" }]);
  }, 300_000);

  test("a role with the documented rights alone answers, and a backup fills another Postgres", async () => {
    const fleet = kit.open();
    const a = await fleet.machine();
    expect(a.cli.run(["db", "migrate"]).code).toBe(0);
    for (const statement of RIGHTS) await sql.raw(statement).execute(fleet.db);
    const url = fleet.url.replace("picoclaw@", "app@");
    await a.start(["join"], { PICOCLAW_DATABASE_URL: url });
    await fleet.say({ machine: a, name: "a", count: 6, chats: 2 });
    await settled(fleet.db);
    await check(fleet, [a]);
    const folder = join(a.cli.folder, "backup");
    const saved = a.cli.json(a.cli.run(["backup", folder, "--json"]));
    const env = { PICOCLAW_DATABASE_URL: kit.postgres().newDatabase() };
    const restored = a.cli.json(a.cli.run(["restore", folder, "--json"], { env }));
    expect(restored).toEqual({ success: true, rows: saved.rows });
  }, 300_000);

  const byNight: Parameters<typeof test>[] = [
    [
      "a machine that is parted from the database for 25 seconds goes on when it is back; others do not wait for it",
      async () => {
        const fleet = kit.open({ overNetwork: true });
        const [a, b] = [await fleet.machine(), await fleet.machine()];
        await a.start();
        await b.start();
        await fleet.say({ machine: a, name: "a", count: 40, chats: 6 });
        while ((await working(fleet.db)) === 0) await Bun.sleep(5);
        a.network(false);
        await fleet.say({ machine: b, name: "b", count: 20, chats: 6 });
        const began = performance.now();
        while ((await leftFor(fleet, b)) > 0) await Bun.sleep(50);
        console.log(`the others' messages took ${Math.round(performance.now() - began)} ms meanwhile`);
        await Bun.sleep(Math.max(0, 25_000 - (performance.now() - began)));
        const before = await leftFor(fleet, a);
        expect(before).toBeGreaterThan(0);
        a.network(true);
        const back = performance.now();
        while ((await leftFor(fleet, a)) === before) await Bun.sleep(20);
        console.log(
          `the machine answered again ${Math.round(performance.now() - back)} ms after its network came back`,
        );
        await settled(fleet.db);
        await check(fleet, [a, b]);
      },
      240_000,
    ],
    [
      "a database whose connections are ended again and again, and that is restarted under load, loses and doubles nothing",
      async () => {
        const fleet = kit.open();
        const a = await fleet.machine();
        await a.start();
        await a.start(["serve", "--port", "0"]);
        await fleet.say({ machine: a, name: "a", count: 120, chats: 8 });
        for (const mode of ["fast", "immediate"] as const) {
          for (let n = 0; n < 10; n += 1) {
            await Bun.sleep(Math.random() * 400);
            await sql`select pg_terminate_backend(pid) from pg_stat_activity
              where pid <> pg_backend_pid() and datname = current_database()`.execute(fleet.db);
          }
          for (let n = 0; n < 3; n += 1) {
            await Bun.sleep(Math.random() * 1_000);
            kit.postgres().crash(mode);
            kit.postgres().comeBack();
          }
        }
        console.log(`answered ${Math.round(await settled(fleet.db))} ms after the last restart`);
        await check(fleet, [a]);
      },
      240_000,
    ],
    [
      "machines whose clocks are five minutes fast and slow claim, answer and end as others do",
      async () => {
        expect(requirePart("faketime")).toBe(true);
        const fleet = kit.open();
        const [a, b] = [await fleet.machine(), await fleet.machine()];
        const clock = (FAKETIME: string) => ({
          LD_PRELOAD: FAKE_CLOCK,
          FAKETIME,
          FAKETIME_DONT_FAKE_MONOTONIC: "1",
        });
        const doomed = await a.start(["join"], clock("+5m"));
        await a.start(["join"], clock("-5m"));
        await b.start(["join"], clock("-5m"));
        await fleet.say({ machine: a, name: "a", count: 40, chats: 6 });
        await fleet.say({ machine: b, name: "b", count: 40, chats: 6 });
        while ((await working(fleet.db)) === 0) await Bun.sleep(5);
        signalTree(doomed.child, "SIGKILL");
        console.log(`answered ${Math.round(await settled(fleet.db))} ms after a death`);
        await check(fleet, [a, b]);
      },
      180_000,
    ],
    [
      "a full disk under home and workspace is told, loses no message, and is over when there is room again",
      async () => {
        const fleet = kit.open();
        const under = mkdtempSync(join(tmpdir(), "picoclaw-full-"));
        expect(spawnSync("mount", ["-t", "tmpfs", "-o", "size=16m", "tmpfs", under]).status).toBe(0);
        kit.closing.push(() => {
          spawnSync("umount", ["-l", under]);
          rmSync(under, { recursive: true, force: true });
        });
        const a = await fleet.machine({ under });
        await a.start();
        await fleet.say({ machine: a, name: "a", count: 6, chats: 2 });
        await settled(fleet.db);
        const filler = join(under, "filler");
        expect(() => writeFileSync(filler, Buffer.alloc(64 * 1024 * 1024))).toThrow("ENOSPC");
        await fleet.say({ machine: a, name: "full", count: 6, chats: 2 });
        console.log(`answered ${Math.round(await settled(fleet.db))} ms after the disk was full`);
        rmSync(filler);
        await fleet.say({ machine: a, name: "later", count: 6, chats: 2 });
        await settled(fleet.db);
        await check(fleet, [a]);
      },
      180_000,
    ],
  ];
  if (nightly) for (const one of byNight) test(...one);
});

/** Messages of its workspace that are not answered. */
async function leftFor({ db }: Fleet, { cli }: Machine): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*) from messages
    where state <> 'done' and workspace like ${`%:${cli.workspace}`}`.execute(db);
  return Number(rows[0]?.count);
}
