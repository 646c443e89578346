import { expect, test } from "bun:test";
import type { StoredMessage } from "../../../src/application/ports/serve.ts";
import type { FrontWord, HandUsage, HandWord } from "../../../src/application/ports/serve-hands.ts";
import type { LentStore, StoreQuestion } from "../../../src/application/ports/store-lent.ts";
import { createHands, type HandsDeps } from "../../../src/application/serve/hands.ts";
import { createBus, type ServeEvent } from "../../../src/application/serve/serve-events.ts";
import { createManualTimers, settle } from "../../fakes/timers.ts";

/** Hands over processes that obey the test: it says what they say, how much they use, and when they end. */
function openHandsBench(choices: Partial<HandsDeps> = {}) {
  const timers = createManualTimers();
  const bus = createBus();
  const events: ServeEvent[] = [];
  bus.subscribe((event) => events.push(event));
  const said: string[] = [];
  const released = { count: 0 };
  const born: ReturnType<typeof bear>[] = [];
  const waits = { message: true };

  function bear(hear: (word: HandWord) => void) {
    const words: FrontWord[] = [];
    const ended = Promise.withResolvers<void>();
    const state = {
      usage: null as HandUsage | null,
      isLanding: false,
      isOpen: false,
      takenBack: 0,
      closed: 0,
    };
    const lent: LentStore = {
      answer: async ({ id }) => ({ id, rows: [] }),
      takeBack: async () => {
        state.takenBack += 1;
        state.isOpen = false;
      },
      hear: () => {},
      close: async () => {
        state.closed += 1;
      },
      isOpen: () => state.isOpen,
    };
    return { words, hear, end: ended.resolve, ended: ended.promise, state, lent };
  }

  const hands = createHands({
    start: (hear) => {
      const one = bear(hear);
      born.push(one);
      return {
        pid: 100 + born.length,
        send: (word) => void one.words.push(word),
        usage: () => one.state.usage,
        isLanding: () => one.state.isLanding,
        kill: () => {
          one.words.push("killed" as never);
          one.end();
        },
        ended: one.ended,
      };
    },
    orders: { type: "orders", options: { cwd: "/" }, demo: false, lanes: 2, isTraced: false },
    most: 2,
    lend: () => ({ ...(born.at(-1) as (typeof born)[number]).lent }),
    memoryBytes: 1000,
    mayClaim: async () => waits.message,
    releaseDead: async () => {
      released.count += 1;
    },
    bus,
    onReplies: () => said.push("replies"),
    onModelCall: () => said.push("asked"),
    say: (why, pid) => said.push(`${why} ${pid}`),
    clock: () => timers.now().getTime(),
    timers,
    onTrouble: (error) => said.push(String(error)),
    ...choices,
  });
  const message = (id: string) => ({ id, channel: "web", chatId: "c" }) as StoredMessage;
  return { hands, born, timers, events, said, released, waits, message };
}

const ONE_BUSY: HandUsage = { cpuMs: 0, residentBytes: 10, isStopped: false };

async function openWorkingHand(choices: Partial<HandsDeps> = {}) {
  const bench = openHandsBench(choices);
  bench.hands.look();
  await settle();
  const [hand] = bench.born as [(typeof bench.born)[number]];
  hand.state.usage = ONE_BUSY;
  hand.hear({ type: "ready" });
  hand.hear({ type: "event", event: { type: "begun", message: bench.message("m1") } });
  return { ...bench, hand };
}

test("a process is started when work waits, gets the work, and no second one is needed while it speaks and has room", async () => {
  const { hands, born, waits, hand } = await openWorkingHand();
  expect(hand.words.map(({ type }) => type)).toEqual(["orders"]);
  hands.look();
  await settle();
  expect(born).toHaveLength(1);
  expect(hand.words.at(-1)).toEqual({ type: "look" });
  waits.message = false;
  hands.look();
  await settle();
  expect(hand.words).toHaveLength(2);
});

test("what a hand says of a message reaches pages with the message, which it sends once", async () => {
  const { hands, hand, events, message, said } = await openWorkingHand();
  hand.hear({
    type: "event",
    event: { type: "chat", id: "m1", event: { type: "text", agent: "Mio", text: "hi" } as never },
  });
  hand.hear({ type: "event", event: { type: "chat", id: "unknown", event: { type: "text" } as never } });
  expect(hands.running).toBe(1);
  expect(hands.cancel("m1")).toBe(true);
  expect(hand.words.at(-1)).toEqual({ type: "cancel", messageId: "m1" });
  hand.hear({ type: "event", event: { type: "answered", id: "m1", reply: { text: "re" } as never, ms: 5 } });
  expect(hands.cancel("m1")).toBe(false);
  expect(events.map(({ type }) => type)).toEqual(["begun", "chat", "answered"]);
  expect(events.at(-1)).toMatchObject({ message: message("m1"), ms: 5 });
  hand.hear({ type: "replies" });
  expect(said).toEqual(["replies"]);
  expect([hands.has(101), hands.has(1)]).toEqual([true, false]);
});

