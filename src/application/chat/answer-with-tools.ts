import { systemPrompt } from "../../domain/chat/agents.ts";
import type { Proposal } from "../../domain/coder/proposal.ts";
import { type Change, type Note, nameByNumber, type RanJob } from "../../domain/jobs/result.ts";
import {
  isWorkerOutput,
  readWorkerOutput,
  WORKER_CONTRACT,
  WORKER_FORM_AGAIN,
  type WorkerOutput,
} from "../../domain/models/worker-output.ts";
import { cutMiddle, oneLine } from "../../domain/texts/format-text.ts";
import { type ResultJson, toResultJson, withoutOutput } from "../../domain/texts/jobs-report.ts";
import { jobActions, nameTogether } from "../jobs/action-report.ts";
import { storedFacts, withNumbers } from "../jobs/job-facts.ts";
import type { RequestSize } from "../models/complete.ts";
import { type LoopEnd, type LoopStep, shortenExchange, toolLoop } from "../models/tool-loop.ts";
import type { Reply } from "../ports/chat.ts";
import type { JobArchive, StoredJob } from "../ports/jobs.ts";
import type { Model, ModelMessage, ToolCall } from "../ports/models.ts";
import { sayWhoWorks } from "./answer-by-talking.ts";
import {
  emitThinking,
  fitMessage,
  isMessageCut,
  listenOptions,
  paceAgent,
  wordTrouble,
} from "./ask-agent.ts";
import {
  type AgentDeps,
  type Answer,
  type ChatTurn,
  cloudNote,
  createAnswer,
  createNotice,
  type JobDeps,
  standInNote,
  type Toolbox,
  type ToolOutcome,
  toReplyModel,
} from "./chat-turn.ts";
import {
  createHistoryReader,
  historyFor,
  NOTHING_RECALLED,
  type RecalledImages,
  recalledMemory,
} from "./exchanges.ts";
import { createLineOutput } from "./held-output.ts";
import { imagesPart, recallImages } from "./message-images.ts";
import {
  type LoopFacts,
  type NamedText,
  type OutwardFacts,
  type ReplyPiece,
  say,
  sayNames,
} from "./reply-words.ts";

export interface MadeCall extends ToolOutcome {
  readonly name: string;
}

/** Jobs of one message, oldest first. */
export function jobsOfGroup(archive: JobArchive, groupId: string): StoredJob[] {
  return archive.list(undefined, (group) => group === groupId);
}

export interface ToolFacts {
  /** The outcome for the workspace; none if the loop changed nothing there. */
  readonly status: readonly ReplyPiece[];
  readonly rest: ReplyPiece;
  readonly actions: Reply["actions"];
  readonly jobs: readonly ResultJson[];
}

/** The changes of a tool loop, from the jobs it made: the model's own text is not used. */
export function toolFacts(
  { messages, chat, workspace }: JobDeps,
  jobs: readonly StoredJob[],
  calls: readonly MadeCall[],
): ToolFacts {
  const facts = jobs.map((job) => storedFacts(job, workspace.archive.events(job.jobId), true));
  const committed = jobs.filter(({ state, changes }) => state === "committed" && changes.length > 0);
  const outward = calls.filter(({ server }) => server !== undefined);
  const actions = jobActions(committed, chat.actions);
  const landed = new Set(committed.map(({ jobId }) => jobId));
  const failedCmds = committed.reduce((sum, job) => sum + job.failedCmds, 0);
  return {
    status: committed.length === 0 ? [] : [{ kind: "loop-status", failedCmds }],
    rest: loopFacts({
      changes: mergeChanges(committed),
      outward: outward.length === 0 ? null : toOutwardFacts(outward),
      evictions: facts
        .filter(({ evicted }) => evicted.length > 0)
        .map((one) => nameByNumber(withNumbers(workspace.archive, one)))
        .map(({ evicted, quotaBytes }) => ({ evicted, quotaBytes })),
      guarded: [...new Set(facts.flatMap(guardedPaths))],
      notes: limitNotes(facts),
      failures: facts.filter(({ jobId }) => landed.has(jobId)).flatMap(failuresOf),
      undo: actions.length === 0 ? null : nameTogether(committed.filter(({ kind }) => kind !== "none")),
    }),
    actions,
    jobs: facts.map((one) => toResultJson(messages, one)),
  };
}

