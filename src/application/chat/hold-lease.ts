import type { ChatLeases } from "../ports/chat-leases.ts";
import { DEAD_AFTER_MS } from "../ports/work-queue.ts";

/** Why a signal of the queue ended. */
export type StopReason = "stopped" | "lost" | "caller";

export type QueuedResult<T> =
  | { readonly ran: true; readonly value: T; readonly stopped: StopReason | null }
  /** The caller's signal ended before the turn came. */
  | { readonly ran: false };

export interface ChatQueueDeps {
  readonly leases: ChatLeases;
  readonly now: () => Date;
  /** A new name for each piece of work. */
  readonly newOwner: () => string;
  /** Between two looks at the lease that is held: whether it still is, and whether a stop was asked for. */
  readonly lookMs: number;
  /** Between two looks at a lease that another process holds. */
  readonly pollMs: number;
  readonly setTimer: (run: () => void, ms: number) => () => void;
  /** The same for what keeps no process from ending. */
  readonly retry: (run: () => void, ms: number) => void;
}

/** What runs in this process; `begun` once the lease is held. */
export interface RunningWork {
  readonly controller: AbortController;
  begun: boolean;
}

export interface LeasedWork<T> {
  readonly chatKey: string;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly signal: AbortSignal;
  readonly onQueued?: ((ahead: number) => void) | undefined;
  readonly running: RunningWork;
}

/** Gets the chat's lease among all processes, runs the work under it, keeps it alive meanwhile, gives it back. */
export async function holdLease<T>(parts: ChatQueueDeps, request: LeasedWork<T>): Promise<QueuedResult<T>> {
  const { leases } = parts;
  const { chatKey, work, signal, running } = request;
  const owner = parts.newOwner();
  const release = () => releaseLease(parts, () => leases.release(chatKey, owner));
  try {
    if (!(await waitForLease(parts, request, owner))) return { ran: false };
  } catch (error) {
    // It may be held, though nobody was told so.
    await release();
    throw error;
  }
  const { controller } = running;
  const stopped: { why: StopReason | null } = { why: null };
  const end = (why: StopReason) => {
    stopped.why ??= why;
    controller.abort(why);
  };
  const onCaller = () => end("caller");
  controller.signal.addEventListener("abort", () => end(toStopReason(controller.signal.reason)), {
    once: true,
  });
  signal.addEventListener("abort", onCaller, { once: true });
  if (signal.aborted) end("caller");
  running.begun = true;
  const stopKeeping = keepAlive(parts, chatKey, owner, end);
  try {
    return { ran: true, value: await work(controller.signal), stopped: stopped.why };
  } finally {
    stopKeeping();
    running.begun = false;
    signal.removeEventListener("abort", onCaller);
    await release();
  }
}

/** Nobody waits for a store that fails; but what this process does not give back it has as long as it lives. */
async function releaseLease(parts: ChatQueueDeps, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch {
    parts.retry(() => void releaseLease(parts, act), parts.lookMs);
  }
}

async function waitForLease<T>(
  parts: ChatQueueDeps,
  request: LeasedWork<T>,
  owner: string,
): Promise<boolean> {
  const { leases } = parts;
  const { chatKey, signal, onQueued } = request;
  const take = (ticket: number) => leases.take({ chatKey, owner, ticket });
  // Where nobody waits there is no need to stand in line.
  if ((await take(Number.MAX_SAFE_INTEGER)).taken) return true;
  let told = 0;
  try {
    const ticket = await leases.enter(chatKey, owner);
    while (!signal.aborted) {
      const { taken, ahead } = await take(ticket);
      if (taken) return true;
      if (ahead !== told) onQueued?.(ahead);
      told = ahead;
      await leases.beat();
      await waitMs(parts, signal);
    }
    return false;
  } finally {
    await releaseLease(parts, () => leases.leave(chatKey, owner));
  }
}

function waitMs({ setTimer, pollMs }: ChatQueueDeps, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = setTimer(end, pollMs);
    signal.addEventListener("abort", end, { once: true });
  });
}

/** Beats until told otherwise; the work ends when somebody asked for that, or when another holds the lease. */
function keepAlive(
  { leases, now, lookMs, setTimer }: ChatQueueDeps,
  chatKey: string,
  owner: string,
  end: (why: StopReason) => void,
): () => void {
  const state = { over: false, cancel: () => {} };
  const heard = { at: now().getTime() };
  const tick = async () => {
    try {
      await leases.beat();
      const { held, stop } = await leases.look(chatKey, owner);
      if (state.over) return;
      heard.at = now().getTime();
      if (!held) end("lost");
      else if (stop) end("stopped");
    } catch {
      // The store may be busy for a moment; whoever is not heard of for longer has a successor.
      if (now().getTime() - heard.at > DEAD_AFTER_MS) end("lost");
    }
    if (!state.over) state.cancel = setTimer(() => void tick(), lookMs);
  };
  state.cancel = setTimer(() => void tick(), lookMs);
  return () => {
    state.over = true;
    state.cancel();
  };
}

function toStopReason(reason: unknown): StopReason {
  return reason === "stopped" || reason === "lost" ? reason : "caller";
}
