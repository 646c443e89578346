import { findCatastrophe } from "./rule-pattern.ts";
import { type Clause, splitClauses } from "./routing-rules.ts";
import { isCoder, type Route } from "../config/route.ts";
import { type CompiledRule, normalPattern, type Rule, type RuleOrigin, type RuleProblem } from "./rule.ts";

export interface RuleMatch {
  readonly rule: CompiledRule;
  /** The words that matched. */
  readonly words: string;
}

/** Compiles rules; one that is no pattern, could take for ever, or fails its own examples is left out and named. */
export function compileRules(
  rules: readonly Rule[],
  origin: RuleOrigin,
  clockMs?: () => number,
): { readonly rules: CompiledRule[]; readonly problems: RuleProblem[] } {
  const compiled: CompiledRule[] = [];
  const problems: RuleProblem[] = [];
  for (const rule of rules) {
    const result = compileRule(rule, origin, clockMs);
    if ("regex" in result) compiled.push(result);
    else problems.push(result);
  }
  return { rules: compiled, problems };
}

function compileRule(
  rule: Rule,
  origin: RuleOrigin,
  clockMs: (() => number) | undefined,
): CompiledRule | RuleProblem {
  const { pattern, route, confidence } = rule;
  const trouble = findCatastrophe(pattern, clockMs);
  if (trouble !== null) return { kind: trouble.kind, pattern, detail: trouble.detail };
  const compiled = compileTrustedRule(rule, origin);
  for (const [examples, expected] of [
    [rule.match ?? [], true],
    [rule.not_match ?? [], false],
  ] as const)
    for (const example of examples)
      if ((matchRules([compiled], example) !== null) !== expected)
        return { kind: "example", pattern, example, expected };
  return { pattern, route, confidence, origin, regex: compiled.regex };
}

/** Without any check: for rules that a test has checked. */
export function compileTrustedRule({ pattern, route, confidence }: Rule, origin: RuleOrigin): CompiledRule {
  return { pattern, route, confidence, origin, regex: new RegExp(normalPattern(pattern), "iu") };
}

/** The first rule that matches a clause. What is negated matches none; what only asks how matches none that acts. */
export function matchRules(rules: readonly CompiledRule[], message: string): RuleMatch | null {
  return matchClauses(rules, splitClauses(message));
}

function matchClauses(rules: readonly CompiledRule[], clauses: readonly Clause[]): RuleMatch | null {
  for (const rule of rules) {
    for (const { text, negated, asks } of clauses) {
      if (negated || (asks && isAction(rule.route))) continue;
      const found = rule.regex.exec(text);
      if (found !== null && found[0] !== "") return { rule, words: found[0] };
    }
  }
  return null;
}

function isAction(route: Route): boolean {
  return route === "OPS" || isCoder(route);
}
