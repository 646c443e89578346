import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { parse } from "yaml";
import { renderRules } from "../../../scripts/gen-routing-rules.ts";
import { DEFAULTS } from "../../../src/config/config.ts";
import {
  compileRules,
  matchRules,
  SHIPPED_RULES,
  tellsFault,
} from "../../../src/domain/chat/routing-rules.ts";
import type { Rule } from "../../../src/domain/chat/rule-pattern.ts";
import { otherRoute, ROUTES } from "../../../src/domain/config/configured-kinds.ts";
import { memoryMessagesFor } from "../../../src/domain/texts/chat.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { runs } from "../../require.ts";
import { HELD_OUT } from "./held-out-messages.ts";
import { MESSAGES } from "./messages.ts";
import { NO_ORDERS, ORDERS_AMONG_OTHER_WORDS } from "./mixed-messages.ts";

const folder = join(import.meta.dir, "../../../src/domain/chat");
const yaml = readFileSync(join(folder, "rules.yaml"), "utf8");
const written = (parse(yaml) as { rules: Rule[] }).rules;
const rules = [
  ...compileRules(DEFAULTS.routing.rules, "config").rules,
  ...compileRules(SHIPPED_RULES, "shipped").rules,
];

test("shipped-rules.json is what rules.yaml says", () => {
  expect(readFileSync(join(folder, "shipped-rules.json"), "utf8")).toBe(renderRules(yaml));
});

test("every shipped rule has examples, holds them, and is as safe as a user's has to be", () => {
  expect(compileRules(written, "shipped", () => performance.now()).problems).toEqual([]);
  for (const { match } of written) expect(match?.length ?? 0).toBeGreaterThan(0);
});

test.each([
  ["there's a bug in the login form when the email is empty", "CODE"],
  ["the tests are red, please look", "CODE"],
  ["メールが空のときログインフォームにバグがあります", "CODE"],
  ["テストが赤いので見てください", "CODE"],
  ["API仕様に合わせて実装して", "CODE"],
  ["API の仕様を調べて", "RESEARCH"],
  ["write the spec for the export feature", "CODE"],
  ["設定変更して", "OPS"],
  ["nginxの設定を変更して", "OPS"],
  ["change the server configuration", "OPS"],
  ["API仕様を設計して", "CODE"],
  ["仕様を策定して", "CODE"],
  ["write the spec", "PLAN"],
  ["エクスポート機能の仕様書を書いて", "CODE"],
  ["define the API spec", "CODE"],
  ["設定を変更", "OPS"],
  ["why are the tests red?", "ANALYZE"],
  ["write a spec file for the parser", "CODE"],
])("%s needs no classifier: %s", (message, route) => {
  expect(matchRules(rules, message)?.rule.route).toBe(route as "CODE");
});

test.each([...ORDERS_AMONG_OTHER_WORDS])(
  "a clear order to change code is routed to a coder: %s",
  (message) => {
    expect(matchRules(rules, message)?.rule.route).toBe("CODE");
  },
);

test.each([...NO_ORDERS])("without such an order it is routed to %s: %s", (route, message) => {
  expect(matchRules(rules, message)?.rule.route ?? null).toBe(route);
});

test.each([...ROUTES.map((route) => [route, null] as const), ["CHAT", "CODE"] as const])(
  "/why after %s, corrected to %s, names another route",
  (route, corrected) => {
    const other = otherRoute(route, corrected);
    expect([route, corrected]).not.toContain(other);
    const facts = {
      route,
      source: "rule",
      confidence: 1,
      reason: "",
      message: "",
      models: [],
      corrected,
      measured: null,
    } as const;
    expect(memoryMessagesFor("en").why(facts)).toEndWith(`: /route ${other}`);
    expect(memoryMessagesFor("ja").why(facts)).toContain(`/route ${other} `);
  },
);

interface Score {
  readonly decided: number;
  readonly right: number;
  readonly wrong: readonly string[];
  /** Wrong ones that would have acted. */
  readonly acted: number;
  readonly accuracy: number;
}

