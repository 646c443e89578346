import { type Kysely, sql } from "kysely";
import type { ChatLeases } from "../../application/ports/chat-leases.ts";
import type { Database } from "./schema.ts";
import { createStoreTime } from "./store-time.ts";

/** How often a ticket's number is tried again when another process took it in the same moment. */
const TRIES = 50;

/** The leases of one workspace's chats: the same chat in another workspace waits for nobody here. */
export function createChatLeases({
  db,
  workspace,
  held: turns,
  now = () => new Date(),
}: {
  readonly db: Kysely<Database>;
  readonly workspace: string;
  /** Told of the turns that are taken here. */
  readonly held?: Map<string, string>;
  /** The clock of this process, which the moments come from. */
  readonly now?: () => Date;
}): ChatLeases {
  const storeTime = createStoreTime(db, now);
  const shared = async (moment: Date) => (await storeTime(moment)).toISOString();
  return {
    async enter(chatKey, owner, wanted) {
      const until = await shared(wanted);
      for (let attempt = 1; ; attempt++) {
        const added = await db
          .insertInto("chat_tickets")
          .columns(["workspace", "chat_key", "ticket", "owner", "until"])
          .expression((eb) =>
            eb
              .selectFrom("chat_tickets")
              .select([
                sql<string>`${workspace}`.as("workspace"),
                sql<string>`${chatKey}`.as("chat_key"),
                sql<number>`coalesce(max(ticket), 0) + 1`.as("ticket"),
                sql<string>`${owner}`.as("owner"),
                sql<string>`${until}`.as("until"),
              ])
              .where("workspace", "=", workspace)
              .where("chat_key", "=", chatKey),
          )
          .onConflict((conflict) => conflict.doNothing())
          .returning("ticket")
          .execute();
        if (added[0] !== undefined) return Number(added[0].ticket);
        if (attempt === TRIES) throw new Error(`no place in the line of ${chatKey}`);
      }
    },
    async leave(chatKey, ticket) {
      await db
        .deleteFrom("chat_tickets")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("ticket", "=", ticket)
        .execute();
    },
    async take({ chatKey, owner, ticket, now: moment, until: wanted, isGone }) {
      const [time, until] = [await shared(moment), await shared(wanted)];
      const before = await db
        .selectFrom("chat_tickets")
        .select("owner")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("ticket", "<", ticket)
        .where("until", ">", time)
        .execute();
      const held = await db
        .selectFrom("chat_leases")
        .select("owner")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("until", ">", time)
        .executeTakeFirst();
      const holder = held === undefined || isGone(held.owner) ? undefined : held.owner;
      const waiting = before.filter((one) => one.owner !== holder && !isGone(one.owner));
      const ahead = waiting.length + (holder === undefined ? 0 : 1);
      if (ahead > 0) return { taken: false, ahead };
      const dead = held?.owner ?? "";
      const values = { owner, until, stop: 0 };
      const taken = await db
        .insertInto("chat_leases")
        .values({ workspace, chat_key: chatKey, ...values })
        .onConflict((conflict) =>
          conflict
            .columns(["workspace", "chat_key"])
            .doUpdateSet(values)
            .where(({ eb, or }) =>
              or([eb("chat_leases.until", "<=", time), eb("chat_leases.owner", "=", dead)]),
            ),
        )
        .returning("owner")
        .execute();
      if (taken.length !== 1) return { taken: false, ahead: 1 };
      turns?.set(chatKey, owner);
      return { taken: true, ahead: 0 };
    },
    async renew(chatKey, owner, wanted) {
      const rows = await db
        .updateTable("chat_leases")
        .set({ until: await shared(wanted) })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("owner", "=", owner)
        .returning("stop")
        .execute();
      return { held: rows.length === 1, stop: rows[0]?.stop === 1 };
    },
    async keep(chatKey, ticket, wanted) {
      await db
        .updateTable("chat_tickets")
        .set({ until: await shared(wanted) })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("ticket", "=", ticket)
        .execute();
    },
    async release(chatKey, owner) {
      if (turns?.get(chatKey) === owner) turns.delete(chatKey);
      await db
        .deleteFrom("chat_leases")
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("owner", "=", owner)
        .execute();
    },
    async requestStop(chatKey, moment) {
      const rows = await db
        .updateTable("chat_leases")
        .set({ stop: 1 })
        .where("workspace", "=", workspace)
        .where("chat_key", "=", chatKey)
        .where("until", ">", await shared(moment))
        .returning("owner")
        .execute();
      return rows.length === 1;
    },
  };
}
