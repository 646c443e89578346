import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { cpuTimeMs } from "../../cpu-time.ts";
import { cases } from "../../require.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const CODES = [
  "unreachable",
  "timeout",
  "rate-limited",
  "server-error",
  "unauthorized",
  "unknown-model",
  "bad-request",
  "cut-off",
  "empty",
  "malformed",
  "no-key",
  "not-configured",
  "refused-remote",
] as const;

describe("a model that gives no answer", () => {
  test.each(CODES)("%s is reported, with what the model said, and nothing runs", async (fails) => {
    at = await openConversation(() => ({ fails, message: `why: ${fails}` }));
    for (const [message, agent] of [
      ["/code3 x", "Gin"],
      ["/chat x", "Mio"],
      ["/ops x", "Shiro"],
    ] as const) {
      const reply = await at.send(message);
      expect(reply).toMatchObject({ ok: false, jobs: [] });
      expect(reply.text).toStartWith(`${agent} could not answer: why: ${fails}`);
    }
    expect(at.tree()).toEqual({});
  });

  test("a cloud model that the user chose for questions and that fails is not offered once more", async () => {
    at = await openConversation(() => ({ fails: "unknown-model", message: "why" }), { local: () => false });
    const reply = await at.send("/chat x");
    expect(reply.actions).toEqual([]);
    expect(reply.text).not.toContain("/cloud on");
  });

  test("a spent budget is reported once, in the language of the chat", async () => {
    for (const [locale, words] of [
      [
        "en",
        "Gin could not answer: today's budget is spent ($0.00 / $0.00)\n→ Send this again tomorrow, or raise the daily budget (budget.daily).",
      ],
      [
        "ja",
        "Gin は答えられませんでした: 今日の予算を使い切りました（$0.00 / $0.00）\n→ 明日もう一度送るか、1 日の予算（budget.daily）を上げてください。",
      ],
    ] as const) {
      at = await openConversation(() => "never asked", {
        locale,
        local: (role) => !role.startsWith("coder"),
        config:
          "budget: { daily: 0, on_exceed: refuse, prices: { coder3: { input: 1, output: 1, cached: 1 } } }\n",
      });
      expect((await at.send("/code3 x")).text).toBe(words);
      if (locale === "en") await at.close();
    }
  });

  test("a coder of coder.fallback answers in its place, and the reply says so; no other does", async () => {
    for (const [locale, words] of [
      [
        "en",
        "Note: coder3 could not answer (it is over its rate limit), so coder1 (coder1) answered instead (coder.fallback).",
      ],
      [
        "ja",
        "coder3 が答えられなかったため（利用回数の制限に達しました）、代わりに coder1（coder1）が答えました（coder.fallback）。",
      ],
    ] as const) {
      const onlyAka = ({ role }: { readonly role: string }) =>
        role === "coder1" ? "It is so by design." : ({ fails: "rate-limited" } as const);
      at = await openConversation(onlyAka, { locale, config: "coder: { fallback: [coder1] }\n" });
      const reply = await at.send("/code3 why?");
      expect(reply.text).toContain("It is so by design.");
      expect(reply.text).toContain(words);
      expect((await at.send("/chat x")).ok).toBe(false);
      expect(at.asked.map(({ role }) => role)).not.toContain("coder2");
      if (locale === "en") await at.close();
    }
  });

  test("no model at all says what to configure, in both languages", async () => {
    for (const [locale, words] of [
      ["en", "Configure roles.chat"],
      ["ja", "roles.chat と providers を設定"],
    ] as const) {
      at = await openConversation(() => ({ fails: "not-configured" }), { locale });
      expect((await at.send("/chat hello")).text).toContain(words);
      if (locale === "en") await at.close();
    }
  });

  test("an answer that the provider's filter stopped is said to be one, in both languages", async () => {
    for (const [locale, words] of [
      ["en", "its provider's filter stopped the answer"],
      ["ja", "提供元のフィルターが回答を止めました"],
    ] as const) {
      at = await openConversation(() => ({ text: "I can", finish: "filtered" }), { locale });
      for (const message of ["/chat x", "/code3 x", "/ops x"]) {
        const reply = await at.send(message);
        expect(reply).toMatchObject({ ok: false, jobs: [] });
        expect(reply.text).toContain(words);
      }
      if (locale === "en") await at.close();
    }
  });

  test("an answer of white space is an empty one", async () => {
    at = await openConversation(() => " \n ");
    expect((await at.send("/chat x")).ok).toBe(false);
  });

  test("a context that is too long is retried once with less, and then reported", async () => {
    at = await openConversation((_, turn) =>
      turn === 0 ? { fails: "context-too-long" } : proposal("p", replace("a.txt", "one", "two")),
    );
    const others = Array.from({ length: 1_700 }, (_, line) => `line ${line}\n`).join("");
    at.write("a.txt", `one\n${others}`);
    const reply = await at.send("/code3 change a.txt");
    expect(reply.ok).toBe(true);
    const [full, small] = at.asked.map(({ messages }) => messages.map(({ text }) => text).join("").length);
    expect(small!).toBeLessThan(full! * 0.6);
    expect(at.read("a.txt")).toBe(`two\n${others}`);
    await at.close();
    at = await openConversation(() => ({ fails: "context-too-long", message: "too long" }));
    expect((await at.send("/chat x")).text).toContain("/new");
    expect(at.asked).toHaveLength(2);
  });

  test("an abort while it thinks ends the message and leaves no trace", async () => {
    at = await openConversation(() => "hangs-until-aborted");
    const abort = new AbortController();
    const running = at.send("/code3 x", { signal: abort.signal });
    abort.abort();
    expect(await running).toMatchObject({ ok: false, text: "Stopped." });
    expect(at.archive.list()).toEqual([]);
  });
});

