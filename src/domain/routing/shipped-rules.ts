import type { Rule } from "./rule.ts";

export const SHIPPED_RULES: readonly Rule[] = [
  { pattern: "ファイルを作成", route: "CODE", confidence: 0.95 },
  { pattern: "ログを確認", route: "ANALYZE", confidence: 0.9 },
];
