/** Makes src/domain/chat/shipped-rules.ts of rules.yaml: nobody should read YAML to route a message. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

interface Entry {
  readonly pattern: string;
  readonly route: string;
  readonly confidence: number;
  readonly yields?: boolean;
  readonly order?: boolean;
}

export function renderRules(yaml: string): string {
  const { rules } = parse(yaml) as { rules: readonly Entry[] };
  const lines = rules.map(
    ({ pattern, route, confidence, yields, order }) =>
      `  {\n    pattern:\n      ${JSON.stringify(pattern)},\n    route: ${JSON.stringify(route)},\n    confidence: ${confidence},\n${
        yields === true ? "    yields: true,\n" : ""
      }${order === true ? "    order: true,\n" : ""}  },`,
  );
  return [
    "// Made of rules.yaml by scripts/gen-routing-rules.ts.",
    'import type { Rule } from "./rule-pattern.ts";',
    "",
    "// biome-ignore format: made by a program",
    "export const SHIPPED_RULES: readonly Rule[] = [",
    ...lines,
    "];",
    "",
  ].join("\n");
}

if (import.meta.main) {
  const folder = join(import.meta.dir, "../src/domain/chat");
  writeFileSync(
    join(folder, "shipped-rules.ts"),
    renderRules(readFileSync(join(folder, "rules.yaml"), "utf8")),
  );
}
