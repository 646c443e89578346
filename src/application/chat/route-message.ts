import { divideCode } from "../../domain/chat/coder-division.ts";
import type { Decision, Route } from "../../domain/config/route.ts";
import type { CompiledRule } from "../../domain/chat/rule.ts";
import { compileRules, matchRules } from "../../domain/chat/rule-dictionary.ts";
import { readExplicitRoute } from "../../domain/chat/slash-command.ts";
import type { Logger } from "../ports/logger.ts";
import type { Models } from "../ports/models.ts";
import type { RoutingStore } from "../ports/routing-store.ts";
import { classify } from "./classify.ts";

/** Mio decides who answers: explicit command, forced route, rules, classifier, then CHAT. */
export interface Router {
  /** Never rejects: what fails ends in CHAT. The decision is stored. */
  decide(request: RouteRequest): Promise<RoutedMessage>;
  /** Stores a decision that was made on the way: Shiro's re-route. Never rejects. */
  record(request: RecordRequest, decision: Decision): Promise<void>;
}

export interface RouteRequest {
  readonly chatKey: string;
  readonly sessionId: string;
  /** The id of this message, its jobs' group. */
  readonly groupId: string;
  readonly text: string;
  readonly forcedRoute?: Route;
  readonly strict?: boolean;
  /** Where the classifier comes from: Shiro's model. */
  readonly models: Models;
  readonly signal: AbortSignal;
}

export type RecordRequest = Pick<RouteRequest, "chatKey" | "sessionId" | "groupId" | "text">;

export interface RoutedMessage {
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

export interface RuleSet {
  readonly configured: readonly CompiledRule[];
  readonly shipped: readonly CompiledRule[];
}

const FALLBACK_CONFIDENCE = 0.5;
const LOGGED_CHARS = 100;
const STORED_CHARS = 2000;

/** Explicit command → forced route → rules → classifier → CHAT. */
export function createRouter(parts: RouterDeps): Router {
  const count = { decided: 0 };
  return {
    async decide(request) {
      const explicit = readExplicitRoute(request.text);
      const decision = await decideRoute(parts, request, explicit?.route);
      count.decided += 1;
      await storeDecision(parts, request, decision, count.decided);
      const named = explicit !== undefined && decision.source === "explicit";
      return { decision, text: named ? explicit.rest : request.text };
    },
    async record(request, decision) {
      count.decided += 1;
      await storeDecision(parts, request, decision, count.decided);
    },
  };
}

async function decideRoute(
  parts: RouterDeps,
  request: RouteRequest,
  explicit: Route | undefined,
): Promise<Decision> {
  const { forcedRoute } = request;
  if (forcedRoute !== undefined && (request.strict === true || explicit === undefined))
    return { route: forcedRoute, source: "forced", confidence: 1, reason: `forced: ${forcedRoute}` };
  if (explicit !== undefined)
    return { route: explicit, source: "explicit", confidence: 1, reason: `/${explicit.toLowerCase()}` };
  const found = matchRules(await rulesFor(parts, request.chatKey), request.text);
  if (found !== null && found.rule.confidence >= parts.threshold) {
    const { route, confidence, origin, pattern } = found.rule;
    // A shipped pattern is long, and nobody can change it here.
    const rule = origin === "shipped" ? "shipped rule" : `${origin} rule /${pattern}/`;
    const decision = {
      route,
      source: "rule",
      confidence,
      reason: `${rule}: ${parts.mask(found.words)}`,
    } as const;
    return origin === "shipped" ? divideDecision(parts, request, decision) : decision;
  }
  return divideDecision(parts, request, await classifyMessage(parts, request));
}

/** CODE that nobody gave to a coder by name goes to the one whose work it is, where that coder is there. */
function divideDecision(parts: RouterDeps, { text }: RouteRequest, decision: Decision): Decision {
  if (decision.route !== "CODE") return decision;
  const route = divideCode(text);
  if (route === "CODE" || !parts.hasCoder(route === "CODE1" ? "coder1" : "coder2")) return decision;
  const work = route === "CODE1" ? "design" : "tests and small code";
  return { ...decision, route, reason: `${decision.reason} (${work})` };
}

/** The user's own first, then what was learned, then what is shipped. */
async function rulesFor(parts: RouterDeps, chatKey: string): Promise<readonly CompiledRule[]> {
  const { configured, shipped } = parts.rules();
  try {
    const learned = compileRules(await parts.store.rules(chatKey), "learned");
    return [...configured, ...learned.rules, ...shipped];
  } catch (cause) {
    parts.log.warn("routing", "Learned rules unreadable", "routing.rules_failed", { error: String(cause) });
    return [...configured, ...shipped];
  }
}

async function classifyMessage(parts: RouterDeps, request: RouteRequest): Promise<Decision> {
  const model = request.models.forRole("worker");
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(parts.classifierTimeoutMs)]);
  const answer =
    "generate" in model
      ? await classify(model, request.text, signal).catch((cause: unknown) => ({
          ok: false as const,
          error: String(cause),
          errorType: cause instanceof Error ? cause.name : typeof cause,
        }))
      : { ok: false as const, error: model.message, errorType: model.code };
  if (!answer.ok) {
    parts.log.error("routing", "Classifier failed, fallback to CHAT", "routing.classifier_failed", {
      job_id: request.groupId,
      message: [...request.text].slice(0, LOGGED_CHARS).join(""),
      error: answer.error,
      error_type: answer.errorType,
      fallback_route: "CHAT",
    });
    return {
      route: "CHAT",
      source: "fallback",
      confidence: FALLBACK_CONFIDENCE,
      reason: `Classifier error (fallback): ${answer.error}`,
    };
  }
  const { route, confidence, reason } = answer;
  if (confidence >= parts.threshold) return { route, source: "classifier", confidence, reason };
  return {
    route: "CHAT",
    source: "fallback",
    confidence: FALLBACK_CONFIDENCE,
    reason: `${route} ${confidence} < ${parts.threshold}: ${reason}`,
  };
}

/** A decision that cannot be stored is still one. */
async function storeDecision(
  parts: RouterDeps,
  request: RecordRequest,
  decision: Decision,
  number: number,
): Promise<void> {
  const { chatKey, sessionId, groupId, text } = request;
  parts.log.info("routing", "Route decided", "routing.decided", { job_id: groupId, ...decision });
  try {
    await parts.store.record({
      // A message of several parts has as many decisions.
      id: `${groupId}.${String(number).padStart(6, "0")}`,
      chatKey,
      sessionId,
      at: parts.now().toISOString(),
      message: parts.mask(text.slice(0, STORED_CHARS)),
      ...decision,
      reason: parts.mask(decision.reason),
    });
  } catch (cause) {
    parts.log.warn("routing", "Decision not stored", "routing.store_failed", {
      job_id: groupId,
      error: String(cause),
    });
  }
}
