import { hostname } from "node:os";
import type { FarJobs } from "../application/chat/chat-turn.ts";
import {
  createChatFarJobs,
  createFleetViewerJobs,
  jobsOfReply,
  presentReportedJobs,
  reportedWorks,
} from "../application/fleet/far-jobs.ts";
import { createOrderGiver, serveOrders } from "../application/fleet/machine-orders.ts";
import { createAwayReplies } from "../application/fleet/machine-presence.ts";
import { createJobReporter } from "../application/fleet/report-jobs.ts";
import type { OwnJobs, ViewerJobs } from "../application/fleet/viewer-jobs.ts";
import type { Reply } from "../application/ports/chat.ts";
import type { AwayReplies, WorkQueue } from "../application/ports/serve.ts";
import type { Bus, LiveWork } from "../application/serve/serve-events.ts";
import type { WorkKeeper } from "../application/serve/take-work.ts";
import type { JobActionLabels } from "../domain/jobs/job-status.ts";
import { createFleetJobs } from "../infrastructure/fleet/fleet-jobs.ts";
import { createControlOrders } from "../infrastructure/fleet/order-store.ts";
import { readMachineId } from "../infrastructure/fleet/workspace-name.ts";
import { timers } from "../infrastructure/platform/timers.ts";
import { workspaceQueues } from "../infrastructure/serve/work-places.ts";
import type { StoreTransaction } from "../infrastructure/store/schema.ts";
import type { ServeDeps } from "./serve-state.ts";

export interface Control {
  readonly viewerJobs: ViewerJobs;
  readonly farJobs: FarJobs;
  /** The buttons of a reply as they make sense now, whichever machine its jobs are of. */
  actions(reply: Pick<Reply, "actions" | "jobs">, labels: JobActionLabels): Promise<Reply["actions"]>;
  /** The visible state of messages that other processes answer. */
  toldWorks(messageIds: readonly string[]): Promise<ReadonlyMap<string, LiveWork>>;
  readonly awayReplies: () => readonly AwayReplies[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface LocalInbox {
  readonly own: OwnJobs;
  readonly bus: Bus;
  readonly keeper: WorkKeeper;
  /** Whether this process can speak on a channel. */
  readonly reaches: (channel: string) => boolean;
  /** There are replies to send. */
  readonly send: () => void;
}

/** Jobs among the machines of a shared store: reports about them, and orders about them. */
export function openControl(parts: ServeDeps, { own, bus, keeper, reaches, send }: LocalInbox): Control {
  const { db, state, store, access, workspaceName: workspace, newWorkId, onTrouble } = parts;
  const queue = parts.queue as WorkQueue<StoreTransaction>;
  const { now } = timers;
  const machine = { machineId: readMachineId(parts.home), machineName: hostname() };
  const jobs = createFleetJobs({ db, now, workspace, ...machine });
  const orders = createControlOrders({ db, queue, now, workspace });
  const giver = createOrderGiver({ orders, queue, newId: newWorkId, timers, onTrouble });
  const teller = createJobReporter({
    jobs,
    workspace: () => state.current().workspace,
    output: own.output,
    bus,
    pid: process.pid,
    keepDays: () => {
      const { retention, serve } = state.current().config;
      return retention.messages ?? serve.keep_days;
    },
    timers,
    onTrouble,
  });
  const runsElsewhere = async (jobId: string) => {
    const { state: of, pid = process.pid } = state.current().workspace.archive.read(jobId) ?? {};
    return of === "running" && pid !== process.pid && parts.fleet.serves(pid);
  };
  const serving = serveOrders({
    orders,
    jobs: own,
    access,
    runsElsewhere,
    tell: teller.tellNow,
    keeper,
    timers,
    onTrouble,
  });
  const away = createAwayReplies({ fleet: parts.fleet, reaches, onFound: send, timers, onTrouble });
  const viewerJobs = createFleetViewerJobs({ own, jobs, giver, store, workspace, runsElsewhere });
  const started = { stopLooking: () => {} };
  return {
    async actions(reply, labels) {
      const isOurs = jobsOfReply(reply).every(own.has);
      return isOurs ? own.actions(reply, labels) : presentReportedJobs(jobs, reply, labels);
    },
    toldWorks: (messageIds) => reportedWorks(jobs, messageIds),
    awayReplies: away.list,
    viewerJobs,
    farJobs: createChatFarJobs({ own, all: viewerJobs }),
    async start() {
      await teller.start();
      queue.onWork(serving.look, { queue: workspaceQueues(workspace).control });
      serving.look();
      started.stopLooking = away.start();
    },
    async stop() {
      started.stopLooking();
      giver.close();
      await serving.stop();
      await teller.stop();
    },
  };
}
