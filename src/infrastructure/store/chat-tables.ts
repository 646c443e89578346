/** Chats, as Kysely sees them. A workspace is its root; "" is a row from before rows had one. */
export interface ChatTables {
  sessions: SessionRow;
  turns: TurnRow;
  daily_notes: NoteRow;
  chat_settings: { workspace: string; chat_key: string; settings: string };
  decisions: DecisionRow;
  learned_rules: LearnedRuleRow;
  usage_entries: UsageRow;
  chat_leases: TurnHeldRow & { stop: number };
  chat_tickets: TurnHeldRow & { ticket: number };
}

/** A turn of a chat, or a place in its line. `since` is in milliseconds since 1970 by the database's clock. */
interface TurnHeldRow {
  workspace: string;
  chat_key: string;
  /** One piece of work of the process. */
  owner: string;
  process: string;
  since: number;
}

export interface SessionRow {
  workspace: string;
  chat_key: string;
  session_id: string;
  channel: string;
  chat_id: string;
  opened_at: string;
  closed_at: string | null;
  cut_at: string;
  cut_clock: string;
  carried: string;
  summary: string;
  summary_up_to: number;
  turn_count: number;
}

export interface TurnRow {
  workspace: string;
  chat_key: string;
  session_id: string;
  position: number;
  at: string;
  role: string;
  agent: string;
  text: string;
  group_id: string | null;
}

export interface NoteRow {
  workspace: string;
  chat_key: string;
  session_id: string;
  text: string;
  turn_count: number;
  saved_at: string;
}

export interface DecisionRow {
  decision_id: string;
  workspace: string;
  chat_key: string;
  session_id: string;
  at: string;
  message: string;
  route: string;
  source: string;
  confidence: number;
  reason: string;
  correction_route: string | null;
  correction_offered: string | null;
}

export interface LearnedRuleRow {
  chat_key: string;
  pattern: string;
  route: string;
  confidence: number;
  example: string;
  learned_at: string;
}

export interface UsageRow {
  at: string;
  chat_key: string;
  session_id: string;
  group_id: string;
  role: string;
  provider: string;
  model: string;
  local: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_usd: number;
}
