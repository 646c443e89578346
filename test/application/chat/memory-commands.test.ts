import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ChatDeps, ChatTurn } from "../../../src/application/chat/chat-turn.ts";
import { memoryCommands } from "../../../src/application/chat/memory-commands.ts";
import { wordPieces } from "../../../src/application/chat/reply-words.ts";
import { createRouteTeacher } from "../../../src/application/chat/route-message.ts";
import type { ChatEvent, NewDecision, RoutingStore } from "../../../src/application/ports/chat.ts";
import type { UsageStore } from "../../../src/application/ports/models.ts";
import { createDayClock } from "../../../src/domain/platform/days.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { createRoutingStore } from "../../../src/infrastructure/chat/routing-store.ts";
import { createUsageStore } from "../../../src/infrastructure/models/usage-store.ts";
import { type Bench, openBench } from "./memory-kit.ts";

let bench: Bench;
let routing: RoutingStore;
let usage: UsageStore;
const events: ChatEvent[] = [];
beforeEach(async () => {
  bench = await openBench();
  routing = createRoutingStore({ db: bench.db, workspace: "/ws" });
  usage = createUsageStore(bench.db);
  events.length = 0;
});
afterEach(() => bench.remove());

const decision = (more: Partial<NewDecision> = {}): NewDecision => ({
  id: "cli:default#g1.000001",
  chatKey: "cli:default",
  sessionId: "s",
  at: "2026-03-01T00:00:00.000Z",
  message: "utils.ts の様子がなんか変\nだと思う",
  route: "CHAT",
  source: "fallback",
  confidence: 0.5,
  reason: "r",
  ...more,
});

async function send(
  name: string,
  rest = "",
  { channel = "cli", locale = "ja", daily = null as number | null, history = [] as ChatTurn["history"] } = {},
) {
  const chatId = channel === "cli" ? "default" : "U1";
  const sessions = bench.sessions();
  const now = () => new Date(bench.time.now);
  const commands = memoryCommands({
    teacher: createRouteTeacher({ store: routing, configured: () => [], now }),
    usage,
    daily,
    clock: createDayClock("Asia/Tokyo", "00:00"),
    ruleProblems: () => [
      { kind: "not-a-pattern", pattern: "(", detail: "d" },
      { kind: "catastrophic", pattern: "(a+)+", detail: "d" },
      { kind: "example", pattern: "x", example: "y", expected: true },
    ],
  });
  const { signal } = new AbortController();
  const { session } = await sessions.open({ channel, chatId }, signal);
  const turn = {
    message: { channel, chatId },
    sessionKey: `${channel}:${chatId}`,
    session,
    signal,
    history,
    emit: (event: ChatEvent) => void events.push(event),
  } as unknown as ChatTurn;
  const answer = (await commands[name]!(
    { sessions, now, messages: messagesFor(locale as "ja" | "en") } as unknown as ChatDeps,
    turn,
    rest,
  ))!;
  return { ...answer, text: wordPieces(locale as "ja" | "en", answer.said) };
}

describe.each(["ja", "en"])("in %s", (locale) => {
  test("every command says something when there is nothing yet", async () => {
    for (const name of ["why", "route", "remember", "forget", "rules", "resume", "usage"]) {
      const { text, jobs } = await send(name, "", { locale });
      expect([name, text.length > 5, jobs.length]).toEqual([name, true, 0]);
    }
    expect((await send("route", "CODE", { locale })).ok).toBe(false);
    expect((await send("route", "DANCE", { locale })).text).toContain("CODE3");
  });

  test("/why tells the route, the source, the reason, the words and the models", async () => {
    await routing.record(decision());
    await usage.record({
      at: "2026-03-01T00:00:00.000Z",
      chatKey: "cli:default",
      sessionId: "s",
      groupId: "cli:default#g1",
      role: "chat",
      provider: "ollama",
      model: "chat-v1",
      local: true,
      inputTokens: 1,
      outputTokens: 1,
      cachedTokens: 0,
      costUsd: 0,
    });
    const { text } = await send("why", "", { locale });
    for (const part of [
      "CHAT",
      "0.50",
      "r",
      "utils.ts の様子がなんか変 だと思う",
      "ollama/chat-v1",
      "/route",
    ])
      expect(text).toContain(part);
  });

  test("refused rules are listed with the learned ones", async () => {
    const { text } = await send("rules", "", { locale });
    expect(text.split("\n")).toHaveLength(4);
  });
});

