import { agentOf } from "../../domain/chat/agents.ts";
import type { ModelTrouble } from "../../domain/models/model-facts.ts";
import { readWrittenCall } from "../../domain/models/worker-output.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { cutMiddle, oneLine } from "../../domain/texts/format-text.ts";
import { inEveryLanguage, type WordsByLocale } from "../../domain/texts/worded.ts";
import { contextBudget, projectOverview } from "../coder/coder-context.ts";
import { createExplorer, type Explorer } from "../coder/explorer.ts";
import {
  type CompleteFittingOptions,
  type Completion,
  completeFitting,
  completeWhole,
  completionFailure,
  createPace,
  createSpeedWatch,
  expectReading,
  type RequestSize,
  type UnfinishedCompletion,
} from "../models/complete.ts";
import { toolLoop } from "../models/tool-loop.ts";
import type {
  Model,
  ModelAnswer,
  ModelFailure,
  ModelMessage,
  ModelRequest,
  ModelRole,
  ModelTool,
  ModelUsage,
} from "../ports/models.ts";
import { type ChatDeps, type ChatTurn, createNotice } from "./chat-turn.ts";
import { createWordOutput, type HeldOutput } from "./held-output.ts";

export type AgentRequest = Omit<ModelRequest, "signal">;

export type AgentAnswer =
  | {
      readonly ok: true;
      readonly answer: ModelAnswer;
      readonly model: Model;
      readonly cut: boolean;
    }
  /** `trouble` is for the user; `model` is there when it answered, but not whole. */
  | {
      readonly ok: false;
      readonly trouble: WordsByLocale;
      readonly model?: Model;
      /** The stream broke or said nothing: the same may be asked again. */
      readonly again?: boolean;
      readonly code?: ModelFailure["code"];
    };

export interface AgentQuestion {
  readonly role: ModelRole;
  /** Made for the model that answers; asked again, smaller, when the first was too long. */
  readonly request: (model: Model, size: RequestSize, tools: readonly ModelTool[]) => AgentRequest;
  /** Tools that change nothing, by which it may look before it answers. */
  readonly looks?: Explorer;
  /** Whether the answer's words are for the user as they come. */
  readonly streams: boolean;
  /** The answer's text as it arrives, for callers that process it further. */
  readonly onText?: (text: string) => void;
  /** How to handle an answer that reached its maximum length: show it as far as it got, or continue it. */
  readonly whenCut: "shown" | "goes-on";
  /** On the monotonic clock: when the time is over. Default: the message's own. */
  readonly deadline?: number;
  /** The server knows the beginning of the request already. */
  readonly isKnown?: boolean;
}

/** Characters of a message that is sent again because the model refused the whole as too long. */
export const SMALL_MESSAGE_CHARS = 8_000;

/** Whether a model that asked for less was sent only the beginning and the end of the message. */
export function isMessageCut(text: string, size: RequestSize): boolean {
  return size !== "full" && text.length > SMALL_MESSAGE_CHARS;
}

export function fitMessage(text: string, size: RequestSize): string {
  return isMessageCut(text, size) ? cutMiddle(text, SMALL_MESSAGE_CHARS) : text;
}

export const FROM_FILES =
  "Answer questions about this folder from its files: if what is shown below is not enough, look with the tools, and name the file and the line. Change nothing.";

/** Characters of one look: local windows are small. */
const LOOK_CHARS = { local: 4_000, cloud: 16_000 };

/** Reads, searches and lists the files of the workspace, without those that no model is shown. */
export function createProjectLooks(
  { project, workspace }: Pick<ChatDeps, "project" | "workspace">,
  asked: Model | ModelFailure,
  question: string,
): Explorer {
  const limit = "generate" in asked && !asked.local ? LOOK_CHARS.cloud : LOOK_CHARS.local;
  return createExplorer({ project: () => project, request: question, limit, mask: workspace.mask });
}

const OVERVIEW_CHARS = { rules: 6_000, map: 3_000 };

export function projectInShort(
  { project, workspace }: Pick<ChatDeps, "project" | "workspace">,
  model: Model,
  size: RequestSize,
): string {
  const { rules, map } = contextBudget(model, size);
  const most = model.local ? { rules: rules / 2, map } : { ...OVERVIEW_CHARS };
  return workspace.mask(projectOverview(project, most));
}

type AskDeps = Pick<ChatDeps, "chat" | "clock" | "workspace" | "settings" | "modelRecords">;