/** New files of its commands that match a protected pattern. */
function guardedPaths({ commands }: RanJob): readonly string[] {
  return commands
    .flatMap(({ notes }) => notes)
    .flatMap((note) => (typeof note === "object" && note.code === "protected-created" ? note.paths : []));
}

const LIMITS: ReadonlySet<string> = new Set(
  "host-refused network-limited secret-hidden model-network model-network-open".split(" "),
);

/** What limits of the network and of secret files did to the jobs of a loop; each note once, and hosts that were reached counted together. */
function limitNotes(facts: readonly RanJob[]): readonly Note[] {
  const found = new Map<string, Note>();
  const reached = new Map<string, number>();
  for (const note of facts.flatMap((one) => [...one.commands.flatMap(({ notes }) => notes), ...one.notes])) {
    if (typeof note === "string") continue;
    if (LIMITS.has(note.code)) found.set(JSON.stringify({ ...note, count: 0 }), note);
    if (note.code !== "hosts-reached") continue;
    for (const { host, count } of note.hosts) reached.set(host, (reached.get(host) ?? 0) + count);
  }
  const hosts = [...reached].map(([host, count]) => ({ host, count }));
  return [...found.values(), ...(hosts.length === 0 ? [] : [{ code: "hosts-reached", hosts } as const])];
}

/** The commands that failed, from the journal: a model may claim otherwise. */
function failuresOf({ commands }: RanJob): NonNullable<LoopFacts["failures"]> {
  return commands
    .filter(({ success }) => !success)
    .map((one) => {
      const { command, error } = withoutOutput(one);
      const last = one.output.trimEnd().split("\n").at(-1)?.trim() ?? "";
      const why = [error, last].filter((part) => part !== "").join(": ");
      return { command: cutMiddle(oneLine(command.target), 200), why: cutMiddle(why, 300) };
    });
}

export function loopFacts(known: Partial<LoopFacts>): LoopFacts {
  return { kind: "loop", changes: [], outward: null, evictions: [], undo: null, ...known };
}

export function toOutwardFacts(calls: readonly MadeCall[]): OutwardFacts {
  const failed = calls.filter(({ ok }) => !ok);
  const [first] = failed;
  return {
    succeeded: calls.length - failed.length,
    total: calls.length,
    ...(first !== undefined && { error: `${first.name}: ${firstWords(first.text)}` }),
  };
}

/** The first line with words; servers begin with headings and rules. */
export function firstWords(text: string): string {
  const line = text.split("\n").find((one) => /[\p{L}\p{N}]/u.test(one) && !one.startsWith("#"));
  return (line ?? text.split("\n", 1)[0] ?? "").trim().slice(0, 300);
}

function mergeChanges(jobs: readonly StoredJob[]): Change[] {
  const net = new Map<string, Change["kind"] | null>();
  for (const { changes } of jobs) {
    for (const { path, kind } of changes) {
      const before = net.get(path);
      if (before === "added") net.set(path, kind === "deleted" ? null : "added");
      else if (before === "deleted" && kind === "added") net.set(path, "modified");
      else net.set(path, kind);
    }
  }
  return [...net].flatMap(([path, kind]) => (kind === null ? [] : [{ path, kind }]));
}

/** The most model calls in one round of the loop; each tool call costs one. */
const CALLS_IN_A_ROUND = 25;
const SHORT_EXCHANGE = { newest: 2, newChars: 4000, oldChars: 400 };

export interface ToolWorkRequest {
  readonly text: string;
  readonly duty: string;
  readonly toolbox: Toolbox;
  /** Whether earlier exchanges belong to it. */
  readonly withHistory: boolean;
}

export interface ToolWorkResult {
  /** Null if no model answered; `said` gives the reason. */
  readonly output: WorkerOutput | null;
  /** Shiro's text, masked, and why it is incomplete, if it is. */
  readonly said: readonly ReplyPiece[];
  readonly calls: readonly MadeCall[];
  readonly model?: Model;
}

