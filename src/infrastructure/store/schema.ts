import type { Generated, Selectable, Transaction } from "kysely";

/** Chats, as Kysely sees them. A workspace is what `workspaceName` calls it. */
interface ChatTables {
  sessions: SessionRow;
  turns: TurnRow;
  images: ImageRow;
  file_pieces: FilePieceRow;
  daily_notes: NoteRow;
  chat_settings: { workspace: string; chat_key: string; settings: string };
  decisions: DecisionRow;
  learned_rules: LearnedRuleRow;
  usage_entries: UsageRow;
  usage_sums: UsageSumRow;
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

export interface ImageRow {
  workspace: string;
  chat_key: string;
  id: string;
  name: string;
  /** The message that it came with; null until that is answered. */
  group_id: string | null;
  at: string;
  media_type: string;
  /** Base64; empty where the pieces hold it. */
  data: string;
  /** How many pieces it has; null for an image from before there were pieces. */
  pieces: number | null;
}

/** Of a file that came with a message. Together in one row it would hold up everybody while it is written. */
export interface FilePieceRow {
  workspace: string;
  chat_key: string;
  /** The image's, or of a text that the message names. */
  file_id: string;
  /** From 0. */
  position: number;
  at: string;
  /** Base64 of whole triples of bytes, so that the pieces follow each other as they are. */
  data: string;
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

interface UsageRow {
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
  cost_usd: number | null;
}

/** All entries of a model within a quarter of an hour. */
interface UsageSumRow {
  /** When it began, as ISO 8601. */
  slice: string;
  provider: string;
  model: string;
  calls: number;
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_usd: number;
  /** Calls whose price is known. */
  priced: number;
}

/** The fleet, as Kysely sees it. Times are milliseconds since 1970 by the database's clock. */
interface FleetTables {
  /** One row a machine; `incarnation` is the boot and pid namespace that holds it now. */
  machines: { id: string; name: string; incarnation: string; seen_at: number };
  machine_processes: ProcessRow;
  /** The orders between machines about jobs. */
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

/** The queue, as Kysely sees it. Times are milliseconds since 1970 by the database's clock. */
interface QueueTables {
  work: WorkTable;
  work_claims: ClaimRow;
  work_owners: { owner: string; beat_at: number };
  dead_work: DeadRow;
  schedules: { workspace: string; name: string; rule: string; next_at: number };
  chat_schedules: ChatScheduleRow;
  schedule_runs: { workspace: string; name: string; at: number; message_id: string | null; asked: number };
}

/** A schedule that somebody made in a chat. */
export interface ChatScheduleRow {
  workspace: string;
  number: number;
  channel: string;
  chat_id: string;
  user_id: string;
  cron: string;
  timezone: string;
  message: string;
  enabled: number;
  created_at: string;
}

/** The columns of work in every table. */
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
interface ClaimRow extends WorkColumns {
  attempts: number;
  fence: number;
  /** The process that has it; null when it was given back. */
  owner: string | null;
  claimed_at: number;
  /** Its place in the line of the chat that is its key: 1 has the turn, higher ones wait, 0 is not in the line. */
  turn: number;
  /** 1: its process is asked to end it. */
  stop: number;
}

interface DeadRow extends WorkColumns {
  attempts: number;
  reason: string;
  at: number;
}

/** Inbox, outbox and access, as Kysely sees them. Times are ISO 8601 texts. */
export interface ServeTables {
  messages: MessageRow;
  replies: ReplyRow;
  job_owners: JobOwnerRow;
  people: { channel: string; user_id: string; name: string; role: string; added_at: string };
  pairings: {
    code: string;
    channel: string;
    user_id: string;
    chat_id: string;
    name: string;
    expires_at: string;
  };
  pushes: { channel: string; month: string; count: number };
  login_links: { hash: string; user_id: string; role: string; expires_at: string };
  web_sessions: {
    hash: string;
    user_id: string;
    role: string;
    csrf: string;
    created_at: string;
    expires_at: string;
  };
  api_tokens: {
    id: string;
    hash: string;
    name: string;
    user_id: string;
    role: string;
    scopes: string;
    created_at: string;
    last_used_at: string | null;
  };
}

export interface MessageRow {
  id: string;
  workspace: string;
  channel: string;
  event_id: string;
  chat_id: string;
  user_id: string;
  /** Microseconds since 1970, never twice the same in one process. */
  position: number;
  received_at: string;
  state: string;
  attempts: number;
  finished_at: string | null;
  /** The work in the queue that answers it; null in a copy of a store, until somebody serves the workspace. */
  work_id: string | null;
  /** The rest of an `InboundMessage`, as JSON. */
  body: string;
}

export interface ReplyRow {
  key: string;
  /** The work in the queue that sends it; null as that of a message is. */
  work_id: string | null;
  message_id: string | null;
  workspace: string;
  channel: string;
  chat_id: string;
  user_id: string;
  position: number;
  created_at: string;
  since: string;
  state: string;
  attempts: number;
  next_at: string;
  finished_at: string | null;
  reason: string | null;
  reply_to: string | null;
  content: string;
  day: string | null;
  route: string | null;
  provider: string | null;
  model: string | null;
  is_local: number | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
}

interface JobOwnerRow {
  job_id: string;
  workspace: string;
  channel: string;
  user_id: string;
  message_id: string | null;
  at: string;
}

/** Tasks of forges, as Kysely sees them. */
interface SolveTables {
  solve_tasks: SolveRow;
  forge_deliveries: { id: string; seen_at: string };
  forge_events: { id: string; received_at: string; body: string; sighted: string; work_id: string | null };
  task_steps: { task_id: string; position: number; at: string; kind: string; body: string };
}

export interface SolveRow {
  id: string;
  item: string;
  state: string;
  created_at: string;
  /** Its work in the queue, while it waits, runs or was given up there. */
  work_id: string | null;
  /** The labels that a process must have to carry it out, separated by commas. */
  needs: string;
  ordered: string | null;
  body: string;
}

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

/** Text that every database takes: Postgres knows no NUL, and half a surrogate pair is no character. */
export function storable(text: string): string {
  return text.replaceAll("\0", "\ufffd").toWellFormed();
}

export type StoreTransaction = Transaction<Database>;
