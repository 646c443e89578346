import { beforeEach, describe, expect, test } from "bun:test";
import type { NewDecision, RoutingStore } from "../../../src/application/ports/chat.ts";
import type { UsageEntry, UsageStore } from "../../../src/application/ports/models.ts";
import type { UsageTotal } from "../../../src/domain/models/model-facts.ts";

export interface RoutingHarness {
  readonly routing: RoutingStore;
  readonly usage: UsageStore;
  readonly damage: (statement: string) => Promise<void>;
}

const decision = (more: Partial<NewDecision> = {}): NewDecision => ({
  id: "g1.000001",
  chatKey: "cli:default",
  sessionId: "s",
  at: "2026-03-01T00:00:00.000Z",
  message: "直して",
  route: "CODE",
  source: "rule",
  confidence: 0.9,
  reason: "shipped rule: 直して",
  ...more,
});

const entry = (more: Partial<UsageEntry> = {}): UsageEntry => ({
  at: "2026-03-01T00:00:00.000Z",
  chatKey: "cli:default",
  sessionId: "s",
  groupId: "g1",
  role: "coder3",
  provider: "claude",
  model: "m",
  local: false,
  inputTokens: 100,
  outputTokens: 10,
  cachedTokens: 5,
  costUsd: 0.25,
  ...more,
});

