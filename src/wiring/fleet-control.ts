import { createFleetControl } from "../application/fleet/machine-presence.ts";
import type { OpenedFleet } from "../application/ports/fleet.ts";
import type { OpenOptions } from "../application/ports/jobs-workspace.ts";
import { resolveLocale } from "../config/environment.ts";
import { loadConfig } from "../config/load.ts";
import { fleetMessagesFor } from "../domain/texts/fleet.ts";
import { messagesFor } from "../domain/texts/jobs.ts";
import { createOwnerNames } from "../infrastructure/engine/process-table.ts";
import { createFleetViews } from "../infrastructure/fleet/fleet-store.ts";
import { readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { openWorkQueue } from "../infrastructure/serve/work-queue.ts";
import { databaseClock } from "../infrastructure/store/liveness.ts";
import { openOwnStore } from "./store.ts";

/** The fleet for the command line: it looks and orders, and takes no work. */
export async function openFleetControl(
  env: Readonly<Record<string, string | undefined>>,
  options: OpenOptions,
): Promise<OpenedFleet> {
  const loaded = await loadConfig({ env, ...options });
  if (!loaded.ok)
    return { ok: false, exitCode: 2, messages: messagesFor(resolveLocale({ env })), problems: loaded.errors };
  const { config, home } = loaded;
  const locale = resolveLocale({ env, config });
  const stored = await openOwnStore(loaded, { locale, now: timers.now });
  if (!stored.ok) return stored;
  const { db, databaseUrl } = stored;
  const owners = createOwnerNames(process.pid);
  const { queue } = await openWorkQueue({
    db,
    databaseUrl,
    owner: owners.next(),
    isGone: owners.isGone,
    timers,
    onTrouble: () => {},
  });
  const fleet = createFleetViews(db, databaseClock(db, timers.now));
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
