import { createReach } from "../../domain/store/liveness.ts";
import type { ServeMessages } from "../../domain/texts/texts.ts";
import type { FleetStore, WaitingChat } from "../ports/fleet.ts";
import type { MessageStore, NewReply } from "../ports/serve.ts";
import type { Timers } from "../ports/timers.ts";
import { DEAD_AFTER_MS } from "../ports/work-queue.ts";

export interface NotifyWaitingDeps {
  readonly fleet: Pick<FleetStore, "waitingForAway" | "noteTold" | "toldOfUs" | "forgetTold">;
  readonly store: Pick<MessageStore, "post">;
  /** Whether this process can speak on a channel. */
  readonly reaches: (channel: string) => boolean;
  readonly messages: () => ServeMessages;
  readonly uuid: () => string;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

const WAITING_LOOK_MS = 5_000;
const AT_ONCE = 50;
/** A shorter break keeps no machine silent for `DEAD_AFTER_MS`. */
const BREAK_MS = WAITING_LOOK_MS + 3_000;

/**
 * A message waits for the machine that holds its workspace. While that one is away, one of the others tells the chat,
 * once; the machine itself tells it when it is back.
 */
export function createWaitingNotifier(parts: NotifyWaitingDeps): {
  /** To those who were told that this machine is away. Before anything of theirs is answered. */
  tellBack(): Promise<void>;
  tellAway(): Promise<void>;
  start(): () => void;
} {
  const { fleet, store, messages, timers } = parts;
  const notice = ({ channel, chatId, userId }: WaitingChat, text: string): NewReply => {
    const at = timers.now().toISOString();
    const content = { kind: "notice", text } as const;
    return { key: parts.uuid(), messageId: null, channel, chatId, userId, content, since: at, at };
  };

  const reach = createReach(BREAK_MS);

  async function tellAway(): Promise<void> {
    const waiting = await fleet.waitingForAway(AT_ONCE);
    const now = timers.now().getTime();
    if (reach.reached(now) > now - DEAD_AFTER_MS) return;
    for (const chat of waiting)
      if (parts.reaches(chat.channel))
        await store.post(notice(chat, messages().machineAway(chat.machineName)), (within) =>
          fleet.noteTold(chat, within),
        );
  }

  return {
    tellAway,
    async tellBack() {
      for (const chat of await fleet.toldOfUs())
        await store.post(notice(chat, messages().machineBack(chat.machineName)), (within) =>
          fleet.forgetTold(chat, within),
        );
    },
    start() {
      const state = { stopped: false, cancel: () => {} };
      const again = () => {
        if (state.stopped) return;
        state.cancel = timers.after(
          WAITING_LOOK_MS,
          () => void tellAway().catch(parts.onTrouble).finally(again),
        );
      };
      again();
      return () => {
        state.stopped = true;
        state.cancel();
      };
    },
  };
}
