/** `picoclaw join` and `picoclaw fleet`, as real processes on one store. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { hostname } from "node:os";
import { sql } from "kysely";
import { openPostgres } from "../../src/infrastructure/store/postgres.ts";
import { createServer, type Server, signIn } from "../adapters/web/web-kit.ts";
import { type PostgresServer, startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";
import { until } from "./cli-kit.ts";

interface Fleet {
  readonly machines: readonly {
    readonly id: string;
    readonly name: string;
    readonly here: boolean;
    readonly processes: readonly {
      readonly kind: string;
      readonly labels: string[];
      readonly lanes: number;
    }[];
  }[];
  readonly dead: readonly { readonly id: string; readonly reason: string }[];
}

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, 300_000);

async function open(config = ""): Promise<Server> {
  const server = await createServer({ config });
  closing.push(server.close);
  return server;
}

const fleetOf = (server: Server) => JSON.parse(server.run(["fleet", "--json"]).out) as Fleet;

describe("one machine", () => {
  test("the console and the command line show it, and join says that it needs a shared store", async () => {
    const server = await open();
    const [machine, ...others] = fleetOf(server).machines;
    expect(others).toEqual([]);
    expect(machine).toMatchObject({
      name: hostname(),
      here: true,
      this_machine: true,
      processes: [{ kind: "serve" }],
    });
    const browser = await signIn(server.login);
    expect(await browser.text("/fleet")).toContain(hostname());
    const refused = server.run(["join"]);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain("database_url");
    expect(server.run(["fleet", "retry"]).code).toBe(2);
  }, 300_000);
});

describe.if(requirePart("postgres"))("Postgres", () => {
  let postgres: PostgresServer;
  beforeAll(() => {
    postgres = startPostgres();
  }, 300_000);
  afterAll(() => postgres.stop());

  test("join adds labels and lanes, and drains on SIGTERM; given up work is listed, discarded, tried again", async () => {
    const url = postgres.newDatabase();
    const server = await open(`database_url: "${url}"\n`);
    const joined = server.start(["join", "--labels", "gpu,arm64", "--concurrency", "3", "--json"]);
    let out = "";
    joined.stdout?.on("data", (data) => {
      out += String(data);
    });
    joined.stderr?.resume();
    closing.push(() => void joined.kill("SIGKILL"));
    await until(() => out.includes("\n"));
    const [machine] = fleetOf(server).machines;
    expect(machine?.processes.map(({ kind, lanes }) => ({ kind, lanes }))).toEqual([
      { kind: "serve", lanes: expect.any(Number) as unknown as number },
      { kind: "join", lanes: 3 },
    ]);
    expect(machine?.processes[1]?.labels).toContain("gpu");
    const ended = new Promise<number | null>((resolve) => joined.once("exit", resolve));
    joined.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect(fleetOf(server).machines[0]?.processes.map(({ kind }) => kind)).toEqual(["serve"]);

    const db = openPostgres(url);
    closing.push(() => db.destroy());
    for (const id of ["0199-a", "0199-b"])
      await sql`insert into dead_work (id, queue, work_key, owner_group, ref, light, attempts, reason, at)
        values (${id}, 'messages.none', 'k', 'g', ${`msg_${id}`}, 0, 3, 'ended 3 times over it', 1)`.execute(
        db,
      );
    expect(
      fleetOf(server)
        .dead.map(({ id }) => id)
        .toSorted(),
    ).toEqual(["0199-a", "0199-b"]);
    expect(server.run(["fleet", "discard", "0199-a"]).code).toBe(0);
    const browser = await signIn(server.login);
    expect(await browser.text("/fleet")).toContain("msg_0199-b");
    expect((await browser.post("/fleet/retry", { id: "0199-b" })).status).toBe(303);
    expect(fleetOf(server).dead).toEqual([]);
    const waits = await sql<{
      count: string;
    }>`select count(*) from picoclaw_queue.job where name = 'messages.none'`.execute(db);
    expect(Number(waits.rows[0]?.count)).toBe(1);

    // A machine that was upgraded first has changed the tables: one that was not is refused, and says why.
    await sql`insert into migrations (name, applied_at) values ('999-later', '2030-01-01')`.execute(db);
    const older = server.run(["join"]);
    expect(older.code).toBe(3);
    expect(older.err).toContain("Upgrade PicoClaw on this machine");
  }, 300_000);
});
