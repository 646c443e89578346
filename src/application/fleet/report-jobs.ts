import { countFiles } from "../../domain/jobs/result.ts";
import type { FleetJobs, JobSummary } from "../ports/fleet.ts";
import type { JournalLine, StoredJob } from "../ports/jobs.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import type { Timers } from "../ports/platform.ts";
import type { Bus, ServeEvent } from "../serve/serve-events.ts";
import type { ViewerJobs } from "./viewer-jobs.ts";

export interface ReportJobsDeps {
  readonly jobs: FleetJobs;
  readonly workspace: () => Pick<Workspace, "archive" | "isAlive" | "mask">;
  readonly output: ViewerJobs["output"];
  readonly bus: Bus;
  readonly pid: number;
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

/** Tells the other machines of the jobs of this workspace: what happens here at once, the rest by looking. */
export function createJobReporter(deps: ReportJobsDeps): {
  start(): Promise<void>;
  /** Reports at once, ahead of all waiting reports; if the store fails, the report follows later. */
  tellNow(jobId: string): Promise<void>;
  stop(): Promise<void>;
} {
  const { jobs, timers } = deps;
  const dirty = new Set<string>();
  /** The last report of each job. */
  const reported = new Map<string, string>();
  const state = { stopped: false, armed: false, cancelLook: () => {}, unsubscribe: () => {}, prunedAt: 0 };
  let flushing: Promise<void> = Promise.resolve();

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
      flushing = flush().finally(() => {
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

  function again(): void {
    if (state.stopped) return;
    state.cancelLook = timers.after(LOOK_MS, () => void look().catch(deps.onTrouble).finally(again));
  }

  return {
    async start() {
      const known = await jobs.reported();
      // The first look finds later changes to these jobs, or that they no longer exist.
      for (const [jobId, stateAt] of known) reported.set(jobId, stateAt);
      for (const job of deps.workspace().archive.list())
        if (known.get(job.jobId) === job.stateAt) reported.set(job.jobId, jobChangeMark(deps, job));
      state.unsubscribe = deps.bus.subscribe((event) => jobsIn(event).forEach(tell));
      await look();
      again();
    },
    async tellNow(jobId) {
      dirty.delete(jobId);
      await write(jobId).catch((error: unknown) => {
        deps.onTrouble(error);
        tell(jobId);
      });
    },
    async stop() {
      state.stopped = true;
      state.cancelLook();
      state.unsubscribe();
      await flushing;
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
  { workspace, output, pid }: ReportJobsDeps,
  job: StoredJob,
  events: readonly JournalLine[],
): Promise<JobSummary> {
  const alive = isAlive(workspace(), job);
  // Another process of this workspace reports its own output.
  const tail = alive && job.pid !== pid ? null : alive ? workspace().mask(await output(job.jobId)) : "";
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
