import type { JobActionLabels } from "../../domain/jobs/job-status.ts";
import type { Reply } from "../ports/chat.ts";
import type { ControlOrders, FleetStore } from "../ports/fleet.ts";
import type { AccessStore, MessageStore, WorkQueue } from "../ports/serve.ts";
import type { WorkKeeper } from "../serve/take-work.ts";
import {
  createChatFarJobs,
  createFleetViewerJobs,
  jobsOfReply,
  presentReportedJobs,
  reportedWorks,
} from "./far-jobs.ts";
import { createOrderGiver, serveOrders } from "./machine-orders.ts";
import { createAwayReplies } from "./machine-presence.ts";
import { createJobReporter, type ReportJobsDeps } from "./report-jobs.ts";
import type { OwnJobs } from "./viewer-jobs.ts";

/** Jobs among the machines of a shared store: reports about them, and orders about them. */
export type Control = ReturnType<typeof createControl>;

export interface ControlDeps
  extends Pick<ReportJobsDeps, "jobs" | "workspace" | "keepDays" | "bus" | "pid" | "timers" | "onTrouble"> {
  readonly orders: ControlOrders;
  readonly own: OwnJobs;
  readonly queue: Pick<WorkQueue, "onWork">;
  /** Where orders to this workspace wait. */
  readonly orderQueue: string;
  readonly store: Pick<MessageStore, "ownerOf">;
  readonly access: Pick<AccessStore, "sessions" | "tokens" | "people">;
  readonly fleet: Pick<FleetStore, "serves" | "repliesOfAway">;
  /** The served workspace, as the store names it. */
  readonly workspaceName: string;
  readonly keeper: WorkKeeper;
  /** Whether this process can speak on a channel. */
  readonly reaches: (channel: string) => boolean;
  /** There are replies to send. */
  readonly send: () => void;
  readonly newWorkId: () => string;
}

export function createControl(deps: ControlDeps) {
  const { jobs, orders, own, queue, store, access, fleet, bus, keeper, reaches, timers, onTrouble, pid } =
    deps;
  const giver = createOrderGiver({ orders, queue, newId: deps.newWorkId, timers, onTrouble });
  const reporter = createJobReporter({
    jobs,
    workspace: deps.workspace,
    output: own.output,
    bus,
    pid,
    keepDays: deps.keepDays,
    timers,
    onTrouble,
  });
  const runsElsewhere = async (jobId: string) => {
    const { state, pid: runner = pid } = deps.workspace().archive.read(jobId) ?? {};
    return state === "running" && runner !== pid && fleet.serves(runner);
  };
  const tell = reporter.tellNow;
  const serving = serveOrders({ orders, jobs: own, access, runsElsewhere, tell, keeper, timers, onTrouble });
  const away = createAwayReplies({ fleet, reaches, onFound: deps.send, timers, onTrouble });
  const { workspaceName: workspace } = deps;
  const viewerJobs = createFleetViewerJobs({ own, jobs, giver, store, workspace, runsElsewhere });
  const started = { stopLooking: async () => {} };
  return {
    /** The buttons of a reply as they make sense now, whichever machine its jobs are of. */
    async actions(reply: Pick<Reply, "actions" | "jobs">, labels: JobActionLabels) {
      const isOurs = jobsOfReply(reply).every(own.has);
      return isOurs ? own.actions(reply, labels) : presentReportedJobs(jobs, reply, labels);
    },
    /** The visible state of messages that other processes answer. */
    reportedWorks: (messageIds: readonly string[]) => reportedWorks(jobs, messageIds),
    awayReplies: away.list,
    viewerJobs,
    farJobs: createChatFarJobs({ own, all: viewerJobs }),
    /** Whether there are other machines. */
    hasOthers: async () => !(await jobs.home()).alone,
    async start() {
      await reporter.start();
      queue.onWork(serving.look, { queue: deps.orderQueue });
      serving.look();
      started.stopLooking = away.start();
    },
    async stop() {
      await started.stopLooking();
      giver.close();
      await serving.stop();
      await reporter.stop();
    },
  };
}
