import { divideCode, readExplicitRoute } from "../../domain/chat/message-commands.ts";
import { compileRules, deriveRule, matchRules, tellsFault } from "../../domain/chat/routing-rules.ts";
import type { CompiledRule } from "../../domain/chat/rule-pattern.ts";
import { type Decision, type Route, readRoute } from "../../domain/config/configured-kinds.ts";
import { jsonInAnswer } from "../../domain/platform/json-text.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import { languageOf } from "../../domain/texts/locale.ts";
import { askJson, completionFailure, type JsonReading } from "../models/complete.ts";
import type { LearnedRule, RoutingStore, StoredDecision } from "../ports/chat.ts";
import type { Model, Models } from "../ports/models.ts";
import type { Logger } from "../ports/platform.ts";

type ClassifyResult =
  | ({ readonly ok: true } & Classification)
  | { readonly ok: false; readonly error: string; readonly errorType: string };

interface Classification {
  readonly route: Route;
  readonly confidence: number;
  readonly reason: string;
}

/** Characters of a message that the classifier sees. */
const MESSAGE_CHARS = 4000;
const REASON_CHARS = 300;
const ANSWER_TOKENS = 300;

const EARLIER_CHARS = 200;
/** The form names no category: a model in doubt would repeat the one that it was shown. */
const FORM = `{
  "route": "<CHAT | CODE | ANALYZE | OPS | RESEARCH>",
  "confidence": <0.0-1.0>,
  "reason": "..."
}`;

/** The categories once more, for a message in another language. */
const IN_ENGLISH =
  "\n(In English: CHAT is talk and questions, CODE is changing code, ANALYZE is analysis, OPS is operating a system, RESEARCH is looking things up.)";

type EarlierMessage = Pick<StoredDecision, "route" | "message">;

/** The classifier's prompt quotes the message as JSON, so that no quotation mark in it ends it. */
function classifierPrompt(message: string, earlier: EarlierMessage | null): string {
  const before =
    earlier === null
      ? ""
      : `\n直前のメッセージ（${earlier.route}）: ${JSON.stringify([...earlier.message].slice(0, EARLIER_CHARS).join(""))}`;
  return `以下のメッセージを分類してください:
${JSON.stringify(cutMiddle(message, MESSAGE_CHARS))}${before}

以下のカテゴリから最も適切なものを選んでください:
- CHAT: 会話・質問応答
- CODE: コーディング
- ANALYZE: 分析
- OPS: 運用操作
- RESEARCH: 調査${languageOf(message) === "ja" ? "" : IN_ENGLISH}

JSON形式で回答してください:
${FORM}`;
}

/** Asks Shiro; an answer of the wrong form is returned once with the mistake. Never rejects. */
async function classify(
  model: Model,
  { text, earlier }: { readonly text: string; readonly earlier: EarlierMessage | null },
  signal: AbortSignal,
): Promise<ClassifyResult> {
  const answer = await askJson(model, {
    request: {
      messages: [{ role: "user", text: classifierPrompt(text, earlier) }],
      temperature: 0,
      maxTokens: ANSWER_TOKENS,
      signal,
    },
    read: readClassification,
    again: (problem) => `${problem}\nJSONだけを回答してください: ${FORM}`,
  });
  if (answer.kind === "read") return { ok: true, ...answer.value };
  if (answer.kind === "malformed") return { ok: false, error: answer.problem, errorType: "malformed" };
  const { message: error, code } = completionFailure(answer);
  return { ok: false, error: error || code, errorType: code };
}

/** One JSON object, bare, fenced, or with words around it. */
function readClassification(text: string): JsonReading<Classification> {
  const wrong = (problem: string) => ({ ok: false, problem }) as const;
  const value = jsonInAnswer(text);
  if (value === undefined) return wrong("the answer is not a JSON object");
  const route = typeof value.route === "string" ? readRoute(value.route) : undefined;
  if (route === undefined) return wrong(`"route" is not a category: ${JSON.stringify(value.route)}`);
  const confidence = typeof value.confidence === "string" ? Number(value.confidence) : value.confidence;
  if (typeof confidence !== "number" || !(confidence >= 0 && confidence <= 1))
    return wrong(`"confidence" is not a number from 0 to 1: ${JSON.stringify(value.confidence)}`);
  const reason = typeof value.reason === "string" ? value.reason : "";
  return { ok: true, value: { route, confidence, reason: cutMiddle(reason, REASON_CHARS) } };
}

/** Mio decides who answers: explicit command, forced route, rules, classifier, then CHAT. */
export type Router = ReturnType<typeof createRouter>;

export interface RouteRequest {
  readonly chatKey: string;
  readonly sessionId: string;
  readonly groupId: string;
  readonly text: string;
  readonly forcedRoute?: Route;
  readonly strict?: boolean;
  readonly models: Models;
  readonly signal: AbortSignal;
}

