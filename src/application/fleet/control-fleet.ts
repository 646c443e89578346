import type { FleetControl, FleetStore } from "../ports/fleet.ts";
import type { WorkQueue } from "../ports/work-queue.ts";

const DEAD_SHOWN = 100;

/** What there is, and what can be done about work that was given up. */
export function createFleetControl({
  fleet,
  queue,
  self,
}: {
  readonly fleet: Pick<FleetStore, "machines" | "queues">;
  readonly queue: Pick<WorkQueue, "dead" | "retryDead" | "discardDead">;
  /** The id of this machine. */
  readonly self: string;
}): FleetControl {
  return {
    async view() {
      const [machines, queues, dead] = [
        await fleet.machines(),
        await fleet.queues(),
        await queue.dead(DEAD_SHOWN),
      ];
      return { self, machines, queues, dead };
    },
    retry: (id) => queue.retryDead(id),
    discard: (id) => queue.discardDead(id),
  };
}
