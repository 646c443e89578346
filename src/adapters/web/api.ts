import { Hono, type MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import { wordReply } from "../../application/chat/reply-words.ts";
import type { JobQuery, ViewedJob } from "../../application/fleet/viewer-jobs.ts";
import { toFigureJson } from "../../application/history/word-why.ts";
import { diffText, toJobJson, toListedJob } from "../../application/jobs/job-facts.ts";
import { giveWay } from "../../application/platform/give-way.ts";
import { untilAborted } from "../../application/platform/waiting.ts";
import type { Reply } from "../../application/ports/chat.ts";
import type {
  Attachment,
  Exchange,
  InboundMessage,
  Scope,
  StoredMessage,
} from "../../application/ports/serve.ts";
import type { Viewer } from "../../application/serve/access.ts";
import { readSlashCommand } from "../../domain/chat/message-commands.ts";
import { ROUTES } from "../../domain/config/configured-kinds.ts";
import { JOB_STATUSES, type RefusedJob } from "../../domain/jobs/result.ts";
import { refuseLongPatch } from "../../domain/patch/parse-patch.ts";
import { dayFormatter, isTimeZone } from "../../domain/platform/days.ts";
import { MOST_IMAGES } from "../../domain/platform/image.ts";
import { readTraceparent } from "../../domain/platform/traceparent.ts";
import { isStoreAway } from "../../domain/store/store-trouble.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { toResultJson, wordRefusal } from "../../domain/texts/jobs-report.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import { CHANNEL_NAMES } from "../channels/registry.ts";
import type { WebHost } from "./host.ts";
import { actOnJob } from "./job-view.ts";
import type { Every } from "./live-streams.ts";
import document from "./openapi.json" with { type: "json" };
import { replyJson } from "./reply-json.ts";
import { readImageList } from "./request-bodies.ts";
import { isOurOrigin, viewerOfToken } from "./visitor.ts";
import {
  type Api,
  type ApiEnv,
  answerApiTrouble,
  apiFailure,
  readJsonBody,
  refuse,
  type Web,
} from "./web.ts";

/** The request as its schema reads it; refused for its first wrong value. */
function readRequest<T extends z.ZodObject>(schema: T, given: unknown): z.output<T> {
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  const [{ path: [field = ""] = [], message = "" } = {}] = read.error.issues;
  return refuse(400, `bad-${String(field).replaceAll("_", "-")}`, `${String(field)}: ${message}`);
}

/** A parameter without a value counts as absent. */
const readQuery = <T extends z.ZodObject>(schema: T, query: Readonly<Record<string, string>>) =>
  readRequest(schema, Object.fromEntries(Object.entries(query).filter(([, value]) => value !== "")));

function demandScope(viewer: Viewer, scope: Scope, { operator = false } = {}): void {
  if (!viewer.scopes.includes(scope)) refuse(403, "missing-scope", `this token lacks the scope ${scope}`);
  if (operator && viewer.role !== "operator") refuse(403, "operators-only", "this needs an operator's token");
}

/** Refuses a token that may not do this before anything else is looked at. */
const needs =
  (scope: Scope, options?: { operator?: boolean }): MiddlewareHandler<ApiEnv> =>
  (c, next) => {
    demandScope(c.var.viewer, scope, options);
    return next();
  };

export function jobApi(app: Api, { host }: Web): void {
  const { viewerJobs } = host;
  const words = () => host.messagesFor(host.locale());
  const read = async (viewer: Viewer, job: string) =>
    (await viewerJobs.read(viewer, job)) ?? refuse(404, "unknown-job", "no such job");
  function refuseJob(facts: RefusedJob): never {
    const { why } = facts;
    if (why.kind === "refused") refuse(409, why.refusal.code, wordRefusal(words(), facts));
    const { kind: _, code, message, ...details } = why;
    return refuse(422, code, message, details);
  }
  app.get("/jobs", needs("read"), async (c) => {
    const { limit, zone = host.timezone(), ...narrowed } = readQuery(jobsQuery, c.req.query());
    if (Object.keys(narrowed).length === 0)
      return c.json({ jobs: (await viewerJobs.list(c.var.viewer, limit)).map(viewedJobJson) });
    const { q: text = "", status = "", chat = "", day = "", path = "", page: wanted = 1 } = narrowed;
    const query: JobQuery = { text, status, chat, day, path, page: wanted, perPage: limit };
    const { jobs, total, page, pages } = await viewerJobs.find(c.var.viewer, query, dayFormatter(zone));
    return c.json({ jobs: jobs.map(viewedJobJson), total, page, pages });
  });
  app.post("/jobs", needs("jobs", { operator: true }), async (c) => {
    const job = readRequest(newJob, await readJsonBody(c.req.raw));
    const long = refuseLongPatch(job.patch);
    if (long !== null) refuse(413, long.code, long.message);
    await giveWay();
    const facts = await viewerJobs.run(c.var.viewer, { ...job, source: "api" });
    if (facts.about === "refusal") return refuseJob(facts);
    return c.json({ outcome: facts.outcome, result: toResultJson(words(), facts) });
  });
  app.get("/jobs/:job", needs("read"), async (c) => {
    const viewed = await read(c.var.viewer, c.req.param("job"));
    await giveWay();
    const events = await viewerJobs.journal(c.var.viewer, viewed.job.jobId);
    await giveWay();
    return c.json({ ...viewedJobJson(viewed), events });
  });
  app.get("/jobs/:job/diff", needs("read"), async (c) => {
    const viewed = await read(c.var.viewer, c.req.param("job"));
    const files =
      (await viewerJobs.differences(c.var.viewer, viewed.job.jobId)) ??
      refuse(503, "machine-away", "the machine that holds this job is away");
    return c.json({ job_id: viewed.job.jobId, diff: await diffText(files) });
  });
  app.post("/jobs/:job/:verb", needs("jobs"), async (c) => {
    const { viewer } = c.var;
    const [jobId, verb] = [c.req.param("job"), c.req.param("verb")];
    const isForced = (await readJsonBody(c.req.raw)).force === true;
    const outcome = await actOnJob(host, words(), viewer, { jobId, verb, force: isForced });
    if (outcome === null) return c.notFound();
    if (!outcome.ok) refuse(outcome.status, outcome.code, outcome.text);
    const viewed = await viewerJobs.read(viewer, jobId);
    return c.json({ message: outcome.text, ...(viewed !== null && { job: viewedJobJson(viewed) }) });
  });
}

function viewedJobJson({ job, changeCount, alive, machine }: ViewedJob): Record<string, unknown> {
  return {
    ...toJobJson(toListedJob(job), alive),
    ...(changeCount !== undefined && { change_count: changeCount }),
    alive,
    ...(machine !== undefined && { machine }),
  };
}

const JOB_COMMANDS: ReadonlySet<string> = new Set(["undo", "redo", "rewind", "apply", "discard", "ps"]);

async function readApiImages(given: unknown, locale: Locale): Promise<readonly Attachment[]> {
  const read = await readImageList(given);
  if (read.ok) return read.attachments;
  const { trouble } = read;
  const expected = "images: a list of {name, data}, name of at most 4,096 characters, data in base64";
  if (trouble.kind === "not-a-list") return refuse(400, "bad-images", expected);
  const status = trouble.kind === "not-an-image" ? 415 : 413;
  return refuse(status, trouble.kind, chatMessagesFor(locale).imageTrouble(trouble));
}

/** Messages to a chat of the token's own person, and what was answered. */
export function messageApi(app: Api, web: Web): void {
  const { host } = web;
  app.post("/messages", needs("chat"), async (c) => {
    const { viewer } = c.var;
    const sent = readRequest(newMessage, await readJsonBody(c.req.raw, "images"));
    const { text, chat, route, event_id: eventId, wait } = sent;
    const images = await readApiImages(sent.images ?? [], host.locale());
    if (text.trim() === "" && images.length === 0)
      refuse(400, "bad-text", "text: at least one character, or images");
    // Actions on jobs need the same right in a chat as at the jobs' own addresses.
    const command = readSlashCommand(text)?.name.toLowerCase() ?? "";
    if (JOB_COMMANDS.has(command)) demandScope(viewer, "jobs");
    const traceparent = c.req.header("traceparent");
    const message: InboundMessage = {
      channel: viewer.channel,
      // Programs number their events per workspace, and several workspaces may share one store.
      eventId: `${viewer.userId}:api:${host.sha256(host.workspace()).slice(0, 12)}:${eventId ?? crypto.randomUUID()}`,
      chatId: chat === undefined ? viewer.userId : `${viewer.userId}.${chat}`,
      userId: viewer.userId,
      text,
      // A message that waits when its token is removed is not carried out.
      ...(viewer.token !== undefined && { replyTo: { token: viewer.token } }),
      ...(images.length > 0 && { attachments: images }),
      ...(route !== undefined && { forcedRoute: route, strict: true }),
      ...(readTraceparent(traceparent) !== null && traceparent !== undefined && { traceparent }),
    };
    const received = await host.receive(message);
    if (received.status === "refused") {
      const status = received.reason === "too-many" ? 429 : received.reason === "too-long" ? 413 : 403;
      refuse(status, received.reason, received.text);
    }
    const { messageId: id } = received;
    const known = {
      ...message,
      id,
      workspace: host.workspace(),
      receivedAt: host.now().toISOString(),
      state: "received",
      attempts: 0,
    } as const;
    const acknowledge = () => c.json(exchangeJson(host, { message: known, replies: [] }), 202);
    // The store is not asked for known facts, so that a burst is acknowledged sooner.
    if (wait === 0 && received.status === "accepted") return acknowledge();
    // A server that stops reports that the message is stored; the next process answers it.
    if (wait > 0) await Promise.race([host.waitForAnswer(id, wait * 1_000), untilAborted(host.closing)]);
    // The message is stored: a client that got an error would send it again.
    const found = await readExchange(viewer, id).catch((error: unknown) =>
      isStoreAway(error) ? null : Promise.reject(error),
    );
    if (found === null) return acknowledge();
    return c.json(exchangeJson(host, found), found.message.state === "done" ? 200 : 202);
  });
  app.get("/messages/:id", needs("read"), async (c) =>
    c.json(exchangeJson(host, await readExchange(c.var.viewer, c.req.param("id")))),
  );
  app.post("/messages/:id/stop", needs("chat"), async (c) => {
    const message = await readMessage(c.var.viewer, c.req.param("id"));
    if (!(await host.stopMessage(message))) refuse(409, "not-running", "this message is not being answered");
    return c.json({ message_id: message.id, stopping: true });
  });

  async function readMessage({ channel, userId, role }: Viewer, id: string): Promise<StoredMessage> {
    const message = await host.messages.message(id);
    const isTheirs = message?.channel === channel && message.userId === userId;
    if (message === null || (role !== "operator" && !isTheirs))
      refuse(404, "unknown-message", "no such message");
    return message;
  }

  async function readExchange(viewer: Viewer, id: string): Promise<Exchange> {
    return { message: await readMessage(viewer, id), replies: await host.messages.repliesTo(id) };
  }
}

export function exchangeJson(
  { viewerJobs, locale }: Pick<WebHost, "viewerJobs" | "locale">,
  { message, replies }: Exchange,
): Record<string, unknown> {
  const [answer] = replies;
  const actionsOf = (reply: Reply) => viewerJobs.actions(reply, chatMessagesFor(locale()).actions);
  return {
    ...messageJson(message),
    reply:
      answer === undefined
        ? null
        : answer.content.kind === "notice"
          ? { text: answer.content.text, ok: true, jobs: [], actions: [] }
          : {
              text: wordReply(locale(), answer.content.reply),
              ok: answer.content.reply.ok,
              ...replyJson({ ...answer.content.reply, actions: actionsOf(answer.content.reply) }),
            },
  };
}

function messageJson(message: StoredMessage): Record<string, unknown> {
  return {
    message_id: message.id,
    channel: message.channel,
    chat_id: message.chatId,
    user_id: message.userId,
    text: message.text,
    received_at: message.receivedAt,
    state: message.state,
  };
}

export function overviewApi(app: Api, { host }: Web): void {
  app.get("/sessions", needs("read"), async (c) => {
    const { viewer } = c.var;
    const mine = viewer.role === "operator" ? {} : { channel: viewer.channel, userId: viewer.userId };
    const chats = await host.messages.chats({ ...mine, limit: 100 });
    return c.json({
      sessions: chats.map((chat) => ({
        key: `${chat.channel}:${chat.chatId}`,
        channel: chat.channel,
        chat_id: chat.chatId,
        user_id: chat.userId,
        messages: chat.messages,
        last_at: chat.lastAt,
      })),
    });
  });
  app.get("/sessions/:channel/:chat", needs("read"), async (c) => {
    const { viewer } = c.var;
    const [channel, chatId] = [c.req.param("channel"), c.req.param("chat")];
    const refuseUnknown = () => refuse(404, "unknown-session", "no such session");
    if (viewer.role !== "operator") {
      const own = await host.messages.chats({
        channel: viewer.channel,
        userId: viewer.userId,
        limit: 1_000,
      });
      if (!own.some((chat) => chat.channel === channel && chat.chatId === chatId)) refuseUnknown();
    }
    const exchanges = await host.messages.transcript({ channel, chatId, limit: 100 });
    if (exchanges.length === 0) refuseUnknown();
    return c.json({ messages: exchanges.map((one) => exchangeJson(host, one)) });
  });
  app.get("/usage", needs("read"), async (c) => {
    const asked = readQuery(usageQuery, c.req.query());
    const { days, rows } = await host.readFigures(c.var.viewer, asked.days);
    return c.json({ from: days[0]?.day ?? "", rows: rows.map(toFigureJson) });
  });
  app.get("/health", needs("read"), async (c) => {
    const { ready, checks } = await host.health();
    if (c.var.viewer.role === "operator") return c.json({ version: host.version, ready, checks });
    // Addresses and the words of other services are the operator's, as on the page.
    const withoutDetail = checks.map(({ name, required, ok }) => ({ name, required, ok, detail: "" }));
    return c.json({ version: host.version, ready, checks: withoutDetail });
  });
  app.get("/config", needs("read", { operator: true }), async (c) => {
    return c.json({ keys: await host.configuration() });
  });
}

/** `/api/v1`: what the console does, for programs with a token. JSON in, JSON out, described at openapi.json. */
export function createApi(web: Web): Api {
  const app = new Hono<ApiEnv>().basePath("/api/v1");
  app.onError((error, c) => {
    if (error instanceof HTTPException) return error.getResponse();
    web.host.onTrouble(error, c.req.path);
    return answerApiTrouble(error);
  });
  app.notFound(() => apiFailure(404, "not-found", "no such address"));
  app.get("/openapi.json", (c) => c.json(openApi(web.host.version)));
  app.use("*", async (c, next) => {
    const viewer = await viewerOfToken(web, c.req.raw);
    if (viewer === null) {
      const refused = apiFailure(401, "unauthorized", "send a token: Authorization: Bearer pico_…");
      refused.headers.set("www-authenticate", "Bearer");
      return refused;
    }
    c.set("viewer", viewer);
    await next();
  });
  messageApi(app, web);
  jobApi(app, web);
  overviewApi(app, web);
  return app;
}

/** MCP with the API's tokens. The tools see the whole workspace and every job: that is for operators. */
export async function answerMcp(web: Web, request: Request): Promise<Response> {
  const viewer = await viewerOfToken(web, request);
  const refuse = (status: number, message: string, headers: Record<string, string> = {}) =>
    Response.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message } }, { status, headers });
  if (viewer === null)
    return refuse(401, "Unauthorized: send a token with the scope mcp", { "www-authenticate": "Bearer" });
  if (viewer.role !== "operator" || !viewer.scopes.includes("mcp"))
    return refuse(403, "Forbidden: an operator's token with the scope mcp is needed");
  if (!isOurOrigin(request)) return refuse(403, "Forbidden: the Origin is not this server");
  // A session whose token is removed ends, with its stream and its calls.
  const gone = watchUntil(async () => (await viewerOfToken(web, request)) === null, web.every);
  const signal = AbortSignal.any([request.signal, gone.signal]);
  const answered = await (await web.host.mcp())(new Request(request, { signal }));
  if (answered.body === null) {
    gone.stop();
    return answered;
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  // An end is seen at once; a stream that breaks off may keep its connection.
  void answered.body
    .pipeTo(writable, { signal: gone.signal, preventAbort: true })
    .catch(() => writable.close().catch(() => {}))
    .finally(gone.stop);
  return new Response(readable, { status: answered.status, headers: answered.headers });
}

