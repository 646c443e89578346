import { agentOf } from "../../domain/chat/agents.ts";
import type { ModelTrouble } from "../../domain/models/model-facts.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import { inEveryLanguage, type Worded } from "../../domain/texts/worded.ts";
import {
  type CompleteFittingOptions,
  completeFitting,
  completeWhole,
  completionFailure,
  type RequestSize,
  type UnfinishedCompletion,
} from "../models/complete.ts";
import type { Model, ModelAnswer, ModelFailure, ModelRequest, ModelRole } from "../ports/models.ts";
import { type ChatDeps, type ChatTurn, createNotice } from "./chat-turn.ts";
import { createWordOutput } from "./held-output.ts";

export type AgentRequest = Omit<ModelRequest, "signal">;

export type AgentAnswer =
  | {
      readonly ok: true;
      readonly answer: ModelAnswer;
      readonly model: Model;
      /** The longest answer was reached. */
      readonly cut: boolean;
    }
  /** `trouble` is for the user; `model` is there when it answered, but not whole. */
  | {
      readonly ok: false;
      readonly trouble: Worded;
      readonly model?: Model;
      /** The stream broke or said nothing: the same may be asked again. */
      readonly again?: boolean;
      readonly code?: ModelFailure["code"];
    };

export interface AgentQuestion {
  readonly role: ModelRole;
  /** Made for the model that answers; asked again, smaller, when the first was too long. */
  readonly request: (model: Model, size: RequestSize) => AgentRequest;
  /** Whether the answer's words are for the user as they come. */
  readonly streams: boolean;
  /** The answer's text as it comes, for whoever makes something else of it. */
  readonly onText?: (text: string) => void;
  /** How to handle an answer that reached its maximum length: show it as far as it got, or continue it. */
  readonly whenCut: "shown" | "goes-on";
  /** On the monotonic clock: when the time is over. Default: the message's own. */
  readonly deadline?: number;
}

/** Characters of a message that is sent again because the model refused the whole as too long. */
export const SMALL_MESSAGE_CHARS = 8_000;

/** Whether a model that asked for less was sent only the beginning and the end of the message. */
export function isMessageCut(text: string, size: RequestSize): boolean {
  return size !== "full" && text.length > SMALL_MESSAGE_CHARS;
}

/** The message as a request of that size holds it. */
export function fitMessage(text: string, size: RequestSize): string {
  return isMessageCut(text, size) ? cutMiddle(text, SMALL_MESSAGE_CHARS) : text;
}

type AskDeps = Pick<ChatDeps, "chat" | "clock" | "workspace">;

/** The part of a message that a question to a model needs. */
type AskingTurn = Pick<ChatTurn, "models" | "emit" | "signal" | "deadline">;

/** One model call within the message's time, with its events. */
export async function askAgent(
  parts: AskDeps,
  turn: AskingTurn,
  question: AgentQuestion,
): Promise<AgentAnswer> {
  const { role } = question;
  const model = turn.models.models.forRole(role);
  if (!("generate" in model))
    return {
      ok: false,
      trouble: wordTrouble({ role }, { kind: "failed", failure: model }),
      code: model.code,
    };
  emitThinking(turn, role, model);
  const agent = agentOf(role);
  const words = createWordOutput(parts.workspace.mask, (text) => turn.emit({ type: "text", agent, text }));
  const { signal } = turn;
  const goesOn = question.whenCut === "goes-on";
  const { completion } = await (goesOn ? completeWhole : completeFitting)(
    model,
    (size) => ({ ...question.request(model, size), signal }),
    {
      ...listenOptions(parts, turn, question.deadline),
      ...(question.streams && { onText: words.add }),
      ...(question.onText !== undefined && { onText: question.onText }),
      ...(goesOn && { onCut: () => turn.emit(createNotice(parts, (chat) => chat.answerGoesOn)) }),
    },
  );
  words.end();
  const cut = completion.kind === "cut";
  if (completion.kind === "finished" || (cut && !goesOn))
    return { ok: true, answer: completion.answer, model, cut };
  const trouble = wordTrouble({ role, model }, completion);
  const again = completion.kind === "empty" || (completion.kind === "failed" && isBroken(completion.failure));
  const code = "failure" in completion ? { code: completion.failure.code } : {};
  return { ok: false, trouble, again, ...code, ...("answer" in completion && { model }) };
}

function isBroken({ code }: ModelFailure): boolean {
  return code === "cut-off" || code === "malformed";
}

/** The common options of a message's model calls: its time, and the notices about failed tries. */
export function listenOptions(
  parts: Pick<ChatDeps, "chat" | "clock">,
  turn: Pick<ChatTurn, "emit" | "deadline">,
  ends = turn.deadline,
): Pick<CompleteFittingOptions, "deadline" | "onRetry" | "onTooLong"> {
  const leftMs = ends - parts.clock();
  return {
    deadline: leftMs <= 0 ? AbortSignal.abort() : AbortSignal.timeout(Math.ceil(leftMs)),
    onRetry: ({ attempt, waitMs, failure }) => {
      const seconds = Math.ceil(waitMs / 1000);
      turn.emit(createNotice(parts, (chat) => chat.retrying(attempt, seconds, failure.message)));
    },
    onTooLong: () => turn.emit(createNotice(parts, (chat) => chat.compacted)),
  };
}

export function emitThinking(
  turn: Pick<ChatTurn, "emit">,
  role: ModelRole,
  { provider, model, local }: Model,
): void {
  turn.emit({ type: "thinking", agent: agentOf(role), provider, model, local });
}

/** Why there is no answer, for the user. */
export function wordTrouble(
  { role, model }: { readonly role: ModelRole; readonly model?: Model | undefined },
  unanswered: UnfinishedCompletion,
): Worded {
  const { message, texts } = completionFailure(unanswered);
  const asked = {
    agent: agentOf(role),
    role,
    provider: model?.provider ?? "",
    model: model?.model ?? "",
  };
  const code = toTrouble(unanswered);
  return inEveryLanguage((locale) =>
    chatMessagesFor(locale).modelTrouble(code, asked, texts?.[locale] ?? message),
  );
}

function toTrouble(unanswered: UnfinishedCompletion): ModelTrouble {
  switch (unanswered.kind) {
    case "cut":
      return "cut-by-length";
    case "refused":
      return "filtered";
    case "aborted":
      return unanswered.by === "deadline" ? "deadline" : "aborted";
    default:
      return unanswered.failure.code;
  }
}
