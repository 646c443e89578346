import { systemPrompt } from "../../domain/chat/system-prompt.ts";
import { readWorkerOutput, WORKER_CONTRACT, type WorkerOutput } from "../../domain/models/worker-output.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { RequestSize } from "../models/complete.ts";
import { shortenExchange } from "../models/shorten-exchange.ts";
import { type LoopEnd, type LoopStep, toolLoop } from "../models/tool-loop.ts";
import type { Model, ModelMessage, ToolCall } from "../ports/models.ts";
import { type ReplyPiece, say } from "./reply-words.ts";
import { emitThinking, listenOptions, wordTrouble } from "./ask-agent.ts";
import { historyFor } from "./history.ts";
import { createLineOutput } from "./line-output.ts";
import type { ChatDeps, Toolbox } from "./chat-turn.ts";
import { firstWords, type MadeCall } from "./tool-jobs.ts";
import type { ChatTurn } from "./turn.ts";

/** Model calls in one round of the loop: reading, searching and running all cost one. */
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
  /** Null where no model answered; `said` tells why. */
  readonly output: WorkerOutput | null;
  /** What Shiro says, masked, and what kept it from saying more. */
  readonly said: readonly ReplyPiece[];
  readonly calls: readonly MadeCall[];
  readonly model?: Model;
}

/**
 * Shiro at work: rounds of tool calls, each ending in the JSON of {@link WorkerOutput}, until it says that no next
 * loop is needed or a limit is reached.
 */
export async function workWithTools(
  parts: ChatDeps,
  turn: ChatTurn,
  request: ToolWorkRequest,
): Promise<ToolWorkResult> {
  const { settings, clock } = parts;
  const state: ToolWorkState = {
    calls: [],
    exchange: [],
    size: "full",
    asked: undefined,
    answered: undefined,
  };
  let output: WorkerOutput | null = null;
  const ended = (note: ReplyPiece | null, result = output): ToolWorkResult => ({
    output: result,
    said: [
      { kind: "text", text: parts.workspace.mask(result?.result ?? "") },
      ...(note === null ? [] : [note]),
    ],
    calls: state.calls,
    ...(state.answered !== undefined && { model: state.answered }),
  });
  const timeIsOver = () => ended(say("timeLimit", Math.round(settings.maxMillis / 1000)));
  while (turn.rounds.count < settings.maxLoops) {
    turn.rounds.count++;
    const end = await workRound(parts, turn, request, state);
    switch (end.kind) {
      case "answered":
        output = readWorkerOutput(end.answer.text);
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
        return ended({ kind: "worded", texts }, null);
      }
    }
    if (!output.needsNextLoop) return ended(null);
    if (clock() >= turn.deadline) return timeIsOver();
    state.exchange.push({ role: "user", text: "Go on with the next loop." });
  }
  return ended(say("loopLimit", settings.maxLoops));
}

/** What the rounds of one message share. */
interface ToolWorkState {
  readonly calls: MadeCall[];
  readonly exchange: ModelMessage[];
  size: RequestSize;
  asked: Model | undefined;
  answered: Model | undefined;
}

function workRound(
  parts: ChatDeps,
  turn: ChatTurn,
  request: ToolWorkRequest,
  state: ToolWorkState,
): Promise<LoopEnd> {
  const { exchange, calls } = state;
  const { onTooLong, ...heard } = listenOptions(parts, turn);
  return toolLoop({
    ...heard,
    model: () => turn.models.models.forRole("worker"),
    tools: request.toolbox.tools,
    transcript: { messages: () => exchange, add: (...messages) => void exchange.push(...messages) },
    request: (asked) => requestFor(parts, turn, request, asked),
    beforeStep: (model) => {
      state.asked = model;
      emitThinking(turn, "worker", model);
    },
    onAnswer: () => {
      state.answered = state.asked;
    },
    call: async (call) => {
      const made = await callTool(parts, turn, request.toolbox, call);
      calls.push(made);
      if (made.server !== undefined) logCall(parts, turn, call, calls);
      if (made.web !== undefined) logRead(parts, turn, call, made);
      return made;
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
  { now, workspace }: ChatDeps,
  turn: ChatTurn,
  { text, duty, withHistory }: ToolWorkRequest,
  { model, tools, messages, size }: LoopStep,
) {
  const full = size === "full";
  return {
    system: systemPrompt({
      agent: "Shiro",
      duty: `${duty}\n${WORKER_CONTRACT}`,
      tools,
      memory: withHistory && full ? turn.memory : "",
      today: now().toISOString().slice(0, 10),
      workspace: workspace.root,
    }),
    messages: [
      ...(withHistory && full ? historyFor(model, turn.history, { exchanges: 8, chars: 2_000 }) : []),
      { role: "user" as const, text: full ? text : cutMiddle(text, 8_000) },
      ...(full ? messages : shortenExchange(messages, SHORT_EXCHANGE)),
    ],
  };
}

async function callTool(
  { workspace }: ChatDeps,
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
  const { ok, text, jobId, server, web } = outcome;
  turn.emit({
    type: "tool",
    name,
    state: ok ? "succeeded" : "failed",
    ...(!ok && { note: firstWords(text) }),
  });
  return {
    name,
    ok,
    text,
    ...(jobId !== undefined && { jobId }),
    ...(server !== undefined && { server }),
    ...(web !== undefined && { web }),
  };
}

/** An MCP call that failed is an error of the log; the conversation goes on. */
function logCall({ logger }: ChatDeps, turn: ChatTurn, call: ToolCall, calls: readonly MadeCall[]): void {
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

/** What reads the web stands in the log: other machines noticed it, and no undo takes that back. */
function logRead({ logger }: ChatDeps, turn: ChatTurn, call: ToolCall, { ok, web }: MadeCall): void {
  const about = { job_id: turn.groupId, tool_name: call.name, tool_args: call.arguments };
  logger.info("worker", "Web read", "worker.web_read", { ...about, host: web, success: ok, undo: "none" });
}