const TOKEN_LOOK_MS = 3_000;

/** Aborted when something holds that is asked every few seconds; a store that does not answer says nothing. */
function watchUntil(holds: () => Promise<boolean>, every: Every) {
  const gone = new AbortController();
  const look = async () => {
    if (await holds().catch(() => false)) gone.abort();
  };
  const stop = every(TOKEN_LOOK_MS, () => void look());
  gone.signal.addEventListener("abort", stop, { once: true });
  return { signal: gone.signal, stop };
}

/** The API reads a request by its schema, and describes it by the same. */
const newMessage = z.object({
  text: z.string().max(100_000).default("").describe("May be empty if there are images."),
  images: z
    .unknown()
    .optional()
    .meta({
      type: "array",
      maxItems: MOST_IMAGES,
      items: {
        type: "object",
        required: ["data"],
        properties: { name: { type: "string" }, data: { type: "string", contentEncoding: "base64" } },
      },
      description: "PNG, JPEG, GIF or WebP, shown to the model that answers.",
    }),
  chat: z
    .string()
    .regex(/^[a-z0-9]{1,20}$/)
    .optional(),
  route: z.enum(ROUTES).optional(),
  event_id: z.string().max(100).optional().describe("Sent twice under one id, it is one message."),
  wait: z.number().min(0).max(25).default(0).describe("Seconds to wait for the reply."),
});

