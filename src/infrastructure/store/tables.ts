import { type Kysely, PostgresAdapter, sql } from "kysely";

/**
 * The tables of the store, in words that SQLite and Postgres both take; `schema.ts` reads its types from them. A workspace is what
 * `workspaceName` calls it, flags are 0 or 1. Times are ISO 8601 texts, but milliseconds by the database's clock where a column is
 * a bigint and ends in `_at` or is `at`.
 */
export const TABLES = [
  `create table jobs (
    job_id text primary key, group_id text not null, workspace text not null, source text not null,
    title text not null, created_at text not null, finished_at text not null, kind text not null,
    outcome text not null, state text not null, state_at text not null, success integer not null,
    total_cmds integer not null, executed_cmds integer not null, failed_cmds integer not null,
    git_commit text, change_count integer not null, bytes bigint not null, event_count integer not null,
    red text)`,
  `create index jobs_by_workspace on jobs (workspace, created_at)`,
  `create index jobs_by_group on jobs (group_id)`,
  `create table events (
    job_id text not null, position integer not null, at text not null, type text not null,
    body text not null, primary key (job_id, position))`,

  `create table sessions (
    workspace text not null, chat_key text not null, session_id text not null, channel text not null,
    chat_id text not null, opened_at text not null, closed_at text, cut_at text not null,
    cut_clock text not null, carried text not null, summary text not null,
    summary_up_to integer not null, turn_count integer not null,
    primary key (workspace, chat_key, session_id))`,
  // One open session per chat and workspace, for all processes.
  `create unique index sessions_open on sessions (workspace, chat_key) where closed_at is null`,
  `create index sessions_due on sessions (workspace, cut_at) where closed_at is null`,
  `create table turns (
    workspace text not null, chat_key text not null, session_id text not null, position integer not null,
    at text not null, role text not null, agent text not null, text text not null, group_id text,
    primary key (workspace, chat_key, session_id, position))`,
  `create table daily_notes (
    workspace text not null, chat_key text not null, session_id text not null, text text not null,
    turn_count integer not null, saved_at text not null, primary key (workspace, chat_key, session_id))`,
  `create table chat_settings (
    workspace text not null, chat_key text not null, settings text not null,
    primary key (workspace, chat_key))`,
  `create table decisions (
    decision_id text primary key, workspace text not null, chat_key text not null,
    session_id text not null, at text not null, message text not null, route text not null,
    source text not null, confidence double precision not null, reason text not null,
    correction_route text, correction_offered text)`,
  `create index decisions_by_chat on decisions (chat_key, at)`,
  `create table learned_rules (
    chat_key text not null, pattern text not null, route text not null,
    confidence double precision not null, example text not null, learned_at text not null,
    primary key (chat_key, pattern))`,
  `create table usage_entries (
    at text not null, chat_key text not null, session_id text not null, group_id text not null,
    role text not null, provider text not null, model text not null, local integer not null,
    input_tokens bigint not null, output_tokens bigint not null, cached_tokens bigint not null,
    cost_usd double precision)`,
  `create index usage_by_time on usage_entries (at)`,
  `create index usage_by_group on usage_entries (group_id)`,
  // All entries of a model within a quarter of an hour; `slice` is when it began, `priced` counts calls of known price.
  `create table usage_sums (
    slice text not null, provider text not null, model text not null, calls bigint not null,
    input_tokens bigint not null, output_tokens bigint not null, cached_tokens bigint not null,
    cost_usd double precision not null, priced bigint not null, primary key (slice, provider, model))`,

  // `position`: microseconds since 1970, never twice the same in one process. `work_id`: the work in the queue that answers
  // the message, or sends the reply; null in a copy of a store, until a process serves the workspace. `body`: the rest of an
  // `InboundMessage`, as JSON.
  `create table messages (
    id text primary key, workspace text not null, channel text not null, event_id text not null,
    chat_id text not null, user_id text not null, position bigint not null, received_at text not null,
    state text not null, attempts integer not null, finished_at text, work_id text, body text not null,
    unique (channel, event_id))`,
  `create index messages_by_chat on messages (channel, chat_id, position)`,
  `create index messages_by_turn on messages (channel, chat_id, state, position)`,
  `create index messages_by_state on messages (state, position)`,
  `create index messages_by_user on messages (channel, user_id)`,
  `create table replies (
    key text primary key, work_id text, message_id text, workspace text not null, channel text not null,
    chat_id text not null, user_id text not null, position bigint not null, created_at text not null,
    since text not null, state text not null, attempts integer not null, next_at text not null,
    finished_at text, reason text, reply_to text, content text not null, day text, route text,
    provider text, model text, is_local integer, input_tokens bigint, output_tokens bigint,
    cost_usd double precision)`,
  `create index replies_by_day on replies (day, user_id)`,
  `create index replies_by_state on replies (state, position)`,
  `create index replies_by_message on replies (message_id)`,
  `create index replies_by_chat on replies (channel, chat_id, state, position)`,
  `create table job_owners (
    job_id text primary key, workspace text not null, channel text not null, user_id text not null,
    message_id text, at text not null)`,
  `create index job_owners_by_user on job_owners (channel, user_id, at)`,
  `create index job_owners_by_message on job_owners (message_id)`,
  `create table pushes (
    channel text not null, month text not null, count integer not null, primary key (channel, month))`,

  `create table people (
    channel text not null, user_id text not null, name text not null, role text not null,
    added_at text not null, primary key (channel, user_id))`,
  `create table pairings (
    code text primary key, channel text not null, user_id text not null, chat_id text not null,
    name text not null, expires_at text not null)`,
  `create table login_links (
    hash text primary key, user_id text not null, role text not null, expires_at text not null)`,
  `create table web_sessions (
    hash text primary key, user_id text not null, role text not null, csrf text not null,
    created_at text not null, expires_at text not null)`,
  `create table api_tokens (
    id text primary key, hash text not null unique, name text not null, user_id text not null,
    role text not null, scopes text not null, created_at text not null, last_used_at text)`,

  // `work_id`: the task's work in the queue, while it waits, runs or was given up there. `needs`: the labels that a process
  // must have to carry it out, separated by commas.
  `create table solve_tasks (
    id text primary key, item text not null, state text not null, created_at text not null, work_id text,
    needs text not null, ordered text, body text not null)`,
  `create unique index solve_tasks_live on solve_tasks (item) where state in ('waiting', 'running', 'paused')`,
  `create index solve_tasks_by_state on solve_tasks (state, created_at)`,
  `create index solve_tasks_with_work on solve_tasks (needs) where work_id is not null`,
  `create table task_steps (
    task_id text not null, position integer not null, at text not null, kind text not null,
    body text not null, primary key (task_id, position))`,
  `create table forge_deliveries (id text primary key, seen_at text not null)`,
  // Deliveries of forges that were acknowledged and not yet acted on.
  `create table forge_events (
    id text primary key, received_at text not null, body text not null, sighted text not null, work_id text)`,

  // Work that was claimed at least once and has not ended. `owner`: the process that has it; null when it was given back.
  // `turn`: its place in the line of the chat that is its key: 1 has the turn, higher ones wait, 0 is not in the line.
  // `stop` 1: its process is asked to end it.
  `create table work_claims (
    id text primary key, queue text not null, work_key text not null, owner_group text not null,
    ref text not null, light integer not null, attempts integer not null, fence integer not null,
    owner text, claimed_at bigint not null, turn integer not null, stop integer not null)`,
  `create index work_claims_by_owner on work_claims (owner)`,
  `create index work_claims_by_key on work_claims (work_key)`,
  // One turn per chat, for all processes.
  `create unique index work_turns on work_claims (work_key) where turn = 1`,
  `create table work_owners (owner text primary key, beat_at bigint not null)`,
  `create table dead_work (
    id text primary key, queue text not null, work_key text not null, owner_group text not null,
    ref text not null, light integer not null, attempts integer not null, reason text not null,
    at bigint not null)`,
  `create table schedules (
    workspace text not null, name text not null, rule text not null, next_at bigint not null,
    primary key (workspace, name))`,

  // One row a machine; `incarnation` is the boot and pid namespace that holds it now.
  `create table machines (
    id text primary key, name text not null, incarnation text not null, seen_at bigint not null)`,
  // `labels` are separated by commas; `state` is `works`, `drains` or `left`.
  `create table machine_processes (
    owner text primary key, machine_id text not null, kind text not null, workspace text not null,
    root text not null, labels text not null, lanes integer not null, busy integer not null,
    version text not null, state text not null, started_at bigint not null, beat_at bigint not null)`,
  // Chats that were notified that their messages wait for a machine, until it is back.
  `create table told_away (
    workspace text not null, channel text not null, chat_id text not null, user_id text not null,
    primary key (workspace, channel, chat_id))`,
  // The orders between machines about jobs; `state` is `waiting`, `taken`, `answered`, `cut-off` or `withdrawn`.
  `create table control_orders (
    id text primary key, workspace text not null, job_id text not null, verb text not null,
    channel text not null, user_id text not null, role text not null, force integer not null, path text,
    state text not null, deadline_at bigint not null)`,
  `create table order_answers (
    order_id text not null, position integer not null, body text not null,
    primary key (order_id, position))`,
  // Jobs as their machines last reported them: `record` is a `StoredJob`, `events` are `JournalLine`s, as JSON.
  `create table fleet_jobs (
    job_id text primary key, workspace text not null, group_id text not null, created_at text not null,
    state_at text not null, alive integer not null, record text not null, events text not null,
    tail text not null, changed_at bigint not null)`,
  `create index fleet_jobs_by_workspace on fleet_jobs (workspace)`,
  `create index fleet_jobs_by_group on fleet_jobs (group_id)`,
  `create index fleet_jobs_by_time on fleet_jobs (created_at)`,
  `create index fleet_jobs_by_change on fleet_jobs (changed_at)`,
  // Images of messages, apart from their texts: few messages have one, and each is large. `group_id`: the message that it
  // came with, null until that is answered. `pieces`: how many it has.
  `create table images (
    workspace text not null, chat_key text not null, id text not null, name text not null, group_id text,
    at text not null, media_type text not null, pieces integer not null,
    primary key (workspace, chat_key, id))`,
  `create index images_by_group on images (workspace, chat_key, group_id)`,
  `create index images_by_time on images (at)`,
  // Of an image or a long text of a message: as one row it would hold up every other writer. `data`: base64 of whole triples of bytes.
  `create table file_pieces (
    workspace text not null, chat_key text not null, file_id text not null, position integer not null,
    at text not null, data text not null, primary key (workspace, chat_key, file_id, position))`,
  `create index file_pieces_by_time on file_pieces (at)`,
  // `token`: the id of the token by which it was made, if by one.
  `create table chat_schedules (
    workspace text not null, number integer not null, channel text not null, chat_id text not null,
    user_id text not null, cron text not null, timezone text not null, message text not null,
    enabled integer not null, created_at text not null, token text, primary key (workspace, number))`,
  `create table schedule_runs (
    workspace text not null, name text not null, at bigint not null, message_id text,
    asked integer not null, primary key (workspace, name, at))`,
] as const;

/** Waiting and claimed work, `head` where it is the oldest of its key; in Postgres pg-boss keeps it in tables of its own. */
export const SQLITE_TABLES = [
  `create table work (
    seq integer primary key autoincrement, id text not null unique, queue text not null,
    work_key text not null, owner_group text not null, ref text not null, light integer not null,
    claimed integer not null, fence integer not null, head integer not null)`,
  `create index work_heads on work (queue, head, claimed, light desc, seq)`,
  `create index work_by_key on work (queue, work_key, seq)`,
] as const;

/** The names of all tables that Postgres has. */
export const POSTGRES_TABLES: readonly string[] = TABLES.flatMap(
  (statement) => /^\s*create table (\w+)/.exec(statement)?.[1] ?? [],
);

export async function createTables(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  // Byte order, so that names with a common prefix are adjacent in every locale of a server.
  const byChat = `create index usage_by_chat on usage_entries (chat_key${isPostgres ? ' collate "C"' : ""}, at)`;
  for (const statement of [...TABLES, byChat, ...(isPostgres ? [] : SQLITE_TABLES)])
    await sql.raw(statement).execute(db);
}