/** Runs Shiro: rounds of tool calls, each ending in the JSON of {@link WorkerOutput}, until it needs no next loop or a limit is reached. */
export async function workWithTools(
  deps: AgentDeps,
  turn: ChatTurn,
  request: ToolWorkRequest,
): Promise<ToolWorkResult> {
  const { settings, clock } = deps;
  const unasked = { asked: undefined, answered: undefined };
  const state: ToolWorkState = { calls: [], exchange: [], size: "full", prose: null, ...unasked };
  const worker = turn.models.models.forRole("worker");
  const recalled =
    request.withHistory && "generate" in worker ? await recallImages(deps, turn, worker) : NOTHING_RECALLED;
  let output: WorkerOutput | null = null;
  const ended = (note: ReplyPiece | null, result = output): ToolWorkResult => ({
    output: result,
    said: [
      { kind: "text", text: deps.workspace.mask(result?.result ?? "") },
      ...(result !== null && isMessageCut(request.text, state.size) ? [say("messageCut")] : []),
      ...(note === null ? [] : [note]),
    ],
    calls: state.calls,
    ...(state.answered !== undefined && { model: state.answered }),
  });
  const timeIsOver = () => ended(say("timeLimit", Math.round(settings.maxMillis / 1000)));
  while (turn.rounds.count < settings.maxLoops) {
    turn.rounds.count++;
    const end = await workRound(deps, turn, { ...request, recalled }, state);
    switch (end.kind) {
      case "answered":
        output = readWorkerOutput(
          isWorkerOutput(end.answer.text) ? end.answer.text : (state.prose ?? end.answer.text),
        );
        if (end.answer.finish === "length") return ended(say("answerCut"));
        break;
      case "stuck":
        return ended(say("stuck", end.call.name));
      case "steps":
        return ended(say("loopLimit", settings.maxLoops));
      default: {
        const begun = output !== null || state.calls.length > 0;
        if (end.kind === "aborted" && end.by === "deadline" && begun) return timeIsOver();
        const texts = wordTrouble({ role: "worker", model: state.asked }, end);
        const code = end.kind === "failed" ? end.failure.code : undefined;
        const last = ended({ kind: "worded", texts }, null);
        return { ...last, said: [...last.said, ...sayWhoWorks(deps, turn, state.asked, code)] };
      }
    }
    if (!output.needsNextLoop) return ended(null);
    if (clock() >= turn.deadline) return timeIsOver();
    state.exchange.push({ role: "user", text: "Continue with the next loop." });
  }
  return ended(say("loopLimit", settings.maxLoops));
}

interface ToolWorkState {
  readonly calls: MadeCall[];
  readonly exchange: ModelMessage[];
  size: RequestSize;
  /** An answer without the JSON object, for which Shiro was asked once. */
  prose: string | null;
  asked: Model | undefined;
  answered: Model | undefined;
}

async function workRound(
  deps: AgentDeps,
  turn: ChatTurn,
  request: ToolWorkRequest & { readonly recalled: RecalledImages },
  state: ToolWorkState,
): Promise<LoopEnd> {
  const { exchange, calls } = state;
  const { onTooLong, ...heard } = listenOptions(deps, turn);
  const worker = turn.models.models.forRole("worker");
  const isTimed = "generate" in worker && worker.isScripted !== true;
  const paced = isTimed ? await paceAgent(deps, turn, worker, { role: "worker" }) : null;
  return toolLoop({
    ...heard,
    ...paced?.listening,
    model: () => turn.models.models.forRole("worker"),
    tools: request.toolbox.tools,
    transcript: { messages: () => exchange, add: (...messages) => void exchange.push(...messages) },
    request(asked) {
      const made = requestFor(deps, turn, request, asked);
      return paced?.timed(made) ?? made;
    },
    beforeStep: (model) => {
      state.asked = model;
      emitThinking(turn, "worker", model);
    },
    onAnswer: ({ usage }) => {
      state.answered = state.asked;
      void paced?.note(usage);
    },
    call: async (call) => {
      const made = await callTool(deps, turn, request.toolbox, call);
      calls.push(made);
      if (made.server !== undefined) logCall(deps, turn, call, calls);
      if (made.web !== undefined) logRead(deps, turn, call, made);
      return made;
    },
    next: ({ text, finish }) => {
      if (state.prose !== null || finish === "length" || isWorkerOutput(text)) return null;
      state.prose = text;
      return WORKER_FORM_AGAIN;
    },
    limits: { steps: CALLS_IN_A_ROUND, lastAnswers: true },
    signal: turn.signal,
    size: state.size,
    onTooLong: () => {
      state.size = "small";
      onTooLong?.();
    },
  });
}