const newJob = z.object({
  patch: z.string(),
  mode: z.enum(["apply", "preview", "dry-run"]).default("apply"),
  atomic: z.boolean().default(false),
});

const force = z.object({ force: z.boolean().optional().describe("Overwrite later changes.") });

const wholeNumber = (most: number) => z.coerce.number().int().min(1).max(most);

const jobsQuery = z.object({
  limit: wholeNumber(500).default(50).describe("How many, or how many on a page."),
  q: z
    .string()
    .max(200)
    .optional()
    .describe("Words that all occur in the request, the title, a path or the id."),
  status: z.enum(JOB_STATUSES).optional().describe("What became of them."),
  chat: z.string().optional().describe("The chat whose message made them: `<channel>:<chat>`."),
  day: z.iso.date().optional().describe("The day they began, in `zone`."),
  zone: z
    .string()
    .refine(isTimeZone, "a time zone, as in Europe/Paris")
    .optional()
    .describe("The time zone of `day`, as in `Europe/Paris`. Default: `session.timezone`."),
  path: z.string().optional().describe("A part of a changed path."),
  page: wholeNumber(999_999).optional().describe("Which page; beyond the last one, the last."),
});

const usageQuery = z.object({ days: wholeNumber(366).default(30).describe("How far back.") });

type Json = Readonly<Record<string, unknown>>;