/** Rules alone; what they leave open goes to CHAT. */
function score(messages: readonly (readonly [string, string])[]): Score {
  let decided = 0;
  let right = 0;
  let chat = 0;
  let acted = 0;
  const wrong: string[] = [];
  for (const [route, message] of messages) {
    const found = matchRules(rules, message);
    if (found === null) chat += route === "CHAT" ? 1 : 0;
    else if (found.rule.route === route) right += 1;
    else {
      wrong.push(`${message}: ${found.rule.route}, not ${route}`);
      if (/^(?:CODE|OPS)/.test(found.rule.route) && !/^(?:CODE|OPS)/.test(route)) acted += 1;
    }
    decided += found === null ? 0 : 1;
  }
  return { decided, right, wrong, acted, accuracy: (right + chat) / messages.length };
}

describe("accuracy of the rules alone", () => {
  const isJapanese = (text: string) => /[\u3040-\u30ff\u4e00-\u9fff]/u.test(text);
  const report = (name: string, messages: typeof MESSAGES) => {
    const result = score(messages);
    console.log(
      `routing, ${name}: ${messages.length} messages, rules decide ${result.decided}, right ${result.right} ` +
        `(${percent(result.right / result.decided)}); with CHAT for the rest ${percent(result.accuracy)}`,
    );
    return result;
  };

  test("the messages the dictionary was made with, in both languages", () => {
    expect(MESSAGES.length).toBeGreaterThanOrEqual(200);
    for (const [language, chosen] of [
      ["Japanese", MESSAGES.filter(([, text]) => isJapanese(text))],
      ["English", MESSAGES.filter(([, text]) => !isJapanese(text))],
    ] as const) {
      expect(chosen.length).toBeGreaterThanOrEqual(100);
      const { wrong, decided, accuracy, acted } = report(language, chosen);
      expect(wrong.length / decided).toBeLessThanOrEqual(0.01);
      expect(accuracy).toBeGreaterThanOrEqual(0.9);
      expect(acted).toBe(0);
    }
  });

  test("messages it has never seen: what it decides is right, the rest is the classifier's", () => {
    const { decided, right, acted } = report("held out", HELD_OUT);
    expect(right / decided).toBeGreaterThanOrEqual(0.9);
    expect(acted).toBe(0);
  });
});

test("of all these messages none but those for a coder tells a fault", () => {
  const taken = [...MESSAGES, ...HELD_OUT].filter(
    ([route, message]) => tellsFault(message) && !route.startsWith("CODE"),
  );
  expect(taken).toEqual([]);
});

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

describe("what a message says", () => {
  const routeOf = (message: string) => matchRules(rules, message)?.rule.route ?? null;
  test.each([
    ["ファイルは作成しないで", null],
    ["ファイルを作成しないでください", null],
    ["ファイルを作成せずに説明して", null],
    ["don't create a file", null],
    ["do not deploy", null],
    ["deploy, but don't restart the server", "OPS"],
    ["```\nfix the bug\n```", null],
    ["`デプロイして` という文字列の意味は？", null],
    ["> fix the bug\n\nそう言われた", null],
    ["https://example.com/fix/the/bug", null],
    ["ＦＩＸ　ｔｈｅ　ｐａｒｓｅｒ", "CODE"],
    ["ﾌｧｲﾙを作成して", "CODE"],
    ["ログヲ確認", null],
    ["FIX THE PARSER", "CODE"],
    ["\u200bfix the parser", "CODE"],
    ["", null],
    ["   \n\t ", null],
    ["🙂", null],
    [`${"あ".repeat(5000)}ファイルを作成`, null],
  ])("%p goes to %p", (message, route) => {
    expect<string | null>(routeOf(message)).toBe(route);
  });

  test("a long hostile message costs little", () => {
    const texts = [
      "a ".repeat(500_000),
      "て".repeat(500_000),
      "```".repeat(300_000),
      "where ".repeat(100_000),
      "\n".repeat(1_000_000),
    ];
    for (const text of texts) matchRules(rules, text);
    const began = cpuTimeMs();
    for (const text of texts) matchRules(rules, text);
    expect(cpuTimeMs() - began).toBeLessThan(5000);
  });
});

