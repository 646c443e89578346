/** Tasks of forges, as Kysely sees them. */
export interface SolveTables {
  solve_tasks: SolveRow;
  forge_deliveries: { id: string; seen_at: string };
  task_steps: { task_id: string; position: number; at: string; kind: string; body: string };
}

export interface SolveRow {
  id: string;
  item: string;
  state: string;
  created_at: string;
  /** Its work in the queue, while it waits, runs or was given up there. */
  work_id: string | null;
  /** What a process must have to carry it out, separated by commas. */
  needs: string;
  ordered: string | null;
  body: string;
}
