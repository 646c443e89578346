import { describe, expect, test } from "bun:test";
import { historyBudget } from "../../../src/application/chat/chat-memory.ts";
import {
  coderMemory,
  type EarlierRequest,
  type Exchange,
  earlierExchangesFor,
  foldExchanges,
  handedOverFor,
  historyFor,
  recalledMemory,
} from "../../../src/application/chat/exchanges.ts";

const exchange = (user: string, words: string, more: Partial<Exchange> = {}): Exchange => ({
  user,
  words,
  facts: () => "Done: modified src/a.ts.\npassed: check npm test (3 passing)",
  groupId: user,
  agent: "Gin",
  ...more,
});

const NO_AGENTS: ReadonlySet<string> = new Set();
const CLOUD = { local: false, cloudAgents: NO_AGENTS };
const LOCAL = { local: true, cloudAgents: NO_AGENTS };
const LIMIT = { exchanges: 2, chars: 300, folded: 2_000, difference: 400 };
const earlier = (more: Partial<EarlierRequest>) =>
  earlierExchangesFor(CLOUD, {
    request: "go on",
    history: [],
    older: [],
    limit: LIMIT,
    differenceOf: () => "",
    ...more,
  });

describe("what a coder is given of the conversation", () => {
  test("the last message with its plan, its verdict and its difference", () => {
    const told = earlier({
      history: [exchange("use a map", "Use a Map, because keys may be objects.")],
      differenceOf: (groupId) => (groupId === "use a map" ? "--- a/src/a.ts\n-{}\n+new Map()\n" : ""),
    });
    expect(told).toBe(
      [
        "# Earlier in this conversation, in this workspace",
        "- use a map",
        "  → Use a Map, because keys may be objects.",
        "    Done: modified src/a.ts.",
        "    passed: check npm test (3 passing)",
        "  What it changed:\n--- a/src/a.ts\n-{}\n+new Map()",
      ].join("\n"),
    );
  });

  test("a long difference is cut at a line and says how much is missing", () => {
    const told = earlier({
      history: [exchange("a", "Plan.")],
      differenceOf: () => "+a line of the difference\n".repeat(40),
    });
    expect(told).toMatch(/\+a line of the difference\n… \d+ more lines of the difference$/);
    expect(told.length).toBeLessThan(700);
  });

  test("older messages fold into decisions and reasons; the one in question is given at length", () => {
    const reason = "Retries wait 250 ms, doubled each time, because the gateway bans faster callers. ".repeat(
      4,
    );
    const older = [
      exchange("how long shall retryDelay wait?", reason),
      ...Array.from({ length: 12 }, (_, at) =>
        exchange(`step ${at}`, `Rename part ${at}. ${"x".repeat(400)}`),
      ),
    ];
    const told = earlier({ older, request: "what did you decide about retryDelay, and why?" });
    expect(told).toContain(reason.trim());
    expect(told).toContain("- step 11 → Rename part 11.");
    expect(told).toMatch(/\(\d+ more left out\)/);
    expect(told.length).toBeLessThan(LIMIT.folded + 200);
  });

  test("a cloud coder gets no conversation of local routes", () => {
    const older = [exchange("my salary", "It is 100.", { agent: "Mio" })];
    const history = [exchange("secret plan", "Private.", { agent: "Shiro" })];
    expect(earlier({ older, history })).toBe("");
  });
});

