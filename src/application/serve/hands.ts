/**
 * The hands of a server: processes beside the front that answer its messages. In: how a process is started, whether work waits, and the
 * store that is lent. Out: what `createMessageAnswerer` offers in a hand itself: look, stop, cancel, how much runs. Invariant: the front
 * never waits for a hand. One that is silent, busy without an end or too large is killed, and its messages are begun again elsewhere.
 */
import { DEAD_AFTER_MS } from "../../domain/store/store-trouble.ts";
import type { ModelCall } from "../ports/models-meter.ts";
import type { Timers } from "../ports/platform.ts";
import type { StoredMessage } from "../ports/serve.ts";
import type {
  HandEvent,
  HandOrders,
  HandProcess,
  HandUsage,
  HandWord,
  StartHand,
} from "../ports/serve-hands.ts";
import type { LentStore } from "../ports/store-lent.ts";
import { MOST_ATTEMPTS } from "./answer-messages.ts";
import type { Bus } from "./serve-events.ts";
import { repeat } from "./take-work.ts";

export interface HandsDeps {
  readonly start: StartHand;
  readonly orders: HandOrders;
  /** Processes at once, beside those that do not speak. */
  readonly most: number;
  readonly lend: () => LentStore;
  readonly memoryBytes: number;
  /** Whether a message could be claimed now. */
  readonly mayClaim: () => Promise<boolean>;
  /** Frees the work of processes that are gone. */
  readonly releaseDead: () => Promise<void>;
  readonly bus: Bus;
  readonly onReplies: () => void;
  readonly onModelCall: (call: ModelCall) => void;
  /** Why a hand was ended. */
  readonly say: (why: HandDeath, pid: number) => void;
  readonly clock: () => number;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

export type HandDeath = "silent" | "busy" | "memory" | "ended";

export type Hands = ReturnType<typeof createHands>;

const TICK_MS = 250;
/** A hand that says nothing for so long gets no work; in life it asks the store each second. */
const QUIET_MS = 2_500;
const BUSY_MS = 10_000;
/** A transaction whose hand is stopped, or computes for so long, is taken back. */
const [STALLED_MS, STALLED_CPU_MS, LONGEST_STALL_MS] = [200, 250, 5_000];
const IDLE_MS = 30_000;
const AFTER_DEATH_MS = [0, 250, 1_000, 5_000, 30_000] as const;
/** Beside the ends of its messages and of its replies. */
const LAST_MS = 3_000;

interface Hand {
  readonly process: HandProcess;
  readonly store: LentStore;
  readonly messages: Map<string, StoredMessage>;
  heardAt: number;
  cpuAtWord: number;
  idleSince: number;
  isReady: boolean;
  isLeaving: boolean;
  death: HandDeath | null;
}

export function createHands(deps: HandsDeps) {
  const { bus, timers, clock } = deps;
  const hands = new Set<Hand>();
  const state = { looking: false, again: false, isClosed: false, deaths: 0, mayStartAt: 0, tickedAt: 0 };
  const watch: { stop: () => Promise<void> } = { stop: async () => {} };

  function begin(): void {
    const born = deps.start((word) => hear(hand, word));
    const hand: Hand = {
      process: born,
      store: deps.lend(),
      messages: new Map(),
      heardAt: clock(),
      cpuAtWord: 0,
      idleSince: clock(),
      isReady: false,
      isLeaving: false,
      death: null,
    };
    hands.add(hand);
    born.send(deps.orders);
    void born.ended.then(() => bury(hand)).catch(deps.onTrouble);
    if (hands.size === 1) {
      state.tickedAt = clock();
      watch.stop = repeat(tick, TICK_MS, deps);
    }
  }

  function hear(hand: Hand, word: HandWord): void {
    hand.heardAt = clock();
    hand.cpuAtWord = -1;
    hand.store.hear();
    switch (word.type) {
      case "ready":
        hand.isReady = true;
        state.deaths = 0;
        return;
      case "question":
        void hand.store
          .answer(word.question)
          .then((answer) => hand.process.send({ type: "answer", answer }))
          .catch(deps.onTrouble);
        return;
      case "event":
        publish(hand, word.event);
        return;
      case "asked":
        deps.onModelCall(word.call);
        return;
      case "replies":
        deps.onReplies();
    }
  }

  function publish({ messages }: Hand, event: HandEvent): void {
    if (event.type === "delivered") bus.publish({ ...event, ok: true, attempt: 1, ms: 0 });
    else if (event.type === "job") bus.publish(event);
    else if (event.type === "begun") {
      messages.set(event.message.id, event.message);
      bus.publish(event);
    } else {
      const message = messages.get(event.id);
      if (message === undefined) return;
      if (event.type !== "chat") messages.delete(event.id);
      bus.publish({ ...event, message });
    }
  }

  /** Work that it had begun is begun again by another process. */
  async function bury(hand: Hand): Promise<void> {
    hands.delete(hand);
    if (hands.size === 0) void watch.stop();
    await hand.store.close();
    for (const message of hand.messages.values()) bus.publish({ type: "left", message });
    if (!hand.isLeaving || hand.death !== null) {
      deps.say(hand.death ?? "ended", hand.process.pid);
      state.mayStartAt = clock() + (AFTER_DEATH_MS[state.deaths] ?? AFTER_DEATH_MS[4]);
      state.deaths = Math.min(state.deaths + 1, AFTER_DEATH_MS.length - 1);
    }
    await deps.releaseDead().catch(deps.onTrouble);
    look();
  }

  /** Processor time since its last word; null where the machine does not tell. */
  function cpuSinceWord(hand: Hand, usage: HandUsage | null): number | null {
    if (usage === null) return null;
    if (hand.cpuAtWord < 0) hand.cpuAtWord = usage.cpuMs;
    return usage.cpuMs - hand.cpuAtWord;
  }

  async function tick(): Promise<void> {
    const now = clock();
    // This process was suspended, and its hands with it.
    if (now - state.tickedAt > DEAD_AFTER_MS / 3) for (const hand of hands) hand.heardAt = now;
    state.tickedAt = now;
    for (const hand of hands) await judge(hand, now);
  }

  async function judge(hand: Hand, now: number): Promise<void> {
    const usage = hand.process.usage();
    const silentMs = now - hand.heardAt;
    const cpuMs = cpuSinceWord(hand, usage);
    const isStalled =
      usage?.isStopped === true ||
      (cpuMs ?? 0) > STALLED_CPU_MS ||
      silentMs > LONGEST_STALL_MS ||
      usage === null;
    if (hand.store.isOpen() && silentMs > STALLED_MS && isStalled) await hand.store.takeBack();
    if (hand.messages.size > 0) hand.idleSince = now;
    else if (hand.isReady && !hand.isLeaving && now - hand.idleSince > IDLE_MS) leave(hand);
    const death = causeOf(silentMs, cpuMs, usage);
    if (death === null || hand.death !== null) return;
    // A landing is ended only by the rule of the workspace's lock: a holder that has been stopped.
    if (hand.process.isLanding() && !(usage?.isStopped === true && silentMs > DEAD_AFTER_MS)) return;
    hand.death = death;
    hand.process.kill();
  }

  function causeOf(silentMs: number, cpuMs: number | null, usage: HandUsage | null): HandDeath | null {
    if ((usage?.residentBytes ?? 0) > deps.memoryBytes) return "memory";
    if ((cpuMs ?? 0) > BUSY_MS) return "busy";
    return silentMs > DEAD_AFTER_MS ? "silent" : null;
  }

  function leave(hand: Hand): void {
    hand.isLeaving = true;
    hand.process.send({ type: "stop" });
  }

  /** One that starts is waited for. */
  const speaks = ({ isLeaving, isReady, death, heardAt }: Hand) =>
    !isLeaving && death === null && clock() - heardAt < (isReady ? QUIET_MS : DEAD_AFTER_MS);

  const hasLastTry = ({ messages }: Hand) =>
    [...messages.values()].some(({ attempts }) => attempts >= MOST_ATTEMPTS);

  async function lookOn(): Promise<void> {
    try {
      do {
        state.again = false;
        if (!(await deps.mayClaim()) || state.isClosed) continue;
        // One with the last try of a message takes nothing beside it.
        const present = [...hands].filter((hand) => speaks(hand) && !hasLastTry(hand));
        const free = present.find(({ messages }) => messages.size < deps.orders.lanes);
        if (free !== undefined) free.process.send({ type: "look" });
        else if (present.length < deps.most && hands.size < 3 * deps.most) startInTime();
        // A command that needs no lane.
        else for (const hand of present) hand.process.send({ type: "look" });
      } while (state.again);
    } catch (error) {
      deps.onTrouble(error);
    } finally {
      state.looking = false;
    }
  }

  function startInTime(): void {
    const waitMs = state.mayStartAt - clock();
    if (waitMs <= 0) begin();
    else timers.after(waitMs, look);
  }

  function look(): void {
    if (state.isClosed) return;
    state.again = true;
    if (state.looking) return;
    state.looking = true;
    void lookOn();
  }

  const handOf = (messageId: string) => [...hands].find(({ messages }) => messages.has(messageId));

  return {
    /** Called when work may wait, and each second. */
    look,
    /** Ends the answering of one message. False if no hand answers it. */
    cancel(messageId: string): boolean {
      const hand = handOf(messageId);
      hand?.process.send({ type: "cancel", messageId });
      return hand !== undefined;
    },
    has: (pid: number) => [...hands].some(({ process }) => process.pid === pid),
    reload(): void {
      for (const hand of hands) hand.process.send({ type: "reload" });
    },
    get running() {
      return [...hands].reduce((sum, { messages }) => sum + messages.size, 0);
    },
    /** Each finishes its messages within the time and hands the rest back; then none is left. */
    async stop(graceMs: number): Promise<void> {
      state.isClosed = true;
      const all = [...hands];
      for (const hand of all) leave(hand);
      const late = timers.after(graceMs + LAST_MS, () => {
        for (const hand of hands) hand.process.kill();
      });
      await Promise.all(all.map(({ process }) => process.ended));
      late();
      while (hands.size > 0) await new Promise<void>((resolve) => void setImmediate(resolve));
      await watch.stop();
    },
  };
}
