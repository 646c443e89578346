/** The fleet, as Kysely sees it. Times are milliseconds since 1970 by the database's clock. */
export interface FleetTables {
  /** One row a machine; `incarnation` is the boot and pid namespace that holds it now. */
  machines: { id: string; name: string; incarnation: string; seen_at: number };
  machine_processes: ProcessRow;
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
