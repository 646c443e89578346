/** Everything a test of a fleet needs, and its end: a database, machines, and LINE where they speak there. */
import { afterAll, afterEach, beforeAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import { startLine } from "../../fakes/line/line-server.ts";
import { type PostgresServer, startPostgres } from "../../infrastructure/store/postgres-server.ts";
import { type Close, type MachineOptions, openMachine } from "./machines.ts";
import { type Saying, say, WRITES } from "./say.ts";

const LINE = { token: "line-access-token-fleet", secret: "line-channel-secret" };
const [PG_PORT, LINE_PORT] = [5432, 7001];

/** One Postgres for the tests of a file; machines and connections end with each test. */
export function fleetKit() {
  const server: { postgres?: PostgresServer } = {};
  const closing: Close[] = [];
  beforeAll(() => {
    server.postgres = startPostgres();
  }, 300_000);
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  }, 300_000);
  afterAll(() => server.postgres?.stop());
  const postgres = () => server.postgres as PostgresServer;

  return {
    closing,
    postgres,
    /** `overNetwork`: the machines reach the database by TCP, through a port that can be cut off. */
    open({ overNetwork = false }: { readonly overNetwork?: boolean } = {}) {
      const url = postgres().newDatabase();
      const db = openPostgres(url);
      closing.push(() => db.destroy());
      const at = new URL(url);
      const near = `postgres://picoclaw@127.0.0.1:${PG_PORT}${at.pathname}`;
      const folder = mkdtempSync(join(tmpdir(), "picoclaw-line-"));
      closing.push(() => rmSync(folder, { recursive: true, force: true }));
      const socket = join(folder, "line.sock");
      const line = startLine({ token: LINE.token, socket });
      closing.push(() => void line.stop());
      return {
        url,
        db,
        line,
        /** A machine with one file that all its messages change. */
        async machine(options: Partial<MachineOptions> = {}) {
          const machine = await openMachine(closing, {
            url: overNetwork ? near : url,
            script: WRITES,
            ...options,
            config: `line: { base_url: "http://127.0.0.1:${LINE_PORT}", push_quota: 100000 }\n${options.config ?? ""}`,
            ports: {
              ...options.ports,
              [LINE_PORT]: socket,
              ...(overNetwork && { [PG_PORT]: `${at.searchParams.get("host")}/.s.PGSQL.5432` }),
            },
            env: { LINE_CHANNEL_SECRET: LINE.secret, LINE_CHANNEL_ACCESS_TOKEN: LINE.token, ...options.env },
          });
          machine.cli.write("shared.txt", "");
          return machine;
        },
        say: (saying: Omit<Saying, "db" | "url">) => say(closing, { db, url, ...saying }),
      };
    },
  };
}

export type Fleet = ReturnType<ReturnType<typeof fleetKit>["open"]>;
