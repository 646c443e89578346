import { sql } from "kysely";
import type { IntakeEvent } from "../../application/ports/forges.ts";
import type { NewWork, Work } from "../../application/ports/serve.ts";
import type { ClaimedEvent, ForgeEvents } from "../../application/ports/tasks.ts";
import type { ForgeKind } from "../../domain/config/configured-kinds.ts";
import { itemUrl } from "../../domain/forges/forge-items.ts";
import { hashHex } from "../platform/hash.ts";
import {
  deleteRows,
  type StoreTransaction,
  selectRows,
  storable,
  updateRows,
  upsertRow,
} from "../store/schema.ts";
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
    const [row] = await selectRows(within, "forge_events", { id: work.ref, work_id: work.id });
    if (row === undefined) return null;
    return { event: JSON.parse(row.body) as IntakeEvent, receivedAt: new Date(row.received_at), work };
  }

  return {
    keep: (event, at) =>
      db.transaction().execute(async (within) => {
        const { deliveryId: id } = event;
        if ((await selectRows(within, "forge_deliveries", { id })).length > 0) return false;
        const work = workOf(event);
        const body = storable(JSON.stringify(event));
        const row = { id, received_at: at.toISOString(), body, sighted: "[]", work_id: work.id };
        const isNew = (await upsertRow(within, "forge_events", row, ["id"], [])) === 1;
        if (isNew) await queue.add([work], within);
        return isNew;
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
        const [row] = await selectRows(within, "forge_events", { id: eventId });
        const sighted = JSON.parse(row?.sighted ?? "[]") as string[];
        if (!isFirst) return sighted.includes(deliveryId);
        const set = { sighted: JSON.stringify([...sighted, deliveryId]) };
        await updateRows(within, "forge_events", { id: eventId }, set);
        return true;
      }),
    finish: (work) =>
      queue.finish(work, {
        write: (within) => deleteRows(within, "forge_events", { id: work.ref, work_id: work.id }),
      }),
    handBack: (work) => queue.handBack(work, { begun: false }),
    async adopt() {
      const left = await selectRows(db, "forge_events", { work_id: null }, sql`order by received_at`);
      for (const { body } of left)
        await db.transaction().execute(async (within) => {
          const event = JSON.parse(body) as IntakeEvent;
          const work = workOf(event);
          const free = { id: event.deliveryId, work_id: null };
          if ((await updateRows(within, "forge_events", free, { work_id: work.id })) > 0)
            await queue.add([work], within);
        });
    },
  };
}
