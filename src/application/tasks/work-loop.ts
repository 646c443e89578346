import { readDone } from "../../domain/tasks/solve/plan.ts";
import {
  afterCommand,
  afterThought,
  mustReflectBefore,
  NOTHING_FAILED,
} from "../../domain/tasks/solve/reflection.ts";
import type { ModelMessage, ModelTool, ToolCall } from "../ports/model.ts";
import type { EnvironmentCall, TaskEnvironment } from "../ports/task-environments.ts";
import { askCoder, shortened } from "./ask-coder.ts";
import { said } from "./gather.ts";
import { must } from "./must.ts";
import type { News } from "./news.ts";
import { quietText } from "./quiet-text.ts";
import { type SolveParts, SolveStop, type Work } from "./solve-parts.ts";
import { workPrompt } from "./work-prompt.ts";

const RESULT_CHARS = 20_000;
const LONG_CHARS = 240_000;
const IDLE_TURNS = 3;

const ISSUE_TOOLS: readonly ModelTool[] = [
  {
    name: "issue_read_comments",
    description: "Reads what was said on the issue, PR or MR of this task.",
    parameters: { type: "object", properties: {}, additionalProperties: false },
  },
  {
    name: "issue_comment",
    description: "Posts one comment on the issue, PR or MR of this task. Progress is reported without it.",
    parameters: {
      type: "object",
      properties: { body: { type: "string" } },
      required: ["body"],
      additionalProperties: false,
    },
  },
];

/** The coder works with its tools until it says `done`, or the steps are used up. */
export async function workLoop(parts: SolveParts, work: Work, news: News): Promise<void> {
  const environment = work.environment as TaskEnvironment;
  const { environments, config } = parts;
  const tools = [...environments.tools, ...ISSUE_TOOLS];
  const system = workPrompt({ tools, fragment: environments.promptFragment, today: parts.now() });
  let reflection = NOTHING_FAILED;
  let idle = 0;
  const say = (...messages: ModelMessage[]) =>
    work.update({ transcript: [...work.task.transcript, ...messages] });

  const answerCall = async (call: ToolCall): Promise<string> => {
    if (call.name === "issue_read_comments") {
      const comments = await must(parts.forge.listComments(work.task.item, work.signal));
      return said(comments).join("\n\n") || "(nothing)";
    }
    if (call.name === "issue_comment") {
      const { body } = (call.arguments ?? {}) as { body?: unknown };
      if (typeof body !== "string" || body.trim() === "") return "error: `body` must be a text";
      await must(parts.forge.postComment(work.task.item, parts.mask(quietText(body)), work.signal));
      return "posted";
    }
    const command = commandOf(call);
    if (command !== null && mustReflectBefore(reflection, command))
      return "refused: this command just failed. Say first why it failed and what you change, then run it again.";
    const result = await environment.call(call.name, call.arguments, work.signal);
    reflection =
      result.command === undefined
        ? afterThought()
        : afterCommand(result.command.command, result.command.exitCode);
    await remember(work, result);
    return result.text;
  };

  for (;;) {
    await news.look();
    if (work.task.steps >= config.maxSteps) throw new SolveStop("too-many-steps", String(config.maxSteps));
    const { transcript } = work.task;
    const messages = sizeOf(transcript) > LONG_CHARS ? shortened(transcript) : transcript;
    const { text, toolCalls } = await askCoder(parts, { system, messages, tools, signal: work.signal });
    if (text.trim() !== "") reflection = afterThought();
    await say({ role: "assistant", text, ...(toolCalls.length > 0 && { toolCalls }) });
    await work.update({ steps: work.task.steps + 1 });
    if (toolCalls.length === 0) {
      const done = readDone(text);
      if (done?.done === true) return work.update({ summary: parts.mask(done.summary) });
      if (++idle === IDLE_TURNS) throw new SolveStop("gave-up", parts.mask(quietText(text)).slice(0, 500));
      await say({
        role: "user",
        text: 'Go on with the tools, or finish with {"done": true, "summary": "…"}.',
      });
      continue;
    }
    idle = 0;
    for (const call of toolCalls) {
      const result = parts.mask(await answerCall(call));
      const cut = result.length > RESULT_CHARS ? `${result.slice(0, RESULT_CHARS)}…` : result;
      await say({ role: "tool", callId: call.id, name: call.name, text: cut });
    }
    await checkpoint(work, environment);
  }
}

/** Keeps the change so far, so that a new container can begin with it. */
async function checkpoint(work: Work, environment: TaskEnvironment): Promise<void> {
  const difference = await environment.difference(work.signal);
  if (typeof difference === "string") return;
  const patch = Buffer.from(difference).toString("base64");
  if (patch !== work.task.patch) await work.update({ patch });
}

async function remember(work: Work, { command }: EnvironmentCall): Promise<void> {
  if (command === undefined) return;
  const { command: text, exitCode, durationMs } = command;
  work.say(`$ ${text} → ${exitCode}`);
  await work.update({ commands: [...work.task.commands, { command: text, exitCode, durationMs }] });
}

function commandOf({ arguments: args }: ToolCall): string | null {
  const command = (args as { command?: unknown } | null)?.command;
  return typeof command === "string" ? command : null;
}

function sizeOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, { text }) => sum + text.length, 0);
}
