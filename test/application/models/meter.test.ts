import { describe, expect, test } from "bun:test";
import { createMeter, type MeterDeps } from "../../../src/application/models/meter.ts";
import type {
  Model,
  ModelEvent,
  Models,
  UsageEntry,
  UsageStore,
} from "../../../src/application/ports/models.ts";
import { answering, listeningLogger, NO_MODEL } from "../chat/memory-kit.ts";

const context = { chatKey: "cli:default", sessionId: "s", groupId: "g" };
const { signal } = new AbortController();

function ledger(): UsageStore & { entries: UsageEntry[] } {
  const entries: UsageEntry[] = [];
  return {
    entries,
    record: async (entry) => void entries.push(entry),
    spent: async (since) =>
      entries
        .filter(({ at }) => at >= since.toISOString())
        .reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0),
    totals: async () => [],
  };
}

const cloud = answering(["cloud"], { provider: "claude", model: "big", local: false });
const local = answering(["local"]);
const both: Models = { forRole: (role) => (role.startsWith("coder") ? cloud : local).models.forRole(role) };

/** Nobody said what the cloud's model costs. */
function unpricedMeter(budget: MeterDeps["budget"], usage = ledger()) {
  return createMeter({
    models: both,
    usage,
    costOf: ({ local: free }) => (free ? 0 : null),
    budget,
    now: () => new Date("2026-03-01T12:00:00.000Z"),
    log: listeningLogger().log,
    startOfDay: (at) => at,
  });
}

function open(budget: MeterDeps["budget"], models: Models = both) {
  const usage = ledger();
  const time = { now: "2026-03-01T12:00:00.000Z" };
  const { log, lines } = listeningLogger();
  const meter = createMeter({
    models,
    usage,
    // A dollar a call.
    costOf: ({ local: free }) => (free ? 0 : 1),
    budget,
    now: () => new Date(time.now),
    log,
    startOfDay: (at) => new Date(`${at.toISOString().slice(0, 10)}T00:00:00.000Z`),
  });
  return { meter, usage, time, lines };
}

async function ask(models: Models, role: "chat" | "coder3" = "coder3"): Promise<ModelEvent> {
  const model = models.forRole(role);
  if (!("generate" in model)) return { type: "failed", failure: model };
  let last: ModelEvent | undefined;
  for await (const event of model.generate({ messages: [], signal })) last = event;
  return last!;
}

const textOf = (event: ModelEvent) =>
  event.type === "finished" ? event.answer.text : event.type === "failed" ? event.failure.code : "";