function jsonSchema(schema: z.ZodObject): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
}

const queryParameters = (schema: z.ZodObject) =>
  Object.entries(jsonSchema(schema).properties as Record<string, Json>).map(
    ([name, { description, ...rest }]) => ({ name, in: "query", required: false, schema: rest, description }),
  );

const COMMON = {
  "401": failure("No token, or an unknown one."),
  "403": failure("The token lacks the scope, or an operator's is needed."),
};

function failure(description: string) {
  return { $ref: "#/components/responses/Failed", description };
}

export function openApi(version: string): Json {
  const { info, paths, components, ...rest } = document;
  const queries: Record<string, z.ZodObject> = { "/jobs": jobsQuery, "/usage": usageQuery };
  const describe = (path: string, method: string, operation: Json) => ({
    ...operation,
    ...(method === "get" && queries[path] && { parameters: queryParameters(queries[path]) }),
    responses: { ...(operation.responses as Json), ...COMMON },
  });
  return {
    ...rest,
    info: { ...info, version },
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, methods]) => [
        path,
        Object.fromEntries(
          Object.entries(methods).map(([method, operation]) => [method, describe(path, method, operation)]),
        ),
      ]),
    ),
    components: {
      ...components,
      schemas: {
        ...components.schemas,
        NewMessage: jsonSchema(newMessage),
        NewJob: jsonSchema(newJob),
        Force: jsonSchema(force),
        Status: { enum: JOB_STATUSES },
        Route: { enum: ROUTES },
        Channel: { enum: ["web", ...CHANNEL_NAMES] },
      },
    },
  };
}
