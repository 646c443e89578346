import { describe, expect, test } from "bun:test";
import { createCommandPolicy } from "../../../../src/domain/policy/allowed-commands.ts";
import { decideCommand, RULES } from "../../../../src/domain/policy/decide-command.ts";
import { parseShell } from "../../../../src/infrastructure/policy/parse-shell.ts";
import { RULE_EXAMPLES } from "./examples.ts";

/** Everything the examples call is allowed, so that only the rule itself can refuse. */
const everything = createCommandPolicy({
  use_default: true,
  additional: ["git", "node", "perl", "twine", "poetry", "uv", "g", "tee", "rg"],
  exclude: [],
  custom_list: [],
});
const ruleOf = (script: string) => {
  const decision = decideCommand(script, everything, parseShell);
  return decision.allowed ? "allowed" : decision.refusal.rule;
};

describe.each(RULES.map(({ id }) => [id, RULE_EXAMPLES[id]] as const))("the rule %s", (id, examples) => {
  test.each(examples.match.map((script) => [script]))("refuses %s", (script) => {
    expect(ruleOf(script)).toBe(id);
  });
  test.each(examples.notMatch.map((script) => [script]))("leaves alone %s", (script) => {
    expect(ruleOf(script)).not.toBe(id);
  });
});

test("every rule has examples of both kinds and its own name", () => {
  for (const { id } of RULES) {
    expect(RULE_EXAMPLES[id].match.length).toBeGreaterThan(2);
    expect(RULE_EXAMPLES[id].notMatch.length).toBeGreaterThan(2);
  }
  expect(new Set(RULES.map((rule) => rule.id)).size).toBe(RULES.length);
});
