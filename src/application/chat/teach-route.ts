import { deriveRule } from "../../domain/chat/derive-rule.ts";
import type { Route } from "../../domain/config/route.ts";
import type { CompiledRule } from "../../domain/chat/rule.ts";
import { compileRules, matchRules } from "../../domain/chat/rule-dictionary.ts";
import type { LearnedRule, RoutingStore, StoredDecision } from "../ports/routing-store.ts";

/** What a user asks and teaches about decisions. */
export interface RouteTeacher {
  /** `/why`: the last decision of the chat. */
  last(chatKey: string): Promise<StoredDecision | null>;
  /** `/route X`: it should have been X. Offers a rule when one can be made that would decide so. */
  correct(chatKey: string, route: Route): Promise<RouteCorrection | null>;
  /** `/remember`: the offered rule holds from now on. Null when none was offered. */
  remember(chatKey: string): Promise<LearnedRule | null>;
  rules(chatKey: string): Promise<LearnedRule[]>;
  /** By its place in `rules`, from 1. Null when there is none such. */
  forget(chatKey: string, place: number): Promise<LearnedRule | null>;
}

export interface RouteCorrection {
  readonly decision: StoredDecision;
  readonly route: Route;
  /** A pattern to confirm; null when the message is too short, or a rule of the configuration goes before. */
  readonly offered: string | null;
}

export interface RouteTeacherDeps {
  readonly store: RoutingStore;
  readonly configured: () => readonly CompiledRule[];
  readonly now: () => Date;
}

export function createRouteTeacher({ store, configured, now }: RouteTeacherDeps): RouteTeacher {
  return {
    last: (chatKey) => store.last(chatKey),
    async correct(chatKey, route) {
      const decision = await store.last(chatKey);
      if (decision === null) return null;
      const offered = offerRule(configured(), decision, route);
      await store.correct(chatKey, decision.id, { route, offered });
      return { decision, route, offered };
    },
    async remember(chatKey) {
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
    rules: (chatKey) => store.rules(chatKey),
    async forget(chatKey, place) {
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
