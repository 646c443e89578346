import type { ForgeKind } from "../../domain/config/configured-kinds.ts";
import { itemUrl } from "../../domain/forges/forge-items.ts";
import { toErrorText } from "../../domain/platform/error-text.ts";
import type { Forge, IntakeEvent, IntakeOutcome } from "../ports/forges.ts";
import type { Timers } from "../ports/platform.ts";
import type { ClaimedEvent, ForgeEvents } from "../ports/tasks.ts";
import { createWorkTaker, pause, type WorkKeeper } from "../serve/take-work.ts";
import { type IntakeDeps, takeInEvent } from "./intake.ts";

export interface EventActorDeps {
  readonly events: ForgeEvents;
  readonly forges: ReadonlyMap<ForgeKind, Forge>;
  readonly intakeOf: (forge: Forge) => IntakeDeps;
  readonly keeper: Pick<WorkKeeper, "hold" | "drop" | "end">;
  readonly log: IntakeDeps["log"];
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

const AT_ONCE = 4;
const RETRY_MS = [5_000, 15_000, 60_000];
const LONGEST_RETRY_MS = 300_000;
/** An older one is given up: its sender has asked again by now. */
const GIVEN_UP_AFTER_MS = 24 * 3600 * 1000;

/** Acts on accepted events, and retries a forge that does not answer. */
export function createEventActor(deps: EventActorDeps) {
  const { events, forges, keeper, log, timers } = deps;
  const stopping = new AbortController();
  const kinds = [...forges.keys()];

  async function claim(): Promise<ClaimedEvent | null> {
    for (const kind of kinds) {
      const claimed = await events.claim(kind);
      if (claimed !== null) return claimed;
    }
    return null;
  }

  async function actOn({ event }: ClaimedEvent, signal: AbortSignal): Promise<IntakeOutcome> {
    const intake = deps.intakeOf(forges.get(event.item.forge) as Forge);
    const firstSight = (id: string, at: Date) => events.firstSight(event.deliveryId, id, at);
    try {
      return await takeInEvent({ ...intake, store: { ...intake.store, firstSight } }, event, signal);
    } catch (error) {
      // The store, for instance: the event is still claimed, so no other process would act on it.
      deps.onTrouble(error);
      return { did: "failed", why: toErrorText(error) };
    }
  }

  function say(level: "warn" | "error", name: string, { event }: ClaimedEvent, fields: object): void {
    log[level]("solve", name, name, { item: itemUrl(event.item), kind: event.event.kind, ...fields });
  }

  const taker = createWorkTaker<ClaimedEvent>({
    claim,
    limit: AT_ONCE,
    perGroup: AT_ONCE,
    timers,
    onTrouble: deps.onTrouble,
    async run(claimed, lane) {
      const { work, receivedAt } = claimed;
      const signal = AbortSignal.any([keeper.hold(work), stopping.signal]);
      try {
        for (let tries = 0; !signal.aborted; tries += 1) {
          const taken = await actOn(claimed, signal);
          if (taken.did !== "failed") return void (await keeper.end(() => events.finish(work)));
          if (timers.now().getTime() - receivedAt.getTime() > GIVEN_UP_AFTER_MS) {
            say("error", "solve.event_given_up", claimed, { error: taken.why });
            return void (await keeper.end(() => events.finish(work)));
          }
          if (signal.aborted) break;
          const waitMs = RETRY_MS[tries] ?? LONGEST_RETRY_MS;
          say("warn", "solve.event_waits", claimed, { error: taken.why, retry_ms: waitMs });
          await lane.rest(pause(timers, waitMs, signal));
        }
        await keeper.end(() => events.handBack(work));
      } finally {
        keeper.drop(work);
      }
    },
  });

  return {
    /** Stores an event before its delivery is acknowledged: the forge is asked afterwards, however long that takes. */
    async accept(event: IntakeEvent): Promise<IntakeOutcome> {
      if (!(await events.keep(event, timers.now()))) return { did: "nothing", why: "seen already" };
      taker.look();
      return { did: "kept" };
    },
    wake: taker.look,
    /** Gives back the events that wait for their forge. */
    async stop(): Promise<void> {
      taker.close();
      stopping.abort();
      await taker.idle();
    },
  };
}
