import type { ChatTables } from "./chat-tables.ts";
import type { FleetTables } from "./fleet-tables.ts";
import type { QueueTables } from "./queue-tables.ts";
import type { ServeTables } from "./serve-tables.ts";
import type { SolveTables } from "./solve-tables.ts";

/** The tables of the store, as Kysely sees them. Times are ISO 8601 texts, flags 0 or 1. */
export interface Database extends ChatTables, FleetTables, QueueTables, ServeTables, SolveTables {
  jobs: JobRow;
  events: EventRow;
  migrations: { name: string; applied_at: string };
}

export interface JobRow {
  job_id: string;
  group_id: string;
  workspace: string;
  source: string;
  title: string;
  created_at: string;
  finished_at: string;
  kind: string;
  outcome: string;
  state: string;
  state_at: string;
  success: number;
  total_cmds: number;
  executed_cmds: number;
  failed_cmds: number;
  git_commit: string | null;
  change_count: number;
  bytes: number;
  event_count: number;
  red: string | null;
}

export interface EventRow {
  job_id: string;
  position: number;
  at: string;
  type: string;
  body: string;
}
