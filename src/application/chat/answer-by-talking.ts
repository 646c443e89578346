import { systemPrompt } from "../../domain/chat/agents.ts";
import type { RequestSize } from "../models/complete.ts";
import { giveWay } from "../platform/give-way.ts";
import type { Model, ModelFailure } from "../ports/models.ts";
import {
  type AskingTurn,
  askAgent,
  createProjectLooks,
  FROM_FILES,
  fitMessage,
  isMessageCut,
  projectInShort,
} from "./ask-agent.ts";
import {
  type AgentDeps,
  type Answer,
  type ChatTurn,
  cloudNote,
  createAnswer,
  createLabelledAction,
  standInNote,
  toReplyModel,
} from "./chat-turn.ts";
import { createHistoryReader, historyFor, type RecalledImages, recalledMemory } from "./exchanges.ts";
import { imagesPart, recallImages } from "./message-images.ts";
import { cloudCoder } from "./model-commands.ts";
import { type ReplyPiece, say } from "./reply-words.ts";

const DUTIES = {
  CHAT: `You talk with the user and answer questions. ${FROM_FILES} To have files changed, the user writes /code.`,
  PLAN: `You make plans: the goal, the steps in order, what could go wrong, and how to verify the result. ${FROM_FILES}`,
} as const;

const WITHOUT_LOCAL = ["unreachable", "unknown-model", "refused-remote", "not-configured"];

/** Whether a cloud model could stand in: one that was asked and failed is the user's choice already. */
function lacksLocal(asked: Model | ModelFailure | undefined, code: string | undefined): boolean {
  const isLocal = asked === undefined || !("generate" in asked) || asked.local;
  return isLocal && WITHOUT_LOCAL.includes(code ?? "");
}

/** Characters of a question that a button can send again. */
const ASKED_AGAIN = 300;

/** A question to Mio, with the part of the conversation that she is shown. */
export interface TalkRequest extends Pick<ChatTurn, "history" | "older" | "memory"> {
  readonly text: string;
  readonly duty: string;
  /** The newest exchanges that are given in a request of full size, and in a small one. */
  readonly limits: Readonly<Record<RequestSize, Parameters<typeof historyFor>[2]>>;
  readonly images?: ChatTurn["images"];
  readonly recalled?: RecalledImages | undefined;
  /** A part of the prompt behind the others. */
  readonly work?: string;
}

/** Asks Mio, who may look into the project's files first. Words come as they are written. */
export async function askMio(deps: AgentDeps, turn: AskingTurn, request: TalkRequest) {
  const { text, duty, history, limits, images = [], recalled, work = "" } = request;
  const { models } = turn.models;
  const state: { sent: RequestSize } = { sent: "full" };
  const answered = await askAgent(deps, turn, {
    role: "chat",
    streams: true,
    whenCut: "shown",
    looks: createProjectLooks(deps, models.forRole("chat"), text),
    request: (model, size, tools) => {
      const reader = createHistoryReader(model, models);
      const isFull = size === "full";
      state.sent = size;
      const prompt = systemPrompt({
        agent: "Mio",
        duty,
        tools,
        project: projectInShort(deps, model, size),
        memory: isFull ? recalledMemory(reader, request, text) : "",
        today: deps.today(),
        workspace: deps.workspace.root,
      });
      return {
        system: work === "" ? prompt : `${prompt}\n\n# The work in progress\n${deps.workspace.mask(work)}`,
        messages: [
          ...historyFor(reader, history, limits[size], isFull ? recalled : undefined),
          { role: "user", text: fitMessage(text, size), ...imagesPart(images) },
        ],
      };
    },
  });
  return { answered, isCut: isMessageCut(text, state.sent) };
}

const LIMITS = {
  full: { exchanges: 20, chars: 4_000 },
  small: { exchanges: 2, chars: 800 },
} as const;

export async function answerByTalking(
  deps: AgentDeps,
  turn: ChatTurn,
  route: keyof typeof DUTIES,
  text: string,
): Promise<Answer> {
  const asked = turn.models.models.forRole("chat");
  const recalled = "generate" in asked ? await recallImages(deps, turn, asked) : undefined;
  const request = { ...turn, text, duty: DUTIES[route], limits: LIMITS, recalled };
  const { answered, isCut } = await askMio(deps, turn, request);
  if (!answered.ok) {
    const coder = lacksLocal(asked, answered.code) ? cloudCoder(deps, turn) : null;
    const isOllamaAway =
      answered.code === "unreachable" && "generate" in asked && asked.provider === "ollama";
    const said: readonly ReplyPiece[] =
      isOllamaAway && coder !== null
        ? [say("noLocalModel", coder.provider)]
        : isOllamaAway && !(["coder1", "coder2", "coder3"] as const).some(deps.canAsk)
          ? [say("noModelYet")]
          : [{ kind: "worded", texts: answered.trouble }, ...sayWhoWorks(deps, turn, asked, answered.code)];
    return {
      ...createAnswer(said, false, "Mio"),
      ...(coder !== null && {
        actions: [
          createLabelledAction(
            deps,
            (chat) => chat.cloudLabel(coder.provider),
            `/cloud on ${text.slice(0, ASKED_AGAIN)}`,
          ),
        ],
      }),
    };
  }
  const words = deps.workspace.mask(answered.answer.text.trim());
  await giveWay();
  const said: ReplyPiece[] = [
    { kind: "text", text: words },
    ...(isCut ? [say("messageCut")] : []),
    ...(answered.cut ? [say("answerCut")] : []),
    ...standInNote(answered.model, turn),
    ...cloudNote(answered.model),
  ];
  return {
    ...createAnswer(said, true, "Mio"),
    model: toReplyModel(answered.model),
    ...(route === "PLAN" && {
      actions: [createLabelledAction(deps, (chat) => chat.giveToCoder, "/code go")],
    }),
  };
}

/** A hint for a question without a model: a cloud model would answer it, or coding works meanwhile. */
export function sayWhoWorks(
  { settings }: AgentDeps,
  { models }: ChatTurn,
  asked: Model | ModelFailure | undefined,
  code: string | undefined,
): readonly ReplyPiece[] {
  const coder = models.models.forRole(settings.defaultCoder);
  if (!lacksLocal(asked, code) || !("generate" in coder)) return [];
  const isOwnServer =
    code === "unreachable" && asked !== undefined && "generate" in asked && asked.provider !== "ollama";
  if (!isOwnServer) return coder.local ? [] : [say("coderWorks")];
  // A coder at the same server answers no more than Mio does.
  return coder.provider === asked.provider ? [] : [say("codingWorks")];
}
