import { hostname } from "node:os";
import { type Control, type ControlDeps, createControl } from "../application/fleet/control.ts";
import { createFleetJobs } from "../infrastructure/fleet/fleet-jobs.ts";
import { createControlOrders } from "../infrastructure/fleet/order-store.ts";
import { readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { workspaceQueues } from "../infrastructure/serve/work-places.ts";
import type { ServeDeps } from "./serve-state.ts";

/** Loaded where machines share a store. */
export function openControl(
  deps: ServeDeps,
  local: Pick<ControlDeps, "own" | "isOwn" | "bus" | "keeper" | "reaches" | "send">,
): Control {
  const { db, queue, state, services, workspaceName } = deps;
  const { now } = timers;
  const queueOf = (workspace: string) => workspaceQueues(workspace).control;
  const machine = { machineId: readMachineId(services.home), machineName: hostname() };
  return createControl({
    ...deps,
    ...local,
    jobs: createFleetJobs({ db, now, workspace: workspaceName, ...machine }),
    orders: createControlOrders({ db, queue, now, workspace: workspaceName, queueOf }),
    orderQueue: queueOf(workspaceName),
    workspace: () => state.current().workspace,
    keepDays: () => state.current().config.retention.messages,
    timers,
  });
}