describe("the meter", () => {
  test("writes down every answer with its cost, and sums up the message", async () => {
    const { meter, usage } = open({ daily: null, on_exceed: "local" });
    const { models, used, notices } = await meter.open(context);
    await ask(models);
    await ask(models, "chat");
    expect(usage.entries).toMatchObject([
      {
        ...context,
        role: "coder3",
        provider: "claude",
        model: "big",
        local: false,
        inputTokens: 1000,
        costUsd: 1,
      },
      { ...context, role: "chat", provider: "fake", local: true, outputTokens: 100, costUsd: 0 },
    ]);
    expect(used()).toMatchObject({ inputTokens: 2000, outputTokens: 200, costUsd: 1, isUnpriced: false });
    expect(notices()).toEqual([]);
  });

  test("a worker CLI's own use counts like a model's, and over the budget none may run", async () => {
    const { meter, usage } = open({ daily: 2, on_exceed: "local" });
    const { workers, used, notices, models } = await meter.open(context);
    expect(await workers.refusal()).toBeNull();
    await workers.count("claude-code", { inputTokens: 900, outputTokens: 70, costUsd: 2.5 });
    expect(usage.entries).toMatchObject([
      {
        ...context,
        role: "worker-cli",
        provider: "worker-cli",
        model: "claude-code",
        inputTokens: 900,
        outputTokens: 70,
        costUsd: 2.5,
      },
    ]);
    expect(used()).toMatchObject({ inputTokens: 900, outputTokens: 70, costUsd: 2.5 });
    expect(notices()).toEqual([{ kind: "warn", spentUsd: 2.5, dailyUsd: 2 }]);
    // The next message of the same day knows of it, too.
    const next = await meter.open(context);
    expect(await next.workers.refusal()).toMatchObject({ code: "over-budget", message: "$2.50 / $2.00" });
    expect(textOf(await ask(models))).toBe("local");
  });

  test("a worker CLI that tells no cost has the price that was given for it", async () => {
    const { meter, usage } = open({ daily: null, on_exceed: "local" });
    const { workers } = await meter.open(context);
    await workers.count("codex-cli", { inputTokens: 900, outputTokens: 70, costUsd: 0 });
    expect(usage.entries).toMatchObject([{ model: "codex-cli", costUsd: 1 }]);
  });

  test("shows the model it wraps", async () => {
    const { meter } = open({ daily: null, on_exceed: "local" });
    const model = (await meter.open(context)).models.forRole("coder3") as Model;
    expect([model.provider, model.model, model.local, model.family]).toEqual([
      "claude",
      "big",
      false,
      "other",
    ]);
    expect(await model.check(signal)).toMatchObject({ ok: true });
  });

  test("warns from four fifths of the budget on", async () => {
    const { meter } = open({ daily: 5, on_exceed: "local" });
    const kinds = async () => {
      const { models, notices } = await meter.open(context);
      expect(textOf(await ask(models))).toBe("cloud");
      return notices().map(({ kind }) => kind);
    };
    expect([await kinds(), await kinds(), await kinds(), await kinds(), await kinds()]).toEqual([
      [],
      [],
      [],
      ["warn"],
      ["warn"],
    ]);
  });

  test("gives the local model when the budget is spent, and says so; chat goes on", async () => {
    const { meter, usage } = open({ daily: 2, on_exceed: "local" });
    const first = await meter.open(context);
    await ask(first.models);
    await ask(first.models);
    expect(textOf(await ask(first.models))).toBe("local");
    const later = await meter.open(context);
    const model = later.models.forRole("coder3") as Model;
    expect([model.local, textOf(await ask(later.models)), textOf(await ask(later.models, "chat"))]).toEqual([
      true,
      "local",
      "local",
    ]);
    expect(later.notices()).toEqual([{ kind: "local", spentUsd: 2, dailyUsd: 2, model: "fake-1" }]);
    expect(usage.entries.filter(({ provider }) => provider === "claude")).toHaveLength(2);
  });

  test("refuses when told to, and when there is no local model; the next day is new", async () => {
    for (const [on_exceed, models] of [
      ["refuse", both],
      [
        "local",
        {
          forRole: (role: Parameters<Models["forRole"]>[0]) =>
            role.startsWith("coder") ? cloud.models.forRole(role) : NO_MODEL,
        },
      ],
    ] as const) {
      const { meter, time } = open({ daily: 1, on_exceed }, models);
      await ask((await meter.open(context)).models);
      const spent = await meter.open(context);
      expect(textOf(await ask(spent.models))).toBe("over-budget");
      expect(spent.notices()).toEqual([]);
      time.now = "2026-03-02T00:00:00.000Z";
      expect(textOf(await ask((await meter.open(context)).models))).toBe("cloud");
    }
  });

  test("a call begun before another chat spent the rest is stopped as well", async () => {
    const { meter } = open({ daily: 1, on_exceed: "refuse" });
    const early = await meter.open(context);
    const model = early.models.forRole("coder3") as Model;
    await ask((await meter.open({ ...context, groupId: "other" })).models);
    const events: ModelEvent[] = [];
    for await (const event of model.generate({ messages: [], signal })) events.push(event);
    expect(events).toMatchObject([{ type: "failed", failure: { code: "over-budget" } }]);
  });

  // A budget that cannot be counted is not a budget: it used to be asked, and counted as nothing.
  test.each([
    { daily: 1, on_exceed: "local" },
    { daily: null, on_exceed: "refuse", perMessage: 1 },
  ] as const)("a budget %j over a model without a price asks nobody and says why", async (budget) => {
    const before = cloud.asked.length;
    const { models } = await unpricedMeter(budget).open(context);
    expect(models.forRole("coder3")).toMatchObject({ code: "no-price", message: "big" });
    expect(models.forRole("chat")).toHaveProperty("generate");
    expect(cloud.asked.length).toBe(before);
  });

  test("without a budget an unknown price stays unknown, and is not zero", async () => {
    const usage = ledger();
    const { models, used } = await unpricedMeter({ daily: null, on_exceed: "local" }, usage).open(context);
    await ask(models);
    expect(usage.entries).toMatchObject([{ model: "big", costUsd: null }]);
    expect(used()).toMatchObject({ costUsd: 0, isUnpriced: true });
  });

  test("a budget of nothing never asks a cloud model", async () => {
    const { meter } = open({ daily: 0, on_exceed: "refuse" });
    const before = cloud.asked.length;
    expect(textOf(await ask((await meter.open(context)).models))).toBe("over-budget");
    expect(cloud.asked.length).toBe(before);
  });

  test("what cannot be written down is logged, and the answer is given", async () => {
    const { log, lines } = listeningLogger();
    const usage: UsageStore = {
      record: () => Promise.reject(new Error("no disk")),
      spent: () => Promise.reject(new Error("no disk")),
      totals: async () => [],
    };
    const meter = createMeter({
      models: both,
      usage,
      costOf: () => 0.6,
      budget: { daily: 1, on_exceed: "refuse" },
      now: () => new Date("2026-03-01T12:00:00.000Z"),
      log,
      startOfDay: (at) => at,
    });
    const { models } = await meter.open(context);
    expect(textOf(await ask(models))).toBe("cloud");
    expect(textOf(await ask(models))).toBe("cloud");
    expect(textOf(await ask(models))).toBe("over-budget");
    expect(lines.map(({ event }) => event)).toEqual(["usage.store_failed", "usage.store_failed"]);
  });
});
