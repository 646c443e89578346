import { afterAll, afterEach, beforeAll } from "bun:test";
import { openPostgres } from "../../../src/infrastructure/store/postgres.ts";
import { type PostgresServer, startPostgres } from "../store/postgres-server.ts";

/** A Postgres for the tests of a `describe`, a database for each that asks. What is in `closing` ends with its test. */
export function useFleetDatabases() {
  let postgres: PostgresServer;
  const closing: (() => Promise<unknown>)[] = [];
  beforeAll(() => {
    postgres = startPostgres();
  }, 300_000);
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close().catch(() => {});
  }, 300_000);
  afterAll(() => postgres.stop());

  function open() {
    const url = postgres.newDatabase();
    const db = openPostgres(url);
    closing.push(() => db.destroy());
    return { db, url };
  }
  return { closing, open };
}
