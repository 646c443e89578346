import type { Timers } from "../ports/timers.ts";
import type { ClaimRequest, Work } from "../ports/work-queue.ts";

type TakeRequest = Pick<ClaimRequest, "lightOnly" | "notGroups">;

export interface TakeWorkDeps<T extends { readonly work: Work }> {
  readonly claim: (request: TakeRequest) => Promise<T | null>;
  /** Ends its work before it resolves; never rejects. */
  readonly run: (claimed: T, lane: Lane) => Promise<void>;
  /** Pieces of work at once, without those that need no lane and those that rest. */
  readonly limit: number;
  /** Of these, those of one group. */
  readonly perGroup: number;
  /** Waits while there is something more urgent. */
  readonly before?: () => Promise<void>;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

export interface Lane {
  /** The work waits for something and leaves its lane to others meanwhile. */
  rest(until: Promise<void>): Promise<void>;
}

export interface WorkTaker {
  /** There may be work. */
  look(): void;
  /** Lets nothing new begin. */
  close(): void;
  /** When nothing runs any more. */
  idle(): Promise<void>;
  readonly running: number;
}

/** In hand at once, whatever they do: light, resting or at work. */
const MOST_LIGHT = 64;
const MOST_RESTING = 1_000;
const AFTER_TROUBLE_MS = 1_000;

interface RunningWork {
  readonly group: string;
  readonly light: boolean;
  resting: boolean;
  ended: Promise<void>;
}

/** Claims work while there are lanes for it. The queue keeps the order of each key; here only the number is limited. */
export function createWorkTaker<T extends { readonly work: Work }>(parts: TakeWorkDeps<T>): WorkTaker {
  const running = new Set<RunningWork>();
  const state = { looking: false, again: false, closed: false };
  const count = (is: (one: RunningWork) => boolean) => [...running].filter(is).length;
  const inLanes = () => [...running].filter(({ light, resting }) => !light && !resting);

  /** What may be claimed now, the widest first. */
  function requests(): TakeRequest[] {
    if (count(({ resting }) => resting) >= MOST_RESTING) return [];
    const light: TakeRequest[] = count((one) => one.light) < MOST_LIGHT ? [{ lightOnly: true }] : [];
    const lanes = inLanes();
    if (lanes.length >= parts.limit) return light;
    const groups = Map.groupBy(lanes, ({ group }) => group);
    const full = [...groups].filter(([, all]) => all.length >= parts.perGroup).map(([group]) => group);
    return full.length === 0 ? [{}] : [{ notGroups: full }, ...light];
  }

  async function claimOne(): Promise<boolean> {
    await parts.before?.();
    for (const request of requests()) {
      if (state.closed) return false;
      const claimed = await parts.claim(request);
      if (claimed === null) continue;
      begin(claimed);
      return true;
    }
    return false;
  }

  function begin(claimed: T): void {
    const { group, light } = claimed.work;
    const one: RunningWork = { group, light, resting: false, ended: Promise.resolve() };
    running.add(one);
    const lane: Lane = {
      async rest(until) {
        one.resting = true;
        look();
        await until;
        one.resting = false;
      },
    };
    one.ended = parts
      .run(claimed, lane)
      .catch(parts.onTrouble)
      .finally(() => {
        running.delete(one);
        look();
      });
  }

  async function lookOn(): Promise<void> {
    try {
      do {
        state.again = false;
        while (!state.closed && (await claimOne()));
      } while (state.again && !state.closed);
    } catch (error) {
      parts.onTrouble(error);
      parts.timers.after(AFTER_TROUBLE_MS, look);
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
