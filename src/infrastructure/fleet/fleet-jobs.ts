import { type Kysely, type RawBuilder, type Selectable, sql } from "kysely";
import { z } from "zod";
import type { FleetJob, FleetJobs, JobMachine } from "../../application/ports/fleet.ts";
import type { JournalLine, StoredJob } from "../../application/ports/jobs.ts";
import { distinctMachineName } from "../../domain/fleet/machine-label.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { DEAD_AFTER_MS } from "../../domain/store/store-trouble.ts";
import { bareRecord } from "../engine/job-archive.ts";
import { databaseClock } from "../store/liveness.ts";
import {
  type Database,
  deleteRows,
  type FleetJobRow,
  isAnyOf,
  queryRows,
  selectRows,
  storable,
  upsertRow,
} from "../store/schema.ts";
import { parseWorkspaceName } from "./workspace-name.ts";

export interface FleetJobsDeps {
  readonly db: Kysely<Database>;
  readonly now: () => Date;
  /** The one that this process serves, as the store names it. */
  readonly workspace: string;
  readonly machineId: string;
  readonly machineName: string;
}

const AT_ONCE = 500;

/** A question about jobs needs their machines with them; both change seldom within a page. */
export function createFleetJobs(deps: FleetJobsDeps): FleetJobs {
  const { db, workspace } = deps;
  const clock = databaseClock(db, deps.now);

  async function places(): Promise<(name: string) => JobMachine> {
    const machines = await selectRows(db, "machines", {});
    const served = await queryRows<{ workspace: string }>(
      db,
      sql`select distinct workspace from machine_processes
        where state <> 'left' and beat_at > ${clock()} - ${sql.lit(DEAD_AFTER_MS)}`,
    );
    const names = new Map(machines.map((one) => [one.id, distinctMachineName(one, machines)]));
    const here = new Set(served.map((row) => row.workspace));
    return (name) => {
      const id = parseWorkspaceName(name).machineId ?? "";
      return { id, name: names.get(id) ?? id.slice(0, 8), here: here.has(name) };
    };
  }

  async function withPlaces(rows: readonly ListedJobRow[]): Promise<FleetJob[]> {
    if (rows.length === 0) return [];
    const placeOf = await places();
    return rows.map((row) => toFleetJob(row, placeOf(row.workspace)));
  }

  const list = async (rest: RawBuilder<unknown>) =>
    withPlaces(
      await queryRows<ListedJobRow>(
        db,
        sql`select job_id, workspace, record, alive, changed_at, '[]' as events, '' as tail from fleet_jobs ${rest}`,
      ),
    );

  return {
    async write({ job, changeCount, alive, events, tail }) {
      const row = {
        state_at: job.stateAt,
        alive: alive ? 1 : 0,
        record: storable(JSON.stringify({ ...job, changeCount })),
        events: storable(JSON.stringify(events)),
        ...(tail !== undefined && { tail: storable(tail) }),
        changed_at: clock(),
      };
      const first = {
        job_id: job.jobId,
        workspace,
        group_id: storable(job.groupId),
        created_at: job.createdAt,
      };
      const columns = Object.keys(row) as (keyof typeof row)[];
      await upsertRow(db, "fleet_jobs", { ...first, tail: "", ...row }, ["job_id"], columns);
    },
    async reported() {
      const { rows } = await sql<Pick<FleetJobRow, "job_id" | "state_at">>`select job_id, state_at
        from fleet_jobs where workspace = ${workspace}`.execute(db);
      return new Map(rows.map(({ job_id, state_at }) => [job_id, state_at]));
    },
    async forget(jobIds) {
      for (let from = 0; from < jobIds.length; from += AT_ONCE) {
        const some = jobIds.slice(from, from + AT_ONCE);
        await deleteRows(db, "fleet_jobs", { workspace }, sql`and job_id in (${sql.join(some)})`);
      }
    },
    async prune(keepMs) {
      const isOver = sql`where changed_at < ${clock()} - ${sql.lit(keepMs)}
        and workspace not in (select workspace from machine_processes)`;
      await deleteRows(db, "fleet_jobs", {}, isOver);
    },
    async read(jobId) {
      const [row] = await selectRows(db, "fleet_jobs", { job_id: jobId });
      return row === undefined ? null : ((await withPlaces([row]))[0] ?? null);
    },
    async others({ limit, of }) {
      const people = of?.map(({ channel, userId }) => ({ channel, user_id: userId }));
      const isOf =
        people === undefined
          ? sql``
          : sql`and job_id in (select job_id from job_owners where ${isAnyOf(people)})`;
      const newest = sql`order by created_at desc, job_id desc limit ${limit}`;
      return (await list(sql`where workspace <> ${workspace} ${isOf} ${newest}`)).reverse();
    },
    ofGroup: (groupId, of) =>
      list(sql`where group_id = ${storable(groupId)} and workspace = ${of} order by created_at, job_id`),
    async atWork(messageIds) {
      type Tailed = Pick<FleetJobRow, "job_id" | "events" | "tail"> & { message_id: string | null };
      const rows = await queryRows<Tailed>(
        db,
        sql`select fleet_jobs.job_id, job_owners.message_id, events, tail from fleet_jobs
          join job_owners on job_owners.job_id = fleet_jobs.job_id
          where message_id in (${sql.join(messageIds)}) and fleet_jobs.workspace = ${workspace} and alive = 1
          order by created_at`,
      );
      return rows.map(({ job_id, message_id, events, tail }) => ({
        jobId: job_id,
        messageId: message_id ?? "",
        events: readLines(events),
        tail,
      }));
    },
    async latest() {
      const { rows } = await sql<{ at: number | null }>`select max(changed_at) as at
        from fleet_jobs where workspace <> ${workspace}`.execute(db);
      return String(rows[0]?.at ?? "");
    },
    async version(jobId) {
      const { rows } = await sql<{ at: number }>`select changed_at as at
        from fleet_jobs where job_id = ${jobId}`.execute(db);
      return String(rows[0]?.at ?? "");
    },
    async home() {
      const machines = await selectRows(db, "machines", {});
      const me = { id: deps.machineId, name: deps.machineName };
      const machine = { ...me, name: distinctMachineName(me, machines), here: true };
      return { machine, alone: machines.every(({ id }) => id === me.id) };
    },
  };
}