export type AskingTurn = Pick<ChatTurn, "models" | "emit" | "signal" | "deadline">;

/** One model call within the message's time, with its events. */
export async function askAgent(
  deps: AskDeps,
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
  const paced = await paceAgent(deps, turn, model, question);
  const agent = agentOf(role);
  const words = createWordOutput(deps.workspace.mask, (text) => turn.emit({ type: "text", agent, text }));
  const { signal } = turn;
  const continuesCut = question.whenCut === "goes-on";
  const listening = {
    ...listenOptions(deps, turn, question.deadline),
    ...paced.listening,
    ...(question.streams && { onText: words.add }),
    ...(question.onText !== undefined && { onText: question.onText }),
    ...(continuesCut && { onCut: () => turn.emit(createNotice(deps, (chat) => chat.answerGoesOn)) }),
  };
  const timed: AgentQuestion["request"] = (...asked) => paced.timed(question.request(...asked));
  const looked =
    question.looks === undefined
      ? null
      : await askLooking(
          turn,
          { ...question, request: timed, looks: question.looks },
          { model, listening, words },
        );
  const { completion } =
    looked !== null
      ? { completion: looked }
      : await (continuesCut ? completeWhole : completeFitting)(
          model,
          (size) => ({ ...timed(model, size, []), signal }),
          listening,
        );
  words.end();
  if (looked === null && completion.kind === "finished") await paced.note(completion.answer.usage);
  const cut = completion.kind === "cut";
  if (completion.kind === "finished" || (cut && !continuesCut))
    return { ok: true, answer: completion.answer, model, cut };
  const trouble = wordTrouble({ role, model }, completion);
  const again = completion.kind === "empty" || (completion.kind === "failed" && isBroken(completion.failure));
  const code =
    "failure" in completion ? { code: completion.failure.code } : cut ? { code: "endless" as const } : {};
  return { ok: false, trouble, again, ...code, ...("answer" in completion && { model }) };
}

/**
 * How a local model is asked: it may write slowly, its first word has the time that its measured speed needs, the user learns how long it
 * reads, and what one answer shows is remembered.
 */
export async function paceAgent(
  deps: AskDeps,
  turn: AskingTurn,
  model: Model,
  { role, deadline, isKnown = false }: Pick<AgentQuestion, "role" | "deadline" | "isKnown">,
) {
  const records = isMeasured(model) ? await deps.modelRecords?.() : undefined;
  const reads = (await records?.recall(model))?.reads ?? 0;
  const speed = createSpeedWatch(deps.clock);
  const pace =
    model.local && deadline === undefined
      ? createPace(deps.clock, turn.deadline, turn.deadline + deps.settings.coder.maxMinutes * 60_000)
      : null;
  let [isTold, isNoted] = [isKnown, false];
  return {
    listening: {
      ...(pace !== null && { deadline: pace.deadline }),
      onHeard(text: string) {
        speed.heard();
        pace?.onHeard(text);
      },
    },
    timed<Request extends AgentRequest>(request: Request): Request {
      if (records === undefined) return request;
      const reading = expectReading(request, reads);
      if (!isTold) tellReading(deps, turn, role, reading);
      isTold = true;
      return { ...request, firstTokenMs: reading.mostMs };
    },
    /** Of several answers, the first one: the server knows the beginning of the others. */
    async note(usage: ModelUsage): Promise<void> {
      const seen = isNoted ? null : speed.seen(usage);
      isNoted = true;
      if (seen !== null) await records?.note(model, seen);
    },
  };
}

/** A script has no speed, and a cloud none that matters. */
const isMeasured = ({ local, isScripted }: Model) => local && isScripted !== true;

const WORTH_TELLING_MS = 5_000;
const MUCH_TO_READ = 1_000;

/** A slow model says nothing while it reads: the user learns how long that takes. */
function tellReading(
  deps: Pick<ChatDeps, "chat">,
  turn: Pick<AskingTurn, "emit">,
  role: ModelRole,
  { tokens, expectedMs }: ReturnType<typeof expectReading>,
): void {
  const isLong = expectedMs === null ? tokens >= MUCH_TO_READ : expectedMs >= WORTH_TELLING_MS;
  if (!isLong) return;
  const seconds = expectedMs === null ? null : Math.round(expectedMs / 1000);
  turn.emit(createNotice(deps, (chat) => chat.reading(agentOf(role), tokens, seconds)));
}

/** Requests of one question, the last of them without tools. */
const MOST_LOOKS = 12;