function requestFor(
  { today, workspace }: JobDeps,
  turn: ChatTurn,
  { text, duty, withHistory, recalled }: ToolWorkRequest & { readonly recalled: RecalledImages },
  { model, tools, messages, size }: LoopStep,
) {
  const full = size === "full";
  const reader = createHistoryReader(model, turn.models.models);
  return {
    system: systemPrompt({
      agent: "Shiro",
      duty: `${duty}\n${WORKER_CONTRACT}`,
      tools,
      memory: withHistory && full ? recalledMemory(reader, turn, text) : "",
      today: today(),
      workspace: workspace.root,
    }),
    messages: [
      ...(withHistory && full
        ? historyFor(reader, turn.history, { exchanges: 8, chars: 2_000 }, recalled)
        : []),
      { role: "user" as const, text: fitMessage(text, size), ...imagesPart(turn.images) },
      ...(full ? messages : shortenExchange(messages, SHORT_EXCHANGE)),
    ],
  };
}

async function callTool(
  { workspace }: JobDeps,
  turn: ChatTurn,
  toolbox: Toolbox,
  { name, arguments: args }: ToolCall,
): Promise<MadeCall> {
  turn.emit({ type: "tool", name, state: "started" });
  const output = createLineOutput((text) =>
    turn.emit({ type: "job-output", jobId: "", text: workspace.mask(text) }),
  );
  const outcome = await toolbox.call(name, args, { signal: turn.signal, onOutput: output.add });
  output.end();
  const { ok, text } = outcome;
  const note = ok ? {} : { note: firstWords(text) };
  turn.emit({ type: "tool", name, state: ok ? "succeeded" : "failed", ...note });
  return { name, ...outcome };
}

/** An MCP call that failed is an error of the log; the conversation continues. */
function logCall({ logger }: AgentDeps, turn: ChatTurn, call: ToolCall, calls: readonly MadeCall[]): void {
  const made = calls.at(-1);
  const about = { job_id: turn.groupId, tool_name: call.name };
  logger.info("worker", "MCP tool execution", "worker.mcp_tool", { ...about, tool_args: call.arguments });
  if (made?.ok !== false) return;
  const outward = calls.filter(({ server }) => server !== undefined);
  logger.error("worker", "MCP tool execution failed", "worker.mcp_tool_failed", {
    ...about,
    error: made.text,
    partial_success: outward.filter(({ ok }) => ok).length,
    total: outward.length,
  });
}

/** Web reads are logged, because no undo covers a request to another machine. */
function logRead({ logger }: AgentDeps, turn: ChatTurn, call: ToolCall, { ok, web }: MadeCall): void {
  const about = { job_id: turn.groupId, tool_name: call.name, tool_args: call.arguments };
  logger.info("worker", "Web read", "worker.web_read", { ...about, host: web, success: ok, undo: "none" });
}

const DUTIES = {
  ANALYZE: "You analyse logs, code and performance. Look with the tools before you answer; change nothing.",
  OPS: "You operate the project with the tools: run commands, change settings, restart, deploy. Everything you change in the workspace is a job that can be undone. To commit, read git status, the diff and the last log first, and write a message that says what the change does, in the style of that log; add only files that belong to it.",
  RESEARCH:
    "You research in the workspace and with the tools you have, including the web if you have fetch_url. Give the source of each fact.",
} as const;

