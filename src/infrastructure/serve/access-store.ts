import { type Kysely, type RawBuilder, sql } from "kysely";
import type { AccessStore, ApiToken, Role, Scope } from "../../application/ports/serve.ts";
import {
  type Database,
  deleteRows,
  fromRow,
  insertRows,
  migrate,
  selectRows,
  toRow,
  updateRows,
  upsertRow,
} from "../store/schema.ts";

/** Access rights in the store. A one-time entry is used by deleting it. */
export async function createAccessStore(db: Kysely<Database>, now: () => Date): Promise<AccessStore> {
  await migrate(db, now);

  /** The one-time entry, unless its time is over. */
  async function take<Of extends "pairings" | "login_links">(
    table: Of,
    which: RawBuilder<unknown>,
    at: string,
  ) {
    const taken = sql<Database[Of]>`delete from ${sql.raw(table)} where ${which} returning *`;
    const [row] = (await taken.execute(db)).rows;
    return row === undefined || row.expires_at <= at ? null : row;
  }
  return {
    async person(channel, userId) {
      const [row] = await selectRows(db, "people", { channel, user_id: userId });
      return row === undefined ? null : withRole(row);
    },
    people: async () => (await selectRows(db, "people", {}, sql`order by added_at`)).map(withRole),
    async savePerson(person) {
      await upsertRow(db, "people", toRow(person), ["channel", "user_id"], ["name", "role"]);
    },
    removePerson: async (channel, userId) =>
      (await deleteRows(db, "people", { channel, user_id: userId })) > 0,
    async savePairing(pairing) {
      const { channel, userId } = pairing;
      await db.transaction().execute(async (place) => {
        await deleteRows(place, "pairings", { channel, user_id: userId });
        await insertRows(place, "pairings", [toRow(pairing)]);
      });
    },
    async pairingOf(channel, userId, at) {
      const person = { channel, user_id: userId };
      const [row] = await selectRows(db, "pairings", person, sql`and expires_at > ${at}`);
      return row === undefined ? null : fromRow(row);
    },
    pairings: async (at) =>
      (await selectRows(db, "pairings", {}, sql`where expires_at > ${at} order by expires_at`)).map(fromRow),
    async takePairing(code, at) {
      const row = await take("pairings", sql`code = ${code}`, at);
      return row && fromRow(row);
    },
    async saveLink(link) {
      await insertRows(db, "login_links", [toRow(link)]);
    },
    async takeLink(hash, at) {
      const row = await take("login_links", sql`hash = ${hash}`, at);
      return row && withRole(row);
    },
    async saveSession(session) {
      await insertRows(db, "web_sessions", [toRow(session)]);
    },
    async session(hash, at) {
      const [row] = await selectRows(db, "web_sessions", { hash }, sql`and expires_at > ${at}`);
      return row === undefined ? null : withRole(row);
    },
    sessions: async (at) =>
      (await selectRows(db, "web_sessions", {}, sql`where expires_at > ${at} order by created_at desc`)).map(
        withRole,
      ),
    async removeSession(hash) {
      await deleteRows(db, "web_sessions", { hash });
    },
    async saveToken(token) {
      await insertRows(db, "api_tokens", [toRow({ ...token, scopes: token.scopes.join(" ") })]);
    },
    tokens: async () => (await selectRows(db, "api_tokens", {}, sql`order by created_at`)).map(toToken),
    async token(hash) {
      const [row] = await selectRows(db, "api_tokens", { hash });
      return row === undefined ? null : toToken(row);
    },
    async touchToken(id, at) {
      await updateRows(db, "api_tokens", { id }, { last_used_at: at });
    },
    removeToken: async (id) => (await deleteRows(db, "api_tokens", { id })) > 0,
    async prune(at) {
      for (const table of ["login_links", "web_sessions", "pairings"] as const)
        await deleteRows(db, table, {}, sql`where expires_at <= ${at}`);
    },
  };
}

const withRole = <Row extends { readonly role: string }>(row: Row) => ({
  ...fromRow(row),
  role: row.role as Role,
});

const toToken = (row: Database["api_tokens"]): ApiToken => ({
  ...withRole(row),
  scopes: row.scopes.split(" ").filter((scope) => scope !== "") as Scope[],
});
