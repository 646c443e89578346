import type { FleetStore } from "../ports/fleet.ts";
import type { AwayReplies } from "../ports/serve.ts";
import type { Timers } from "../ports/timers.ts";

export interface AwayRepliesDeps {
  readonly fleet: Pick<FleetStore, "repliesOfAway">;
  /** Whether this process can speak on a channel. */
  readonly reaches: (channel: string) => boolean;
  /** There is something to send. */
  readonly onFound: () => void;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

const AWAY_LOOK_MS = 3_000;

/** Replies that are written and wait for a machine that is away: whoever reaches their channel sends them. */
export function createAwayReplies(parts: AwayRepliesDeps): {
  list(): readonly AwayReplies[];
  look(): Promise<void>;
  start(): () => void;
} {
  const { timers } = parts;
  const state: { found: readonly AwayReplies[]; stopped: boolean; cancel: () => void } = {
    found: [],
    stopped: false,
    cancel: () => {},
  };

  async function look(): Promise<void> {
    const waiting = Map.groupBy(await parts.fleet.repliesOfAway(), ({ workspace }) => workspace);
    state.found = [...waiting]
      .filter(([, people]) => people.some(({ channel }) => parts.reaches(channel)))
      .map(([workspace, people]) => ({
        workspace,
        except: people.filter(({ channel }) => !parts.reaches(channel)),
      }));
    if (state.found.length > 0) parts.onFound();
  }

  function again(): void {
    if (state.stopped) return;
    state.cancel = timers.after(AWAY_LOOK_MS, () => void look().catch(parts.onTrouble).finally(again));
  }

  return {
    list: () => state.found,
    look,
    start() {
      again();
      return () => {
        state.stopped = true;
        state.cancel();
      };
    },
  };
}
