/** The fleet, as Kysely sees it. Times are milliseconds since 1970 by the database's clock. */
export interface FleetTables {
  /** One row a machine; `incarnation` is the boot and pid namespace that holds it now. */
  machines: { id: string; name: string; incarnation: string; seen_at: number };
  machine_processes: ProcessRow;
  /** What machines ask of each other about jobs. */
  control_orders: OrderRow;
  /** Pieces of answers, until they are collected. */
  order_answers: { order_id: string; position: number; body: string };
  /** Jobs as their machines last told of them. */
  fleet_jobs: FleetJobRow;
  /** Chats that were told that their messages wait for a machine, until it is back. */
  told_away: { workspace: string; channel: string; chat_id: string; user_id: string };
}

export interface ProcessRow {
  owner: string;
  machine_id: string;
  kind: string;
  /** The name of the workspace in the store. */
  workspace: string;
  root: string;
  /** Separated by commas. */
  labels: string;
  lanes: number;
  busy: number;
  version: string;
  /** `works`, `drains` or `left`. */
  state: string;
  started_at: number;
  beat_at: number;
}

export interface OrderRow {
  id: string;
  workspace: string;
  job_id: string;
  verb: string;
  channel: string;
  user_id: string;
  role: string;
  force: number;
  path: string | null;
  /** `waiting`, `taken`, `answered`, `cut-off` or `withdrawn`. */
  state: string;
  deadline_at: number;
}

export interface FleetJobRow {
  job_id: string;
  workspace: string;
  group_id: string;
  created_at: string;
  state_at: string;
  alive: number;
  /** A `StoredJob`, as JSON. */
  record: string;
  /** `JournalLine`s, as JSON. */
  events: string;
  tail: string;
  changed_at: number;
}
