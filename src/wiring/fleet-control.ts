import { createFleetControl } from "../application/fleet/machine-presence.ts";
import type { OpenedFleet } from "../application/ports/fleet.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import { fleetMessagesFor } from "../domain/texts/fleet.ts";
import { createFleetViews } from "../infrastructure/fleet/fleet-store.ts";
import { readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { createOwnerNames } from "../infrastructure/platform/process-table.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { openWorkQueue } from "../infrastructure/serve/work-queue.ts";
import { databaseClock } from "../infrastructure/store/liveness.ts";
import { type Environment, openServices } from "./services.ts";

/** The fleet for the command line: it looks and orders, and takes no work. */
export async function openFleetControl(env: Environment, options: OpenOptions): Promise<OpenedFleet> {
  const services = await openServices(env, options);
  if (!services.ok) return services;
  const { databaseUrl, home, locale, now } = services;
  const stored = await services.openStore();
  if (!stored.ok) return stored;
  const { db } = stored;
  const { next, isGone } = createOwnerNames(process.pid);
  const onTrouble = () => {};
  const { queue } = await openWorkQueue({ db, databaseUrl, owner: next(), isGone, timers, onTrouble });
  const fleet = createFleetViews(db, databaseClock(db, now));
  return {
    ok: true,
    words: fleetMessagesFor(locale),
    control: createFleetControl({ fleet, queue, self: readMachineId(home) }),
    async close() {
      await queue.close();
      await db.destroy();
    },
  };
}
