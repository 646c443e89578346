/** Locks and rights of a Postgres server while `serve` uses it: senders get an answer, and health says why. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client } from "pg";
import { createServer, type Server } from "../adapters/web/web-kit.ts";
import { type PostgresServer, startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";
import { createCli, until } from "./cli-kit.ts";

describe.if(requirePart("postgres"))("a Postgres server", () => {
  let postgres: PostgresServer;
  let server: Server;
  let owner: Client;
  let asRole: (role: string) => string;
  let token = "";

  beforeAll(async () => {
    postgres = startPostgres();
    const url = postgres.newDatabase();
    asRole = (role) => url.replace("//picoclaw@", `//${role}@`);
    owner = new Client({ connectionString: url });
    await owner.connect();
    await owner.query("create role app login; create role reader login");
    await owner.query("grant all on schema public to app; grant usage on schema public to reader");
    await owner.query(`grant all on database ${new URL(url).pathname.slice(1)} to app`);
    server = await createServer({ config: `database_url: "${asRole("app")}"\n` });
    token = server.token("--scope", "read,chat");
  }, 300_000);
  afterAll(async () => {
    await owner?.end();
    await server?.close();
    postgres?.stop();
  });

  const say = async () => {
    const began = performance.now();
    const response = await fetch(`${server.url}/api/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ text: "hello", wait: 0 }),
    });
    const { error } = (await response.json()) as { error?: { code: string } };
    return { status: response.status, code: error?.code, seconds: (performance.now() - began) / 1_000 };
  };
  const ready = async () => (await fetch(`${server.url}/readyz`)).status;
  const becomes = async (status: number) => {
    for (;;) {
      if ((await ready()) === status) return;
      await Bun.sleep(200);
    }
  };

  test.each(["messages", "work_claims", "people", "picoclaw_queue.job"])(
    "that keeps the table %s locked: senders are told to come back, health says so, and both end with the lock",
    async (table) => {
      expect((await say()).status).toBe(202);
      await owner.query(`begin; lock table ${table} in access exclusive mode`);
      await becomes(503);
      const { checks } = (await (await fetch(`${server.url}/readyz`)).json()) as {
        checks: { name: string; detail: string }[];
      };
      expect(checks.find(({ name }) => name === "store")?.detail).toContain("locked");
      // Messages to the console ask neither for people nor for claims.
      if (table === "messages") {
        const [first, ...later] = await Promise.all(Array.from({ length: 12 }, say));
        for (const one of [first, ...later]) {
          expect(one).toMatchObject({ status: 503, code: "store-away" });
          expect(one?.seconds).toBeLessThan(25);
        }
      }
      await owner.query("rollback");
      await becomes(200);
      expect((await say()).status).toBe(202);
      expect(server.errors()).not.toMatch(/^\s+at /m);
    },
    300_000,
  );

  test.each(["messages", "replies"])(
    "that takes the right to write %s away: senders are told to come back, until it is returned",
    async (table) => {
      await owner.query(`revoke insert, update on ${table} from app`);
      await becomes(503);
      if (table === "messages") expect(await say()).toMatchObject({ status: 503, code: "store-away" });
      await owner.query(`grant insert, update on ${table} to app`);
      await becomes(200);
      expect((await say()).status).toBe(202);
      expect(server.errors()).not.toMatch(/^\s+at /m);
    },
    300_000,
  );

  test("that lets no one write is refused at the start in one line, by serve and by join", async () => {
    await owner.query("grant usage on schema picoclaw_queue to reader");
    await owner.query("grant select on all tables in schema public, picoclaw_queue to reader");
    const cli = createCli();
    try {
      for (const [command, address] of [
        ["serve", asRole("reader")],
        ["join", asRole("reader")],
        ["serve", `${asRole("app")}&options=-c%20default_transaction_read_only%3Don`],
      ] as const) {
        const child = cli.start([command, ...(command === "serve" ? ["--port", "0"] : [])], {
          DATABASE_URL: address,
          PICOCLAW_DATABASE_URL: address,
        });
        let err = "";
        child.stderr?.on("data", (data) => {
          err += String(data);
        });
        child.stdout?.resume();
        await until(() => child.exitCode !== null);
        expect([command, child.exitCode === 0]).toEqual([command, false]);
        expect(err).toContain("he database cannot be written");
        expect(err).not.toMatch(/^\s+at |unexpected/im);
        expect(err.trim().split("\n").length).toBeLessThanOrEqual(2);
      }
    } finally {
      cli.remove();
    }
  }, 300_000);
});
