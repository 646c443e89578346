import {
  type ControlOrder,
  type ControlOrders,
  ORDER_ENDS,
  type OrderVerb,
} from "../ports/control-orders.ts";
import type { Timers } from "../ports/timers.ts";
import type { WorkQueue } from "../ports/work-queue.ts";
import type { OrderAnswers } from "./order-answers.ts";

export interface GiveOrdersDeps {
  readonly orders: Pick<ControlOrders, "place" | "look" | "collect" | "withdraw">;
  readonly queue: Pick<WorkQueue, "onWork">;
  readonly newId: () => string;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
  /** Within this an order is begun, or never. */
  readonly limitMs?: number;
}

/**
 * `away`: nobody took it in time, and nobody will. `unsettled`: it was begun, and how it ended is not known. `gone`: the
 * same, and its machine is silent.
 */
export type OrderResult<T> =
  | { readonly status: "answered"; readonly answer: T }
  | { readonly status: "away" }
  | { readonly status: "unsettled" }
  | { readonly status: "gone" };

export interface OrderGiver {
  give<Verb extends OrderVerb>(
    order: Omit<ControlOrder, "id"> & { readonly verb: Verb },
  ): Promise<OrderResult<OrderAnswers[Verb]>>;
  close(): void;
}

const ORDER_LIMIT_MS = 5_000;
/** One that was begun may take as long as a large job takes to be taken back. */
const LONGEST_MS = 60_000;
/** A machine that dies over an order tells nobody. */
const WATCH_MS = 2_000;

/** Gives orders to other machines and waits for what comes of them. */
export function createOrderGiver(parts: GiveOrdersDeps): OrderGiver {
  const { orders, timers, limitMs = ORDER_LIMIT_MS } = parts;
  const pending = new Map<string, (given: OrderResult<unknown>) => void>();
  const state = { looking: false, again: false };

  /** Nobody asks for it any more. */
  function end(id: string, given: OrderResult<unknown>): void {
    const resolve = pending.get(id);
    pending.delete(id);
    resolve?.(given);
  }

  async function settle(id: string): Promise<void> {
    const { value, failed } = JSON.parse(await orders.collect(id)) as { value?: unknown; failed?: true };
    end(id, failed === true ? { status: "unsettled" } : { status: "answered", answer: value });
  }

  async function lookOnce(): Promise<void> {
    const states = await orders.look([...pending.keys()]);
    for (const [id, now] of states) {
      if (now === "answered") await settle(id);
      if (now === "cut-off") end(id, { status: "unsettled" });
      if (now === "gone") end(id, { status: "gone" });
    }
  }

  async function look(): Promise<void> {
    state.again = true;
    if (state.looking) return;
    state.looking = true;
    while (state.again && pending.size > 0) {
      state.again = false;
      await lookOnce().catch(parts.onTrouble);
    }
    state.looking = false;
  }

  function watch(id: string): void {
    timers.after(WATCH_MS, () => {
      if (!pending.has(id)) return;
      void look();
      watch(id);
    });
  }

  async function giveUp(id: string): Promise<void> {
    const never = await orders.withdraw(id).catch(() => false);
    if (never) end(id, { status: "away" });
    else await look();
  }

  const unlisten = parts.queue.onWork(
    () => {
      if (pending.size > 0) void look();
    },
    { queue: ORDER_ENDS },
  );

  return {
    async give(order) {
      const id = parts.newId();
      const cancels: (() => void)[] = [];
      const given = new Promise<OrderResult<unknown>>((resolve) => void pending.set(id, resolve));
      try {
        await orders.place({ ...order, id }, limitMs);
        watch(id);
        cancels.push(timers.after(limitMs, () => void giveUp(id)));
        cancels.push(timers.after(LONGEST_MS, () => end(id, { status: "unsettled" })));
        return (await given) as OrderResult<OrderAnswers[typeof order.verb]>;
      } finally {
        for (const cancel of cancels) cancel();
        pending.delete(id);
      }
    },
    close: unlisten,
  };
}
