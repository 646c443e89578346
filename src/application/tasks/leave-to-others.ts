import type { FleetStore } from "../ports/fleet.ts";

export interface TaskGateDeps {
  readonly fleet: Pick<FleetStore, "machines">;
  readonly machineId: string;
  /** Labels that a task needs beside the engine's. */
  readonly needs: readonly string[];
  /** Null while the engine answers. */
  readonly engineTrouble: () => Promise<string | null>;
  /** Monotonic milliseconds. */
  readonly clock: () => number;
}

export interface TaskGate {
  /** Asked before each claim. */
  mayTake(): Promise<boolean>;
  /** Labels of this machine that do not hold now; the others read it with the next beat. */
  lacking(): readonly string[];
}

/** So long what the engine said holds. */
const GATE_HOLDS_MS = 3_000;
const ENGINE = "docker";

/**
 * A machine whose engine does not answer leaves tasks to one that has what they need. Where there is none it takes them
 * all the same, so that whoever asked is told.
 */
export function createTaskGate(parts: TaskGateDeps): TaskGate {
  const { fleet, machineId, clock } = parts;
  const needs = [ENGINE, ...parts.needs];
  const engine = { answers: true, askedAt: Number.NEGATIVE_INFINITY };

  async function ask(): Promise<boolean> {
    if (clock() - engine.askedAt >= GATE_HOLDS_MS) {
      engine.askedAt = clock();
      engine.answers = (await parts.engineTrouble()) === null;
    }
    return engine.answers;
  }
  return {
    async mayTake() {
      if (await ask()) return true;
      const machines = await fleet.machines();
      return !machines.some(
        ({ id, here, processes }) =>
          id !== machineId &&
          here &&
          processes.some(
            ({ labels, draining }) => !draining && needs.every((label) => labels.includes(label)),
          ),
      );
    },
    lacking() {
      if (engine.answers) return [];
      // Nobody else asks while no task comes.
      void ask().catch(() => {});
      return [ENGINE];
    },
  };
}
