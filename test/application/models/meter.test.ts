import { describe, expect, test } from "bun:test";
import { createMeter, type MeterDeps } from "../../../src/application/models/meter.ts";
import type {
  Model,
  ModelEvent,
  Models,
  ModelUsage,
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

/** The price of the cloud's model is unknown. */
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

  test("without a daily budget, the start of the day is not looked up", async () => {
    const meter = createMeter({
      models: both,
      usage: ledger(),
      costOf: () => 1,
      budget: { daily: null, on_exceed: "local" },
      now: () => new Date("2026-03-01T12:00:00.000Z"),
      log: listeningLogger().log,
      startOfDay: () => {
        throw new Error("it asked");
      },
    });
    const { models, used } = await meter.open(context);
    expect(textOf(await ask(models))).toBe("cloud");
    expect(used().costUsd).toBe(1);
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

  test("uses the local model when the budget is spent, and says so; chat continues", async () => {
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

  test("refuses where configured to, and when there is no local model; the next day is new", async () => {
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
  ] as const)("a budget %j over a model without a price asks no model and says why", async (budget) => {
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

/** A cloud model at ten dollars per million tokens, whose server reports this usage. */
function reporting(usage: Partial<ModelUsage>, hold?: Promise<void>) {
  const asked = { now: 0, most: 0, all: 0 };
  const model: Model = {
    ...(cloud.models.forRole("coder3") as Model),
    async *generate() {
      asked.all++;
      asked.most = Math.max(asked.most, ++asked.now);
      yield { type: "text", text: "x".repeat(4_000) };
      await hold;
      asked.now--;
      const answer = { text: "x".repeat(4_000), toolCalls: [], finish: "stop" as const };
      yield {
        type: "finished",
        answer: { ...answer, usage: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, ...usage } },
      };
    },
  };
  const usage_ = ledger();
  const meter = createMeter({
    models: { forRole: (role) => (role.startsWith("coder") ? model : local.models.forRole(role)) },
    usage: usage_,
    costOf: ({ local: free }, { inputTokens, outputTokens }) =>
      free ? 0 : ((inputTokens + outputTokens) * 10) / 1e6,
    budget: { daily: 0.01, on_exceed: "refuse" },
    now: () => new Date("2026-03-01T12:00:00.000Z"),
    log: listeningLogger().log,
    startOfDay: () => new Date("2026-03-01T00:00:00.000Z"),
  });
  return { meter, asked, entries: usage_.entries };
}

const question = { messages: [{ role: "user" as const, text: "a".repeat(400) }], signal };

async function askOften(models: Models, times: number): Promise<string[]> {
  const ends: string[] = [];
  for (let i = 0; i < times; i++) {
    const model = models.forRole("coder3") as Model;
    if (!("generate" in model)) ends.push((model as { code: string }).code);
    else
      for await (const event of model.generate(question))
        if (event.type !== "text") ends.push(textOf(event).slice(0, 1) === "x" ? "answer" : textOf(event));
  }
  return ends;
}

describe("a budget over a server whose figures are not numbers", () => {
  for (const [name, usage] of [
    ["nothing", {}],
    ["only what was sent", { inputTokens: 100 }],
    ["more than any model can take", { inputTokens: 1e300, outputTokens: 1e300 }],
  ] as const)
    test(`${name}: the answer counts by its length`, async () => {
      const { meter, entries } = reporting(usage);
      const { models } = await meter.open(context);
      // 1,100 tokens are 0.011 dollars.
      expect(await askOften(models, 3)).toEqual(["answer", "over-budget", "over-budget"]);
      expect(entries).toMatchObject([{ inputTokens: 100, outputTokens: 1_000 }]);
    });

  test("an answer that was stopped on its way is paid for", async () => {
    const { meter, entries } = reporting({});
    const { models } = await meter.open(context);
    for await (const _ of (models.forRole("coder3") as Model).generate(question)) break;
    expect(entries).toMatchObject([{ inputTokens: 100, outputTokens: 1_000 }]);
    expect(await askOften(models, 1)).toEqual(["over-budget"]);
  });
});

test("many messages at once spend no more of the day's budget than one after the other", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { meter, asked, entries } = reporting({ inputTokens: 500, outputTokens: 500 }, promise);
  const answers = Array.from({ length: 20 }, async () => askOften((await meter.open(context)).models, 1));
  const first = await Promise.race([...answers, Promise.resolve().then(() => "none")]);
  expect(first).toBe("none");
  resolve();
  const ends = (await Promise.all(answers)).flat();
  expect(ends.filter((end) => end === "answer")).toHaveLength(1);
  expect(ends.filter((end) => end === "over-budget")).toHaveLength(19);
  expect({ all: asked.all, most: asked.most, paid: entries.length }).toEqual({ all: 1, most: 1, paid: 1 });
});

test("who waits for the budget stops waiting when stopped", async () => {
  const { meter, asked } = reporting({ inputTokens: 500, outputTokens: 500 }, new Promise(() => {}));
  const { models } = await meter.open(context);
  const held = (models.forRole("coder3") as Model).generate(question)[Symbol.asyncIterator]();
  await held.next();
  const stop = new AbortController();
  const waits = (models.forRole("coder3") as Model)
    .generate({ ...question, signal: stop.signal })
    [Symbol.asyncIterator]()
    .next();
  stop.abort();
  // The model is asked with a signal that has ended, and says `aborted` as any model does.
  await waits;
  expect(asked.all).toBe(2);
});
