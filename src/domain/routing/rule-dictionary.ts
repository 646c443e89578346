import { catastropheIn } from "./catastrophe.ts";
import { type Clause, clausesOf } from "./clauses.ts";
import type { CompiledRule, Rule, RuleOrigin, RuleProblem } from "./rule.ts";

export interface RuleMatch {
  readonly rule: CompiledRule;
  /** The words that matched. */
  readonly words: string;
}

/** Compiles rules; one that is no pattern, could take for ever, or fails its own examples is left out and named. */
export function compileRules(
  rules: readonly Rule[],
  origin: RuleOrigin,
): { readonly rules: CompiledRule[]; readonly problems: RuleProblem[] } {
  const compiled: CompiledRule[] = [];
  const problems: RuleProblem[] = [];
  for (const rule of rules) {
    const result = compileRule(rule, origin);
    if ("regex" in result) compiled.push(result);
    else problems.push(result);
  }
  return { rules: compiled, problems };
}

function compileRule(rule: Rule, origin: RuleOrigin): CompiledRule | RuleProblem {
  const { pattern, route, confidence } = rule;
  const trouble = catastropheIn(pattern);
  if (trouble !== null) return { kind: trouble.kind, pattern, detail: trouble.detail };
  const compiled = trusted(rule, origin);
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
export function trusted({ pattern, route, confidence }: Rule, origin: RuleOrigin): CompiledRule {
  return { pattern, route, confidence, origin, regex: new RegExp(pattern.normalize("NFKC"), "iu") };
}

/** The first rule that matches a clause which is not negated. Answers that do nothing may be asked for by a "don't". */
export function matchRules(rules: readonly CompiledRule[], message: string): RuleMatch | null {
  return matchClauses(rules, clausesOf(message));
}

function matchClauses(rules: readonly CompiledRule[], clauses: readonly Clause[]): RuleMatch | null {
  for (const rule of rules) {
    for (const { text, negated } of clauses) {
      if (negated) continue;
      const found = rule.regex.exec(text);
      if (found !== null && found[0] !== "") return { rule, words: found[0] };
    }
  }
  return null;
}
