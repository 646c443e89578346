import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  GetPromptRequestSchema,
  type GetPromptResult,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  McpError,
  type ProgressNotification,
  type Prompt,
  ReadResourceRequestSchema,
  RootsListChangedNotificationSchema,
  type ServerNotification,
  type ServerRequest,
  type ServerResult,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { diffText, resolveJobName, toJobJson, toListedJob } from "../../application/jobs/job-facts.ts";
import type { StoredJob } from "../../application/ports/jobs.ts";
import type { ToolEnvelope } from "../../application/ports/tools.ts";
import { changedFiles } from "../../domain/jobs/result.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { toShownJson } from "../../domain/platform/json-text.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { wordNote } from "../../domain/texts/jobs-notes.ts";
import type { McpHost } from "./host.ts";

/**
 * An envelope as the protocol carries it. Both forms contain the facts that the model must know, since some
 * clients show it the text and others the structure: the data with the job and the notes beside it, or the
 * failure with its code.
 */
function toCallResult(envelope: ToolEnvelope): CallToolResult {
  if (envelope.status !== "success") {
    const { status, message, error } = envelope;
    return {
      content: [{ type: "text", text: `${status} (${error.code}): ${message}` }],
      structuredContent: { ...envelope },
      isError: true,
    };
  }
  const { status: _, data, ...beside } = envelope;
  const structuredContent: Record<string, unknown> = { ...beside, ...asObject(data) };
  return { content: [{ type: "text", text: toShownJson(structuredContent) }], structuredContent };
}

function asObject(data: unknown): object {
  if (data === undefined || data === null) return {};
  return typeof data === "object" && !Array.isArray(data) ? data : { data };
}

/** The transport does not notify a handler of a broken connection; the auth info carries that signal to it. */
export function withConnection(gone: AbortSignal): AuthInfo {
  return { token: "", clientId: "bearer", scopes: [], extra: { gone } };
}

/** Aborted when the call was cancelled, its session closed, or its connection broke. */
function clientGone(call: {
  readonly signal: AbortSignal;
  readonly authInfo?: AuthInfo | undefined;
}): AbortSignal {
  const gone = call.authInfo?.extra?.gone;
  return gone instanceof AbortSignal ? AbortSignal.any([call.signal, gone]) : call.signal;
}

type CallExtra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Parameters of a wrong shape are the client's error; the SDK would call them internal. */
function onRequest<Schema extends z.ZodType<{ method: string }>>(
  server: Server,
  method: z.output<Schema>["method"],
  schema: Schema,
  answer: (request: z.output<Schema>, extra: CallExtra) => ServerResult | Promise<ServerResult>,
): void {
  const anything = z.looseObject({ method: z.literal(method), params: z.unknown().optional() });
  server.setRequestHandler(anything, (request, extra) => {
    const parsed = schema.safeParse(request);
    if (parsed.success) return answer(parsed.data, extra);
    const [issue] = parsed.error.issues;
    const what = issue === undefined ? "" : `: ${issue.path.join(".")}: ${issue.message}`;
    throw new McpError(ErrorCode.InvalidParams, `Invalid ${method} request${what}`.slice(0, 500));
  });
}

const AT_MOST_EVERY_MS = 100;
/** A silent command reports progress too, so that a client's time limit starts again. */
const AT_LEAST_EVERY_MS = 5000;
const TAIL_CHARS = 8192;
const LINE_CHARS = 200;

/**
 * Reports the progress of a long call to a client: the seconds since the start, and the last whole line printed. One
 * notification is in transit at a time, until `send` resolves: a client that does not read gets fewer of them, not a queue.
 */
