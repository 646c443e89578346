import { coderPrompt } from "../../domain/chat/agents.ts";
import { agentOf, type CoderRole } from "../../domain/chat/roster.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import { chatMessagesFor } from "../../domain/texts/texts.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import { type ContextBudget, contextBudget } from "../coder/budget.ts";
import { coderContext } from "../coder/context-coder-context.ts";
import type { Skills } from "./skills.ts";
import type { RequestSize } from "../models/complete.ts";
import type { Model, ModelMessage } from "../ports/models.ts";
import type { CoderAnswer } from "../coder/coder-loop-parts.ts";
import { type AgentRequest, askAgent } from "./ask-agent.ts";
import type { CoderLooks } from "./coder-looks.ts";
import { earlierExchangesFor } from "./history.ts";
import type { ChatDeps } from "./chat-turn.ts";
import type { ChatTurn } from "./turn.ts";

export interface CoderQuestion {
  readonly role: CoderRole;
  readonly request: string;
  /** A plan is asked for, and no patch. */
  readonly planOnly: boolean;
  /** What judges a draft, as the coder is told; empty where nothing does. */
  readonly checks: string;
  /** The models' time that is left, where coders follow each other; its own by default. */
  readonly time?: { leftMs: number } | undefined;
  /** How it looks around by tools. */
  readonly looks: CoderLooks;
  /** What the user wrote for requests of a kind. */
  readonly skills: Skills;
}

export interface CoderTalk {
  /** Asks with what was said after the request; whole answers only. */
  ask(exchange: readonly ModelMessage[]): Promise<CoderAnswer>;
  /** Who answered last. */
  model(): Model | undefined;
  /** What may be shown to whoever answered last. */
  budget(): ContextBudget;
}

const EARLIER_LIMIT = { exchanges: 5, chars: 500 };
const LITTLE_EARLIER_LIMIT = { exchanges: 1, chars: 200 };
/** Characters of a message that is sent again because it was too long. */
const SMALL_REQUEST = 8_000;

/** A coder as the chat asks it: its prompt, what it is shown of the project, and the limits of one message. */
export function createCoderTalk(parts: ChatDeps, turn: ChatTurn, question: CoderQuestion): CoderTalk {
  const { settings, clock } = parts;
  const { maxMinutes, budgetUsd } = settings.coder;
  const shown = new Set<string>();
  const { looks } = question;
  const firstMessage = createFirstMessage(parts, turn, question);
  const time = question.time ?? { leftMs: maxMinutes * 60_000 };
  let answeredBy: Model | undefined;

  async function askOnce(exchange: readonly ModelMessage[]) {
    const begun = clock();
    const answered = await askAgent(parts, turn, {
      role: question.role,
      streams: false,
      // Half a patch is no patch.
      whenCut: "goes-on",
      deadline: begun + time.leftMs,
      request(model, size) {
        const first = firstMessage(model, size);
        const request = coderRequest(parts, question, { model, size, exchange, first });
        for (const path of filesShownIn(request.messages)) shown.add(path);
        return request;
      },
    });
    time.leftMs -= clock() - begun;
    return answered;
  }

  /** Asks until it has looked enough: calls of tools are answered here. */
  async function askLooking(exchange: readonly ModelMessage[]) {
    for (;;) {
      const answered = await askOnce(exchange);
      if (!answered.ok && answered.code === "bad-request" && looks.tools().length > 0) looks.withoutTools();
      else if (!answered.ok || turn.signal.aborted || !(await looks.take(exchange, answered.answer)))
        return answered;
    }
  }

  return {
    model: () => answeredBy,
    budget: () => contextBudget(answeredBy ?? { local: true }, "full"),
    async ask(exchange) {
      if (budgetUsd !== null && turn.models.used().costUsd >= budgetUsd)
        return {
          ok: false,
          text: inEveryLanguage((locale) => chatMessagesFor(locale).coderBudget(budgetUsd)),
        };
      let answered = await askLooking(exchange);
      // A stream that broke or said nothing is asked for once more; the wire waits out what is only busy.
      if (!answered.ok && answered.again === true && !turn.signal.aborted)
        answered = await askLooking(exchange);
      answeredBy = answered.model ?? answeredBy;
      if (!answered.ok) return { ok: false, text: answered.trouble };
      return { ok: true, text: answered.answer.text, shown: (path) => shown.has(path) };
    },
  };
}

/**
 * What the project shows, what was done before, and the request last: made once, so that a server's cache knows it
 * again. What changes from message to message stands behind what does not.
 */
function createFirstMessage(
  { project, workspace }: ChatDeps,
  turn: ChatTurn,
  { request, skills }: CoderQuestion,
): (model: Model, size: RequestSize) => string {
  const made = new Map<string, string>();
  return (model, size) => {
    const key = `${size} ${model.local}`;
    const known = made.get(key);
    if (known !== undefined) return known;
    const recent = turn.jobs.recentFiles();
    const context = coderContext(project, { request, recent, budget: contextBudget(model, size) });
    const asked = size === "full" ? request : cutMiddle(request, SMALL_REQUEST);
    const earlier = earlierExchangesFor(
      model,
      turn.history,
      size === "full" ? EARLIER_LIMIT : LITTLE_EARLIER_LIMIT,
    );
    const before = [skills.offer(request), context, earlier].filter((text) => text !== "").join("\n\n");
    const first = before === "" ? asked : `${workspace.mask(before)}\n\nRequest:\n${asked}`;
    made.set(key, first);
    return first;
  };
}

interface CoderAsk {
  readonly model: Model;
  readonly size: RequestSize;
  readonly first: string;
  readonly exchange: readonly ModelMessage[];
}

function coderRequest(
  parts: ChatDeps,
  { role, planOnly, checks, looks }: CoderQuestion,
  { model, size, exchange, first }: CoderAsk,
): AgentRequest {
  const { settings } = parts;
  const isFull = size === "full";
  // Small local models call tools badly, and their windows are short: they ask in words.
  const tools = isFull && !model.local ? looks.tools() : [];
  return {
    system: coderPrompt({
      agent: agentOf(role),
      family: model.family,
      protectedPatterns: settings.protectedPatterns,
      browser: settings.mcpServers.includes("browser"),
      planOnly,
      checks,
      tools: tools.map(({ name }) => name),
    }),
    messages: [
      { role: "user", text: first },
      ...(isFull ? looks.woven(exchange) : shortenExchange(exchange)),
    ],
    ...(tools.length > 0 && { tools }),
  };
}

/** For a window that is full: the last answer and the reply to it, cut. */
function shortenExchange(exchange: readonly ModelMessage[]): ModelMessage[] {
  return exchange.slice(-2).map((message) => ({ ...message, text: cutMiddle(message.text, SMALL_REQUEST) }));
}

/** Files that a message shows whole. */
function filesShownIn(messages: readonly ModelMessage[]): string[] {
  return messages.flatMap(({ role, text }) =>
    role !== "assistant"
      ? [...text.matchAll(/^<file path="([^"\n]+)">\n/gm)].map(([, path]) => path as string)
      : [],
  );
}
