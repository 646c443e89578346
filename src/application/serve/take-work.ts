import { BEAT_MS } from "../../domain/store/store-trouble.ts";
import { waitUntil } from "../platform/waiting.ts";
import type { Timers } from "../ports/platform.ts";
import type { ClaimRequest, Work, WorkQueue } from "../ports/serve.ts";

type TakeRequest = Pick<ClaimRequest, "lightOnly" | "notGroups">;

export interface TakeWorkDeps<T extends { readonly work: Work }> {
  readonly claim: (request: TakeRequest) => Promise<T | null>;
  /** Ends its work before it resolves; never rejects. */
  readonly run: (claimed: T, lane: Lane) => Promise<void>;
  /** Pieces of work at once, without those that need no lane and those that rest. */
  readonly limit: number;
  readonly perGroup: number;
  /** Work that begins when all else here has ended; nothing is claimed beside it. Default: none. */
  readonly isAlone?: (claimed: T) => boolean;
  readonly before?: () => Promise<void>;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

export interface Lane {
  /** The work waits for something and leaves its lane to others meanwhile. */
  rest(until: Promise<void>): Promise<void>;
}

/** The most pieces of work claimed at once, in any state: light, resting or at work. */
const MOST_LIGHT = 64;
const MOST_RESTING = 1_000;
const AFTER_TROUBLE_MS = 1_000;

interface RunningWork {
  readonly group: string;
  readonly light: boolean;
  readonly alone: boolean;
  resting: boolean;
  ended: Promise<void>;
}

/** Claims work while there are lanes for it. The queue keeps the order of each key; here only the number is limited. */
export function createWorkTaker<T extends { readonly work: Work }>(deps: TakeWorkDeps<T>) {
  const running = new Set<RunningWork>();
  const state = { looking: false, again: false, closed: false };
  const count = (is: (one: RunningWork) => boolean) => [...running].filter(is).length;
  const inLanes = () => [...running].filter(({ light, resting }) => !light && !resting);

  /** The claims that may be made now, the widest first. */
  function requests(): TakeRequest[] {
    if (count(({ resting }) => resting) >= MOST_RESTING || count(({ alone }) => alone) > 0) return [];
    const light: TakeRequest[] = count((one) => one.light) < MOST_LIGHT ? [{ lightOnly: true }] : [];
    const lanes = inLanes();
    if (lanes.length >= deps.limit) return light;
    const groups = Map.groupBy(lanes, ({ group }) => group);
    const full = [...groups].filter(([, all]) => all.length >= deps.perGroup).map(([group]) => group);
    return full.length === 0 ? [{}] : [{ notGroups: full }, ...light];
  }

  async function claimOne(): Promise<boolean> {
    await deps.before?.();
    for (const request of requests()) {
      if (state.closed) return false;
      const claimed = await deps.claim(request);
      if (claimed === null) continue;
      begin(claimed);
      return true;
    }
    return false;
  }

  function begin(claimed: T): void {
    const { group, light } = claimed.work;
    const alone = deps.isAlone?.(claimed) === true;
    const one: RunningWork = { group, light, alone, resting: false, ended: Promise.resolve() };
    const others = alone ? [...running].map(({ ended }) => ended) : [];
    running.add(one);
    const lane: Lane = {
      async rest(until) {
        one.resting = true;
        look();
        await until;
        one.resting = false;
      },
    };
    one.ended = (others.length === 0 ? deps.run(claimed, lane) : runAfter(others, claimed, lane))
      .catch(deps.onTrouble)
      .finally(() => {
        running.delete(one);
        look();
      });
  }

  async function runAfter(others: readonly Promise<void>[], claimed: T, lane: Lane): Promise<void> {
    await Promise.all(others);
    await deps.run(claimed, lane);
  }

  async function lookOn(): Promise<void> {
    try {
      do {
        state.again = false;
        while (!state.closed && (await claimOne()));
      } while (state.again && !state.closed);
    } catch (error) {
      deps.onTrouble(error);
      deps.timers.after(AFTER_TROUBLE_MS, look);
    } finally {
      state.looking = false;
    }
  }

  function look(): void {
    if (state.closed) return;
    state.again = true;
    if (state.looking) return;
    state.looking = true;
    void lookOn();
  }

  return {
    look,
    close() {
      state.closed = true;
    },
    async idle() {
      while (state.looking || running.size > 0) {
        await Promise.all([...running].map(({ ended }) => ended));
        if (state.looking) await new Promise<void>((resolve) => void setImmediate(resolve));
      }
    },
    get running() {
      return running.size;
    },
  };
}

/** Whether jobs of this process may still land: a process that missed its beats may have a successor. */
export type CommitGuard = ReturnType<typeof createCommitGuard>;

interface GuardedKeeper {
  readonly beat: () => Promise<void>;
  readonly giveUp: () => void;
}

const MISSED_MS = 2 * BEAT_MS;

/** `clock` keeps running while the process is suspended. */
export function createCommitGuard(clock: () => number, pause: (ms: number) => Promise<void>) {
  const state: { at: number | null; keeper: GuardedKeeper | null } = { at: null, keeper: null };
  // Before the first beat no work is claimed.
  const isHeard = () => state.at === null || clock() - state.at < MISSED_MS;
  return {
    clock,
    /** A beat that began at this moment of the clock was written. */
    heard(at: number): void {
      state.at = at;
    },
    attach(keeper: GuardedKeeper): void {
      state.keeper = keeper;
    },
    /** False when beats were missed and none can be made now, or when another process owns the work; it is then given back. */
    async mayCommit(signal: AbortSignal): Promise<boolean> {
      if (isHeard() || state.keeper === null) return true;
      await Promise.race([state.keeper.beat().catch(() => {}), pause(BEAT_MS)]);
      if (isHeard()) return !signal.aborted;
      state.keeper.giveUp();
      return false;
    },
  };
}

export interface KeepWorkDeps {
  readonly queue: Pick<WorkQueue, "beat">;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
  /** Receives the beats and decides whether jobs may still land. */
  readonly guard?: Pick<CommitGuard, "attach" | "heard" | "clock">;
}

export type WorkKeeper = ReturnType<typeof createWorkKeeper>;

const AGAIN_MS = 1_000;

/** Reports that this process lives, aborts work that was lost to another process, and repeats ends after an outage. */
export function createWorkKeeper({ queue, timers, onTrouble, guard }: KeepWorkDeps) {
  const held = new Map<Work, AbortController>();
  const stopping = new AbortController();
  const next = { stop: async () => {} };

  async function beat(): Promise<void> {
    const at = guard?.clock() ?? 0;
    const all = await queue.beat();
    guard?.heard(at);
    for (const lost of all)
      for (const [work, controller] of held)
        if (work.id === lost.id && work.fence === lost.fence) controller.abort();
  }

  guard?.attach({
    beat,
    giveUp: () => {
      for (const controller of held.values()) controller.abort();
    },
  });

  return {
    beat,
    /** Until `drop`; the signal ends when the work was lost to another process. */
    hold(work: Work): AbortSignal {
      const controller = new AbortController();
      held.set(work, controller);
      return controller.signal;
    },
    drop: (work: Work) => void held.delete(work),
    /** Retries while the store fails: the work must not be done twice. `unknown` only when this process stops meanwhile. */
    async end<T>(act: () => Promise<T>): Promise<T | "unknown"> {
      for (let tries = 0; ; tries += 1) {
        const last = stopping.signal.aborted;
        try {
          return await act();
        } catch (error) {
          if (tries === 0 || last) onTrouble(error);
          if (last) return "unknown";
        }
        await pause(timers, AGAIN_MS, stopping.signal);
      }
    },
    /** The work of dead processes is free when this resolves. */
    async start(): Promise<void> {
      await beat();
      if (!stopping.signal.aborted) next.stop = repeat(beat, BEAT_MS, { timers, onTrouble });
    },
    /** Ends are tried once more and not repeated. */
    stop(): void {
      stopping.abort();
      void next.stop();
    },
  };
}

/** Ends with the time or with the signal. */
export async function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  await waitUntil(signal, (go) => timers.after(ms, go));
}

/** Looks in turns. What it returns ends that, and waits for a look under way: nothing asks a store that is closed then. */
export function repeat(
  look: () => Promise<void>,
  everyMs: number,
  deps: { readonly timers: Timers; readonly onTrouble: (error: unknown) => void },
): () => Promise<void> {
  const state = { stopped: false, cancel: () => {}, last: Promise.resolve() };
  const lookAndRepeat = () => {
    state.last = look().catch(deps.onTrouble).finally(again);
  };
  const again = () => {
    if (!state.stopped) state.cancel = deps.timers.after(everyMs, lookAndRepeat);
  };
  again();
  return () => {
    state.stopped = true;
    state.cancel();
    return state.last;
  };
}
