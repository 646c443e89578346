import { agentOf } from "../../domain/agents/roster.ts";
import type { ModelTrouble } from "../../domain/models/model-trouble.ts";
import { chatMessagesFor } from "../../domain/texts/texts.ts";
import { inEveryLanguage, type Worded } from "../../domain/texts/worded.ts";
import { completeFitting, type Fitting, failureOf, type Size, type Unanswered } from "../models/complete.ts";
import { completeWhole } from "../models/complete-whole.ts";
import type { Model, ModelAnswer, ModelFailure, ModelRequest, ModelRole } from "../ports/model.ts";
import { createSentenceOutput } from "./line-output.ts";
import { noticeOf } from "./notice.ts";
import type { ChatParts } from "./parts.ts";
import type { ChatTurn } from "./turn.ts";

export type Request = Omit<ModelRequest, "signal">;

export type Answered =
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

export interface Question {
  readonly role: ModelRole;
  /** Made for the model that answers; asked again, smaller, when the first was too long. */
  readonly request: (model: Model, size: Size) => Request;
  /** Whether the answer's words are for the user as they come. */
  readonly streams: boolean;
  /** What is done with an answer that reached its longest: shown as far as it came, or gone on with. */
  readonly whenCut: "shown" | "goes-on";
  /** On the monotonic clock: when the time is over. Default: the message's own. */
  readonly deadline?: number;
}

type AskParts = Pick<ChatParts, "chat" | "clock" | "workspace">;

/** One model call within the message's time, with its events. */
export async function ask(parts: AskParts, turn: ChatTurn, question: Question): Promise<Answered> {
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
  const words = createSentenceOutput((text) =>
    turn.emit({ type: "text", agent, text: parts.workspace.mask(text) }),
  );
  const { signal } = turn;
  const goesOn = question.whenCut === "goes-on";
  const { completion } = await (goesOn ? completeWhole : completeFitting)(
    model,
    (size) => ({ ...question.request(model, size), signal }),
    {
      ...listening(parts, turn, question.deadline),
      ...(question.streams && { onText: words.add }),
      ...(goesOn && { onCut: () => turn.emit(noticeOf(parts, (chat) => chat.answerGoesOn)) }),
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

/** What a message's model calls have in common: its time, and the notices about tries that failed. */
export function listening(
  parts: Pick<ChatParts, "chat" | "clock">,
  turn: ChatTurn,
  ends = turn.deadline,
): Pick<Fitting, "deadline" | "onRetry" | "onTooLong"> {
  const leftMs = ends - parts.clock();
  return {
    deadline: leftMs <= 0 ? AbortSignal.abort() : AbortSignal.timeout(Math.ceil(leftMs)),
    onRetry: ({ attempt, waitMs, failure }) => {
      const seconds = Math.ceil(waitMs / 1000);
      turn.emit(noticeOf(parts, (chat) => chat.retrying(attempt, seconds, failure.message)));
    },
    onTooLong: () => turn.emit(noticeOf(parts, (chat) => chat.compacted)),
  };
}

export function emitThinking(turn: ChatTurn, role: ModelRole, { provider, model, local }: Model): void {
  turn.emit({ type: "thinking", agent: agentOf(role), provider, model, local });
}

/** Why there is no answer, for the user. */
export function wordTrouble(
  { role, model }: { readonly role: ModelRole; readonly model?: Model | undefined },
  unanswered: Unanswered,
): Worded {
  const { message, texts } = failureOf(unanswered);
  const asked = {
    agent: agentOf(role),
    role,
    provider: model?.provider ?? "",
    model: model?.model ?? "",
  };
  const code = troubleOf(unanswered);
  return inEveryLanguage((locale) =>
    chatMessagesFor(locale).modelTrouble(code, asked, texts?.[locale] ?? message),
  );
}

function troubleOf(unanswered: Unanswered): ModelTrouble {
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