export async function answerWithTools(
  deps: AgentDeps,
  turn: ChatTurn,
  route: keyof typeof DUTIES,
  text: string,
): Promise<Answer> {
  const { groupId, sessionKey } = turn;
  const toolbox = await deps.openToolbox({
    groupId,
    sessionKey,
    web: route === "RESEARCH",
    editorServers: turn.message.editorServers ?? [],
    readOnly: turn.dryRun || turn.preview,
  });
  try {
    for (const { server, detail } of toolbox.unavailable)
      turn.emit(createNotice(deps, (chat) => chat.mcpUnavailable(server, deps.workspace.mask(detail))));
    const duty = DUTIES[route];
    const worked = await workWithTools(deps, turn, { text, duty, toolbox, withHistory: true });
    const jobs = jobsOfGroup(deps.workspace.archive, groupId);
    const facts = toolFacts(deps, jobs, worked.calls);
    const { output, model } = worked;
    const said: ReplyPiece[] = [
      ...facts.status,
      ...worked.said,
      facts.rest,
      ...(model === undefined ? [] : standInNote(model, turn)),
      // No undo covers the contacted hosts, or background processes that were started or ended.
      ...sayNames(
        "webRead",
        worked.calls.flatMap(({ web }) => (web ? [web] : [])),
      ),
      ...sayNames(
        "processesTouched",
        worked.calls.flatMap(({ process }) => process ?? []),
      ),
      ...(model === undefined ? [] : cloudNote(model)),
    ];
    const suggested = output?.suggestedRoute;
    return {
      ...createAnswer(said, output !== null && !endsInFailure(worked.calls), "Shiro"),
      jobs: facts.jobs,
      actions: facts.actions,
      ...(model !== undefined && { model: toReplyModel(model) }),
      ...(output !== null &&
        suggested !== undefined && {
          reroute: { route: suggested, confidence: output.confidence, fit: output.fit },
        }),
    };
  } finally {
    await toolbox.close();
  }
}

/** Whether the last call of any MCP tool failed; a failure does not count if a later call of the tool succeeded. */
function endsInFailure(calls: readonly MadeCall[]): boolean {
  const last = new Map(calls.flatMap((call) => (call.server === undefined ? [] : [[call.name, call.ok]])));
  return [...last.values()].includes(false);
}

interface BrowserWork {
  readonly request: string;
  readonly proposal: Proposal;
  /** The earlier result of the coder's own patch. */
  readonly done: Answer;
}

const BROWSER_DUTY =
  "You carry out a plan in a web browser, with the browser tools, step by step, and report what you saw there.";

/** `uses_browser`: Shiro's tool loop over `mcp_servers.browser`, journalled as not undoable. */
export async function browse(
  deps: AgentDeps,
  turn: ChatTurn,
  { request, proposal, done }: BrowserWork,
): Promise<Answer> {
  const { settings, workspace, messages } = deps;
  const failing = (saying: NamedText): Answer => ({ ...done, ok: false, said: [...done.said, saying] });
  if (!settings.mcpServers.includes("browser")) return failing(say("browserMissing"));
  const { groupId, sessionKey } = turn;
  const asked = { groupId, sessionKey, servers: ["browser"], toolkit: false, readOnly: false };
  const toolbox = await deps.openToolbox(asked);
  try {
    const [missing] = toolbox.unavailable;
    if (missing !== undefined) {
      return failing(say("mcpUnavailable", missing.server, workspace.mask(missing.detail)));
    }
    const worked = await workWithTools(deps, turn, {
      text: `${request}\n\nPlan:\n${proposal.plan}`,
      duty: BROWSER_DUTY,
      toolbox,
      withHistory: false,
    });
    const journalled = done.jobs[0]?.job_id;
    if (journalled !== undefined)
      for (const { name, ok, text } of worked.calls)
        workspace.archive.append(journalled, {
          type: "note",
          text: workspace.mask(
            `mcp ${name} ${ok ? "succeeded" : "failed"} (not undoable): ${text.slice(0, 500)}`,
          ),
        });
    const stored = journalled === undefined ? null : workspace.archive.read(journalled);
    const failed = worked.output === null || endsInFailure(worked.calls);
    const said: ReplyPiece[] = [...done.said, ...worked.said];
    if (worked.calls.length > 0) said.push(loopFacts({ outward: toOutwardFacts(worked.calls) }));
    return {
      ...done,
      ok: done.ok && !failed,
      said,
      ...(stored !== null && {
        jobs: [toResultJson(messages, storedFacts(stored, workspace.archive.events(stored.jobId), true))],
      }),
    };
  } finally {
    await toolbox.close();
  }
}
