import type { FleetStore, MachineLoad } from "../ports/fleet.ts";
import type { Timers } from "../ports/timers.ts";
import { BEAT_MS } from "../ports/work-queue.ts";

export interface KeepMachineDeps {
  readonly fleet: Pick<FleetStore, "enter" | "beat" | "leave">;
  readonly load: () => MachineLoad;
  readonly timers: Timers;
  /** Another incarnation has this machine's id by now: a home was copied, or this one was thought dead. */
  readonly onReplaced: () => void;
  /** What later versions have done to the store's tables. */
  readonly newerSchema: () => Promise<NewerSchema>;
  /** Once for each name; when one is breaking, this process must end. */
  readonly onNewerSchema: (newer: NewerSchema) => void;
  readonly onTrouble: (error: unknown) => void;
}

export interface NewerSchema {
  /** This version can work on with. */
  readonly added: readonly string[];
  /** It cannot. */
  readonly breaking: readonly string[];
}

/**
 * So long a silent incarnation is watched; one that lives speaks in it, also when the database has just come back. One
 * that was too slow for it notices that it was replaced, and ends.
 */
const WATCH_MS = BEAT_MS + 1_000;
const STEP_MS = 500;

/**
 * Takes the machine's id. An incarnation that had it and is still heard of refuses this one: null, or the name it goes
 * by. A machine that was ended without a word and came back at once is told from that by its silence.
 */
export async function enterFleet(
  fleet: Pick<FleetStore, "enter">,
  timers: Timers,
): Promise<{ readonly takenBy: string } | null> {
  const first = await fleet.enter();
  if (first.status === "entered") return null;
  for (let waited = 0; waited < WATCH_MS; waited += STEP_MS) {
    await new Promise<void>((resolve) => void timers.after(STEP_MS, resolve));
    const again = await fleet.enter();
    if (again.status === "entered") return null;
    if (again.seenAt !== first.seenAt) return { takenBy: again.name };
  }
  const last = await fleet.enter(first.seenAt);
  return last.status === "entered" ? null : { takenBy: last.name };
}

/** Beats until it is stopped. Drains when told so: the machine is still there, and takes nothing new. */
export function keepMachine(parts: KeepMachineDeps): {
  start(): Promise<void>;
  /** Tells at once what `load` says now. */
  tell(): Promise<void>;
  stop(): Promise<void>;
} {
  const { fleet, load, timers, onReplaced, onTrouble } = parts;
  const state = { stopped: false, cancel: () => {} };
  const told = new Set<string>();

  async function beat(): Promise<void> {
    if ((await fleet.beat(load())) === "replaced" && !state.stopped) {
      state.stopped = true;
      onReplaced();
      return;
    }
    await lookAtSchema();
  }
  async function lookAtSchema(): Promise<void> {
    const { added, breaking } = await parts.newerSchema();
    const fresh = [...added, ...breaking].filter((name) => !told.has(name));
    if (fresh.length === 0 || state.stopped) return;
    for (const name of fresh) told.add(name);
    parts.onNewerSchema({ added, breaking });
  }
  function again(): void {
    if (state.stopped) return;
    state.cancel = timers.after(BEAT_MS, () => void beat().catch(onTrouble).finally(again));
  }
  return {
    async start() {
      await beat();
      again();
    },
    tell: () => beat().catch(onTrouble),
    async stop() {
      state.stopped = true;
      state.cancel();
      await fleet.leave().catch(onTrouble);
    },
  };
}