test("/route corrects, offers, and asks for the whole message to be answered again", async () => {
  await routing.record(decision());
  const whole = "utils.ts の様子がなんか変\nだと思う。詳しくは…";
  const history = [{ user: whole, words: "はい", facts: () => "", groupId: null, agent: "Mio" }];
  const answer = await send("route", "code2 please", { history });
  expect(answer).toMatchObject({ ok: true, again: { route: "CODE2", text: whole } });
  expect(answer.actions).toEqual([{ label: "/remember", message: "/remember" }]);
  expect((await send("why")).text).toContain("訂正: CODE2");
  expect((await send("remember")).ok).toBe(true);
  expect((await send("rules")).text).toStartWith("1. の様子がなんか変");
  expect((await send("forget", "x")).ok).toBe(false);
  expect((await send("forget", " 1 ")).ok).toBe(true);
});

test("/route to where it went already answers nothing again", async () => {
  await routing.record(decision({ message: "/chat こんにちは、元気ですか", source: "explicit" }));
  expect((await send("route", "CHAT")).again).toBeUndefined();
  expect((await send("route", "PLAN")).again).toEqual({ route: "PLAN", text: "こんにちは、元気ですか" });
});

test("/new and /resume change the session and say so", async () => {
  const open = () =>
    bench.sessions().open({ channel: "cli", chatId: "default" }, new AbortController().signal);
  const { session } = await open();
  await bench
    .sessions()
    .append(session, [{ at: bench.time.now, role: "user", text: "x", agent: "", groupId: null }]);
  expect((await send("new")).text).toStartWith("新しい会話を始めました。");
  expect((await open()).session.id).toBe("20260301-cli-default.2");
  expect((await send("resume")).text).toContain("20260301-cli-default");
  expect((await send("resume", "1999")).ok).toBe(false);
  expect(events.map(({ type }) => type)).toEqual(["cut-over", "cut-over"]);
});

test("/usage: the owner sees all and the budget, another chat its own share", async () => {
  const entry = {
    sessionId: "s",
    groupId: "g",
    role: "coder3",
    provider: "claude",
    model: "m",
    local: false,
    inputTokens: 10,
    outputTokens: 5,
    cachedTokens: 0,
    costUsd: 0.5,
  };
  await usage.record({ ...entry, at: "2026-03-01T02:00:00.000Z", chatKey: "cli:default" });
  await usage.record({ ...entry, at: "2026-03-01T02:00:00.000Z", chatKey: "line:U1" });
  // Yesterday in Tokyo.
  await usage.record({ ...entry, at: "2026-02-28T14:59:00.000Z", chatKey: "cli:default" });
  const owner = (await send("usage", "", { daily: 2 })).text;
  expect(owner).toContain("claude/m: リクエスト 2 件、入力 20、出力 10 トークン、$1.00");
  expect(owner).toContain("2026-02-28: リクエスト 1 件");
  expect(owner).toContain("$2 のうち $1.00 を使用（50 %）");
  const alice = (await send("usage", "", { channel: "web", daily: 2, locale: "en" })).text;
  expect(alice).not.toContain("claude/m");
  const other = (await send("usage", "", { channel: "line", daily: 2, locale: "en" })).text;
  expect(other.match(/This chat today/g)).toHaveLength(1);
  expect(other).toContain("claude/m: 1 request, 10 tokens in, 5 out, $0.50");
  expect(other).not.toContain("$2");
});