type ListedJobRow = Pick<
  Selectable<FleetJobRow>,
  "job_id" | "workspace" | "record" | "alive" | "changed_at" | "events" | "tail"
>;

const time = z.string().refine((text) => !Number.isNaN(Date.parse(text)));

/** The fields of a record that lists, pages and searches of jobs read without a check. */
const jobShape = z.looseObject({
  jobId: z.string(),
  groupId: z.string(),
  workspace: z.string(),
  source: z.string(),
  title: z.string(),
  request: z.string().optional(),
  createdAt: time,
  finishedAt: z.string(),
  kind: z.string(),
  outcome: z.string(),
  state: z.string(),
  stateAt: z.string(),
  bytes: z.number(),
  success: z.boolean(),
  totalCmds: z.number(),
  executedCmds: z.number(),
  failedCmds: z.number(),
  changes: z.array(z.looseObject({ path: z.string(), kind: z.string() })),
  changeCount: z.number().int().nonnegative().optional(),
  notes: z.array(z.looseObject({ code: z.string() })),
  interruptions: z.array(z.looseObject({ left: z.array(z.unknown()) })).optional(),
});
const lineShape = z.looseObject({ at: time, event: z.looseObject({ type: z.string() }) });

type ReportedJob = StoredJob & Pick<FleetJob, "changeCount">;

/** The record as its machine reported it, of any version, perhaps hostile: one that cannot be read is listed as such and hides no other. */
function readReport({ job_id: jobId, workspace, record }: ListedJobRow): ReportedJob {
  const read = jobShape.safeParse(parseJson(record));
  if (read.success && read.data.jobId === jobId) return read.data as unknown as ReportedJob;
  const bare = bareRecord(jobId, parseWorkspaceName(workspace).root);
  return { ...bare, state: "evicted", stateAt: bare.finishedAt, bytes: 0, damaged: "fleet_jobs.record" };
}

function readLines(events: string): JournalLine[] {
  const lines = parseJson(events);
  const all: unknown[] = Array.isArray(lines) ? lines : [];
  return all.filter((line) => lineShape.safeParse(line).success) as JournalLine[];
}

function parseJson(text: string): unknown {
  return attemptOr(undefined, () => JSON.parse(text));
}

function toFleetJob(row: ListedJobRow, machine: JobMachine): FleetJob {
  const { changeCount, ...job } = readReport(row);
  return {
    job,
    ...(changeCount !== undefined && { changeCount }),
    alive: Number(row.alive) === 1 && machine.here,
    events: readLines(row.events),
    tail: row.tail,
    workspace: row.workspace,
    root: parseWorkspaceName(row.workspace).root,
    machine,
    version: String(row.changed_at),
  };
}
