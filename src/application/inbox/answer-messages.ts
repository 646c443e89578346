import type { ServeMessages } from "../../domain/texts/texts.ts";
import type { Channel, StoredMessage } from "../ports/channel.ts";
import type { ChatEvent, Conversation, Reply } from "../ports/conversation.ts";
import type { JobArchive } from "../ports/jobs.ts";
import type { ChatKey, MessageStore, NewReply } from "../ports/message-store.ts";
import type { Timers } from "../ports/timers.ts";
import type { Bus } from "./bus.ts";
import { createLanes } from "./chat-lanes.ts";
import { LEASE_MS, leaseUntil } from "./lease.ts";
import type { Arrived } from "./receive-messages.ts";

export interface AnswerParts {
  readonly store: MessageStore;
  /** Asked anew for every message, so that a reload takes effect. */
  readonly conversation: () => Conversation;
  readonly channel: (name: string) => Pick<Channel, "progress"> | undefined;
  /**
   * Which jobs of a message stand: those that the store noted, and those that only the job folders know of, without
   * the ones that were rolled back.
   */
  readonly finishedJobs: (messageId: string, noted: readonly string[]) => readonly string[];
  /** What can be done now with these jobs of one message. */
  readonly actionsFor: (jobIds: readonly string[]) => Reply["actions"];
  readonly bus: Bus;
  /** This process, as leases name it. */
  readonly owner: string;
  readonly timers: Timers;
  readonly uuid: () => string;
  readonly messages: () => ServeMessages;
  /** The day a moment belongs to, in the session's time zone. */
  readonly dayOf: (at: Date) => string;
  /** Chats that are answered at once. */
  readonly limit: number;
  /** Messages come in a burst: they are taken in first. */
  readonly isBusy: () => boolean;
  /** A reply waits to be sent. */
  readonly replyWaits: (chat: ChatKey) => void;
  /** A bug or a store that fails; the message stays and is tried again. */
  readonly onTrouble: (error: unknown, message: StoredMessage | null) => void;
}

export interface Answering {
  /** A message arrived. One that is about what runs in its chat now does not wait for its turn. */
  wake(message: Arrived): void;
  /** Takes up what a dead process left, then whatever comes. */
  start(isGone: (owner: string) => boolean): Promise<void>;
  /** Finishes what runs within the time, then hands it back. Resolves when nothing runs. */
  stop(graceMs: number): Promise<void>;
  /** Ends the answering of one message; what it had begun is taken back. False when it is not being answered. */
  cancel(messageId: string): boolean;
  readonly running: number;
}

/** After so many deaths over one message it is not tried again. */
const MOST_ATTEMPTS = 3;
const [BUSY_MS, BUSY_STEP_MS] = [2_000, 50];
const RESCUE_MS = 15_000;
const AFTER_TROUBLE_MS = 5_000;

/**
 * Claims messages, one chat in order and many chats at once, has them answered, and stores answer and end in one
 * transaction. A message that was begun by a process that died is begun again only if it had changed nothing.
 */
