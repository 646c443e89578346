import type { Generated, Selectable } from "kysely";

/** The queue, as Kysely sees it. Times are milliseconds since 1970 by the database's clock. */
export interface QueueTables {
  work: WorkTable;
  work_claims: ClaimRow;
  work_owners: { owner: string; beat_at: number };
  dead_work: DeadRow;
  schedules: { workspace: string; name: string; rule: string; next_at: number };
}

/** What work is, wherever it stands. */
interface WorkColumns {
  id: string;
  queue: string;
  work_key: string;
  owner_group: string;
  ref: string;
  light: number;
}

/** Waiting and claimed work of SQLite; in Postgres pg-boss keeps it. */
interface WorkTable extends WorkColumns {
  seq: Generated<number>;
  claimed: number;
  fence: number;
  /** It is the oldest of its key. */
  head: number;
}

export type WorkRow = Selectable<WorkTable>;

/** Work that was claimed at least once and has not ended. */
export interface ClaimRow extends WorkColumns {
  attempts: number;
  fence: number;
  /** The process that has it; null when it was given back. */
  owner: string | null;
  claimed_at: number;
}

export interface DeadRow extends WorkColumns {
  attempts: number;
  reason: string;
  at: number;
}
