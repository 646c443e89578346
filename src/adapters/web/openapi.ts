import { ROUTES } from "../../domain/config/route.ts";
import { JOB_STATUSES } from "../../domain/jobs/job-status.ts";
import { MOST_IMAGES } from "../../domain/models/image.ts";
import { CHANNEL_NAMES } from "../channels/registry.ts";

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
  outcome: { enum: ["running", "committed", "staged", "conflict", "rolled-back", "answered", "aborted"] },
  success: flag,
  total_cmds: count,
  executed_cmds: count,
  failed_cmds: count,
  git_commit: text,
  change_count: count,
  changes: list(schemaRef("Change")),
  bytes: count,
  interruptions: list(
    object(
      {
        direction: { enum: ["commit", "undo", "redo"] },
        outcome: { enum: ["open", "finished", "taken-back"] },
        left: list(text),
        aside: object({ folder: text, paths: list(text) }),
      },
      ["aside"],
    ),
  ),
  undo: { enum: ["available", "unavailable", "none", "undone"] },
  alive: flag,
  machine: object({ id: text, name: text, here: flag }),
};

const SCHEMAS = {
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
      text: { type: "string", maxLength: 100_000, description: "May be empty where there are images." },
      images: {
        type: "array",
        maxItems: MOST_IMAGES,
        items: object({ name: text, data: { type: "string", contentEncoding: "base64" } }, ["name"]),
        description: "PNG, JPEG, GIF or WebP, shown to the model that answers.",
      },
      chat: { type: "string", pattern: "^[a-z0-9]{1,20}$" },
      route: { enum: ROUTES },
      event_id: {
        type: "string",
        maxLength: 100,
        description: "Sent twice under one id, it is one message.",
      },
      wait: { type: "number", minimum: 0, maximum: 25, description: "Seconds to wait for the reply." },
    },
    ["text", "images", "chat", "route", "event_id", "wait"],
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
      usage: object({ input_tokens: count, output_tokens: count, cost_usd: { type: ["number", "null"] } }),
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
    outcome: {
      enum: ["running", "committed", "staged", "conflict", "rolled-back", "answered", "aborted", "dry-run"],
    },
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
        cost_usd: { type: ["number", "null"] },
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

type Json = Readonly<Record<string, unknown>>;

const knownSchemaRef = (name: keyof typeof SCHEMAS) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: Json) => ({ "application/json": { schema } });
const ok = (description: string, schema: Json) => ({ description, content: json(schema) });
const failed = (description: string) => ok(description, knownSchemaRef("Error"));
const parameter = (name: string, place: "path" | "query", schema: Json, description: string) => ({
  name,
  in: place,
  required: place === "path",
  schema,
  description,
});
const jobId = parameter(
  "job",
  "path",
  { type: "string", pattern: "^job_\\d+_[0-9a-z]{8}$" },
  "The job's id.",
);

/** Answers that any request may get. */
const COMMON = {
  "401": failed("No token, or one that is not known."),
  "403": failed("The token lacks the scope, or an operator's is needed."),
};

function operation(summary: string, scope: string, more: Json): Json {
  const { responses, ...rest } = more;
  return {
    summary,
    description: `Scope: \`${scope}\`.`,
    security: [{ token: [] }],
    ...rest,
    responses: { ...(responses as Json), ...COMMON },
  };
}

const changeOperation = (summary: string, more: Json = {}) =>
  operation(summary, "jobs", {
    parameters: [jobId],
    responses: {
      "200": ok("Done.", knownSchemaRef("Changed")),
      "404": failed("No such job."),
      "409": failed("It is in another state, or files are in conflict; nothing was changed."),
      "503": failed("The machine of the job is away, or has not said how it ended."),
    },
    ...more,
  });

