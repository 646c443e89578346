import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { configSchema } from "../../src/config/schema/root.ts";
import { compileRules } from "../../src/domain/chat/routing-rules.ts";
import { ROUTES } from "../../src/domain/config/configured-kinds.ts";

const docs = join(import.meta.dir, "../../docs");
const read = (name: string) => readFileSync(join(docs, name), "utf8");
const configsIn = (text: string) =>
  [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gmu)].map(([, yaml]) => configSchema.parse(parse(yaml!)));

test("the configuration in docs/routing.md and docs/sessions.md is valid, and its rules are used", () => {
  const [rules] = configsIn(read("routing.md"));
  expect(rules?.routing.rules).toHaveLength(1);
  expect(compileRules(rules!.routing.rules, "config", () => performance.now()).problems).toEqual([]);
  const [budget] = configsIn(read("sessions.md"));
  expect(budget?.budget).toMatchObject({ daily: 5, on_exceed: "local" });
});

test("docs/routing.md names every route's command", () => {
  for (const route of ROUTES) expect(read("routing.md")).toContain(`\`/${route.toLowerCase()}\``);
});

test("the numbers of docs/sessions.md are the defaults", () => {
  const { session } = configSchema.parse({});
  for (const value of [session.summary_tokens, session.cutover])
    expect(read("sessions.md")).toContain(`(${value})`);
  expect(session.timezone).toBeNull();
  expect(read("sessions.md")).toContain("the machine's");
});

test("links lead somewhere", () => {
  for (const name of ["routing.md", "sessions.md", "decisions/012-rules-before-the-model.md"])
    for (const [, target] of read(name).matchAll(/\]\(([^)#]+)\)/gu))
      expect([name, target, existsSync(join(docs, dirname(name), target!))]).toEqual([name, target!, true]);
});
