import { countFiles, isJobId } from "../../domain/jobs/result.ts";
import { oneLine } from "../../domain/texts/format-text.ts";
import { addToSteps } from "../chat/describe-event.ts";
import {
  type ActionFacts,
  discardFacts,
  type JobActionLabels,
  jobNamedInButton,
  orderFacts,
  presentActions,
} from "../jobs/action-report.ts";
import type { FarJobs, Reply } from "../ports/chat.ts";
import type {
  ControlOrders,
  FleetJob,
  FleetJobs,
  FleetStore,
  JobSummary,
  OrderVerb,
  TailedJob,
} from "../ports/fleet.ts";
import type { JournalLine, StoredJob } from "../ports/jobs.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { Timers } from "../ports/platform.ts";
import type { AccessStore, MessageStore, WorkQueue } from "../ports/serve.ts";
import { roleInChat, type Viewer, viewerIdentities, viewerOwns } from "../serve/access.ts";
import { type Bus, type LiveWork, lastLines, NOTHING_LIVE, type ServeEvent } from "../serve/serve-events.ts";
import { repeat, type WorkKeeper } from "../serve/take-work.ts";
import {
  createOrderGiver,
  decodeDifferences,
  type OrderAnswers,
  type OrderGiver,
  type OrderResult,
  serveOrders,
} from "./machine-orders.ts";
import { createAwayReplies } from "./machine-presence.ts";
import {
  findJobs,
  type JobAction,
  type OwnJobs,
  type RestFacts,
  type ViewedJob,
  type ViewerJobs,
} from "./viewer-jobs.ts";

/** Jobs of the machines of a shared store: reports about them, and orders for them. */
export type Control = ReturnType<typeof createControl>;

export interface ControlDeps
  extends Pick<ReportJobsDeps, "jobs" | "workspace" | "keepDays" | "bus" | "isOwn" | "timers" | "onTrouble"> {
  readonly orders: ControlOrders;
  readonly own: OwnJobs;
  readonly queue: Pick<WorkQueue, "onWork">;
  /** The queue of orders to this workspace. */
  readonly orderQueue: string;
  readonly store: Pick<MessageStore, "ownerOf">;
  readonly access: Pick<AccessStore, "sessions" | "tokens" | "people">;
  readonly fleet: Pick<FleetStore, "serves" | "repliesOfAway">;
  readonly workspaceName: string;
  readonly keeper: WorkKeeper;
  readonly reaches: (channel: string) => boolean;
  readonly send: () => void;
  readonly newWorkId: () => string;
}