describe("a user's rule", () => {
  const compile = (rule: Partial<Rule>) =>
    compileRules([{ pattern: "x", route: "CODE", confidence: 0.9, ...rule }], "config", () =>
      performance.now(),
    );

  test("is refused when it fails its own examples", () => {
    expect(compile({ pattern: "色", match: ["背景の色"] }).problems).toEqual([]);
    expect(compile({ pattern: "色", match: ["背景"] }).problems).toEqual([
      { kind: "example", pattern: "色", example: "背景", expected: true },
    ]);
    expect(compile({ pattern: "色", not_match: ["色えんぴつ"] }).problems).toEqual([
      { kind: "example", pattern: "色", example: "色えんぴつ", expected: false },
    ]);
  });

  test.each([
    "(a+)+$",
    "(a|a)*b",
    "(a|ab)*c",
    "(?:σa|ςa)*b",
    "^(?:ab)*(?:ab)*(?:ab)*(?=(?:ab)*(?:ab)*c)d",
    "(aa?)+b",
    "(.*)*",
    "(?=(a+)+)b",
    "(x+x+)+y",
    ".*.*.*x",
    "a.*b.*c.*d",
    "(?:a{1,30}){1,30}b",
    "(\\w|\\d)+!",
    "(?:\\s|　)*x|([あ-ん]|ん)+。",
    "(a)\\1",
    "(?<=x)y",
    "(?<n>a)\\k<n>",
    "a?".repeat(18) + "a".repeat(18),
    "x".repeat(1001),
  ])("that could take for ever is refused: %p", (pattern) => {
    const { rules: kept, problems } = compile({ pattern });
    expect(kept).toEqual([]);
    expect(problems[0]?.kind).toBe("catastrophic");
  });

  test("means full-width punctuation as it is written", () => {
    const { rules: kept, problems } = compile({ pattern: "できますか？$|（仮）|［重要］" });
    expect(problems).toEqual([]);
    const matches = (text: string) => matchRules(kept, text) !== null;
    expect(["できますか？", "できますか?", "（仮）の件", "[重要] x"].map(matches)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(["できます", "仮の件", "要"].map(matches)).toEqual([false, false, false]);
  });

  test.each(["(", "[z-a]", "a{2,1}", "\\"])("that is no pattern is refused: %p", (pattern) => {
    expect(compile({ pattern }).problems[0]?.kind).toBe("not-a-pattern");
  });

  test("of any form that is taken is fast on hostile texts", () => {
    const piece = fc.constantFrom("a", "b", "ab", ".", "[ab]", "\\w", "(?=a)", "^", "\\b", "x");
    const often = fc.constantFrom("", "?", "*", "+", "{2}", "{0,3}", "{0,20}", "{3,}", "*?");
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        piece,
        fc.tuple(tie("pattern"), often).map(([item, count]) => `(?:${item})${count}`),
        fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `${left}${right}`),
        fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `(?:${left}|${right})`),
      ),
    }));
    const texts = ["a".repeat(300), "ab".repeat(150), `${"aab".repeat(99)}!`, `${"a".repeat(30)}!`];
    fc.assert(
      fc.property(pattern, fc.constantFrom("", "$", "x", "!$"), (body, end) => {
        const [rule] = compile({ pattern: `${body}${end}` }).rules;
        if (rule === undefined) return;
        const began = cpuTimeMs();
        for (const text of texts) rule.regex.test(text);
        expect(cpuTimeMs() - began).toBeLessThan(2000);
      }),
      { numRuns: runs(100) },
    );
  });

  test.each([
    "ファイルを作成",
    "状態|status|確認",
    "^(?:foo|bar)+ baz",
    "a.*b",
    "a.{0,20}b.{0,20}c",
    "[a-z]{2,}\\d+",
    "\\p{Lu}\\w+",
    "[\\]\\\\]x",
    "\\u3042\\x41\\u{1F600}",
    "(?i:abc)",
    "(?<name>abc)",
    "^$|\\bword\\B",
  ])("that is harmless is taken: %p", (pattern) => {
    expect(compile({ pattern }).problems).toEqual([]);
  });
});