function startProgress(
  send: (progress: { readonly progress: number; readonly message?: string }) => Promise<void>,
  mask: (text: string) => string,
) {
  const now = () => performance.now();
  const begun = now();
  let tail = "";
  let sentAt = begun - AT_MOST_EVERY_MS;
  let busy = false;
  let stopped = false;
  let timer = setTimeout(tell, AT_LEAST_EVERY_MS);

  function tell(): void {
    if (stopped || busy) return;
    busy = true;
    sentAt = now();
    const message = lastLine(tail, mask);
    const seconds = Math.max(1, Math.round(sentAt - begun)) / 1000;
    void send({ progress: seconds, ...(message !== "" && { message }) })
      .catch(() => {})
      .finally(() => {
        busy = false;
        wait(AT_LEAST_EVERY_MS);
      });
  }

  function wait(ms: number): void {
    clearTimeout(timer);
    if (!stopped) timer = setTimeout(tell, ms);
  }

  return {
    onOutput(text: string) {
      tail = (tail + text).slice(-TAIL_CHARS);
      if (!busy && text.includes("\n")) wait(Math.max(0, sentAt + AT_MOST_EVERY_MS - now()));
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** A line that is still being printed may end in half a secret, so it is left out. */
function lastLine(tail: string, mask: (text: string) => string): string {
  const whole = tail.slice(0, tail.lastIndexOf("\n") + 1);
  return (
    mask(whole)
      .trimEnd()
      .split(/[\r\n]/)
      .at(-1)
      ?.slice(0, LINE_CHARS)
      .toWellFormed() ?? ""
  );
}

/** One `tools/call`: refused outside of the client's roots, with progress, ended when the client cancels or disconnects. */
async function callTool(
  host: McpHost,
  { name, arguments: args }: CallToolRequest["params"],
  extra: CallExtra,
  refused: string | null,
): Promise<CallToolResult> {
  if (refused !== null) {
    const error = { code: "OUTSIDE_ROOTS" } as const;
    return toCallResult({ status: "denied", reason: "path", message: refused, error });
  }
  const signal = clientGone(extra);
  if (signal.aborted) {
    const error = { code: "ABORTED" } as const;
    return toCallResult({ status: "failure", reason: "tool", message: "the call was aborted", error });
  }
  const progressToken = extra._meta?.progressToken;
  const send = (params: object) =>
    extra.sendNotification({
      method: "notifications/progress",
      params: { progressToken, ...params } as ProgressNotification["params"],
    });
  const progress = progressToken === undefined ? null : startProgress(send, host.mask);
  try {
    const onOutput = progress?.onOutput ?? (() => {});
    const envelope = await host.invoke(name, args, { signal, onOutput });
    if (envelope.status === "failure" && envelope.error.code === "UNKNOWN_TOOL")
      throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`, {
        code: "UNKNOWN_TOOL",
      });
    return toCallResult(envelope);
  } finally {
    progress?.stop();
  }
}

/** Asks the client for the URIs of its roots; null when it offers none. */
type AskRoots = () => Promise<readonly string[]> | null;

/**
 * A client that offers roots allows those folders and no others. An empty list sets no limit: clients without an
 * open folder send it, such as the official inspector. A workspace named by the user takes precedence.
 */
function createRoots(host: Pick<McpHost, "root" | "workspaceIsGiven" | "realPath">) {
  let known: Promise<readonly string[]> | null = null;

  return {
    /** A text if the workspace is outside the client's roots. */
    async check(ask: AskRoots): Promise<string | null> {
      if (host.workspaceIsGiven) return null;
      known ??= ask();
      if (known === null) return null;
      const asked = known;
      let uris: readonly string[];
      try {
        uris = await asked;
      } catch (error) {
        if (known === asked) known = null;
        return `the client did not report its roots (${(error as Error).message}); name the folder with --workspace`;
      }
      if (uris.length === 0 || uris.some((uri) => contains(folderOf(uri, host), host.root))) return null;
      return `the workspace ${host.root} is in none of the client's roots (${uris.slice(0, 5).join(", ").slice(0, 500)}); start the server in one of them, or name the folder with --workspace`;
    },
    forget(): void {
      known = null;
    },
  };
}

function folderOf(uri: string, host: Pick<McpHost, "realPath">): string | null {
  return attemptOr(null, () => host.realPath(fileURLToPath(uri)));
}

function contains(folder: string | null, path: string): boolean {
  if (folder === null) return false;
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith("..") && !isAbsolute(inside);
}

/** The running calls, so that a server ends only after everything that they started. */
export type RunningCalls = ReturnType<typeof createRunningCalls>;

export function createRunningCalls() {
  const running = new Set<Promise<unknown>>();
  return {
    track<T>(call: Promise<T>) {
      running.add(call);
      const done = () => void running.delete(call);
      call.then(done, done);
      return call;
    },
    async settled() {
      while (running.size > 0) await Promise.allSettled(running);
    },
  };
}

const ROOTS_TIMEOUT_MS = 10_000;
const RESOURCE_NOT_FOUND = -32002;

const INSTRUCTIONS =
  "Tools for one workspace. Every write and every command is a job that can be undone exactly: " +
  "undo_job with the job_id of a result, or without one for the last job. Paths are relative to the workspace.";

/** The SDK's low-level class: tools check their own arguments, and their definitions exist already. */
export function createMcpServer(host: McpHost, calls: RunningCalls): Server {
  const server = new Server(
    { name: "picoclaw", title: "PicoClaw", version: host.version },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS },
  );
  const roots = createRoots(host);
  const askThrough =
    (extra: CallExtra): AskRoots =>
    () =>
      server.getClientCapabilities()?.roots === undefined
        ? null
        : extra
            .sendRequest({ method: "roots/list" }, ListRootsResultSchema, { timeout: ROOTS_TIMEOUT_MS })
            .then((result) => result.roots.map(({ uri }) => uri));

  async function mustBeInRoots(extra: CallExtra): Promise<void> {
    const refused = await roots.check(askThrough(extra));
    if (refused !== null) throw new McpError(ErrorCode.InvalidRequest, refused);
  }

  server.onerror = (error) => host.log(`mcp: ${error.message.slice(0, 500)}`);
  server.setNotificationHandler(RootsListChangedNotificationSchema, () => roots.forget());
  onRequest(server, "tools/list", ListToolsRequestSchema, () => ({ tools: [...host.tools] as Tool[] }));
  onRequest(server, "tools/call", CallToolRequestSchema, ({ params }, extra) =>
    calls.track(roots.check(askThrough(extra)).then((refused) => callTool(host, params, extra, refused))),
  );
  onRequest(server, "resources/list", ListResourcesRequestSchema, async (_, extra) => {
    await mustBeInRoots(extra);
    return { resources: listResources(host) };
  });
  onRequest(server, "resources/templates/list", ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [...RESOURCE_TEMPLATES],
  }));
  onRequest(server, "resources/read", ReadResourceRequestSchema, async ({ params: { uri } }, extra) => {
    await mustBeInRoots(extra);
    const resource = await readResource(uri, host);
    if (resource === null) throw new McpError(RESOURCE_NOT_FOUND, "Resource not found", { uri });
    return { contents: [resource] };
  });
  onRequest(server, "prompts/list", ListPromptsRequestSchema, () => ({
    prompts: PROMPTS.map(({ prompt }) => prompt),
  }));
  onRequest(server, "prompts/get", GetPromptRequestSchema, async ({ params }, extra) => {
    await mustBeInRoots(extra);
    const entry = PROMPTS.find(({ prompt }) => prompt.name === params.name);
    const messages =
      (await entry?.fill(params.arguments ?? {}, host)) ?? `Unknown prompt: ${params.name.slice(0, 100)}`;
    if (typeof messages === "string") throw new McpError(ErrorCode.InvalidParams, messages);
    return { description: entry?.prompt.description, messages };
  });
  return server;
}

