import { type Kysely, sql } from "kysely";
import type { AllJobs, IndexedJob, JobArchive, JobIndex, StoredJob } from "../../application/ports/jobs.ts";
import { countFiles } from "../../domain/jobs/result.ts";
import {
  type Database,
  fromRow,
  insertRows,
  type JobRow,
  migrate,
  migrationStatus,
  selectRows,
  toRow,
  upsertRow,
} from "../store/schema.ts";

/** Rows a statement may carry: SQLite takes 32,766 parameters. */
const BATCH = 500;

export function createJobIndex(db: Kysely<Database>, now: () => Date): JobIndex {
  return {
    async sync(archive) {
      await migrate(db, now);
      const jobs = archive.list();
      const known = new Map<string, { state_at: string; event_count: number }>();
      for (let i = 0; i < jobs.length; i += BATCH) {
        const ids = jobs.slice(i, i + BATCH).map(({ jobId }) => jobId);
        const rows = await db
          .selectFrom("jobs")
          .select(["job_id", "state_at", "event_count"])
          .where("job_id", "in", ids)
          .execute();
        for (const row of rows) known.set(row.job_id, row);
      }
      let added = 0;
      let updated = 0;
      for (const job of jobs) {
        const before = known.get(job.jobId);
        if (before?.state_at === job.stateAt) continue;
        // Its row stays as it was; whether a job in a closed folder of all jobs is still there is unknown.
        if (job.closed !== undefined && (before !== undefined || !job.closed.endsWith(job.jobId))) continue;
        const events = archive.events(job.jobId).map(({ at, event }, position) => {
          return { job_id: job.jobId, position, at, type: event.type, body: JSON.stringify(event) };
        });
        await db.transaction().execute(async (transaction) => {
          const row = toJobRow(job, events.length);
          await upsertRow(transaction, "jobs", row, ["job_id"]);
          const fresh = events.slice(before?.event_count ?? 0);
          const unlessKnown = sql`on conflict (job_id, position) do nothing`;
          for (let i = 0; i < fresh.length; i += BATCH)
            await insertRows(transaction, "events", fresh.slice(i, i + BATCH), unlessKnown);
        });
        if (before === undefined) added += 1;
        else updated += 1;
      }
      return { added, updated };
    },
    async jobs({ workspace, groupId, limit }) {
      await migrate(db, now);
      const wanted = {
        ...(workspace !== undefined && { workspace }),
        ...(groupId !== undefined && { group_id: groupId }),
      };
      const order = sql`order by created_at desc, job_id desc limit ${limit}`;
      return (await selectRows(db, "jobs", wanted, order)).map(fromJobRow);
    },
    async status() {
      const { applied, pending } = await migrationStatus(db);
      if (applied.length === 0) return { applied, pending, jobs: 0 };
      const counted = db.selectFrom("jobs").select(({ fn }) => fn.countAll<number>().as("count"));
      return { applied, pending, jobs: Number((await counted.executeTakeFirstOrThrow()).count) };
    },
    migrate: () => migrate(db, now),
    close: () => db.destroy(),
  };
}

function toJobRow(job: StoredJob, eventCount: number): JobRow {
  const { jobId, groupId, workspace, source, title, createdAt, finishedAt } = job;
  const { kind, outcome, state, stateAt, totalCmds, executedCmds, failedCmds, bytes } = job;
  return {
    ...toRow({ jobId, groupId, workspace, source, title, createdAt, finishedAt }),
    ...toRow({ kind, outcome, state, stateAt, totalCmds, executedCmds, failedCmds, bytes, eventCount }),
    success: job.success ? 1 : 0,
    git_commit: job.gitCommit ?? null,
    change_count: countFiles(job.changes),
    red: job.red ?? null,
  };
}

function fromJobRow({
  success,
  git_commit: gitCommit,
  red,
  bytes,
  event_count: _,
  ...row
}: JobRow): IndexedJob {
  return {
    ...fromRow(row),
    outcome: row.outcome as IndexedJob["outcome"],
    state: row.state as IndexedJob["state"],
    success: success === 1,
    ...(gitCommit !== null && { gitCommit }),
    ...(red !== null && { red: red as NonNullable<IndexedJob["red"]> }),
    bytes: Number(bytes),
  };
}

export interface AllJobsDeps {
  readonly db: Kysely<Database>;
  readonly now: () => Date;
  /** Of every workspace of this machine. */
  readonly archives: () => readonly JobArchive[];
  /** Makes what a shared store needs beside its tables. */
  readonly afterMigration: () => Promise<void>;
}

/** The index together with the folders of all workspaces. */
export function createAllJobs({ db, now, archives, afterMigration }: AllJobsDeps): AllJobs {
  const index = createJobIndex(db, now);
  return {
    ...index,
    async migrate() {
      const applied = await index.migrate();
      await afterMigration();
      return applied;
    },
    async jobs(filter) {
      const known = archives();
      return (await index.jobs(filter)).map((job) => withInterruptions(job, known));
    },
    async syncAll() {
      for (const archive of archives()) await index.sync(archive);
    },
  };
}

/** Interruptions, damage and the reason of the end are not in the index: they come from the job's own folder, if it is on this machine. */
function withInterruptions(job: IndexedJob, archives: readonly Pick<JobArchive, "read">[]): IndexedJob {
  for (const archive of archives) {
    const own = archive.read(job.jobId);
    if (own === null) continue;
    const { interruptions, standsRepaired, reason, damaged, closed } = own;
    const known = { ...(reason && { reason }), ...(interruptions && { interruptions }) };
    const unreadable = { ...(damaged && { damaged }), ...(closed && { closed }) };
    return { ...job, ...known, ...unreadable, ...(standsRepaired && { standsRepaired }) };
  }
  return job;
}
