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
  /** Its root; "" came before messages had one. */
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
  /** The work in the queue that answers it; null when it came before there was a queue. */
  work_id: string | null;
  /** The rest of an `InboundMessage`, as JSON. */
  body: string;
}

export interface ReplyRow {
  key: string;
  /** The work in the queue that sends it; null when it came before there was a queue. */
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

export interface JobOwnerRow {
  job_id: string;
  workspace: string;
  channel: string;
  user_id: string;
  message_id: string | null;
  at: string;
}