export function describeRoutingAndUsage(name: string, open: () => Promise<RoutingHarness>): void {
  describe(`decisions and usage in ${name}:`, () => {
    let harness: RoutingHarness;
    beforeEach(async () => {
      harness = await open();
    });

    test("the newest decision of a chat is the last one, with its correction", async () => {
      const { routing } = harness;
      expect(await routing.last("cli:default")).toBeNull();
      await routing.record(decision());
      await routing.record(decision({ id: "g2.000001", at: "2026-03-02T00:00:00.000Z", route: "CHAT" }));
      await routing.record(decision({ id: "g3.000001", at: "2026-03-03T00:00:00.000Z", chatKey: "line:U1" }));
      expect(await routing.last("cli:default")).toEqual({
        ...decision({ id: "g2.000001", at: "2026-03-02T00:00:00.000Z", route: "CHAT" }),
        correction: null,
      });
      await routing.correct("line:U1", "g2.000001", { route: "OPS", offered: null });
      expect((await routing.last("cli:default"))?.correction).toBeNull();
      await routing.correct("cli:default", "g2.000001", { route: "OPS", offered: "x" });
      expect((await routing.last("cli:default"))?.correction).toEqual({ route: "OPS", offered: "x" });
    });

    test("learned rules are the chat's own; the same pattern is learned once", async () => {
      const { routing } = harness;
      const rule = {
        chatKey: "cli:default",
        pattern: "様子が変",
        route: "CODE",
        confidence: 0.95,
        example: "様子が変",
        learnedAt: "2026-03-01T00:00:00.000Z",
      } as const;
      await routing.addRule(rule);
      await routing.addRule({ ...rule, route: "OPS" });
      await routing.addRule({ ...rule, pattern: "別", learnedAt: "2026-03-02T00:00:00.000Z" });
      expect((await routing.rules("cli:default")).map(({ pattern, route }) => [pattern, route])).toEqual([
        ["別", "CODE"],
        ["様子が変", "OPS"],
      ]);
      expect(await routing.rules("line:U1")).toEqual([]);
      expect(await routing.removeRule("line:U1", "別")).toBe(false);
      expect(await routing.removeRule("cli:default", "別")).toBe(true);
      await harness.damage("update learned_rules set route = 'NOWHERE'");
      expect(await routing.rules("cli:default")).toEqual([]);
    });

    test("a damaged decision counts as none", async () => {
      await harness.routing.record(decision());
      await harness.damage("update decisions set route = 'NOWHERE'");
      expect(await harness.routing.last("cli:default")).toBeNull();
    });

    test("usage adds up by model, by group and by chat, within the time asked for", async () => {
      const { usage } = harness;
      await usage.record(entry());
      await usage.record(entry({ groupId: "g2", at: "2026-03-02T00:00:00.000Z" }));
      await usage.record(
        entry({ provider: "ollama", local: true, costUsd: 0, inputTokens: 5_000_000_000, groupId: "g2" }),
      );
      await usage.record(entry({ chatKey: "line:U1", groupId: "g3", costUsd: 1 }));
      const since = new Date("2026-03-01T00:00:00.000Z");
      expect(await usage.spent(since)).toBeCloseTo(1.5);
      expect(await usage.spent(new Date("2026-03-02T00:00:00.000Z"))).toBeCloseTo(0.25);
      expect(await usage.spent(new Date("2027-01-01T00:00:00.000Z"))).toBe(0);
      const sums = { inputTokens: 200, outputTokens: 20, cachedTokens: 10 };
      expect(await usage.totals({ by: "model", since, chatKey: "cli:default" })).toEqual([
        { name: "claude/m", calls: 2, ...sums, costUsd: 0.5, unpriced: 0 },
        {
          name: "ollama/m",
          calls: 1,
          inputTokens: 5_000_000_000,
          outputTokens: 10,
          cachedTokens: 5,
          costUsd: 0,
          unpriced: 0,
        },
      ]);
      const until = new Date("2026-03-02T00:00:00.000Z");
      expect((await usage.totals({ by: "group", since, until })).map(({ name }) => name)).toEqual([
        "g3",
        "g1",
        "g2",
      ]);
      expect((await usage.totals({ by: "chat", since })).map(({ name, calls }) => [name, calls])).toEqual([
        ["line:U1", 1],
        ["cli:default", 3],
      ]);
      expect(await usage.totals({ by: "group", since, groupId: "g2" })).toHaveLength(1);
      const moments = async (chatKey?: string) =>
        (await usage.totals({ by: "moment", since, ...(chatKey !== undefined && { chatKey }) }))
          .map(({ name, calls }) => [name, calls])
          .sort();
      const at = entry().at.slice(0, 16);
      expect(await moments("line:U1")).toEqual([[`${at} claude/m`, 1]]);
      expect((await moments()).map(([name]) => name)).toContain("2026-03-02T00:00 claude/m");
    });

    test("what all models cost is read from sums, and agrees with the entries for any time asked for", async () => {
      const { usage } = harness;
      const minutes = [0, 7, 14, 15, 16, 29, 44, 59, 60, 75, 119];
      for (const [place, minute] of minutes.entries()) {
        const at = new Date(Date.UTC(2026, 2, 1, 3, minute, 30)).toISOString();
        const costUsd = place % 3 === 0 ? null : 2 ** place;
        await usage.record(entry({ at, costUsd, model: place % 2 === 0 ? "m" : "n", chatKey: `c:${place}` }));
      }
      const sum = (totals: readonly UsageTotal[]) => ({
        calls: totals.reduce((all, { calls }) => all + calls, 0),
        inputTokens: totals.reduce((all, { inputTokens }) => all + inputTokens, 0),
        costUsd: totals.reduce((all, { costUsd }) => all + costUsd, 0),
        unpriced: totals.reduce((all, { unpriced }) => all + unpriced, 0),
      });
      const times = [0, 5, 15, 20, 30, 61, 90, 120].map(
        (minute) => new Date(Date.UTC(2026, 2, 1, 3, minute)),
      );
      for (const since of times)
        for (const until of [undefined, ...times]) {
          const asked = { since, ...(until && { until }) };
          const byModel = await usage.totals({ by: "model", ...asked });
          expect(new Set(byModel.map(({ name: model }) => model)).size).toBe(byModel.length);
          const byChat = sum(await usage.totals({ by: "chat", ...asked }));
          expect(sum(byModel)).toEqual(byChat);
          if (until === undefined) expect(await usage.spent(since)).toBe(byChat.costUsd);
        }
      const [since] = times as [Date];
      const before = await usage.spent(since);
      await harness.damage("delete from usage_entries");
      expect(await usage.spent(since)).toBe(before);
    });

    test("a person's usage is that of the chat and of those below it", async () => {
      const { usage } = harness;
      for (const chatKey of [
        "web:a",
        "web:a.2",
        "web:a.b.c",
        "web:ab",
        "web:a/2",
        "web:a-2",
        "web:A.2",
        "web:b",
      ])
        await usage.record(entry({ chatKey }));
      const below = await usage.totals({
        by: "chat",
        since: new Date("2026-03-01T00:00:00.000Z"),
        chatKey: "web:a",
        withChatsBelow: true,
      });
      expect(below.map(({ name: chat }) => chat).sort()).toEqual(["web:a", "web:a.2", "web:a.b.c"]);
    });
  });
}