/** The API's own description, OpenAPI 3.1. */
export function openApi(version: string): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "PicoClaw",
      version,
      description:
        "Messages, jobs and what they cost. Create a token with `picoclaw serve token create NAME`. Users see only what they caused themselves; jobs and messages of others are 404 to them.",
    },
    servers: [{ url: "/api/v1" }],
    paths: {
      "/messages": {
        post: operation("Send a message", "chat", {
          requestBody: { required: true, content: json(knownSchemaRef("NewMessage")) },
          responses: {
            "200": ok("It was sent and answered within `wait`.", knownSchemaRef("Message")),
            "202": ok("It is stored and will be answered.", knownSchemaRef("Message")),
            "400": failed("Something in the body is not right."),
            "413": failed("Too long, or an image that is too large."),
            "415": failed("An image that no model takes."),
            "429": failed("Too many messages."),
            "503": failed("The disk of the store is full; nothing was taken in."),
          },
        }),
      },
      "/messages/{id}": {
        get: operation("A message and its reply", "read", {
          parameters: [parameter("id", "path", { type: "string" }, "The message's id.")],
          responses: {
            "200": ok("The message.", knownSchemaRef("Message")),
            "404": failed("No such message."),
          },
        }),
      },
      "/messages/{id}/stop": {
        post: operation("End the answering of a message; what it had begun is taken back", "chat", {
          parameters: [parameter("id", "path", { type: "string" }, "The message's id.")],
          responses: {
            "200": ok("Whoever answers it ends within seconds.", {
              type: "object",
              required: ["message_id", "stopping"],
              properties: { message_id: { type: "string" }, stopping: { type: "boolean", const: true } },
            }),
            "404": failed("No such message."),
            "409": failed("Nobody is answering it."),
          },
        }),
      },
      "/jobs": {
        get: operation("Jobs, newest first", "read", {
          parameters: [
            parameter(
              "limit",
              "query",
              { type: "integer", minimum: 1, maximum: 500, default: 50 },
              "How many, or how many on a page.",
            ),
            parameter(
              "q",
              "query",
              { type: "string", maxLength: 200 },
              "Words that all stand in the request, the title, a path or the id.",
            ),
            parameter("status", "query", { enum: JOB_STATUSES }, "What became of them."),
            parameter(
              "chat",
              "query",
              { type: "string" },
              "The chat whose message made them: `<channel>:<chat>`.",
            ),
            parameter("day", "query", { type: "string", format: "date" }, "The day they began, in `zone`."),
            parameter(
              "zone",
              "query",
              { type: "string" },
              "The time zone of `day`, as in `Europe/Paris`. Default: `session.timezone`.",
            ),
            parameter("path", "query", { type: "string" }, "A part of a changed path."),
            parameter(
              "page",
              "query",
              { type: "integer", minimum: 1 },
              "Which page; one that is not there is the last.",
            ),
          ],
          responses: {
            "200": ok("The jobs; where the list was narrowed or a page was asked for, how many there are.", {
              type: "object",
              required: ["jobs"],
              additionalProperties: false,
              properties: {
                jobs: { type: "array", items: knownSchemaRef("Job") },
                total: { type: "integer" },
                page: { type: "integer" },
                pages: { type: "integer" },
              },
            }),
            "400": failed("A parameter is not right."),
          },
        }),
        post: operation("Carry out a patch as one job", "jobs, of an operator", {
          requestBody: { required: true, content: json(knownSchemaRef("NewJob")) },
          responses: {
            "200": ok("It ran; `result` says with what success.", knownSchemaRef("Ran")),
            "400": failed("Something in the body is not right."),
            "409": failed("It was refused before anything ran."),
            "413": failed("More than 50,000 lines or brackets."),
            "422": failed("This is no patch."),
          },
        }),
      },
      "/jobs/{job}": {
        get: operation("One job with its journal", "read", {
          parameters: [jobId],
          responses: {
            "200": ok("The job.", knownSchemaRef("JobWithEvents")),
            "404": failed("No such job."),
          },
        }),
      },
      "/jobs/{job}/diff": {
        get: operation("What a job changed, as a unified diff", "read", {
          parameters: [jobId],
          responses: {
            "200": ok("The difference.", knownSchemaRef("Diff")),
            "404": failed("No such job."),
            "503": failed("The machine of the job is away."),
          },
        }),
      },
      "/jobs/{job}/undo": {
        post: changeOperation("Take a job back", {
          requestBody: { required: false, content: json(knownSchemaRef("Force")) },
        }),
      },
      "/jobs/{job}/redo": {
        post: changeOperation("Bring it in again", {
          requestBody: { required: false, content: json(knownSchemaRef("Force")) },
        }),
      },
      "/jobs/{job}/apply": { post: changeOperation("Apply exactly what a preview showed") },
      "/jobs/{job}/stop": { post: changeOperation("End a running job; nothing of it is applied") },
      "/sessions": {
        get: operation("Chats, the last used first", "read", {
          responses: { "200": ok("The chats.", knownSchemaRef("Sessions")) },
        }),
      },
      "/sessions/{channel}/{chat}": {
        get: operation("What was said in a chat", "read", {
          parameters: [
            parameter(
              "channel",
              "path",
              { type: "string" },
              `${["web", ...CHANNEL_NAMES].map((name) => `\`${name}\``).join(", ")}.`,
            ),
            parameter("chat", "path", { type: "string" }, "The chat's id."),
          ],
          responses: {
            "200": ok("The last hundred messages.", {
              type: "object",
              required: ["messages"],
              additionalProperties: false,
              properties: { messages: { type: "array", items: knownSchemaRef("Message") } },
            }),
            "404": failed("No such chat."),
          },
        }),
      },
      "/usage": {
        get: operation("Tokens and cost by day and model", "read", {
          parameters: [
            parameter(
              "days",
              "query",
              { type: "integer", minimum: 1, maximum: 366, default: 30 },
              "How far back.",
            ),
          ],
          responses: {
            "200": ok("The sums.", knownSchemaRef("Usage")),
            "400": failed("Not a number of days."),
          },
        }),
      },
      "/health": {
        get: operation("Which parts work", "read", {
          responses: { "200": ok("The parts.", knownSchemaRef("Health")) },
        }),
      },
      "/config": {
        get: operation("The effective configuration, secrets masked", "read, of an operator", {
          responses: { "200": ok("The keys.", knownSchemaRef("Config")) },
        }),
      },
    },
    components: {
      schemas: SCHEMAS,
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}
