import type { Kysely } from "kysely";
import type {
  AccessStore,
  ApiToken,
  Person,
  Role,
  Scope,
  WebSession,
} from "../../application/ports/serve.ts";
import { migrate } from "../store/migrate.ts";
import type { Database } from "../store/schema.ts";

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
      return row === undefined ? null : toPerson(row);
    },
    people: async () =>
      (await db.selectFrom("people").selectAll().orderBy("added_at").execute()).map(toPerson),
    async savePerson({ channel, userId, name, role, addedAt }) {
      await db
        .insertInto("people")
        .values({ channel, user_id: userId, name, role, added_at: addedAt })
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
    async savePairing({ code, channel, userId, chatId, name, expiresAt }) {
      await db.transaction().execute(async (place) => {
        await place
          .deleteFrom("pairings")
          .where(({ and }) => and({ channel, user_id: userId }))
          .execute();
        await place
          .insertInto("pairings")
          .values({ code, channel, user_id: userId, chat_id: chatId, name, expires_at: expiresAt })
          .execute();
      });
    },
    async pairingOf(channel, userId, at) {
      const row = await db
        .selectFrom("pairings")
        .selectAll()
        .where(({ and }) => and({ channel, user_id: userId }))
        .where("expires_at", ">", at)
        .executeTakeFirst();
      return row === undefined ? null : toPairing(row);
    },
    pairings: async (at) =>
      (
        await db
          .selectFrom("pairings")
          .selectAll()
          .where("expires_at", ">", at)
          .orderBy("expires_at")
          .execute()
      ).map(toPairing),
    async takePairing(code, at) {
      const row = await db.deleteFrom("pairings").where("code", "=", code).returningAll().executeTakeFirst();
      return row === undefined || row.expires_at <= at ? null : toPairing(row);
    },
    async saveLink({ hash, userId, role, expiresAt }) {
      await db
        .insertInto("login_links")
        .values({ hash, user_id: userId, role, expires_at: expiresAt })
        .execute();
    },
    async takeLink(hash, at) {
      const row = await db
        .deleteFrom("login_links")
        .where("hash", "=", hash)
        .returningAll()
        .executeTakeFirst();
      if (row === undefined || row.expires_at <= at) return null;
      return { hash, userId: row.user_id, role: row.role as Role, expiresAt: row.expires_at };
    },
    async saveSession({ hash, userId, role, csrf, createdAt, expiresAt }) {
      await db
        .insertInto("web_sessions")
        .values({ hash, user_id: userId, role, csrf, created_at: createdAt, expires_at: expiresAt })
        .execute();
    },
    async session(hash, at) {
      const row = await db
        .selectFrom("web_sessions")
        .selectAll()
        .where("hash", "=", hash)
        .where("expires_at", ">", at)
        .executeTakeFirst();
      return row === undefined ? null : toSession(row);
    },
    sessions: async (at) =>
      (
        await db
          .selectFrom("web_sessions")
          .selectAll()
          .where("expires_at", ">", at)
          .orderBy("created_at", "desc")
          .execute()
      ).map(toSession),
    async removeSession(hash) {
      await db.deleteFrom("web_sessions").where("hash", "=", hash).execute();
    },
    async saveToken({ id, hash, name, userId, role, scopes, createdAt, lastUsedAt }) {
      await db
        .insertInto("api_tokens")
        .values({
          id,
          hash,
          name,
          user_id: userId,
          role,
          scopes: scopes.join(" "),
          created_at: createdAt,
          last_used_at: lastUsedAt,
        })
        .execute();
    },
    tokens: async () =>
      (await db.selectFrom("api_tokens").selectAll().orderBy("created_at").execute()).map(toToken),
    async token(hash) {
      const row = await db.selectFrom("api_tokens").selectAll().where("hash", "=", hash).executeTakeFirst();
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

const toPerson = (row: Database["people"]): Person => ({
  channel: row.channel,
  userId: row.user_id,
  name: row.name,
  role: row.role as Role,
  addedAt: row.added_at,
});

const toPairing = (row: Database["pairings"]) => ({
  code: row.code,
  channel: row.channel,
  userId: row.user_id,
  chatId: row.chat_id,
  name: row.name,
  expiresAt: row.expires_at,
});

const toSession = (row: Database["web_sessions"]): WebSession => ({
  hash: row.hash,
  userId: row.user_id,
  role: row.role as Role,
  csrf: row.csrf,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
});

const toToken = (row: Database["api_tokens"]): ApiToken => ({
  id: row.id,
  hash: row.hash,
  name: row.name,
  userId: row.user_id,
  role: row.role as Role,
  scopes: row.scopes.split(" ").filter((scope) => scope !== "") as Scope[],
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
});