type RecordRequest = Pick<RouteRequest, "chatKey" | "sessionId" | "groupId" | "text">;

interface RoutedMessage {
  readonly decision: Decision;
  /** The message without the command that named its route. */
  readonly text: string;
}

export interface RouterDeps {
  readonly store: RoutingStore;
  /** The configuration's rules and the shipped ones; learned rules go between. Asked for when one is needed. */
  readonly rules: () => RuleSet;
  readonly threshold: number;
  /** Whether a coder is named in the user's file, or its key is there. */
  readonly hasCoder: (role: "coder1" | "coder2") => boolean;
  readonly classifierTimeoutMs: number;
  readonly log: Logger;
  readonly mask: (text: string) => string;
  readonly now: () => Date;
}

interface RuleSet {
  readonly configured: readonly CompiledRule[];
  readonly shipped: readonly CompiledRule[];
}

const FALLBACK_CONFIDENCE = 0.5;
const LOGGED_CHARS = 100;
const STORED_CHARS = 2000;

export function createRouter(deps: RouterDeps) {
  const count = { decided: 0 };
  return {
    /** Never rejects: what fails ends in CHAT. The decision is stored. */
    async decide(request: RouteRequest): Promise<RoutedMessage> {
      const explicit = readExplicitRoute(request.text);
      const decision = await decideRoute(deps, request, explicit?.route);
      count.decided += 1;
      await storeDecision(deps, request, decision, count.decided);
      const named = explicit !== undefined && decision.source === "explicit";
      return { decision, text: named ? explicit.rest : request.text };
    },
    /** Stores a decision that was made on the way: Shiro's re-route. Never rejects. */
    async record(request: RecordRequest, decision: Decision): Promise<void> {
      count.decided += 1;
      await storeDecision(deps, request, decision, count.decided);
    },
  };
}

async function decideRoute(
  deps: RouterDeps,
  request: RouteRequest,
  explicit: Route | undefined,
): Promise<Decision> {
  const { forcedRoute } = request;
  if (forcedRoute !== undefined && (request.strict === true || explicit === undefined))
    return { route: forcedRoute, source: "forced", confidence: 1, reason: `forced: ${forcedRoute}` };
  if (explicit !== undefined)
    return { route: explicit, source: "explicit", confidence: 1, reason: `/${explicit.toLowerCase()}` };
  const found = matchRules(await rulesFor(deps, request.chatKey), request.text);
  if (found !== null && found.rule.confidence >= deps.threshold) {
    const { route, confidence, origin, pattern } = found.rule;
    // A shipped pattern is long, and the user cannot change it here.
    const rule = origin === "shipped" ? "shipped rule" : `${origin} rule /${pattern}/`;
    const decision = {
      route,
      source: "rule",
      confidence,
      reason: `${rule}: ${deps.mask(found.words)}`,
    } as const;
    return origin === "shipped" ? divideDecision(deps, request, decision) : decision;
  }
  return divideDecision(deps, request, await classifyMessage(deps, request));
}

/** CODE without a named coder is given to the coder for that kind of work, where it is available. */
function divideDecision(deps: RouterDeps, { text }: RouteRequest, decision: Decision): Decision {
  if (decision.route !== "CODE") return decision;
  const route = divideCode(text);
  if (route === "CODE" || !deps.hasCoder(route === "CODE1" ? "coder1" : "coder2")) return decision;
  const work = route === "CODE1" ? "design" : "tests and small code";
  return { ...decision, route, reason: `${decision.reason} (${work})` };
}

/** The user's own first, then what was learned, then what is shipped. */
async function rulesFor(deps: RouterDeps, chatKey: string): Promise<readonly CompiledRule[]> {
  const { configured, shipped } = deps.rules();
  try {
    const learned = compileRules(await deps.store.rules(chatKey), "learned");
    return [...configured, ...learned.rules, ...shipped];
  } catch (cause) {
    deps.log.warn("routing", "Learned rules unreadable", "routing.rules_failed", { error: String(cause) });
    return [...configured, ...shipped];
  }
}

