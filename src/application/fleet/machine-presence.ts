import { BEAT_MS, createReach, DEAD_AFTER_MS, type NewerSchema } from "../../domain/store/store-trouble.ts";
import type { ServeMessages } from "../../domain/texts/serve.ts";
import type { FleetControl, FleetStore, WaitingChat } from "../ports/fleet.ts";
import type { Timers } from "../ports/platform.ts";
import type { AwayReplies, MessageStore, NewReply, WorkQueue } from "../ports/serve.ts";
import { repeat } from "../serve/take-work.ts";

/** A silent incarnation is watched so long; one that was too slow to speak in it notices that it was replaced, and ends. */
const WATCH_MS = BEAT_MS + 1_000;
const STEP_MS = 500;

/** Takes the machine's id; null, or the name of an earlier incarnation that still speaks: one that was killed is silent. */
export async function enterFleet(
  fleet: Pick<FleetStore, "enter">,
  timers: Timers,
): Promise<{ readonly takenBy: string } | null> {
  const first = await fleet.enter();
  if (first.status === "entered") return null;
  for (let waited = 0; waited < WATCH_MS; waited += STEP_MS) {
    await new Promise<void>((resolve) => void timers.after(STEP_MS, resolve));
    const again = await fleet.enter();
    if (again.status === "entered") return null;
    if (again.seenAt !== first.seenAt) return { takenBy: again.name };
  }
  const last = await fleet.enter(first.seenAt);
  return last.status === "entered" ? null : { takenBy: last.name };
}

const DEAD_SHOWN = 100;

/** The fleet's state, and the actions on work that was given up. */
export function createFleetControl({
  fleet,
  queue,
  self,
}: {
  readonly fleet: Pick<FleetStore, "machines" | "queues">;
  readonly queue: Pick<WorkQueue, "dead" | "retryDead" | "discardDead">;
  readonly self: string;
}): FleetControl {
  return {
    async view() {
      const [machines, queues, dead] = [
        await fleet.machines(),
        await fleet.queues(),
        await queue.dead(DEAD_SHOWN),
      ];
      return { self, machines, queues, dead };
    },
    retry: (id) => queue.retryDead(id),
    discard: (id) => queue.discardDead(id),
  };
}

