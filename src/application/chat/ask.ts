import { agentOf } from "../../domain/agents/roster.ts";
import type { ModelTrouble } from "../../domain/texts/chat/messages.ts";
import type { Agent } from "../ports/conversation.ts";
import type { Model, ModelAnswer, ModelEvent, ModelRequest, ModelRole } from "../ports/model.ts";
import { createSentenceOutput } from "./line-output.ts";
import type { ChatParts } from "./parts.ts";
import type { ChatTurn } from "./turn.ts";

export type Request = Omit<ModelRequest, "signal">;

export type Answered =
  | { readonly ok: true; readonly answer: ModelAnswer; readonly model: Model; readonly size: Size }
  /** `text` is for the user. */
  | { readonly ok: false; readonly code: ModelTrouble; readonly text: string };

/** `small` is for a window that the full request does not fit into. */
export type Size = "full" | "small";

export interface Question {
  readonly role: ModelRole;
  /** Made for the model that answers; asked again, smaller, when the first was too long. */
  readonly request: (model: Model, size: Size) => Request;
  /** What is known from an earlier answer to fit. Default: full. */
  readonly size?: Size;
  /** Whether the answer's words are for the user as they come. */
  readonly streams: boolean;
}

/** One model call within the message's time, with its events, its cost, and one retry for a request that was too long. */
export async function ask(
  parts: Pick<ChatParts, "chat" | "clock" | "workspace">,
  turn: ChatTurn,
  question: Question,
): Promise<Answered> {
  const { role } = question;
  const agent: Agent = agentOf(role);
  const model = turn.models.models.forRole(role);
  if (!("generate" in model)) {
    const nobody = { agent, role, provider: "", model: "" };
    const text = parts.chat.modelTrouble(model.code, nobody, model.message);
    return { ok: false, code: model.code, text };
  }
  const asked = { agent, role, provider: model.provider, model: model.model };
  const failed = (code: ModelTrouble, detail: string): Answered => ({
    ok: false,
    code,
    text: parts.chat.modelTrouble(code, asked, detail),
  });
  turn.emit({ type: "thinking", agent, provider: model.provider, model: model.model, local: model.local });
  for (const size of question.size === "small" ? (["small"] as const) : (["full", "small"] as const)) {
    const left = turn.deadline - parts.clock();
    if (left <= 0) return failed("deadline", "");
    const clock = AbortSignal.timeout(Math.ceil(left));
    const signal = AbortSignal.any([turn.signal, clock]);
    const words = createSentenceOutput((text) =>
      turn.emit({ type: "text", agent, text: parts.workspace.mask(text) }),
    );
    const end = await listen(model.generate({ ...question.request(model, size), signal }), (event) => {
      if (event.type === "text" && question.streams) words.add(event.text);
      if (event.type === "retrying") {
        const { attempt, waitMs, failure } = event;
        turn.emit({
          type: "notice",
          text: parts.chat.retrying(attempt, Math.ceil(waitMs / 1000), failure.message),
        });
      }
    });
    words.end();
    if (end.type === "finished") {
      const { text, toolCalls } = end.answer;
      if (text.trim() === "" && toolCalls.length === 0) return failed("empty", "");
      return { ok: true, answer: end.answer, model, size };
    }
    const { code, message } = end.failure;
    if (code === "context-too-long" && size === "full") {
      turn.emit({ type: "notice", text: parts.chat.compacted });
      continue;
    }
    if (code === "aborted" && !turn.signal.aborted) return failed("deadline", "");
    return failed(code, message);
  }
  return failed("context-too-long", "");
}

/** Reads a stream to its one end. A stream without an end is a model's bug, told as a cut one. */
async function listen(
  events: AsyncIterable<ModelEvent>,
  onEvent: (event: ModelEvent) => void,
): Promise<Extract<ModelEvent, { type: "finished" | "failed" }>> {
  for await (const event of events) {
    if (event.type === "finished" || event.type === "failed") return event;
    onEvent(event);
  }
  return { type: "failed", failure: { code: "cut-off", message: "", retryable: true } };
}
