import type { Database } from "./schema.ts";

/**
 * Which tables are somebody's data, and which only say who works on what at the moment. What waits is given to the queue
 * anew by whoever serves its workspace next, so that a copy takes no claims along.
 */
const TABLES: Readonly<Record<keyof Database, "kept" | "passing">> = {
  migrations: "passing",
  jobs: "kept",
  events: "kept",
  sessions: "kept",
  turns: "kept",
  daily_notes: "kept",
  chat_settings: "kept",
  decisions: "kept",
  learned_rules: "kept",
  usage_entries: "kept",
  chat_leases: "passing",
  chat_tickets: "passing",
  messages: "kept",
  replies: "kept",
  job_owners: "kept",
  people: "kept",
  pairings: "kept",
  pushes: "kept",
  login_links: "passing",
  web_sessions: "kept",
  api_tokens: "kept",
  solve_tasks: "kept",
  forge_deliveries: "kept",
  task_steps: "kept",
  dead_work: "kept",
  schedules: "kept",
  work: "passing",
  work_claims: "passing",
  work_owners: "passing",
  machines: "passing",
  machine_processes: "passing",
  told_away: "passing",
  control_orders: "passing",
  order_answers: "passing",
  fleet_jobs: "passing",
};

export type KeptTable = keyof Database;

export const KEPT_TABLES = (Object.keys(TABLES) as KeptTable[]).filter((name) => TABLES[name] === "kept");

/** Rows that any process writes by itself, so that they do not make a store one in use. */
export const INDEX_TABLES: readonly KeptTable[] = ["jobs", "events", "forge_deliveries"];

export type StoredRow = Readonly<Record<string, unknown>>;

/** A row as another store takes it: nobody works on it there, and its workspace may have another name. */
export function asWaiting(row: StoredRow, nameOf: (workspace: string) => string): StoredRow {
  const named = typeof row.workspace === "string" && row.workspace !== "" ? nameOf(row.workspace) : undefined;
  return {
    ...row,
    ...(named !== undefined && { workspace: named }),
    ...("work_id" in row && { work_id: null }),
  };
}