describe("what other routes have just changed", () => {
  const history = [
    exchange("secret plan", "Private.", { agent: "Shiro", groupId: "g1" }),
    exchange("use a map", "Use a Map.", { groupId: "g2" }),
  ];
  const changes = new Map([
    ["g1", ["job_1: Done: modified notes.md (at line 3)."]],
    ["g2", ["job_2: Done: modified src/a.ts (at line 9)."]],
    ["g3", ["job_3: Done: created out.txt."]],
  ]);

  test("a cloud coder gets the changed files of messages that it may not read, and of this message", () => {
    const told = handedOverFor(CLOUD, { history, groupId: "g3" }, changes, 800);
    expect(told).toBe(
      [
        "# Just changed in this conversation, by another route",
        "- job_1: Done: modified notes.md (at line 3).",
        "- job_3: Done: created out.txt.",
      ].join("\n"),
    );
  });

  test("a local coder reads those messages, and a message without changes adds no line", () => {
    expect(handedOverFor(LOCAL, { history, groupId: "g4" }, changes, 800)).toBe("");
    expect(handedOverFor(CLOUD, { history: [], groupId: "g4" }, changes, 800)).toBe("");
  });

  test("it is bounded", () => {
    const many = new Map([
      ["g3", Array.from({ length: 200 }, (_, at) => `job_${at}: Done: created f${at}.`)],
    ]);
    expect(handedOverFor(CLOUD, { history, groupId: "g3" }, many, 300).length).toBeLessThan(302);
  });
});

test("a talk recalls the older exchanges that the message is about, and no other", () => {
  const older = [
    exchange("which cache?", "SQLite, because it survives a restart."),
    exchange("rename the button", "Renamed."),
  ];
  const memory = recalledMemory(LOCAL, { memory: "Summary.", older }, "why SQLite for the cache?");
  expect(memory).toStartWith("Summary.\n\nSaid then, word for word:\n- which cache? → SQLite, because");
  expect(memory).not.toContain("button");
  expect(recalledMemory(LOCAL, { memory: "", older }, "hello")).toBe("");
});

test("folding keeps the order and the budget", () => {
  const many = Array.from({ length: 50 }, (_, at) => exchange(`message ${at}`, `Answer ${at}.`));
  const lines = foldExchanges(many, "", { chars: 1_000, onlyAbout: false }).split("\n");
  expect(lines.at(-1)).toStartWith("- message 49 →");
  expect(lines.join("\n").length).toBeLessThan(1_050);
});

test("memos go to every coder; a day's note to a cloud coder only where the talk is the cloud's too", () => {
  const kept = { memory: "We chose SQLite.\n\n- indent = tabs", memos: "- indent = tabs" };
  expect(coderMemory({ local: true }, kept, { local: true })).toBe(kept.memory);
  expect(coderMemory({ local: false }, kept, { local: true })).toBe(kept.memos);
  expect(coderMemory({ local: false }, kept, null)).toBe(kept.memos);
  expect(coderMemory({ local: false }, kept, { local: false })).toBe(kept.memory);
});

test.each([
  ["a window that nobody knows", [{ model: "m" }], 2_048],
  ["Ollama's own", [{ model: "m", window: 8_192 }], 2_048],
  [
    "the smaller of two",
    [
      { model: "m", window: 1_000_000 },
      { model: "n", window: 200_000 },
    ],
    25_000,
  ],
  [
    "of those that run",
    [
      { model: "m", window: 8_192, isAway: true },
      { model: "n", window: 200_000 },
    ],
    25_000,
  ],
  ["a million", [{ model: "m", window: 1_000_000 }], 64_000],
])("the history of a conversation follows the window of the model: %s", (_, models, tokens) => {
  expect(historyBudget(models)).toBe(tokens);
});

test("a message that got no answer is left out, unless it is the newest, which a person may ask for again", () => {
  const failed = exchange("hello", "", { facts: () => "" });
  const answered = exchange("again", "Hello.", { facts: () => "" });
  const said = [
    { role: "user", text: "again" },
    { role: "assistant", text: "Hello." },
  ] as const;
  const limit = { exchanges: 2, chars: 300 };
  expect(historyFor(LOCAL, [answered, failed, failed, answered], limit)).toEqual([...said, ...said]);
  expect(historyFor(LOCAL, [answered, failed, failed], limit)).toEqual([
    ...said,
    { role: "user", text: "hello" },
    { role: "assistant", text: "I could not answer that message." },
  ]);
  expect(earlier({ history: [failed, answered] })).not.toContain("nothing came of it");
  expect(earlier({ history: [answered, failed] })).toEndWith("- hello\n  → (nothing came of it)");
});
