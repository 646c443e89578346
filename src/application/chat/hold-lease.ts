import type { ChatLeases } from "../ports/chat-leases.ts";

/** Why a signal of the queue ended. */
export type StopReason = "stopped" | "lost" | "caller";

export type Queued<T> =
  | { readonly ran: true; readonly value: T; readonly stopped: StopReason | null }
  /** The caller's signal ended before the turn came. */
  | { readonly ran: false };

export interface QueueParts {
  readonly leases: ChatLeases;
  readonly now: () => Date;
  /** A new name for each piece of work, from which `isGone` can tell. */
  readonly newOwner: () => string;
  readonly isGone: (owner: string) => boolean;
  /** How long a lease lasts without being renewed; renewed, and asked for stops, ten times as often. */
  readonly leaseMs: number;
  /** Between two looks at a lease that another process holds. */
  readonly pollMs: number;
  readonly setTimer: (run: () => void, ms: number) => () => void;
}

/** What runs in this process; `begun` once the lease is held. */
export interface Running {
  readonly controller: AbortController;
  begun: boolean;
}

export interface LeasedWork<T> {
  readonly chatKey: string;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly signal: AbortSignal;
  readonly onQueued?: ((ahead: number) => void) | undefined;
  readonly running: Running;
}

/** Gets the chat's lease among all processes, runs the work under it, keeps it alive meanwhile, gives it back. */
export async function holdLease<T>(parts: QueueParts, request: LeasedWork<T>): Promise<Queued<T>> {
  const { leases } = parts;
  const { chatKey, work, signal, running } = request;
  const owner = parts.newOwner();
  if (!(await waitForLease(parts, request, owner))) return { ran: false };
  const { controller } = running;
  const stopped: { why: StopReason | null } = { why: null };
  const end = (why: StopReason) => {
    stopped.why ??= why;
    controller.abort(why);
  };
  const onCaller = () => end("caller");
  controller.signal.addEventListener("abort", () => end(asReason(controller.signal.reason)), { once: true });
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
    // A lease that cannot be given back ends by itself.
    await leases.release(chatKey, owner).catch(() => undefined);
  }
}

async function waitForLease<T>(parts: QueueParts, request: LeasedWork<T>, owner: string): Promise<boolean> {
  const { leases, now, leaseMs, isGone } = parts;
  const { chatKey, signal, onQueued } = request;
  const until = () => new Date(now().getTime() + leaseMs);
  const take = (ticket: number) =>
    leases.take({ chatKey, owner, ticket, now: now(), until: until(), isGone });
  // Where nobody waits there is no need to stand in line.
  if ((await take(Number.MAX_SAFE_INTEGER)).taken) return true;
  const ticket = await leases.enter(chatKey, owner, until());
  let told = 0;
  try {
    while (!signal.aborted) {
      const { taken, ahead } = await take(ticket);
      if (taken) return true;
      if (ahead !== told) onQueued?.(ahead);
      told = ahead;
      await leases.keep(chatKey, ticket, until());
      await pause(parts, signal);
    }
    return false;
  } finally {
    await leases.leave(chatKey, ticket).catch(() => undefined);
  }
}

function pause({ setTimer, pollMs }: QueueParts, signal: AbortSignal): Promise<void> {
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

/** Renews until told otherwise; the work ends when somebody asked for that, or when another holds the lease. */
function keepAlive(
  { leases, now, leaseMs, setTimer }: QueueParts,
  chatKey: string,
  owner: string,
  end: (why: StopReason) => void,
): () => void {
  const state = { over: false, cancel: () => {} };
  const lastRenewal = { at: now().getTime() };
  const tick = async () => {
    try {
      const { held, stop } = await leases.renew(chatKey, owner, new Date(now().getTime() + leaseMs));
      if (state.over) return;
      lastRenewal.at = now().getTime();
      if (!held) end("lost");
      else if (stop) end("stopped");
    } catch {
      // The store may be busy for a moment; past the lease's end another may have begun.
      if (now().getTime() - lastRenewal.at > leaseMs) end("lost");
    }
    if (!state.over) state.cancel = setTimer(() => void tick(), leaseMs / 10);
  };
  state.cancel = setTimer(() => void tick(), leaseMs / 10);
  return () => {
    state.over = true;
    state.cancel();
  };
}

function asReason(reason: unknown): StopReason {
  return reason === "stopped" || reason === "lost" ? reason : "caller";
}
