import { systemPrompt } from "../../domain/agents/system-prompt.ts";
import {
  readWorkerOutput,
  readWrittenCall,
  WORKER_CONTRACT,
  type WorkerOutput,
} from "../../domain/agents/worker-output.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import type { Model, ModelMessage, ToolCall } from "../ports/model.ts";
import { ask, type Size } from "./ask.ts";
import { historyFor } from "./history.ts";
import { createLineOutput } from "./line-output.ts";
import type { ChatParts, Toolbox } from "./parts.ts";
import { firstWords } from "./tool-jobs.ts";
import type { ChatTurn } from "./turn.ts";

/** Model calls in one round of the loop: reading, searching and running all cost one. */
const CALLS_IN_A_ROUND = 25;

export interface WorkRequest {
  readonly text: string;
  readonly duty: string;
  readonly toolbox: Toolbox;
  /** Whether earlier exchanges belong to it. */
  readonly withHistory: boolean;
}

export interface Worked {
  /** Null where no model answered; `text` says why. */
  readonly output: WorkerOutput | null;
  readonly text: string;
  readonly calls: readonly MadeCall[];
  readonly model?: Model;
}

export interface MadeCall {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
  readonly jobId?: string;
  readonly server?: string;
}

/**
 * Shiro at work: rounds of tool calls, each ending in the JSON of {@link WorkerOutput}, until it says that no next
 * loop is needed or a limit is reached.
 */
export async function work(parts: ChatParts, turn: ChatTurn, request: WorkRequest): Promise<Worked> {
  const { toolbox, duty, text, withHistory } = request;
  const { settings, chat, workspace, clock } = parts;
  const known = new Set(toolbox.tools.map(({ name }) => name));
  const calls: MadeCall[] = [];
  const exchange: ModelMessage[] = [];
  let output: WorkerOutput | null = null;
  let model: Model | undefined;
  let size: Size = "full";
  const ended = (note: string): Worked => ({
    output,
    text: [output?.result ?? "", note].filter((part) => part !== "").join("\n\n"),
    calls,
    ...(model !== undefined && { model }),
  });
  while (turn.rounds.count < settings.maxLoops) {
    turn.rounds.count++;
    for (let call = 1; ; call++) {
      const last = call === CALLS_IN_A_ROUND;
      const answered = await ask(parts, turn, {
        role: "worker",
        streams: false,
        size,
        request: (chosen, fitting) => ({
          system: systemPrompt({
            agent: "Shiro",
            duty: `${duty}\n${WORKER_CONTRACT}`,
            tools: last ? [] : toolbox.tools,
            memory: withHistory && fitting === "full" ? turn.memory : "",
            today: parts.now().toISOString().slice(0, 10),
            workspace: workspace.root,
          }),
          messages: [
            ...(withHistory && fitting === "full"
              ? historyFor(chosen, turn.history, { exchanges: 8, chars: 2_000 })
              : []),
            { role: "user", text: fitting === "full" ? text : cutMiddle(text, 8_000) },
            ...(fitting === "full" ? exchange : shortened(exchange)),
          ],
          ...(!last && toolbox.tools.length > 0 && { tools: toolbox.tools }),
        }),
      });
      if (!answered.ok) {
        if (answered.code === "deadline" && (output !== null || calls.length > 0))
          return ended(chat.timeLimit(Math.round(settings.maxMillis / 1000)));
        return { output: null, text: answered.text, calls, ...(model !== undefined && { model }) };
      }
      const { answer } = answered;
      model = answered.model;
      size = answered.size;
      const wanted = last ? [] : callsOf(answer.toolCalls, answer.text, known, exchange.length);
      if (wanted.length === 0) {
        output = readWorkerOutput(answer.text);
        exchange.push({ role: "assistant", text: answer.text });
        break;
      }
      exchange.push({
        role: "assistant",
        text: answer.toolCalls.length > 0 ? answer.text : "",
        toolCalls: wanted,
      });
      for (const one of wanted) {
        const made = await callTool(parts, turn, toolbox, one);
        calls.push(made);
        if (made.server !== undefined) logCall(parts, turn, one, calls);
        exchange.push({ role: "tool", callId: one.id, name: one.name, text: made.text });
        if (turn.signal.aborted) return ended(chat.aborted);
      }
    }
    if (!output.needsNextLoop) return ended("");
    if (clock() >= turn.deadline) return ended(chat.timeLimit(Math.round(settings.maxMillis / 1000)));
    exchange.push({ role: "user", text: "Go on with the next loop." });
  }
  return ended(chat.loopLimit(settings.maxLoops));
}

function callsOf(
  made: readonly ToolCall[],
  text: string,
  known: ReadonlySet<string>,
  at: number,
): readonly ToolCall[] {
  if (made.length > 0) return made;
  const written = readWrittenCall(text, known);
  return written === undefined ? [] : [{ id: `written_${at}`, ...written }];
}

async function callTool(
  { workspace }: ChatParts,
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
  const { ok, text, jobId, server } = outcome;
  turn.emit({
    type: "tool",
    name,
    state: ok ? "succeeded" : "failed",
    ...(!ok && { note: firstWords(text) }),
  });
  return { name, ok, text, ...(jobId !== undefined && { jobId }), ...(server !== undefined && { server }) };
}

/** An MCP call that failed is an error of the log; the conversation goes on. */
function logCall({ logger }: ChatParts, turn: ChatTurn, call: ToolCall, calls: readonly MadeCall[]): void {
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

/** For a model whose window is full: tool results shrink first, the newest least. */
function shortened(exchange: readonly ModelMessage[]): ModelMessage[] {
  return exchange.map((message, at) => {
    const limit = at >= exchange.length - 2 ? 4_000 : 400;
    return message.text.length <= limit ? message : { ...message, text: `${message.text.slice(0, limit)}…` };
  });
}
