import { type JobActionLabels, jobNamedInButton } from "../../domain/jobs/job-status.ts";
import { oneLine } from "../../domain/jobs/result.ts";
import { addToSteps } from "../chat/describe-event.ts";
import { type ActionFacts, discardFacts, orderFacts } from "../jobs/action-report.ts";
import { isJobId } from "../jobs/execution.ts";
import { presentActions } from "../jobs/follow-up-actions.ts";
import type { FarJobs, Reply } from "../ports/chat.ts";
import type { FleetJob, FleetJobs, OrderVerb, TailedJob } from "../ports/fleet.ts";
import type { StoredJob } from "../ports/jobs.ts";
import type { MessageStore } from "../ports/serve.ts";
import { roleInChat, type Viewer, viewerIdentities, viewerOwns } from "../serve/access.ts";
import { type LiveWork, lastLines, NOTHING_LIVE } from "../serve/serve-events.ts";
import { decodeDifferences, type OrderAnswers, type OrderGiver, type OrderResult } from "./machine-orders.ts";
import { findJobs, type OwnJobs, type ViewedJob, type ViewerJobs } from "./viewer-jobs.ts";

export interface FleetViewerJobsDeps {
  /** The jobs of this workspace. */
  readonly own: OwnJobs;
  readonly jobs: FleetJobs;
  readonly giver: Pick<OrderGiver, "give">;
  readonly store: Pick<MessageStore, "ownerOf">;
  /** This one, as the store names it. */
  readonly workspace: string;
  /** Whether another server of this machine carries the job out. */
  readonly runsElsewhere: (jobId: string) => Promise<boolean>;
}

type OrderableJob = Pick<FleetJob, "workspace" | "machine" | "job">;

const CODES = { away: "machine-away", unsettled: "unsettled", gone: "machine-gone" } as const;
/** Most jobs of other machines that are listed, newest first. */
const MOST_OTHERS = 5_000;
/** A shorter tail is the whole output. */
const CUT_CHARACTERS = 3_000;