export function createAnswering(parts: AnswerParts): Answering {
  const { store, owner, timers } = parts;
  const stopping = new AbortController();
  const inHand = new Map<string, AbortController>();
  const cancels = new Map<string, () => void>();
  const lanes = createLanes(parts.limit, async (chat) => {
    for (;;) {
      await whileBusy();
      if (stopping.signal.aborted || closed.now) return;
      const message = await claim(chat);
      if (message === null) return;
      if (!(await answer(message))) return;
    }
  });
  const closed = { now: false };
  const besides = new Set<Promise<void>>();

  /** At most for as long that a chat still goes on, slowly, however long a burst lasts. */
  async function whileBusy(): Promise<void> {
    for (let waited = 0; parts.isBusy() && !closed.now && waited < BUSY_MS; waited += BUSY_STEP_MS)
      await new Promise<void>((resolve) => void timers.after(BUSY_STEP_MS, resolve));
  }

  async function claim(chat: ChatKey): Promise<StoredMessage | null> {
    try {
      return await store.claimNext(chat, leaseUntil(owner, timers.now()));
    } catch (error) {
      parts.onTrouble(error, null);
      timers.after(AFTER_TROUBLE_MS, () => lanes.wake(chat));
      return null;
    }
  }

  /** False when this chat is to rest. */
  async function answer(message: StoredMessage): Promise<boolean> {
    const began = timers.now().getTime();
    try {
      const reply = (await instead(message)) ?? (await handle(message));
      if (stopping.signal.aborted && reply.jobs.length === 0) {
        await store.handBack(message.id, owner, { begun: false });
        return false;
      }
      if (!(await store.finish(message.id, owner, [toNewReply(message, reply)]))) return false;
      parts.bus.publish({ type: "answered", message, reply, ms: timers.now().getTime() - began });
      parts.replyWaits(message);
      return true;
    } catch (error) {
      inHand.delete(message.id);
      parts.onTrouble(error, message);
      await store.handBack(message.id, owner, { begun: true }).catch(() => {});
      timers.after(AFTER_TROUBLE_MS, () => lanes.wake(message));
      return false;
    }
  }

  async function answerBeside(arrived: Arrived): Promise<void> {
    try {
      const message = await store.claimBeside(arrived.id, leaseUntil(owner, timers.now()));
      if (message !== null && !closed.now) await answer(message);
    } catch (error) {
      parts.onTrouble(error, null);
    }
    lanes.wake(arrived);
  }

  /** What to say instead of carrying it out: twice, somewhere else, or again and again; null when it is to be done. */
  async function instead(message: StoredMessage): Promise<Reply | null> {
    const began = message.attempts > 1;
    const jobs = began ? parts.finishedJobs(message.id, await store.jobsOf(message.id)) : [];
    if (jobs.length > 0) {
      const actions = parts.actionsFor(jobs);
      const undo = actions.find(({ message: text }) => text.startsWith("/undo"))?.message ?? null;
      return { ...failed(parts.messages().interrupted(jobs, undo)), actions };
    }
    // It may have been meant for another workspace, and is carried out in none.
    if (message.workspace === "") return failed(parts.messages().noWorkspace);
    return message.attempts > MOST_ATTEMPTS ? failed(parts.messages().gaveUp(message.attempts - 1)) : null;
  }

  async function handle(message: StoredMessage): Promise<Reply> {
    const noted: Promise<void>[] = [];
    const abort = new AbortController();
    inHand.set(message.id, abort);
    const onEvent = (event: ChatEvent) => {
      if (event.type === "job-started") noted.push(note(message, event.jobId));
      parts.bus.publish({ type: "chat", message, event });
      parts.channel(message.channel)?.progress?.(message, event);
    };
    const { channel, chatId, userId, id, forcedRoute, strict } = message;
    const reply = await parts.conversation().handle(
      {
        id,
        channel,
        chatId,
        userId,
        text: textOf(message, parts.messages()),
        ...(forcedRoute !== undefined && { forcedRoute }),
        ...(strict !== undefined && { strict }),
      },
      { signal: AbortSignal.any([stopping.signal, abort.signal]), onEvent },
    );
    inHand.delete(message.id);
    for (const job of reply.jobs) noted.push(note(message, job.job_id));
    await Promise.all(noted);
    return reply;
  }

  const note = ({ channel, userId, id }: StoredMessage, jobId: string) =>
    store.noteJob({ jobId, channel, userId, messageId: id, at: timers.now().toISOString() });

  const toNewReply = (message: StoredMessage, reply: Reply): NewReply => ({
    key: parts.uuid(),
    messageId: message.id,
    channel: message.channel,
    chatId: message.chatId,
    userId: message.userId,
    content: { kind: "reply", reply },
    ...(message.replyTo !== undefined && { replyTo: message.replyTo }),
    since: message.receivedAt,
    at: timers.now().toISOString(),
    day: parts.dayOf(timers.now()),
  });

  function every(name: string, ms: number, act: () => Promise<void>): void {
    cancels.set(
      name,
      timers.after(ms, () => {
        void act()
          .catch((error) => parts.onTrouble(error, null))
          .finally(() => {
            if (!stopping.signal.aborted) every(name, ms, act);
          });
      }),
    );
  }

  const takeUp = async () => {
    for (const chat of await store.waitingChats(timers.now().toISOString())) lanes.wake(chat);
  };

  return {
    wake(message) {
      if (lanes.isRunning(message) && parts.conversation().interrupts(message)) {
        const beside = answerBeside(message).finally(() => besides.delete(beside));
        besides.add(beside);
      } else lanes.wake(message);
    },
    async start(isGone) {
      await store.releaseDead(isGone);
      await takeUp();
      every("rescue", RESCUE_MS, takeUp);
      every("renew", LEASE_MS / 4, () => store.renew(owner, leaseUntil(owner, timers.now()).leaseUntil));
    },
    async stop(graceMs) {
      closed.now = true;
      lanes.close();
      const late = timers.after(graceMs, () => stopping.abort());
      await lanes.idle();
      await Promise.allSettled(besides);
      late();
      stopping.abort();
      for (const cancel of cancels.values()) cancel();
    },
    cancel(messageId) {
      inHand.get(messageId)?.abort();
      return inHand.has(messageId);
    },
    get running() {
      return lanes.running;
    },
  };
}

/** Files that came along are read with the message; of what is no text, name and size. */
function textOf(message: StoredMessage, messages: ServeMessages): string {
  const files = (message.attachments ?? []).map(({ name, sizeBytes, text }) =>
    text === undefined ? messages.attachment(name, sizeBytes) : fenced(name, text),
  );
  return [message.text, ...files].filter((part) => part !== "").join("\n\n");
}

function fenced(name: string, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/^`{3,}/gm)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${name}:\n${fence}\n${text}\n${fence}`;
}

function failed(text: string): Reply {
  return { text, ok: false, sessionId: "", jobs: [], actions: [] };
}

/** Jobs of one message that were neither discarded nor are still running. */
export function finishedJobs(
  archive: Pick<JobArchive, "list">,
  messageId: string,
  noted: readonly string[],
): readonly string[] {
  return archive
    .list()
    .filter(({ jobId, groupId }) => groupId.endsWith(`#${messageId}`) || noted.includes(jobId))
    .filter(({ state }) => state !== "discarded" && state !== "running")
    .map(({ jobId }) => jobId);
}