const JOBS = "picoclaw://jobs";
const JOB_URI = /^picoclaw:\/\/jobs\/(job_\d{1,12}_[0-9a-z]{8}|\d{1,7})(\/diff)?$/;
/** Jobs that the list of resources names one by one; every other is reached by the template. */
const NAMED_JOBS = 20;
const LISTED_JOBS = 200;
/** Clients fail on messages of ten megabytes. */
const MOST_CHARS = 1_000_000;
const STRING_CHARS = 20_000;
const MOST_CHANGES = 1000;

const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${JOBS}/{id}`,
    name: "job",
    title: "One job",
    description: "What a job was asked, what it did and changed, and whether it can be undone",
    mimeType: "application/json",
  },
  {
    uriTemplate: `${JOBS}/{id}/diff`,
    name: "job-diff",
    title: "The changes of a job",
    description: "A unified diff of every file that a job changed",
    mimeType: "text/x-diff",
  },
] as const;

function listResources({ archive }: Pick<McpHost, "archive">) {
  const recent = archive.list().slice(-NAMED_JOBS).reverse();
  return [
    {
      uri: JOBS,
      name: "jobs",
      title: "Jobs",
      description: "The jobs of this workspace, newest first",
      mimeType: "application/json",
    },
    ...recent.flatMap((job) => [
      {
        uri: `${JOBS}/${job.jobId}`,
        name: job.jobId,
        description: job.title.slice(0, 200),
        mimeType: "application/json",
      },
      {
        uri: `${JOBS}/${job.jobId}/diff`,
        name: `${job.jobId}.diff`,
        description: `the changes of ${job.jobId}`,
        mimeType: "text/x-diff",
      },
    ]),
  ];
}

/** Null when there is no such resource. Secrets are masked: a model reads this. */
async function readResource(
  uri: string,
  host: Pick<McpHost, "archive" | "mask">,
): Promise<{ readonly uri: string; readonly mimeType: string; readonly text: string } | null> {
  if (uri === JOBS) {
    const newest = host.archive.list().slice(-LISTED_JOBS).reverse();
    return asJson(uri, stringify({ jobs: newest.map(briefly) }, host));
  }
  const [, jobId, diff] = JOB_URI.exec(uri) ?? [];
  const job = jobId === undefined ? null : host.archive.read(resolveJobName(host, jobId));
  if (job === null) return null;
  if (diff === undefined) return asJson(uri, detailsOf(job, host));
  const text = host.mask(await diffText(host.archive.walkDifferences(job.jobId)));
  return { uri, mimeType: "text/x-diff", text: capped(text, job.jobId) };
}

function briefly(job: StoredJob) {
  const { changes: _, ...rest } = toListedJob(job);
  return toJobJson(rest, true);
}

/** Parts that make it too long are left out and named. */
function detailsOf(job: StoredJob, host: Pick<McpHost, "archive" | "mask">): string {
  const details = {
    ...toJobJson(toListedJob(job), true),
    notes: job.notes.map((note) => wordNote(messagesFor("en"), note)),
  };
  const whole = stringify({ ...details, events: host.archive.events(job.jobId) }, host);
  if (whole.length <= MOST_CHARS) return whole;
  const left_out = `events, and changes past ${MOST_CHANGES}: picoclaw show ${job.jobId} --json`;
  return stringify({ ...details, changes: changedFiles(job.changes).slice(0, MOST_CHANGES), left_out }, host);
}

function stringify(value: object, { mask }: Pick<McpHost, "mask">): string {
  return JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== "string") return each;
    return each.length <= STRING_CHARS ? mask(each) : `${mask(each).slice(0, STRING_CHARS).toWellFormed()}…`;
  });
}

const asJson = (uri: string, text: string) => ({ uri, mimeType: "application/json", text });

function capped(text: string, jobId: string): string {
  if (text.length <= MOST_CHARS) return text;
  const cut = text.length - MOST_CHARS;
  return `${text.slice(0, MOST_CHARS).toWellFormed()}\n# ${cut} more characters: picoclaw show ${jobId} --diff\n`;
}

