import type { IntakeEvent } from "../../application/ports/forges.ts";
import type { NewWork, Work } from "../../application/ports/serve.ts";
import type { ClaimedEvent, ForgeEvents } from "../../application/ports/tasks.ts";
import type { ForgeKind } from "../../domain/config/configured-kinds.ts";
import { itemUrl } from "../../domain/forges/forge-items.ts";
import { hashHex } from "../platform/hash.ts";
import { type StoreTransaction, storable } from "../store/schema.ts";
import { noteDelivery, type SolveClaimDeps } from "./solve-store.ts";

/** The kind of all queues of events. */
export const EVENT_KIND = "forge-events";

const eventQueue = (forge: ForgeKind) => `${EVENT_KIND}.${forge}`;

export function createForgeEvents({ db, queue, newWorkId }: SolveClaimDeps): ForgeEvents {
  const workOf = ({ deliveryId, item }: IntakeEvent): NewWork => ({
    id: newWorkId(),
    queue: eventQueue(item.forge),
    key: hashHex("sha256", itemUrl(item)),
    group: EVENT_KIND,
    ref: deliveryId,
    light: false,
  });

  async function read(work: Work, within: StoreTransaction): Promise<ClaimedEvent | null> {
    const row = await within
      .selectFrom("forge_events")
      .select(["body", "received_at"])
      .where(({ and }) => and({ id: work.ref, work_id: work.id }))
      .executeTakeFirst();
    if (row === undefined) return null;
    return { event: JSON.parse(row.body) as IntakeEvent, receivedAt: new Date(row.received_at), work };
  }

  return {
    keep: (event, at) =>
      db.transaction().execute(async (within) => {
        const { deliveryId: id } = event;
        const seen = within.selectFrom("forge_deliveries").select("id").where("id", "=", id);
        if ((await seen.executeTakeFirst()) !== undefined) return false;
        const work = workOf(event);
        const body = storable(JSON.stringify(event));
        const made = await within
          .insertInto("forge_events")
          .values({ id, received_at: at.toISOString(), body, sighted: "[]", work_id: work.id })
          .onConflict((conflict) => conflict.doNothing())
          .returning("id")
          .execute();
        if (made.length === 1) await queue.add([work], within);
        return made.length === 1;
      }),
    async claim(forge) {
      for (;;) {
        const claimed = await queue.claim({ queue: eventQueue(forge) }, read);
        if (claimed === null || claimed.read !== null) return claimed?.read ?? null;
        await queue.finish(claimed.work, {});
      }
    },
    firstSight: (eventId, deliveryId, at) =>
      db.transaction().execute(async (within) => {
        const isFirst = await noteDelivery(within, deliveryId, at);
        const query = within.selectFrom("forge_events").select("sighted").where("id", "=", eventId);
        const sighted = JSON.parse((await query.executeTakeFirst())?.sighted ?? "[]") as string[];
        if (!isFirst) return sighted.includes(deliveryId);
        await within
          .updateTable("forge_events")
          .set({ sighted: JSON.stringify([...sighted, deliveryId]) })
          .where("id", "=", eventId)
          .execute();
        return true;
      }),
    finish: (work) =>
      queue.finish(work, {
        write: async (within) => {
          await within
            .deleteFrom("forge_events")
            .where(({ and }) => and({ id: work.ref, work_id: work.id }))
            .execute();
        },
      }),
    handBack: (work) => queue.handBack(work, { begun: false }),
    async adopt() {
      const query = db.selectFrom("forge_events").select("body").where("work_id", "is", null);
      for (const { body } of await query.orderBy("received_at").execute())
        await db.transaction().execute(async (within) => {
          const event = JSON.parse(body) as IntakeEvent;
          const work = workOf(event);
          const { numUpdatedRows } = await within
            .updateTable("forge_events")
            .set({ work_id: work.id })
            .where("id", "=", event.deliveryId)
            .where("work_id", "is", null)
            .executeTakeFirst();
          if (numUpdatedRows > 0n) await queue.add([work], within);
        });
    },
  };
}
