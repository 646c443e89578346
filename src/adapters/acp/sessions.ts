import { isAbsolute, join } from "node:path";
import {
  type McpServer,
  type PlanEntryStatus,
  RequestError,
  type SessionConfigOption,
  type SessionInfo,
  type SessionUpdate,
  type ToolCallContent,
  type ToolKind,
} from "@agentclientprotocol/sdk";
import { readPlanSteps } from "../../application/chat/describe-event.ts";
import { wordRepair } from "../../application/jobs/action-report.ts";
import { nameJobId } from "../../application/jobs/job-facts.ts";
import { type ChatEvent, chatKeyOf, type ImageFile, type Reply } from "../../application/ports/chat.ts";
import type { OpenChat } from "../../application/ports/chat-opened.ts";
import type { FileDifference, JobArchive } from "../../application/ports/jobs.ts";
import type { NotOpened, Opening, Workspace } from "../../application/ports/jobs-workspace.ts";
import type { McpServerSettings } from "../../domain/chat/mcp-servers.ts";
import { isBinaryContent } from "../../domain/patch/compare-lines.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import { listProblems } from "../../domain/texts/config-problem.ts";

export type EditorFolder = Extract<Opening<OpenChat>, { ok: true }>;

/** The parts of the program that the ACP agent needs. */
export interface AcpHost {
  readonly version: string;
  /** The conversation on the folder that an editor has open. Asked once a folder. */
  open(cwd: string): Promise<Opening<OpenChat>>;
  /** The only folder that sessions may use (`--workspace`); null: any. */
  readonly only: string | null;
  /** The same path without symlinks; null if it does not exist. */
  realPath(path: string): string | null;
  newSessionId(): string;
  /** For people, never over the protocol's stream. */
  log(text: string): void;
}

/** The end of a command's output that an editor is shown while it runs. */
const OUTPUT_CHARS = 4_000;

export type EditorUpdates = ReturnType<typeof createEditorUpdates>;

/** The kinds of our tools in ACP, by which editors choose an icon. */
const TOOL_KINDS: Readonly<Record<string, ToolKind>> = {
  read_file: "read",
  tree: "read",
  git_status_summary: "read",
  search: "search",
  fetch_url: "fetch",
  search_web: "fetch",
  execute_command: "execute",
  apply_patch: "edit",
  text_editor: "edit",
  write_file: "edit",
};

/** A command of a job as a tool call: `file_edit update src/a.ts` touches that file, the others run something. */
function commandCall(command: string, root: string) {
  const [, path] = /^file_edit \S+ (.+)$/.exec(command) ?? [];
  if (path === undefined) return { title: command, kind: "execute" as const };
  return { title: command, kind: "edit" as const, locations: [{ path: join(root, path) }] };
}

const MOST_STEPS = 20;

/** ACP's names for the progress of a step. */
const PLAN_STATUS = { open: "pending", now: "in_progress", done: "completed", failed: "pending" } as const;

/** The steps of a plan: its list, or each of its lines. */
function planSteps(plan: string): string[] {
  const lines = plan
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const listed = lines.flatMap((line) => /^(?:[-*]|\d+[.)])\s+(.+)$/.exec(line)?.[1] ?? []);
  return (listed.length > 0 ? listed : lines).slice(0, MOST_STEPS);
}

