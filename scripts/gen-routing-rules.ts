/** Makes src/domain/chat/shipped-rules.json of rules.yaml: no message should wait for YAML to be read. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { normalPattern, type Rule } from "../src/domain/chat/rule-pattern.ts";
import { findNeededWords } from "./needed-words.ts";

export function renderRules(yaml: string): string {
  const { rules } = parse(yaml) as { rules: readonly Rule[] };
  const entries = rules.map(({ pattern, route, confidence, yields, order }) => ({
    pattern,
    route,
    confidence,
    ...(yields === true && { yields }),
    ...(order === true && { order }),
    needs: findNeededWords(normalPattern(pattern))?.join("|"),
  }));
  return `${JSON.stringify(entries, null, 2)}\n`;
}

if (import.meta.main) {
  const folder = join(import.meta.dir, "../src/domain/chat");
  writeFileSync(
    join(folder, "shipped-rules.json"),
    renderRules(readFileSync(join(folder, "rules.yaml"), "utf8")),
  );
}