/** The jobs of every machine: those of this workspace directly, the others by their reports and by orders. */
export function createFleetViewerJobs(deps: FleetViewerJobsDeps): ViewerJobs {
  const { own, jobs } = deps;

  /** A job of another workspace that the viewer may see. */
  async function other(viewer: Viewer, jobId: string): Promise<FleetJob | null> {
    if (!isJobId(jobId) || own.has(jobId)) return null;
    if (viewer.role !== "operator" && !viewerOwns(viewer, await deps.store.ownerOf(jobId))) return null;
    return jobs.read(jobId);
  }

  /** Names the machine of this workspace's jobs where there is another. */
  async function named(viewed: readonly ViewedJob[]): Promise<readonly ViewedJob[]> {
    const { machine, alone } = await jobs.home();
    return alone ? viewed : viewed.map((one) => ({ ...one, machine }));
  }

  async function all(viewer: Viewer): Promise<ViewedJob[]> {
    const of = viewer.role === "operator" ? {} : { of: viewerIdentities(viewer) };
    const others = (await jobs.others({ limit: MOST_OTHERS, ...of })).map(toViewedJob);
    const found = [...(await named(await own.all(viewer))), ...others];
    return others.length === 0 ? found : found.sort(byTime);
  }

  function order<Verb extends OrderVerb>(
    viewer: Viewer,
    { workspace, machine, job }: OrderableJob,
    verb: Verb,
    more: { readonly force?: boolean; readonly path?: string } = {},
  ): Promise<OrderResult<OrderAnswers[Verb]>> {
    if (!machine.here) return Promise.resolve({ status: "away" });
    const { channel, userId, role } = viewer;
    return deps.giver.give({ workspace, jobId: job.jobId, verb, asker: { channel, userId, role }, ...more });
  }

  async function act<Verb extends "undo" | "redo" | "apply" | "stop" | "rest">(
    viewer: Viewer,
    found: OrderableJob,
    verb: Verb,
    force = false,
  ): Promise<OrderAnswers[Verb] | OrderAnswers["undo"]> {
    const given = await order(viewer, found, verb, { force });
    if (given.status === "answered")
      return "action" in given.answer ? { ...given.answer, machine: found.machine.name } : given.answer;
    const code = CODES[given.status];
    const action: ActionFacts["action"] = verb === "rest" ? "apply" : (verb as Exclude<Verb, "rest">);
    return orderFacts(action, found.job.jobId, { code, machine: found.machine.name });
  }

  return {
    async read(viewer, jobId) {
      const found = await own.read(viewer, jobId);
      if (found !== null) return (await named([found]))[0] ?? null;
      const far = await other(viewer, jobId);
      return far === null ? null : toViewedJob(far);
    },
    // Other machines report their jobs, but not the processes that run there.
    running: (viewer) => own.running(viewer),
    stopProcess: (viewer, id) => own.stopProcess(viewer, id),
    async list(viewer, limit) {
      const of = viewer.role === "operator" ? {} : { of: viewerIdentities(viewer) };
      const others = (await jobs.others({ limit, ...of })).map(toViewedJob);
      const found = [...others, ...(await named(await own.list(viewer, limit)))];
      return found.sort(byTime).reverse().slice(0, limit);
    },
    find: async (viewer, query, dayOf) => findJobs(await all(viewer), query, dayOf),
    async beside(job) {
      if (own.has(job.jobId)) return named(await own.beside(job));
      const workspace = (await jobs.read(job.jobId))?.workspace;
      if (workspace === undefined) return [];
      const group = await jobs.ofGroup(job.groupId, workspace);
      return group.filter((one) => one.job.jobId !== job.jobId).map(toViewedJob);
    },
    latest: async () => `${await own.latest()} ${await jobs.latest()}`,
    async version(jobId) {
      return `${own.has(jobId) ? await own.version(jobId) : ""} ${await jobs.version(jobId)}`;
    },
    async journal(viewer, jobId) {
      const far = await other(viewer, jobId);
      if (far === null) return own.journal(viewer, jobId);
      if (far.events[0]?.event.type === "job_started") return far.events;
      const given = await order(viewer, far, "show");
      return given.status === "answered" ? (given.answer?.journal ?? []) : far.events;
    },
    knownJournal: async (viewer, jobId) =>
      (await other(viewer, jobId))?.events ?? own.knownJournal(viewer, jobId),
    async output(jobId, viewer) {
      const here = own.has(jobId) ? await own.output(jobId) : "";
      if (here !== "") return here;
      const known = await jobs.read(jobId);
      if (known === null || !known.alive) return "";
      if (viewer === undefined || own.has(jobId) || known.tail.length < CUT_CHARACTERS) return known.tail;
      const given = await order(viewer, known, "output");
      return given.status === "answered" ? given.answer : known.tail;
    },
    actions: own.actions,
    async differences(viewer, jobId, path) {
      const far = await other(viewer, jobId);
      if (far === null) return own.differences(viewer, jobId, path);
      const given = await order(viewer, far, "diff", path === undefined ? {} : { path });
      return given.status === "answered" ? decodeDifferences(given.answer) : null;
    },
    run: own.run,
    async takeBack(viewer, jobId, way, force) {
      const far = await other(viewer, jobId);
      return far === null ? own.takeBack(viewer, jobId, way, force) : act(viewer, far, way, force);
    },
    async applyPreview(viewer, jobId) {
      const far = await other(viewer, jobId);
      return far === null ? own.applyPreview(viewer, jobId) : act(viewer, far, "apply");
    },
    async applyRest(viewer, jobId) {
      const far = await other(viewer, jobId);
      return far === null ? own.applyRest(viewer, jobId) : act(viewer, far, "rest");
    },
    async discard(viewer, jobId) {
      const far = await other(viewer, jobId);
      if (far === null) return own.discard(viewer, jobId);
      const given = await order(viewer, far, "discard");
      if (given.status === "answered") return given.answer;
      return CODES[given.status];
    },
    async stop(viewer, jobId) {
      const far = await other(viewer, jobId);
      if (far !== null) return act(viewer, far, "stop");
      const job = (await own.read(viewer, jobId))?.job;
      if (job === undefined) return own.stop(viewer, jobId);
      if (!(await deps.runsElsewhere(job.jobId))) return own.stop(viewer, job.jobId);
      const { machine } = await jobs.home();
      return act(viewer, { workspace: deps.workspace, machine, job }, "stop");
    },
  };
}

function toViewedJob({ job, changeCount, alive, machine }: FleetJob): ViewedJob {
  return { job, ...(changeCount !== undefined && { changeCount }), alive, machine };
}