interface PromptEntry {
  readonly prompt: Prompt;
  /** A text names the error in the arguments. */
  fill(
    args: Readonly<Record<string, string>>,
    host: Pick<McpHost, "archive" | "mask">,
  ): Promise<PromptMessages | string>;
}

type PromptMessages = GetPromptResult["messages"];

const JOB = { name: "job_id", description: "A job of this workspace; absent: the last one", required: false };

const PROMPTS: readonly PromptEntry[] = [
  {
    prompt: {
      name: "change_safely",
      title: "Change the project, safely",
      description: "Make a change, run the project's own tests, and undo it if they got worse",
      arguments: [{ name: "request", description: "What should be different", required: true }],
    },
    async fill({ request = "" }) {
      if (request.trim() === "") return "request: required";
      return [
        userMessage(
          `${request}\n\nWork with PicoClaw's tools: each of their writes and commands is a job that can be undone exactly. ` +
            "First find out how the project is tested, and run its tests with execute_command. Then make the change with text_editor or apply_patch. " +
            "Run the tests again. If something that passed before fails now and you cannot fix it, undo your jobs with undo_job, newest first. " +
            "End with what changed, the tests before and after, and the job ids.",
        ),
      ];
    },
  },
  {
    prompt: {
      name: "review_job",
      title: "Review a job",
      description: "Review what a job changed",
      arguments: [JOB],
    },
    async fill({ job_id: name }, host) {
      const jobId = name || host.archive.list().at(-1)?.jobId;
      if (jobId === undefined) return "there is no job yet";
      const diff = await readResource(`picoclaw://jobs/${jobId}/diff`, host);
      if (diff === null) return `job_id: no such job: ${jobId.slice(0, 100)}`;
      return [
        userMessage(
          `Review what ${jobId} changed. Name mistakes, omissions, and what to test, most important first. ` +
            "Change nothing. If the job should be undone, say so: undo_job does that.",
        ),
        { role: "user", content: { type: "resource", resource: diff } },
      ];
    },
  },
  {
    prompt: {
      name: "take_back",
      title: "Undo a job",
      description: "Undo a job and report the result",
      arguments: [JOB],
    },
    async fill({ job_id: name }) {
      const which = name ? `the job ${name}` : "the last job";
      const rest =
        "Report which files are restored. If there is a conflict, name it and change nothing else.";
      return [userMessage(`Undo ${which} with undo_job. ${rest}`)];
    },
  },
];

function userMessage(text: string): PromptMessages[number] {
  return { role: "user", content: { type: "text", text } };
}