describe("a message that is", () => {
  test.each(["", "  \n", "\x00\x07", "\u3000"])("empty (%j) is said to be", async (text) => {
    at = await openConversation(() => "x");
    expect(await at.send(text)).toMatchObject({ ok: false, text: "The message is empty." });
    expect(at.asked).toEqual([]);
  });

  test("only a command without a request is said to be empty", async () => {
    at = await openConversation(() => "x");
    expect((await at.send("/code3")).text).toBe("The message is empty.");
    expect(at.asked).toEqual([]);
  });

  test("a megabyte long is taken; more is refused", async () => {
    at = await openConversation(() => "Long.");
    expect((await at.send(`/chat ${"x".repeat(1_000_001)}`)).text).toContain("1 MB");
    expect(at.asked).toEqual([]);
    const taken = "あ".repeat(999_000);
    const begin = cpuTimeMs();
    expect((await at.send(`/chat ${taken}`)).text).toBe("Long.");
    expect(cpuTimeMs() - begin).toBeLessThan(5_000);
    // Later requests belong to the summary of the long history, which is made after the reply.
    expect(at.asked[0]?.messages.at(-1)?.text).toBe(taken);
  });

  test("a megabyte for a coder is searched quickly, and shortened when it is too long", async () => {
    at = await openConversation((_, turn) =>
      turn === 0 ? { fails: "context-too-long" } : "No change: none",
    );
    for (let i = 0; i < 500; i++) at.write(`src/file-${i}.ts`, "export const a = 1;\n");
    const words = Array.from({ length: 90_000 }, (_, i) => `w${i}.ts`)
      .join(" ")
      .slice(0, 900_000);
    const begin = cpuTimeMs();
    expect((await at.send(`/code3 fix ${words}`)).ok).toBe(true);
    expect(cpuTimeMs() - begin).toBeLessThan(5_000);
    expect(at.asked[1]?.messages.at(-1)?.text.length).toBeLessThan(25_000);
  });

  test("full of control characters reaches the model without them", async () => {
    at = await openConversation(() => "ok");
    await at.send("/chat a\x00b\x1b[31mc\x9bd\r\ne\ud800f");
    expect(at.asked[0]?.messages.at(-1)?.text).toBe("ab[31mcd\ne\ufffdf");
  });
});