test.each<[string, number, Partial<HandUsage>, string | null]>([
  ["is silent for 15 seconds", 15_500, { isStopped: true }, "silent 101"],
  ["is silent for less", 14_000, { isStopped: true }, null],
  ["computes for ten seconds without a word", 11_000, { cpuMs: 10_500 }, "busy 101"],
  ["waits for a slow machine, and hardly computes", 11_000, { cpuMs: 500 }, null],
  ["takes too much memory", 300, { residentBytes: 1001 }, "memory 101"],
])("a hand that %s", async (_, ms, usage, death) => {
  const { hand, timers, said, released, events, born, hands } = await openWorkingHand();
  await timers.advance(300);
  hand.state.usage = { ...ONE_BUSY, ...usage };
  for (let passed = 0; passed < ms; passed += 250) await timers.advance(250);
  expect(said).toEqual(death === null ? [] : [death]);
  if (death === null) return;
  // Its transaction is taken back, its messages are free, and another process continues.
  expect(hand.state.closed).toBe(1);
  expect(events.at(-1)).toMatchObject({ type: "left", message: { id: "m1" } });
  expect(released.count).toBe(1);
  expect(hands.running).toBe(0);
  expect(born).toHaveLength(2);
});

test("one that is landing is not killed for computing, only when it has been stopped for as long as the workspace's lock allows", async () => {
  const { hand, timers, said } = await openWorkingHand();
  hand.state.isLanding = true;
  await timers.advance(300);
  hand.state.usage = { ...ONE_BUSY, cpuMs: 60_000, residentBytes: 5_000 };
  for (let passed = 0; passed < 60_000; passed += 250) await timers.advance(250);
  expect(said).toEqual([]);
  hand.state.usage = { ...hand.state.usage, isStopped: true };
  await timers.advance(250);
  expect(said).toEqual(["memory 101"]);
});

test.each<[string, Partial<HandUsage>, number, number]>([
  ["stopped", { isStopped: true }, 500, 1],
  ["busy", { cpuMs: 300 }, 500, 1],
  ["waiting for the processor", { cpuMs: 20 }, 500, 0],
])("the transaction of a hand that is %s is taken back in time", async (_, usage, ms, takenBack) => {
  const { hand, timers } = await openWorkingHand();
  await timers.advance(250);
  hand.state.isOpen = true;
  hand.state.usage = { ...ONE_BUSY, ...usage };
  await timers.advance(ms);
  expect(hand.state.takenBack).toBe(takenBack);
});

test("a hand that does not speak gets no work: another one does", async () => {
  const { hands, born, timers } = await openWorkingHand();
  await timers.advance(3_000);
  hands.look();
  await settle();
  expect(born).toHaveLength(2);
});

test("a full hand is helped by another, as many as there may be", async () => {
  const { hands, born, hand, message } = await openWorkingHand();
  hand.hear({ type: "event", event: { type: "begun", message: message("m2") } });
  for (let looks = 0; looks < 3; looks += 1) {
    hands.look();
    await settle();
  }
  expect(born).toHaveLength(2);
});

test("an idle hand is ended, and what comes meanwhile starts the next one", async () => {
  const { hands, born, hand, timers, said } = await openWorkingHand();
  hand.hear({ type: "event", event: { type: "left", id: "m1" } });
  for (let passed = 0; passed < 31_000; passed += 250) {
    hand.hear({ type: "question", question: { id: 1 } as StoreQuestion });
    await timers.advance(250);
  }
  expect(hand.words).toContainEqual({ type: "stop" });
  hands.look();
  await settle();
  expect(born).toHaveLength(2);
  hand.end();
  await settle();
  expect(said).toEqual([]);
});

test("hands that die at once are started with growing pauses", async () => {
  const { hands, born, timers } = openHandsBench();
  hands.look();
  await settle();
  const began: number[] = [];
  for (let ms = 0; ms < 20_000; ms += 50) {
    if (born.length > began.length) {
      began.push(ms);
      born.at(-1)?.end();
    }
    await timers.advance(50);
  }
  expect(began.length).toBeGreaterThan(3);
  expect(began.length).toBeLessThan(8);
});

test("at the end each is told, one that does not go is killed, and none is left", async () => {
  const { hands, hand, timers } = await openWorkingHand();
  const stopped = hands.stop(20_000);
  expect(hand.words.at(-1)).toEqual({ type: "stop" });
  await timers.advance(24_000);
  expect(hand.words.at(-1) as unknown).toBe("killed");
  await stopped;
  hands.look();
  await settle();
  expect(hands.running).toBe(0);
});