export function createControl(deps: ControlDeps) {
  const { jobs, own, queue, fleet, isOwn, workspaceName: workspace } = deps;
  const giver = createOrderGiver({ ...deps, newId: deps.newWorkId });
  const reporter = createJobReporter({ ...deps, output: own.output });
  const runsElsewhere = async (jobId: string) => {
    const { state, pid } = deps.workspace().archive.read(jobId) ?? {};
    return state === "running" && pid !== undefined && !isOwn(pid) && fleet.serves(pid);
  };
  const serving = serveOrders({ ...deps, jobs: own, runsElsewhere, tell: reporter.tellNow });
  const away = createAwayReplies({ ...deps, onFound: deps.send });
  const viewerJobs = createFleetViewerJobs({ ...deps, giver, workspace, runsElsewhere });
  const started = { stopLooking: async () => {} };
  return {
    /** The buttons of a reply that still apply, on any machine. */
    async actions(reply: Pick<Reply, "actions" | "jobs">, labels: JobActionLabels) {
      const isOurs = jobsOfReply(reply).every(own.has);
      return isOurs ? own.actions(reply, labels) : presentReportedJobs(jobs, reply, labels);
    },
    reportedWorks: (messageIds: readonly string[]) => reportedWorks(jobs, messageIds),
    awayReplies: away.list,
    viewerJobs,
    farJobs: createChatFarJobs({ own, all: viewerJobs }),
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

export interface FleetViewerJobsDeps {
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
/** A workspace without numbers: jobs of another machine are named by their ids. */
const NOWHERE = { root: "", archive: { numbers: () => new Map() } };
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

  async function othersOf(viewer: Viewer, limit: number): Promise<readonly ViewedJob[]> {
    const of = viewer.role === "operator" ? {} : { of: viewerIdentities(viewer) };
    return (await jobs.others({ limit, ...of })).map(toViewedJob);
  }

  async function all(viewer: Viewer): Promise<ViewedJob[]> {
    const others = await othersOf(viewer, MOST_OTHERS);
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

  async function actThere(
    viewer: Viewer,
    found: OrderableJob,
    action: JobAction,
    force?: boolean,
  ): Promise<ActionFacts> {
    const { jobId } = found.job;
    const machine = found.machine.name;
    const given = await order(viewer, found, action, { force: force ?? false });
    if (given.status !== "answered") return orderFacts(action, jobId, { code: CODES[given.status], machine });
    const { answer } = given;
    return {
      ...(typeof answer === "string" ? discardFacts(NOWHERE, jobId, { status: answer }) : answer),
      machine,
    };
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
      const found = [...(await othersOf(viewer, limit)), ...(await named(await own.list(viewer, limit)))];
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
    async act(viewer, action, name, force) {
      const far = await other(viewer, name);
      if (far !== null) return actThere(viewer, far, action, force);
      const job = action === "stop" ? (await own.read(viewer, name))?.job : undefined;
      if (job === undefined || !(await deps.runsElsewhere(job.jobId)))
        return own.act(viewer, action, job?.jobId ?? name, force);
      const { machine } = await jobs.home();
      return actThere(viewer, { workspace: deps.workspace, machine, job }, action);
    },
    async applyRest(viewer, jobId): Promise<ActionFacts | RestFacts> {
      const far = await other(viewer, jobId);
      if (far === null) return own.applyRest(viewer, jobId);
      const given = await order(viewer, far, "rest");
      const machine = far.machine.name;
      if (given.status !== "answered")
        return orderFacts("apply", jobId, { code: CODES[given.status], machine });
      return given.answer.about === "action" ? { ...given.answer, machine } : given.answer;
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
  readonly own: Pick<OwnJobs, "has">;
  readonly all: Pick<ViewerJobs, "read" | "act" | "differences">;
}

/** Jobs of other machines for a chat, by the same orders as from the console. */
export function createChatFarJobs({ own, all }: ChatFarJobsDeps): FarJobs {
  return async ({ channel, userId }, jobId) => {
    if (own.has(jobId)) return null;
    const viewer: Viewer = { channel, userId, role: roleInChat({ channel, userId }), scopes: [] };
    const found = await all.read(viewer, jobId);
    // The name may have been the number of an own job.
    if (found?.machine === undefined || own.has(found.job.jobId)) return null;
    return {
      job: found.job,
      machine: found.machine.name,
      act: (action, force) => all.act(viewer, action, jobId, force),
      differences: () => all.differences(viewer, jobId),
    };
  };
}

function jobsOfReply({ actions, jobs }: Pick<Reply, "actions" | "jobs">): readonly string[] {
  const named = actions.map(({ message }) => jobNamedInButton(message) ?? "").filter(isJobId);
  return [...new Set([...jobs.map(({ job_id }) => job_id), ...named])];
}

/** The buttons of a reply about jobs of another machine, by what that machine reported. */
async function presentReportedJobs(
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

interface ReportJobsDeps {
  readonly jobs: FleetJobs;
  readonly workspace: () => Pick<Workspace, "archive" | "isAlive" | "mask">;
  readonly output: ViewerJobs["output"];
  readonly bus: Bus;
  readonly isOwn: (pid: number) => boolean;
  readonly keepDays: () => number;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/** A job is written four times a second at most. */
const GAP_MS = 250;
/** Jobs of other processes send no events: their folders are read at this interval. */
const LOOK_MS = 10_000;
const AFTER_TROUBLE_MS = 2_000;
const PRUNE_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** With what JSON adds, less than 64 KiB for any characters. */
const [RECORD_BYTES, EVENT_BYTES, TAIL_BYTES] = [20_000, 28_000, 12_000];
const CHANGES_TOLD = 200;

/** Reports the jobs of this workspace to the other machines: own events at once, those of other processes by polling. */
export function createJobReporter(deps: ReportJobsDeps) {
  const { jobs, timers } = deps;
  const dirty = new Set<string>();
  const reported = new Map<string, string>();
  const state = { stopped: false, armed: false, prunedAt: 0, flushing: Promise.resolve() };
  const ends: (() => unknown)[] = [];

  async function write(jobId: string): Promise<void> {
    const { archive } = deps.workspace();
    const job = archive.read(jobId);
    if (job === null) return;
    const events = archive.events(jobId);
    await jobs.write(await toJobSummary(deps, job, events));
    reported.set(jobId, jobChangeMark(deps, job));
  }

  /** One after the other. A report that the store refuses is repeated later. */
  async function flush(): Promise<void> {
    for (const jobId of [...dirty]) {
      dirty.delete(jobId);
      try {
        await write(jobId);
      } catch (error) {
        dirty.add(jobId);
        deps.onTrouble(error);
        await new Promise<void>((resolve) => void timers.after(AFTER_TROUBLE_MS, resolve));
        return;
      }
    }
  }

  /** All events of a job until then are one write. */
  function arm(): void {
    if (state.armed || state.stopped) return;
    state.armed = true;
    timers.after(GAP_MS, () => {
      state.flushing = flush().finally(() => {
        state.armed = false;
        if (dirty.size > 0) arm();
      });
    });
  }

  function tell(jobId: string): void {
    dirty.add(jobId);
    arm();
  }

  async function look(): Promise<void> {
    const now = deps.workspace().archive.list();
    for (const job of now) if (reported.get(job.jobId) !== jobChangeMark(deps, job)) tell(job.jobId);
    const there = new Set(now.map(({ jobId }) => jobId));
    const gone = [...reported.keys()].filter((jobId) => !there.has(jobId));
    if (gone.length > 0) await jobs.forget(gone);
    for (const jobId of gone) reported.delete(jobId);
    const at = timers.now().getTime();
    if (at - state.prunedAt < PRUNE_MS || deps.keepDays() === 0) return;
    state.prunedAt = at;
    await jobs.prune(deps.keepDays() * DAY_MS);
  }

  return {
    async start() {
      const known = await jobs.reported();
      // The first look finds later changes to these jobs, or that they no longer exist.
      for (const [jobId, stateAt] of known) reported.set(jobId, stateAt);
      for (const job of deps.workspace().archive.list())
        if (known.get(job.jobId) === job.stateAt) reported.set(job.jobId, jobChangeMark(deps, job));
      ends.push(deps.bus.subscribe((event) => jobsIn(event).forEach(tell)));
      await look();
      ends.push(repeat(look, LOOK_MS, deps));
    },
    /** Reports at once, ahead of all waiting reports; if the store fails, the report follows later. */
    async tellNow(jobId: string): Promise<void> {
      dirty.delete(jobId);
      await write(jobId).catch((error: unknown) => {
        deps.onTrouble(error);
        tell(jobId);
      });
    },
    async stop() {
      state.stopped = true;
      for (const end of ends) end();
      await state.flushing;
      for (const jobId of dirty) await write(jobId).catch(deps.onTrouble);
    },
  };
}

function jobsIn(event: ServeEvent): readonly string[] {
  if (event.type === "job") return [event.jobId];
  if (event.type === "answered") return event.reply.jobs.map(({ job_id }) => job_id);
  if (event.type !== "chat") return [];
  return "jobId" in event.event ? [event.event.jobId] : "jobIds" in event.event ? event.event.jobIds : [];
}

/** While this is unchanged, there is nothing new to report. */
function jobChangeMark({ workspace }: Pick<ReportJobsDeps, "workspace">, job: StoredJob): string {
  const { archive } = workspace();
  const events = isAlive(workspace(), job) ? archive.events(job.jobId).length : "";
  return `${job.stateAt} ${job.state} ${job.unsettled ?? ""} ${events}`;
}

function isAlive({ isAlive: lives }: Pick<Workspace, "isAlive">, job: StoredJob): boolean {
  return job.state === "running" && lives(job);
}

async function toJobSummary(
  { workspace, output, isOwn }: ReportJobsDeps,
  job: StoredJob,
  events: readonly JournalLine[],
): Promise<JobSummary> {
  const alive = isAlive(workspace(), job);
  // Another process of this workspace reports its own output.
  const tail =
    alive && !(job.pid !== undefined && isOwn(job.pid))
      ? null
      : alive
        ? workspace().mask(await output(job.jobId))
        : "";
  const shortened = shortenJobRecord(job);
  return {
    job: shortened,
    ...(shortened.changes.length < job.changes.length && { changeCount: countFiles(job.changes) }),
    alive,
    events: lastJournalLines(events),
    ...(tail !== null && { tail: textEnd(tail, TAIL_BYTES) }),
  };
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** A job with many changes is reported with the first of them. */
function shortenJobRecord(job: StoredJob): StoredJob {
  let changes = job.changes.slice(0, CHANGES_TOLD);
  while (changes.length > 0 && bytesOf({ ...job, changes }) > RECORD_BYTES)
    changes = changes.slice(0, Math.floor(changes.length / 2));
  const notes = bytesOf(job.notes) > RECORD_BYTES / 2 ? [] : job.notes;
  return { ...job, changes, notes };
}

function lastJournalLines(events: readonly JournalLine[]): JournalLine[] {
  const kept: JournalLine[] = [];
  let room = EVENT_BYTES;
  for (const line of events.toReversed()) {
    room -= bytesOf(line) + 1;
    if (room < 0) break;
    kept.push(line);
  }
  return kept.reverse();
}

function textEnd(text: string, limitBytes: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= limitBytes
    ? text
    : bytes
        .subarray(-limitBytes)
        .toString()
        .replace(/^\ufffd+/, "");
}
