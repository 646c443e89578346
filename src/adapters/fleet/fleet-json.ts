import type { FleetView } from "../../application/ports/fleet.ts";

/** The fleet as programs read it. */
export function fleetJson({ self, machines, queues, dead }: FleetView) {
  return {
    machines: machines.map(({ id, name, here, seenAt, processes }) => ({
      id,
      name,
      here,
      this_machine: id === self,
      seen_at: seenAt.toISOString(),
      processes: processes.map(({ kind, root, labels, lanes, busy, version, draining, startedAt }) => ({
        kind,
        workspace: root,
        labels,
        lanes,
        busy,
        version,
        draining,
        started_at: startedAt.toISOString(),
      })),
    })),
    queues: queues.map(({ machineId, root, waiting, working, replies }) => ({
      machine_id: machineId,
      workspace: root,
      waiting,
      working,
      replies,
    })),
    dead: dead.map(({ id, queue, ref, attempt, reason, at }) => ({
      id,
      queue,
      ref,
      attempts: attempt,
      reason,
      at: at.toISOString(),
    })),
  };
}