async function classifyMessage(deps: RouterDeps, request: RouteRequest): Promise<Decision> {
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(deps.classifierTimeoutMs)]);
  await request.models.look?.(signal, "worker");
  const model = request.models.forRole("worker");
  const answer =
    "generate" in model
      ? await classify(
          model,
          { text: request.text, earlier: await findEarlier(deps, request, model) },
          signal,
        ).catch((cause: unknown) => ({
          ok: false as const,
          error: String(cause),
          errorType: cause instanceof Error ? cause.name : typeof cause,
        }))
      : { ok: false as const, error: model.message, errorType: model.code };
  if (!answer.ok) {
    const isFault = tellsFault(request.text);
    const route = isFault ? "CODE" : "CHAT";
    deps.log.error("routing", `Classifier failed, fallback to ${route}`, "routing.classifier_failed", {
      job_id: request.groupId,
      message: [...request.text].slice(0, LOGGED_CHARS).join(""),
      error: answer.error,
      error_type: answer.errorType,
      fallback_route: route,
    });
    return {
      route,
      source: "fallback",
      confidence: FALLBACK_CONFIDENCE,
      reason: `Classifier error (fallback${isFault ? ": the message tells a fault" : ""}): ${answer.error}`,
    };
  }
  const { route, confidence, reason } = answer;
  if (confidence >= deps.threshold) return { route, source: "classifier", confidence, reason };
  return {
    route: "CHAT",
    source: "fallback",
    confidence: FALLBACK_CONFIDENCE,
    reason: `${route} ${confidence} < ${deps.threshold}: ${reason}`,
  };
}

/** The message before it in the same conversation; a cloud model gets it only if it went to a coder. */
async function findEarlier(
  { store }: RouterDeps,
  { chatKey, sessionId }: RouteRequest,
  { local }: Model,
): Promise<EarlierMessage | null> {
  const last = await store.last(chatKey).catch(() => null);
  if (last === null || last.sessionId !== sessionId) return null;
  return local || last.route.startsWith("CODE") ? last : null;
}

/** A decision that cannot be stored is still one. */
async function storeDecision(
  deps: RouterDeps,
  request: RecordRequest,
  decision: Decision,
  number: number,
): Promise<void> {
  const { chatKey, sessionId, groupId, text } = request;
  deps.log.info("routing", "Route decided", "routing.decided", { job_id: groupId, ...decision });
  try {
    await deps.store.record({
      // A message of several parts has as many decisions.
      id: `${groupId}.${String(number).padStart(6, "0")}`,
      chatKey,
      sessionId,
      at: deps.now().toISOString(),
      message: deps.mask(text.slice(0, STORED_CHARS)),
      ...decision,
      reason: deps.mask(decision.reason),
    });
  } catch (cause) {
    deps.log.warn("routing", "Decision not stored", "routing.store_failed", {
      job_id: groupId,
      error: String(cause),
    });
  }
}

export type RouteTeacher = ReturnType<typeof createRouteTeacher>;

interface RouteCorrection {
  readonly decision: StoredDecision;
  readonly route: Route;
  /** A pattern to confirm; null when the message is too short, or a rule of the configuration takes precedence. */
  readonly offered: string | null;
}

export interface RouteTeacherDeps {
  readonly store: RoutingStore;
  readonly configured: () => readonly CompiledRule[];
  readonly now: () => Date;
}

export function createRouteTeacher({ store, configured, now }: RouteTeacherDeps) {
  return {
    /** `/why`: the last decision of the chat. */
    last: (chatKey: string): Promise<StoredDecision | null> => store.last(chatKey),
    /** `/route X`: it should have been X. Offers a rule when one can be made that would decide so. */
    async correct(chatKey: string, route: Route): Promise<RouteCorrection | null> {
      const decision = await store.last(chatKey);
      if (decision === null) return null;
      const offered = offerRule(configured(), decision, route);
      await store.correct(chatKey, decision.id, { route, offered });
      return { decision, route, offered };
    },
    /** `/remember`: the offered rule holds from now on. Null when none was offered. */
    async remember(chatKey: string): Promise<LearnedRule | null> {
      const decision = await store.last(chatKey);
      const correction = decision?.correction;
      if (decision === null || correction == null || correction.offered === null) return null;
      const rule: LearnedRule = {
        chatKey,
        pattern: correction.offered,
        route: correction.route,
        confidence: 0.95,
        example: decision.message,
        learnedAt: now().toISOString(),
      };
      await store.addRule(rule);
      await store.correct(chatKey, decision.id, { route: correction.route, offered: null });
      return rule;
    },
    rules: (chatKey: string): Promise<LearnedRule[]> => store.rules(chatKey),
    /** By its place in `rules`, from 1. Null if there is no such rule. */
    async forget(chatKey: string, place: number): Promise<LearnedRule | null> {
      const rule = (await store.rules(chatKey))[place - 1];
      if (rule === undefined) return null;
      return (await store.removeRule(chatKey, rule.pattern)) ? rule : null;
    },
  };
}

function offerRule(
  configured: readonly CompiledRule[],
  decision: StoredDecision,
  route: Route,
): string | null {
  if (decision.source === "explicit" || decision.source === "forced") return null;
  const rule = deriveRule(decision.message, route);
  if (rule === null) return null;
  const learned = compileRules([rule], "learned").rules;
  const deciding = matchRules([...configured, ...learned], decision.message);
  return deciding?.rule.origin === "learned" ? rule.pattern : null;
}
