import { type Kysely, sql } from "kysely";
import type { AccessStore, ApiToken, Role, Scope } from "../../application/ports/serve.ts";
import { type Database, fromRow, migrate, toRow } from "../store/schema.ts";

/** Access rights in the store. A one-time entry is used by deleting it. */
export async function createAccessStore(db: Kysely<Database>, now: () => Date): Promise<AccessStore> {
  await migrate(db, now);
  return {
    async person(channel, userId) {
      const row = await db
        .selectFrom("people")
        .selectAll()
        .where(({ and }) => and({ channel, user_id: userId }))
        .executeTakeFirst();
      return row === undefined ? null : withRole(row);
    },
    people: async () =>
      (await sql<Database["people"]>`select * from people order by added_at`.execute(db)).rows.map(withRole),
    async savePerson(person) {
      const { name, role } = person;
      await db
        .insertInto("people")
        .values(toRow(person))
        .onConflict((conflict) => conflict.columns(["channel", "user_id"]).doUpdateSet({ name, role }))
        .execute();
    },
    async removePerson(channel, userId) {
      const { numDeletedRows } = await db
        .deleteFrom("people")
        .where(({ and }) => and({ channel, user_id: userId }))
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
    async savePairing(pairing) {
      const { channel, userId } = pairing;
      await db.transaction().execute(async (place) => {
        await place
          .deleteFrom("pairings")
          .where(({ and }) => and({ channel, user_id: userId }))
          .execute();
        await place.insertInto("pairings").values(toRow(pairing)).execute();
      });
    },
    async pairingOf(channel, userId, at) {
      const row = await db
        .selectFrom("pairings")
        .selectAll()
        .where(({ and }) => and({ channel, user_id: userId }))
        .where("expires_at", ">", at)
        .executeTakeFirst();
      return row === undefined ? null : fromRow(row);
    },
    pairings: async (at) =>
      (
        await db
          .selectFrom("pairings")
          .selectAll()
          .where("expires_at", ">", at)
          .orderBy("expires_at")
          .execute()
      ).map(fromRow),
    async takePairing(code, at) {
      const row = await db.deleteFrom("pairings").where("code", "=", code).returningAll().executeTakeFirst();
      return row === undefined || row.expires_at <= at ? null : fromRow(row);
    },
    async saveLink(link) {
      await db.insertInto("login_links").values(toRow(link)).execute();
    },
    async takeLink(hash, at) {
      const row = await db
        .deleteFrom("login_links")
        .where("hash", "=", hash)
        .returningAll()
        .executeTakeFirst();
      return row === undefined || row.expires_at <= at ? null : withRole(row);
    },
    async saveSession(session) {
      await db.insertInto("web_sessions").values(toRow(session)).execute();
    },
    async session(hash, at) {
      const row = await db
        .selectFrom("web_sessions")
        .selectAll()
        .where("hash", "=", hash)
        .where("expires_at", ">", at)
        .executeTakeFirst();
      return row === undefined ? null : withRole(row);
    },
    sessions: async (at) =>
      (
        await db
          .selectFrom("web_sessions")
          .selectAll()
          .where("expires_at", ">", at)
          .orderBy("created_at", "desc")
          .execute()
      ).map(withRole),
    async removeSession(hash) {
      await db.deleteFrom("web_sessions").where("hash", "=", hash).execute();
    },
    async saveToken(token) {
      const row = toRow({ ...token, scopes: token.scopes.join(" ") });
      await db.insertInto("api_tokens").values(row).execute();
    },
    tokens: async () =>
      (await db.selectFrom("api_tokens").selectAll().orderBy("created_at").execute()).map(toToken),
    async token(hash) {
      const token = sql<Database["api_tokens"]>`select * from api_tokens where hash = ${hash}`;
      const [row] = (await token.execute(db)).rows;
      return row === undefined ? null : toToken(row);
    },
    async touchToken(id, at) {
      await db.updateTable("api_tokens").set({ last_used_at: at }).where("id", "=", id).execute();
    },
    async removeToken(id) {
      const { numDeletedRows } = await db.deleteFrom("api_tokens").where("id", "=", id).executeTakeFirst();
      return numDeletedRows > 0n;
    },
    async prune(at) {
      await db.deleteFrom("login_links").where("expires_at", "<=", at).execute();
      await db.deleteFrom("web_sessions").where("expires_at", "<=", at).execute();
      await db.deleteFrom("pairings").where("expires_at", "<=", at).execute();
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