test("two messages of one chat run one after the other", async () => {
  at = await openConversation(() => "ok");
  await Promise.all([at.send("/chat one"), at.send("/chat two")]);
  expect(at.asked.map(({ messages }) => messages.at(-1)?.text)).toEqual(["one", "two"]);
  // The second saw what the first had said.
  expect(at.asked[1]?.messages.map(({ text }) => text)).toEqual(["one", "ok", "two"]);
  expect(at.events).toContainEqual({ type: "queued", ahead: 1 });
});

test("another chat does not wait, and sees nothing of the first", async () => {
  at = await openConversation(({ messages }) =>
    messages.at(-1)?.text === "wait" ? "hangs-until-aborted" : "ok",
  );
  const abort = new AbortController();
  const slow = at.send("/chat wait", { signal: abort.signal });
  const other = { channel: "slack", chatId: "C9" };
  expect((await at.send("/chat quick", other)).text).toBe("ok");
  expect(at.of("chat").at(-1)?.messages).toHaveLength(1);
  abort.abort();
  expect((await slow).ok).toBe(false);
});

test("a listener that throws does not disturb the message", async () => {
  at = await openConversation(() => "ok");
  const reply = await at.conversation.handle(
    { channel: "cli", chatId: "x", userId: "u", text: "/chat hello" },
    {
      signal: new AbortController().signal,
      onEvent: () => {
        throw new Error("listener");
      },
    },
  );
  expect(reply.text).toBe("ok");
});

test("for any answer of a model, the conversation answers, and its changes can be undone", async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "## Plan\n",
      "## Patch\n",
      "## Files\n- a.txt\n",
      "```bash\nfalse\n```\n",
      "```txt:a.txt\nx\n```\n",
      '{"patch": "',
      '{"result": 1}',
      "*** Begin Patch\n",
      "<<<<<<< SEARCH\n",
      "=======\n",
      ">>>>>>> REPLACE\n",
      "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n",
      '{"name":"tree","arguments":null}',
    ),
    fc.string({ maxLength: 20, unit: "binary" }),
  );
  let said = "";
  at = await openConversation(() => said || " ");
  at.write("a.txt", "one\n");
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 8 }),
      fc.constantFrom("/code3 a.txt", "/ops x", "/chat x"),
      async (pieces, message) => {
        said = pieces.join("");
        const reply = await at.send(message);
        expect(reply.text.trim()).not.toBe("");
        if (reply.jobs.some(({ undo }) => undo === "available"))
          expect((await at.send("/undo")).ok).toBe(true);
        expect(at.tree()).toEqual({ "a.txt": "one\n" });
      },
    ),
    { numRuns: cases(40) },
  );
}, 300_000);

describe("a forced route (LINE)", () => {
  const line = { channel: "line", chatId: "U1", forcedRoute: "CHAT" } as const;

  test("replaces rules and classifier; an explicit command still wins, unless it is strict", async () => {
    at = await openConversation(({ role }) => (role === "chat" ? "Talk." : "No change: none"));
    expect((await at.send("ファイルを作成して", line)).decision).toMatchObject({
      route: "CHAT",
      source: "forced",
    });
    expect((await at.send("/code3 x", line)).decision).toMatchObject({ route: "CODE3", source: "explicit" });
    expect((await at.send("/code3 x", { ...line, strict: true })).decision).toMatchObject({
      route: "CHAT",
      source: "forced",
    });
    expect(at.asked.map(({ role }) => role)).toEqual(["chat", "coder3", "chat"]);
    expect((await at.send("/undo", line)).text).toBe("No change\nThere is no job to undo.");
  });
});