interface LookingRun {
  readonly model: Model;
  readonly listening: CompleteFittingOptions;
  readonly words: HeldOutput;
}

/** The model may look around first; the words of every step belong to the answer. Null: it takes no tools and is asked without them. */
async function askLooking(
  turn: AskingTurn,
  { looks, request }: AgentQuestion & { readonly looks: Explorer },
  { model, listening, words }: LookingRun,
): Promise<Completion | null> {
  const exchange: ModelMessage[] = [];
  const said: string[] = [];
  const step = holdWrittenCalls(words);
  const end = await toolLoop({
    ...listening,
    ...(listening.onText !== undefined && { onText: step.add }),
    model: () => model,
    tools: looks.tools,
    transcript: { messages: () => exchange, add: (...messages) => void exchange.push(...messages) },
    request: ({ tools, messages, size }) => {
      const asked = request(model, size, tools);
      return { ...asked, messages: [...asked.messages, ...messages] };
    },
    onAnswer: ({ text, toolCalls }) => {
      const names = new Set(looks.tools.map(({ name }) => name));
      const isCall = toolCalls.length === 0 && readWrittenCall(text, names) !== undefined;
      step.end(!isCall);
      if (isCall || text.trim() === "") return;
      said.push(text.trim());
      if (toolCalls.length > 0) words.add("\n\n");
    },
    call: async (call) => {
      const about = { type: "tool", name: call.name } as const;
      turn.emit({ ...about, state: "started", note: oneLine(Object.values(call.arguments ?? {}).join(" ")) });
      const result = await looks.call(call);
      turn.emit({ ...about, state: result.ok ? "succeeded" : "failed" });
      return result;
    },
    limits: { steps: MOST_LOOKS, lastAnswers: true },
    signal: turn.signal,
  });
  switch (end.kind) {
    case "answered":
      return toWholeAnswer(end.answer, said);
    case "failed":
      return end.failure.code === "bad-request" && exchange.length === 0 ? null : end;
    case "steps":
    case "stuck":
      return { kind: "empty", failure: { code: "empty", message: "", retryable: false } };
    default:
      return end;
  }
}

function toWholeAnswer(answer: ModelAnswer, said: readonly string[]): Completion {
  const whole = { ...answer, text: said.join("\n\n") };
  if (whole.text === "") return { kind: "empty", failure: { code: "empty", message: "", retryable: true } };
  return { kind: answer.finish === "length" ? "cut" : "finished", answer: whole };
}

/** Small local models write a call as text: an answer that may be one is shown when it has proved to be words. */
function holdWrittenCalls(words: HeldOutput) {
  let held = "";
  return {
    add(text: string) {
      held += text;
      if (/^\s*(?:$|[{[<`])/.test(held)) return;
      words.add(held);
      held = "";
    },
    end(isShown: boolean) {
      if (isShown && held !== "") words.add(held);
      held = "";
    },
  };
}

function isBroken({ code }: ModelFailure): boolean {
  return code === "cut-off" || code === "malformed";
}

/** The common options of a message's model calls: its time, and the notices about failed tries. */
export function listenOptions(
  deps: Pick<ChatDeps, "chat" | "clock">,
  turn: Pick<ChatTurn, "emit" | "deadline">,
  ends = turn.deadline,
): Pick<CompleteFittingOptions, "deadline" | "onRetry" | "onTooLong"> {
  const leftMs = ends - deps.clock();
  return {
    deadline: leftMs <= 0 ? AbortSignal.abort() : AbortSignal.timeout(Math.ceil(leftMs)),
    onRetry: ({ attempt, waitMs, failure }) => {
      const seconds = Math.ceil(waitMs / 1000);
      const step = { kind: "retry", detail: `${attempt} · ${seconds} s · ${failure.message}` } as const;
      turn.emit(createNotice(deps, (chat) => chat.retrying(attempt, seconds, failure.message), step));
    },
    onTooLong: () => turn.emit(createNotice(deps, (chat) => chat.compacted)),
  };
}

export function emitThinking(
  turn: Pick<ChatTurn, "emit">,
  role: ModelRole,
  { provider, model, local }: Model,
): void {
  turn.emit({ type: "thinking", agent: agentOf(role), provider, model, local });
}

export function wordTrouble(
  { role, model }: { readonly role: ModelRole; readonly model?: Model | undefined },
  unanswered: UnfinishedCompletion,
): WordsByLocale {
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
