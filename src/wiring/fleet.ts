import { hostname } from "node:os";
import type { Kysely } from "kysely";
import { keepMachine } from "../application/fleet/machine-presence.ts";
import { createWaitingNotifier } from "../application/fleet/tell-waiting.ts";
import type { FleetStore } from "../application/ports/fleet.ts";
import type { Config } from "../config/config.ts";
import { createFleetStore, type ProcessHere } from "../infrastructure/fleet/fleet-store.ts";
import { homeMark, readMachineId } from "../infrastructure/fleet/machine-id.ts";
import { timers } from "../infrastructure/platform/runtime-timers.ts";
import { newerSchema } from "../infrastructure/store/migrate.ts";
import type { Database } from "../infrastructure/store/schema.ts";
import { VERSION } from "../version.ts";
import type { Inbox } from "./serve-inbox.ts";
import type { ServeDeps } from "./serve-parts.ts";

const LEAVE_MS = 2_000;

export interface FleetDeps extends Pick<ProcessHere, "owner" | "root" | "kind" | "labels" | "lanes"> {
  readonly db: Kysely<Database>;
  readonly home: string;
  readonly workspaceName: string;
  /** The boot and the pid namespace of this process. */
  readonly place: string;
}

/** This process in the fleet: one machine where the store is embedded. */
export function openFleet({ db, home, workspaceName, place, ...here }: FleetDeps): FleetStore {
  const { owner, root, kind, labels, lanes } = here;
  const me: ProcessHere = {
    owner,
    root,
    kind,
    labels,
    lanes,
    machineId: readMachineId(home),
    machineName: hostname(),
    place,
    incarnation: `${place} ${homeMark(home)}`,
    workspace: workspaceName,
    version: VERSION,
  };
  return createFleetStore({ db, now: timers.now, me });
}

/** What every task can count on here. */
export function labelsOf(config: Config): readonly string[] {
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  return config.command_executor.enabled ? ["docker", architecture] : [architecture];
}

/** Says that this machine is here, tells chats of machines that are away, and ends with the process. */
export async function openMachine(
  { db, fleet, store, words, onTrouble, log }: ServeDeps,
  inbox: Inbox,
  lacking: () => readonly string[],
) {
  const state = { draining: false };
  const keeping = keepMachine({
    fleet,
    load: () => ({ busy: inbox.answering.running, draining: state.draining, lacking: lacking() }),
    timers,
    onReplaced: () => {
      log(words().machineReplaced);
      process.kill(process.pid, "SIGTERM");
    },
    newerSchema: () => newerSchema(db),
    onNewerSchema: ({ added, breaking }) => {
      if (breaking.length === 0) return log(words().schemaAdded(added.join(", ")));
      log(words().schemaBroken(breaking.join(", ")));
      process.kill(process.pid, "SIGTERM");
    },
    onTrouble,
  });
  const teller = createWaitingNotifier({
    fleet,
    store,
    reaches: (channel) => inbox.channels.has(channel),
    messages: words,
    uuid: () => crypto.randomUUID(),
    timers,
    onTrouble,
  });
  await keeping.start();
  await teller.tellBack();
  const stopTelling = teller.start();
  return {
    drain() {
      state.draining = true;
      stopTelling();
      void keeping.tell();
    },
    /** A store that does not answer is not waited for: silence says the same, later. */
    leave: () =>
      Promise.race([keeping.stop(), new Promise<void>((resolve) => void timers.after(LEAVE_MS, resolve))]),
  };
}
