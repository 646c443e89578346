/** The tables of `005-solve` and `009-task-steps`, as Kysely sees them. */
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
  owner: string | null;
  lease_until: string | null;
  ordered: string | null;
  body: string;
}
