import { ROUTES } from "../../domain/config/route.ts";
import { JOB_STATUSES } from "../../domain/jobs/job-status.ts";

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;
const flag = { type: "boolean" } as const;
const list = (items: object) => ({ type: "array", items });
const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Every key is named; those in `optional` may be missing. */
function object(properties: Readonly<Record<string, object>>, optional: readonly string[] = []) {
  return {
    type: "object",
    additionalProperties: false,
    required: Object.keys(properties).filter((key) => !optional.includes(key)),
    properties,
  };
}

const statusSchema = { enum: [...JOB_STATUSES] };

const changeSchema = object({ path: text, kind: { enum: ["added", "modified", "deleted"] }, ignored: text }, [
  "ignored",
]);

const jobSchema = {
  job_id: text,
  group_id: text,
  workspace: text,
  created_at: text,
  finished_at: text,
  title: text,
  request: text,
  source: text,
  kind: text,
  state: { enum: ["running", "staged", "committed", "undone", "discarded", "evicted"] },
  status: statusSchema,
  outcome: { enum: ["running", "committed", "staged", "conflict", "rolled-back", "aborted"] },
  success: flag,
  total_cmds: count,
  executed_cmds: count,
  failed_cmds: count,
  git_commit: text,
  change_count: count,
  changes: list(schemaRef("Change")),
  bytes: count,
  interruptions: list(
    object({
      direction: { enum: ["commit", "undo", "redo"] },
      outcome: { enum: ["open", "finished", "taken-back"] },
      left: list(text),
    }),
  ),
  undo: { enum: ["available", "unavailable", "none", "undone"] },
  alive: flag,
  machine: object({ id: text, name: text, here: flag }),
};

export const SCHEMAS = {
  Error: {
    type: "object",
    required: ["error"],
    additionalProperties: false,
    properties: {
      error: {
        type: "object",
        required: ["code", "message"],
        properties: { code: text, message: text },
      },
    },
  },
  Change: changeSchema,
  NewMessage: object(
    {
      text: { type: "string", minLength: 1, maxLength: 100_000 },
      chat: { type: "string", pattern: "^[a-z0-9]{1,20}$" },
      route: { enum: ROUTES },
      event_id: {
        type: "string",
        maxLength: 100,
        description: "Sent twice under one id, it is one message.",
      },
      wait: { type: "number", minimum: 0, maximum: 25, description: "Seconds to wait for the reply." },
    },
    ["chat", "route", "event_id", "wait"],
  ),
  Message: object({
    message_id: text,
    channel: text,
    chat_id: text,
    user_id: text,
    text,
    received_at: text,
    state: { enum: ["received", "working", "done"] },
    reply: { anyOf: [schemaRef("Reply"), { type: "null" }] },
  }),
  Reply: object(
    {
      text,
      ok: flag,
      session_id: text,
      group_id: text,
      decision: object({
        route: { enum: ROUTES },
        source: { enum: ["forced", "explicit", "rule", "classifier", "fallback"] },
        confidence: { type: "number" },
        reason: text,
      }),
      jobs: list(schemaRef("Result")),
      usage: object({ input_tokens: count, output_tokens: count, cost_usd: { type: "number" } }),
      model: object({ provider: text, model: text, local: flag }),
      actions: list(object({ label: text, message: text })),
    },
    ["session_id", "group_id", "decision", "usage", "model"],
  ),
  Result: object(
    {
      job_id: text,
      group_id: text,
      status: statusSchema,
      success: flag,
      executed_cmds: count,
      failed_cmds: count,
      results: list(
        object(
          {
            command: { type: "object" },
            success: flag,
            output: text,
            error: text,
            duration: { type: "number" },
            changes: list(schemaRef("Change")),
            notes: list(text),
          },
          ["notes"],
        ),
      ),
      summary: text,
      git_commit: text,
      changes: list(schemaRef("Change")),
      undo: { enum: ["available", "unavailable", "none", "undone"] },
      dry_run: flag,
      notes: list(text),
      conflicts: list(object({ path: text, reason: text, by: text }, ["by"])),
      evicted: list(object({ job_id: text, bytes: count })),
    },
    // Replies that an older version stored know neither group nor status.
    ["group_id", "status", "git_commit", "notes", "conflicts", "evicted"],
  ),
  NewJob: object(
    { patch: text, mode: { enum: ["apply", "preview", "dry-run"], default: "apply" }, atomic: flag },
    ["mode", "atomic"],
  ),
  Ran: object({
    outcome: { enum: ["running", "committed", "staged", "conflict", "rolled-back", "aborted", "dry-run"] },
    result: schemaRef("Result"),
  }),
  Force: object({ force: { type: "boolean", description: "Overwrite what was changed since." } }, ["force"]),
  Job: object(jobSchema, ["request", "git_commit", "changes", "interruptions", "machine"]),
  JobWithEvents: object({ ...jobSchema, events: list(object({ at: text, event: { type: "object" } })) }, [
    "request",
    "interruptions",
    "git_commit",
    "changes",
    "machine",
  ]),
  Changed: object({ message: text, job: schemaRef("Job") }, ["job"]),
  Diff: object({ job_id: text, diff: text }),
  Sessions: object({
    sessions: list(
      object({ key: text, channel: text, chat_id: text, user_id: text, messages: count, last_at: text }),
    ),
  }),
  Usage: object({
    from: text,
    rows: list(
      object({
        day: text,
        provider: text,
        model: text,
        local: flag,
        replies: count,
        input_tokens: count,
        output_tokens: count,
        cost_usd: { type: "number" },
      }),
    ),
  }),
  Health: object({
    version: text,
    ready: flag,
    checks: list(object({ name: text, required: flag, ok: flag, detail: text, remedy: text }, ["remedy"])),
  }),
  Config: object({
    keys: list(object({ key: text, value: text, source: { type: ["string", "null"] } })),
  }),
} as const;