export interface NotifyWaitingDeps {
  readonly fleet: Pick<
    FleetStore,
    "waitingForAway" | "noteAwayNotice" | "listAwayNotices" | "forgetAwayNotices"
  >;
  readonly store: Pick<MessageStore, "post">;
  /** Whether this process can speak on a channel. */
  readonly reaches: (channel: string) => boolean;
  readonly words: () => ServeMessages;
  readonly uuid: () => string;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

const WAITING_LOOK_MS = 5_000;
const AT_ONCE = 50;
/** A shorter break keeps no machine silent for `DEAD_AFTER_MS`. */
const BREAK_MS = WAITING_LOOK_MS + 3_000;

/** While the machine of a message's workspace is away, another one notifies the chat, once; itself when it is back. */
export function createWaitingNotifier(deps: NotifyWaitingDeps) {
  const { fleet, store, words, timers } = deps;
  const notice = ({ channel, chatId, userId }: WaitingChat, text: string): NewReply => {
    const at = timers.now().toISOString();
    const content = { kind: "notice", text } as const;
    return { key: deps.uuid(), messageId: null, channel, chatId, userId, content, since: at, at };
  };

  const reach = createReach(BREAK_MS);

  async function tellAway(): Promise<void> {
    const waiting = await fleet.waitingForAway(AT_ONCE);
    const now = timers.now().getTime();
    if (reach.reached(now) > now - DEAD_AFTER_MS) return;
    for (const chat of waiting)
      if (deps.reaches(chat.channel))
        await store.post(notice(chat, words().machineAway(chat.machineName)), (within) =>
          fleet.noteAwayNotice(chat, within),
        );
  }

  return {
    tellAway,
    /** Sent to chats that read that this machine is away, before anything of theirs is answered. */
    async tellBack() {
      for (const chat of await fleet.listAwayNotices())
        await store.post(notice(chat, words().machineBack(chat.machineName)), (within) =>
          fleet.forgetAwayNotices(chat, within),
        );
    },
    start: () => repeat(tellAway, WAITING_LOOK_MS, deps),
  };
}

export interface AwayRepliesDeps {
  readonly fleet: Pick<FleetStore, "repliesOfAway">;
  readonly reaches: (channel: string) => boolean;
  readonly onFound: () => void;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

const AWAY_LOOK_MS = 3_000;

/** Replies that are written and wait for a machine that is away: any machine with their channel sends them. */
export function createAwayReplies(deps: AwayRepliesDeps) {
  const state: { found: readonly AwayReplies[] } = { found: [] };

  async function look(): Promise<void> {
    const waiting = Map.groupBy(await deps.fleet.repliesOfAway(), ({ workspace }) => workspace);
    state.found = [...waiting]
      .filter(([, people]) => people.some(({ channel }) => deps.reaches(channel)))
      .map(([workspace, people]) => ({
        workspace,
        except: people.filter(({ channel }) => !deps.reaches(channel)),
      }));
    if (state.found.length > 0) deps.onFound();
  }

  return { list: () => state.found, look, start: () => repeat(look, AWAY_LOOK_MS, deps) };
}

const LEAVE_MS = 2_000;

export interface MachineDeps extends NotifyWaitingDeps {
  readonly fleet: NotifyWaitingDeps["fleet"] & Pick<FleetStore, "beat" | "leave">;
  /** Messages that are being answered now. */
  readonly busy: () => number;
  readonly lacking: () => readonly string[];
  readonly newerSchema: () => Promise<NewerSchema>;
  readonly log: (text: string) => void;
  /** Called if this process must not continue. */
  readonly end: () => void;
}

export type Machine = Awaited<ReturnType<typeof openMachine>>;

/** Beats, so that this machine is present, and notifies chats of machines that are away, until the process ends. */
export async function openMachine(deps: MachineDeps) {
  const { fleet, words, timers, log, onTrouble } = deps;
  const state = { draining: false, isOver: false, last: Promise.resolve() };
  const named = new Set<string>();

  async function beat(): Promise<void> {
    const load = { busy: deps.busy(), draining: state.draining, lacking: deps.lacking() };
    if ((await fleet.beat(load)) !== "replaced" || state.isOver) return lookAtSchema();
    // Another incarnation has this machine's id by now: a home was copied, or this one was thought dead.
    state.isOver = true;
    log(words().machineReplaced);
    deps.end();
  }
  async function lookAtSchema(): Promise<void> {
    const { added, breaking } = await deps.newerSchema();
    const fresh = [...added, ...breaking].filter((name) => !named.has(name));
    if (fresh.length === 0 || state.isOver) return;
    for (const name of fresh) named.add(name);
    if (breaking.length === 0) return log(words().schemaAdded(added.join(", ")));
    log(words().schemaBroken(breaking.join(", ")));
    deps.end();
  }
  /** One beat after the other: the row that leaving writes is the last one. */
  function beatNext(): Promise<void> {
    state.last = state.last.then(beat).catch(onTrouble);
    return state.last;
  }

  await beat();
  const stopBeats = repeat(beatNext, BEAT_MS, deps);
  const teller = createWaitingNotifier(deps);
  await teller.tellBack();
  const stopTelling = teller.start();
  return {
    /** Still here, and takes nothing new. */
    drain() {
      state.draining = true;
      void stopTelling();
      void beatNext();
    },
    /** A store that does not answer is not waited for: silence says the same, later. */
    async leave() {
      state.isOver = true;
      const gone = stopBeats().then(() => state.last.then(fleet.leave).catch(onTrouble));
      const left = Promise.all([stopTelling(), gone]);
      await Promise.race([left, new Promise<void>((resolve) => void timers.after(LEAVE_MS, resolve))]);
    },
  };
}