/** Oldest first, as an archive has them. */
function byTime({ job: x }: ViewedJob, { job: y }: ViewedJob): number {
  if (x.createdAt !== y.createdAt) return x.createdAt < y.createdAt ? -1 : 1;
  return x.jobId < y.jobId ? -1 : 1;
}

export interface ChatFarJobsDeps {
  /** The jobs of this workspace, which are not far. */
  readonly own: Pick<OwnJobs, "has">;
  /** The jobs of every machine. */
  readonly all: Pick<ViewerJobs, "read" | "takeBack" | "applyPreview" | "discard" | "differences">;
}

/** Jobs of other machines for a chat, by the same orders as from the console. */
export function createChatFarJobs({ own, all }: ChatFarJobsDeps): FarJobs {
  async function discard(
    viewer: Viewer,
    { jobId, number }: StoredJob,
    machine: string,
  ): Promise<ActionFacts> {
    const status = await all.discard(viewer, jobId);
    const numbers = () => new Map(number === undefined ? [] : [[jobId, number]]);
    switch (status) {
      case "machine-away":
      case "machine-gone":
      case "unsettled":
        return orderFacts("discard", jobId, { code: status, machine });
      default:
        return { ...discardFacts({ root: "", archive: { numbers } }, jobId, { status }), machine };
    }
  }

  return async ({ channel, userId }, jobId) => {
    if (own.has(jobId)) return null;
    const viewer: Viewer = { channel, userId, role: roleInChat({ channel, userId }), scopes: [] };
    const found = await all.read(viewer, jobId);
    // The name may have been the number of an own job.
    if (found?.machine === undefined || own.has(found.job.jobId)) return null;
    const machine = found.machine.name;
    return {
      job: found.job,
      machine,
      act(action, force = false) {
        switch (action) {
          case "undo":
          case "redo":
            return all.takeBack(viewer, jobId, action, force);
          case "apply":
            return all.applyPreview(viewer, jobId);
          case "discard":
            return discard(viewer, found.job, machine);
        }
      },
      differences: () => all.differences(viewer, jobId),
    };
  };
}

export function jobsOfReply({ actions, jobs }: Pick<Reply, "actions" | "jobs">): readonly string[] {
  const named = actions.map(({ message }) => jobNamedInButton(message) ?? "").filter(isJobId);
  return [...new Set([...jobs.map(({ job_id }) => job_id), ...named])];
}

/** The buttons of a reply about jobs of another machine, by what that machine reported. */
export async function presentReportedJobs(
  jobs: Pick<FleetJobs, "read" | "ofGroup">,
  reply: Pick<Reply, "actions" | "jobs">,
  labels: JobActionLabels,
): Promise<Reply["actions"]> {
  const known = (await Promise.all(jobsOfReply(reply).map((id) => jobs.read(id)))).filter(
    (one) => one !== null,
  );
  const names = reply.actions.map(({ message }) => jobNamedInButton(message) ?? "");
  const workspace = known[0]?.workspace;
  const groups = names.filter((name) => name !== "" && !isJobId(name));
  const grouped =
    workspace === undefined
      ? []
      : (await Promise.all(groups.map((name) => jobs.ofGroup(name, workspace)))).flat();
  const found = new Map([...known, ...grouped].map(({ job }) => [job.jobId, job]));
  const archive = { read: (id: string) => found.get(id) ?? null, list: () => [...found.values()] };
  return presentActions(archive, reply, labels);
}

/** The visible state of messages that other processes answer, from their reports of running jobs. */
export async function reportedWorks(
  jobs: Pick<FleetJobs, "atWork">,
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, LiveWork>> {
  if (messageIds.length === 0) return new Map();
  const works = new Map<string, LiveWork>();
  for (const job of await jobs.atWork(messageIds)) works.set(job.messageId, toLiveWork(job));
  return works;
}

function toLiveWork({ jobId, events, tail }: TailedJob): LiveWork {
  const last = events.findLast(({ event }) => /^command_(started|finished)$/.test(event.type))?.event;
  if (last?.type !== "command_started") return { ...NOTHING_LIVE, event: { type: "job-started", jobId } };
  const { type, action, target } = last.command;
  const command = `${type} ${action} ${oneLine(target)}`;
  return {
    ...NOTHING_LIVE,
    event: { type: "job-started", jobId },
    trail: addToSteps([], { type: "job-command", jobId, index: last.index, command }, 0),
    lines: lastLines(tail),
  };
}