/** Streams the events of a message to an editor: words as a message, jobs and tools as tool calls, the rest as thoughts. */
function createEditorUpdates(
  send: (update: SessionUpdate) => void,
  { root, archive }: Pick<Workspace, "root" | "archive">,
) {
  const jobs = new Set<string>();
  const outputs = new Map<string, string>();
  const tools = new Map<string, string>();
  const agents = new Set<number>();
  let said = "";
  let calls = 0;
  let steps: readonly string[] = [];
  const plan = (entries: readonly { readonly content: string; readonly status: PlanEntryStatus }[]) =>
    send({ sessionUpdate: "plan", entries: entries.map((one) => ({ ...one, priority: "medium" })) });
  const thought = (text: string) =>
    send({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: `${text}\n` } });
  const on: { readonly [Type in ChatEvent["type"]]?: (event: Extract<ChatEvent, { type: Type }>) => void } = {
    text({ text }) {
      said += text;
      send({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
    },
    thinking: ({ agent: name, provider, model }) => thought(`${name} (${provider}/${model})`),
    proposed(event) {
      thought(event.plan);
      // A list is sent with the progress of each of its steps.
      steps = readPlanSteps(event.plan).length > 0 ? [] : planSteps(event.plan);
      if (steps.length > 0) plan(steps.map((content) => ({ content, status: "in_progress" })));
    },
    steps: (event) =>
      plan(event.steps.map(({ text, state }) => ({ content: text, status: PLAN_STATUS[state] }))),
    "job-finished"({ success }) {
      if (success && steps.length > 0) plan(steps.map((content) => ({ content, status: "completed" })));
    },
    notice: ({ text }) => thought(text),
    tool,
    agent,
    "job-started"({ jobId }) {
      jobs.add(jobId);
      const call = { toolCallId: jobId, title: nameJobId(archive, jobId) };
      send({ sessionUpdate: "tool_call", ...call, kind: "edit", status: "in_progress" });
    },
    "job-command"({ jobId, command }) {
      outputs.delete(jobId);
      send({ sessionUpdate: "tool_call_update", toolCallId: jobId, ...commandCall(command, root) });
    },
    "job-output"({ jobId, text: more }) {
      const text = `${outputs.get(jobId) ?? ""}${more}`.slice(-OUTPUT_CHARS).toWellFormed();
      outputs.set(jobId, text);
      const content = [{ type: "content", content: { type: "text", text } } as const];
      send({ sessionUpdate: "tool_call_update", toolCallId: jobId, content });
    },
  };
  return {
    /** Words of the reply that the editor has already. */
    said: () => said,
    /** Jobs that the editor knows as tool calls. */
    jobs,
    event: (event: ChatEvent) => on[event.type]?.(event as never),
  };

  /** A sub-agent is a call of its own: its task is the title, its latest step the content. */
  function agent(event: Extract<ChatEvent, { type: "agent" }>): void {
    const { jobId, number, task, doing, state } = event;
    const toolCallId = `${jobId}/${number}`;
    const status = state === "working" ? "in_progress" : state === "done" ? "completed" : "failed";
    const text = { type: "content", content: { type: "text", text: doing } } as const;
    const shown = doing === "" ? {} : { content: [text] };
    const isNew = !agents.has(number);
    agents.add(number);
    if (isNew) send({ sessionUpdate: "tool_call", toolCallId, title: task, kind: "think", status, ...shown });
    else send({ sessionUpdate: "tool_call_update", toolCallId, status, ...shown });
  }

  function tool({ name, state, note = "" }: Extract<ChatEvent, { type: "tool" }>): void {
    const title = note === "" ? name : `${name} ${note}`;
    const running = tools.get(name);
    if (state === "started" || running === undefined) {
      calls += 1;
      const toolCallId = `tool_${calls}`;
      tools.set(name, toolCallId);
      const status = { started: "in_progress", succeeded: "completed", failed: "failed" } as const;
      const kind = ownMember(TOOL_KINDS, name) ?? "other";
      send({ sessionUpdate: "tool_call", toolCallId, title, kind, status: status[state] });
    } else {
      tools.delete(name);
      const status = state === "succeeded" ? "completed" : "failed";
      send({ sessionUpdate: "tool_call_update", toolCallId: running, title, status });
    }
  }
}

/** Editors show differences in full; a longer one is only named. */
const MOST_BYTES = 1_000_000;

/** The changes of a job, as editors show them. A file that is not text, is too long or has changed again is only named. */
function fileDiffs(differences: readonly FileDifference[], root: string): ToolCallContent[] {
  return differences.map(({ path, before, after }): ToolCallContent => {
    const [oldText, newText] = [shownText(before), shownText(after)];
    if (oldText === undefined || newText === undefined) {
      const size = [after, before].find((side) => side instanceof Uint8Array)?.length;
      const text = size === undefined ? path : `${path}: ${size} bytes`;
      return { type: "content", content: { type: "text", text } };
    }
    return { type: "diff", path: join(root, path), oldText, newText: newText ?? "" };
  });
}

/** Null: absent, undefined: cannot be shown. */
function shownText(bytes: Uint8Array | null | undefined): string | null | undefined {
  if (bytes === null || bytes === undefined) return bytes;
  if (bytes.length > MOST_BYTES || isBinaryContent(bytes)) return undefined;
  return Buffer.from(bytes).toString("utf8");
}

/** Reports the end of a message: each job with its differences, then the words that were not streamed, and the possible next commands. */
function tellReply(
  { workspace }: Pick<EditorFolder, "workspace">,
  reply: Reply,
  updates: EditorUpdates,
  send: (update: SessionUpdate) => void,
): void {
  const open = new Set(updates.jobs);
  for (const job of reply.jobs) {
    open.delete(job.job_id);
    send({
      sessionUpdate: updates.jobs.has(job.job_id) ? "tool_call_update" : "tool_call",
      toolCallId: job.job_id,
      title: workspace.archive.read(job.job_id)?.title ?? job.summary,
      kind: job.changes.length > 0 ? "edit" : "execute",
      status: job.success ? "completed" : "failed",
      content: fileDiffs(workspace.archive.differences(job.job_id), workspace.root),
      locations: job.changes.map(({ path }) => ({ path: join(workspace.root, path) })),
      rawOutput: { job_id: job.job_id, status: job.status, summary: job.summary, undo: job.undo },
    });
  }
  for (const toolCallId of open)
    send({ sessionUpdate: "tool_call_update", toolCallId, status: reply.ok ? "completed" : "failed" });
  const said = updates.said().trim();
  const rest = said !== "" && reply.text.startsWith(said) ? reply.text.slice(said.length) : reply.text;
  const text = `${said !== "" && rest === reply.text ? "\n\n" : ""}${rest}${wordActions(reply, workspace.archive)}`;
  if (text !== "") send({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
}

/** The protocol has no buttons: a command that can be sent is named. */
function wordActions({ actions }: Reply, archive: Pick<JobArchive, "numbers">): string {
  if (actions.length === 0) return "";
  const byNumber = (message: string) => message.replace(/\bjob_\w+/g, (jobId) => nameJobId(archive, jobId));
  return `\n\n${actions.map(({ label, message }) => `${label}: \`${byNumber(message)}\``).join(" · ")}`;
}

/** Reports how full the context window of the last model is, and the cost of the session since it was opened. */
function tellUsage(
  { contextOf }: Pick<EditorFolder, "contextOf">,
  { usage, model }: Reply,
  spent: { usd: number },
  send: (update: SessionUpdate) => void,
): void {
  spent.usd += usage?.costUsd ?? 0;
  const size = model === undefined ? null : contextOf(model.model);
  if (usage?.contextTokens === undefined || size === null) return;
  const cost = spent.usd > 0 ? { cost: { amount: spent.usd, currency: "USD" } } : {};
  send({ sessionUpdate: "usage_update", used: Math.min(usage.contextTokens, size), size, ...cost });
}

const CHANNEL = "acp";
const MODEL_OPTION = "model";
/** A command that sets something waits for the running work of its chat. */
const COMMAND_MS = 30_000;
/** Also the name of the chat, and so a part of the session's id and of files. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Turns that are shown again. */
const MOST_REPLAYED = 400;
const TITLE_CHARACTERS = 80;

/** The first line of a message. */
function titleOf(text: string): string {
  const [line = ""] = text.trim().split("\n");
  return [...line].slice(0, TITLE_CHARACTERS).join("");
}

/** How a prompt without a command of its own is meant. */
const MODES = {
  auto: (text: string) => text,
  preview: (text: string) => withCommand("preview", text),
  plan: (text: string) => withCommand("plan", text),
} as const;

type ModeId = keyof typeof MODES;

function isMode(text: string): text is ModeId {
  return Object.hasOwn(MODES, text);
}

function withCommand(command: string, text: string): string {
  return /^\s*[/／]/.test(text) ? text : `/${command} ${text}`;
}

/** The editor's MCP servers; its user chose them, and coders get the tools that they declare read-only. */
function toServerSettings(servers: readonly McpServer[]): McpServerSettings[] {
  const pairs = (list: readonly { readonly name: string; readonly value: string }[]) =>
    Object.fromEntries(list.map(({ name, value }) => [name, value]));
  return servers.flatMap((server): McpServerSettings[] => {
    const common = { name: server.name, coders: "read-only" as const };
    if ("command" in server)
      return [{ ...common, command: server.command, args: server.args, env: pairs(server.env), headers: {} }];
    if (server.type !== "http") return [];
    return [{ ...common, url: server.url, args: [], env: {}, headers: pairs(server.headers) }];
  });
}

export interface AcpSession {
  readonly id: string;
  readonly folder: EditorFolder;
  /** Throws for an unknown mode. */
  setMode(mode: string): void;
  modes(): { currentModeId: string; availableModes: { id: string; name: string; description: string }[] };
  /** Rejects only a prompt whose images no model takes. `cancelled`: stopped by the editor, and undone. */
  prompt(prompt: EditorPrompt, on: PromptEvents): Promise<"end_turn" | "cancelled">;
  /** The settings of the session, the model of the default coder among them. */
  options(): Promise<SessionConfigOption[]>;
  /** Throws for an unknown option or value. */
  setOption(id: string, value: unknown): Promise<void>;
  cancel(): void;
}

export interface EditorPrompt {
  readonly text: string;
  readonly images: readonly ImageFile[];
}

interface PromptEvents {
  readonly signal: AbortSignal;
  send(update: SessionUpdate): void;
}

/** The sessions of one editor. A session is a chat of a folder; folders are opened once and stay open until the end. */
export function createAcpSessions(host: AcpHost) {
  const folders = new Map<string, Promise<EditorFolder>>();
  const sessions = new Map<string, AcpSession>();
  /** Sessions whose title was sent to the editor. */
  const titled = new Set<string>();
  const running = new Set<Promise<unknown>>();

  function openFolder(cwd: string): Promise<EditorFolder> {
    const known = folders.get(cwd);
    if (known !== undefined) return known;
    const opening = host.open(cwd).then(async (opened) => {
      if (!opened.ok) throw new RequestError(-32603, wordNotOpened(opened));
      const { messages, workspace } = opened;
      for (const warning of opened.warnings)
        host.log(`${messages.warningLabel} ${messages.configWarning(warning)}`);
      const repaired = await workspace.repair();
      if (repaired !== null) host.log(wordRepair(messages, workspace.archive, repaired));
      for (const jobId of await workspace.closeDeadJobs())
        host.log(messages.jobDied(nameJobId(workspace.archive, jobId)));
      return opened;
    });
    folders.set(cwd, opening);
    opening.catch(() => folders.delete(cwd));
    return opening;
  }

  function createSession(
    id: string,
    folder: EditorFolder,
    editorServers: readonly McpServerSettings[],
  ): AcpSession {
    const stops = new Set<AbortController>();
    const command = (text: string) =>
      folder.conversation.handle(
        { channel: CHANNEL, chatId: id, userId: CHANNEL, text },
        { signal: AbortSignal.timeout(COMMAND_MS) },
      );
    /** The models that `/model` offers for the default coder, its present one first. */
    const modelChoices = async () =>
      ((await command("/model")).choices ?? []).filter(({ message }) => /^\/model \S+ \S+$/.test(message));
    const mode: { now: ModeId } = { now: "auto" };
    const spent = { usd: 0 };
    return {
      id,
      folder,
      setMode(wanted) {
        if (!isMode(wanted)) throw RequestError.invalidParams({ modeId: wanted });
        mode.now = wanted;
      },
      modes: () => ({
        currentModeId: mode.now,
        availableModes: (Object.keys(MODES) as ModeId[]).map((modeId) => ({
          id: modeId,
          ...folder.chat.editorModes[modeId],
        })),
      }),
      async options() {
        const models = await modelChoices();
        const [now] = models;
        if (now === undefined) return [];
        const { name, description } = folder.chat.editorModel;
        const options = models.map((one) => ({
          value: one.label,
          name: one.label,
          description: one.description,
        }));
        const about = { id: MODEL_OPTION, name, description, category: "model" };
        return [{ type: "select", ...about, currentValue: now.label, options }];
      },
      async setOption(option, value) {
        const chosen = (await modelChoices()).find(({ label }) => label === value);
        if (option !== MODEL_OPTION || chosen === undefined)
          throw RequestError.invalidParams({ configId: option, value });
        const reply = await command(chosen.message);
        if (!reply.ok) throw RequestError.invalidParams({ configId: option, value }, reply.text);
      },
      cancel() {
        for (const stop of stops) stop.abort();
      },
      async prompt({ text, images }, { signal, send }) {
        const kept = await folder.images.keep(chatKeyOf(CHANNEL, id), images);
        if (!kept.ok) throw RequestError.invalidParams({}, folder.chat.imageTrouble(kept.trouble));
        const stop = new AbortController();
        stops.add(stop);
        const updates = createEditorUpdates(send, folder.workspace);
        const title = titleOf(text);
        if (title !== "" && !titled.has(id)) {
          titled.add(id);
          send({ sessionUpdate: "session_info_update", title });
        }
        const handled = folder.conversation.handle(
          {
            channel: CHANNEL,
            chatId: id,
            userId: CHANNEL,
            text: MODES[mode.now](text),
            images: kept.images,
            editorServers,
          },
          { signal: AbortSignal.any([stop.signal, signal]), onEvent: updates.event },
        );
        running.add(handled);
        try {
          const reply = await handled;
          tellReply(folder, reply, updates, send);
          tellUsage(folder, reply, spent, send);
          return stop.signal.aborted || signal.aborted ? "cancelled" : "end_turn";
        } finally {
          running.delete(handled);
          stops.delete(stop);
        }
      },
    };
  }

  /** A chat of this folder that has messages, by its name. */
  async function findChat(folder: EditorFolder, id: string) {
    return (await folder.editorChats()).find(({ name, here }) => here && name === id);
  }

  function admitFolder(cwd: string): void {
    const { only, realPath } = host;
    if (!isAbsolute(cwd)) throw RequestError.invalidParams({ cwd }, "cwd is not an absolute path");
    if (only === null || (realPath(cwd) ?? cwd) === (realPath(only) ?? only)) return;
    throw RequestError.invalidParams({ cwd }, `only ${only} is served (--workspace)`);
  }

  function admit(cwd: string, id: string): void {
    admitFolder(cwd);
    if (!SESSION_ID.test(id)) throw RequestError.invalidParams({ sessionId: id });
  }

  return {
    async begin(cwd: string, servers: readonly McpServer[]): Promise<AcpSession> {
      const id = host.newSessionId();
      admit(cwd, id);
      const session = createSession(id, await openFolder(cwd), toServerSettings(servers));
      sessions.set(id, session);
      return session;
    },
    /** Reopens an earlier session, whose chat continues where it was. A session without any message is unknown. */
    async resume(cwd: string, id: string, servers: readonly McpServer[]): Promise<AcpSession> {
      admit(cwd, id);
      const folder = await openFolder(cwd);
      const isOpen = sessions.get(id)?.folder === folder;
      if (!isOpen && (await findChat(folder, id)) === undefined) throw RequestError.resourceNotFound(id);
      const session = createSession(id, folder, toServerSettings(servers));
      titled.add(id);
      sessions.set(id, session);
      return session;
    },
    /** Sends the session's messages as updates. */
    async replay({ id, folder }: AcpSession, send: (update: SessionUpdate) => void): Promise<void> {
      for (const { role, text } of await folder.spoken(chatKeyOf(CHANNEL, id), MOST_REPLAYED)) {
        if (text === "") continue;
        const sessionUpdate = role === "user" ? "user_message_chunk" : "agent_message_chunk";
        send({ sessionUpdate, content: { type: "text", text } });
      }
    },
    /** The chats of a folder, or of every folder that is open. */
    async list(cwd: string | null): Promise<SessionInfo[]> {
      if (cwd !== null) {
        admitFolder(cwd);
        await openFolder(cwd);
      }
      const found: SessionInfo[] = [];
      for (const [at, opening] of folders) {
        if (cwd !== null && at !== cwd) continue;
        for (const { name, here, lastAt, lastText } of await (await opening).editorChats())
          if (here) found.push({ sessionId: name, cwd: at, title: titleOf(lastText), updatedAt: lastAt });
      }
      return found;
    },
    find(id: string): AcpSession {
      const session = sessions.get(id);
      if (session === undefined) throw RequestError.resourceNotFound(id);
      return session;
    },
    /** Stops its running work; its chat can be resumed. */
    end(id: string): void {
      sessions.get(id)?.cancel();
      sessions.delete(id);
    },
    async close(): Promise<void> {
      for (const session of sessions.values()) session.cancel();
      await Promise.allSettled(running);
      for (const folder of await Promise.allSettled(folders.values()))
        if (folder.status === "fulfilled") await folder.value.close();
    },
  };
}

function wordNotOpened({ messages, problems, message = "" }: NotOpened): string {
  if (problems.length === 0) return message;
  return [messages.configInvalid, ...listProblems(messages, problems)].join("\n  ");
}
