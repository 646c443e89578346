/** The tables of `005-solve`, as Kysely sees them. */
export interface SolveTables {
  solve_tasks: SolveRow;
  forge_deliveries: { id: string; seen_at: string };
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
