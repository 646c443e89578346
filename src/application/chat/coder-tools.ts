import type { ToolResult } from "../models/tool-loop.ts";
import type { Model, ModelTool, ToolCall } from "../ports/models.ts";
import {
  type AgentDeps,
  type ChatTurn,
  type CoderDeps,
  createNotice,
  type Toolbox,
  type ToolOutcome,
} from "./chat-turn.ts";

/** The tools of MCP servers and of background processes, as a coder calls them beside its own. */
export interface CoderTools {
  readonly tools: readonly ModelTool[];
  /** Null for any other tool. Never rejects. */
  call(call: ToolCall): Promise<ToolResult> | null;
  called(): readonly string[];
  touchedProcesses?(): readonly string[];
  close(): Promise<void>;
}

/** Characters of names, descriptions and schemas that every request of a coder carries. */
const SCHEMA_CHARS = 6_000;
const DESCRIPTION_CHARS = 200;
/** Past this a schema loses its descriptions. */
const LONG_SCHEMA = 800;
const PAGE_CHARS = 8_000;
/** A coder does not wait longer for servers to start; the next message finds them up. */
const START_MS = 10_000;

const MORE: ModelTool = {
  name: "more_result",
  description: "Shows a result that was cut, from a character offset.",
  parameters: {
    type: "object",
    properties: { result: { type: "integer" }, from: { type: "integer" } },
    required: ["result", "from"],
  },
};

/** The MCP tools that a coder may call, as many as fit. Null without any, in dry mode, in a preview and for a local model. */
export async function openCoderTools(
  deps: AgentDeps,
  turn: ChatTurn,
  model: Pick<Model, "local">,
): Promise<CoderTools | null> {
  const { editorServers = [] } = turn.message;
  if (model.local || turn.dryRun || turn.preview) return null;
  if (editorServers.length === 0 && !deps.namesServers()) return null;
  const opening = deps.openToolbox({
    groupId: turn.groupId,
    sessionKey: turn.sessionKey,
    toolkit: false,
    forCoder: true,
    editorServers,
    readOnly: false,
  });
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), START_MS);
  const toolbox = await Promise.race([opening, late.promise]).finally(() => clearTimeout(timer));
  if (toolbox === null) {
    turn.emit(createNotice(deps, (chat) => chat.mcpLate(START_MS / 1000)));
    // They are given back once they are up, for the next message.
    void opening.then((opened) => opened.close()).catch(() => undefined);
    return null;
  }
  for (const { server, detail } of toolbox.unavailable)
    turn.emit(createNotice(deps, (chat) => chat.mcpUnavailable(server, deps.workspace.mask(detail))));
  const { tools, left } = fitTools(toolbox.tools);
  if (left.length > 0) turn.emit(createNotice(deps, (chat) => chat.mcpToolsLeftOut(left)));
  if (tools.length > 0) return createCoderTools(toolbox, tools, turn);
  await toolbox.close();
  return null;
}

/** With the tool `process`, under the same conditions. */
export async function withProcessTool(
  deps: CoderDeps,
  turn: ChatTurn,
  model: Pick<Model, "local">,
  beside: CoderTools | null,
): Promise<CoderTools | null> {
  if (model.local || turn.dryRun || turn.preview) return beside;
  const processes = await deps.openProcessTools?.(false);
  if (processes === undefined) return beside;
  const touched: string[] = [];
  const callProcess = async (name: string, calling: Promise<ToolOutcome>): Promise<ToolResult> => {
    turn.emit({ type: "tool", name, state: "started" });
    const { ok, text, process } = await calling;
    turn.emit({ type: "tool", name, state: ok ? "succeeded" : "failed" });
    if (process !== undefined) touched.push(process);
    return { ok, text: deps.workspace.mask(text) };
  };
  return {
    tools: [...processes.tools, ...(beside?.tools ?? [])],
    call(call) {
      const calling = processes.call(call.name, call.arguments, turn.signal);
      return calling === null ? (beside?.call(call) ?? null) : callProcess(call.name, calling);
    },
    called: () => beside?.called() ?? [],
    touchedProcesses: () => touched,
    close: async () => beside?.close(),
  };
}

function createCoderTools(toolbox: Toolbox, tools: readonly ModelTool[], turn: ChatTurn): CoderTools {
  const results: string[] = [];
  const called: string[] = [];
  const names = new Set(tools.map(({ name }) => name));
  const page = (number: number, from: number): ToolResult => {
    const text = results[number - 1];
    if (text === undefined) return { ok: false, text: `there is no result ${number}` };
    const shown = text.slice(from - 1, from - 1 + PAGE_CHARS).toWellFormed();
    const next = from + PAGE_CHARS;
    if (next > text.length) return { ok: true, text: shown };
    const rest = `(characters ${from}-${next - 1} of ${text.length}; more_result {"result": ${number}, "from": ${next}} shows more)`;
    return { ok: true, text: `${shown}\n${rest}` };
  };
  const callServer = async ({ name, arguments: args }: ToolCall): Promise<ToolResult> => {
    called.push(name);
    turn.emit({ type: "tool", name, state: "started" });
    const { ok, text } = await toolbox.call(name, args, {
      signal: turn.signal,
      onOutput: () => {},
      whole: true,
    });
    turn.emit({ type: "tool", name, state: ok ? "succeeded" : "failed" });
    results.push(text);
    return { ...page(results.length, 1), ok };
  };
  return {
    tools: [...tools, MORE],
    call(call) {
      if (call.name === MORE.name) {
        const { result, from } = (call.arguments ?? {}) as { result?: unknown; from?: unknown };
        return Promise.resolve(page(Number(result), Math.max(1, Math.floor(Number(from) || 1))));
      }
      return names.has(call.name) ? callServer(call) : null;
    },
    called: () => called,
    close: () => toolbox.close(),
  };
}

/** Each tool as short as it is still understood; those that do not fit any more are named. */
function fitTools(all: readonly ModelTool[]): { readonly tools: ModelTool[]; readonly left: string[] } {
  const tools: ModelTool[] = [];
  const left: string[] = [];
  let room = SCHEMA_CHARS;
  for (const { name, description, parameters } of all) {
    const short = {
      name,
      description: description.slice(0, DESCRIPTION_CHARS).toWellFormed(),
      parameters:
        JSON.stringify(parameters).length > LONG_SCHEMA
          ? (withoutDescriptions(parameters) as ModelTool["parameters"])
          : parameters,
    };
    const size = JSON.stringify(short).length;
    if (size > room) left.push(name);
    else {
      room -= size;
      tools.push(short);
    }
  }
  return { tools, left };
}

function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) =>
      key === "description" && typeof one === "string" ? [] : [[key, withoutDescriptions(one)]],
    ),
  );
}
