import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Conversation, Reply } from "../../../src/application/ports/chat.ts";
import type { Channel, MessageStore } from "../../../src/application/ports/serve.ts";
import { createMessageAnswerer } from "../../../src/application/serve/answer-messages.ts";
import { chooseMessageLane, createReceiver } from "../../../src/application/serve/receive-messages.ts";
import { createReplySender } from "../../../src/application/serve/send-replies.ts";
import { createBus, type ServeEvent } from "../../../src/application/serve/serve-events.ts";
import { type CommitGuard, createWorkKeeper } from "../../../src/application/serve/take-work.ts";
import { serveMessagesFor } from "../../../src/domain/texts/serve.ts";
import { createImageStore } from "../../../src/infrastructure/chat/image-store.ts";
import { createMessageStore } from "../../../src/infrastructure/serve/message-store.ts";
import { openWorkQueue } from "../../../src/infrastructure/serve/work-queue.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { migrate } from "../../../src/infrastructure/store/schema.ts";
import { createFakeChannel } from "../../fakes/channel.ts";
import { createFakeConversation } from "../../fakes/conversation.ts";
import { createManualTimers } from "../../fakes/timers.ts";
import { makeTestFolder } from "../../left-behind.ts";

export interface ServeChoices {
  readonly file?: string;
  readonly conversation?: Conversation;
  readonly limit?: number;
  readonly owner?: string;
  readonly isGone?: (owner: string) => boolean;
  /** False: nothing is answered or sent before `start`. */
  readonly listens?: boolean;
  readonly settleEarlier?: (messageId: string, noted: readonly string[]) => Promise<readonly string[]>;
  readonly guard?: CommitGuard;
  readonly present?: (reply: Reply) => Reply;
  readonly timers?: ReturnType<typeof createManualTimers>;
  readonly fake?: ReturnType<typeof createFakeChannel>;
  /** More channels than the one. */
  readonly others?: readonly Channel[];
  /** Wraps the store for the use cases. */
  readonly around?: (store: MessageStore) => MessageStore;
}

/** Receiver, answering and sending over a real SQLite file, with a channel and a conversation that obey the test. */
export async function createServeBench(choices: ServeChoices = {}) {
  const folder = makeTestFolder("serve");
  const file = choices.file ?? join(folder, "store.db");
  const timers = choices.timers ?? createManualTimers();
  const db = openSqlite(file);
  await migrate(db, timers.now);
  const troubles: unknown[] = [];
  const owner = choices.owner ?? "host:1";
  const { queue, newWorkId } = await openWorkQueue({
    db,
    databaseUrl: undefined,
    owner,
    isGone: choices.isGone ?? (() => false),
    timers,
    onTrouble: (error) => troubles.push(error),
  });
  const plain = await createMessageStore({ db, now: timers.now, workspace: "/ws", queue, newWorkId });
  const store = choices.around?.(plain) ?? plain;
  const images = createImageStore({
    db,
    workspace: "/ws",
    now: timers.now,
    newId: () => crypto.randomUUID(),
  });
  const fake = choices.fake ?? createFakeChannel();
  const conversation = choices.conversation ?? createFakeConversation();
  const events: ServeEvent[] = [];
  const bus = createBus();
  bus.subscribe((event) => events.push(event));
  const onTrouble = (error: unknown) => troubles.push(error);
  const keeper = createWorkKeeper({
    queue,
    timers,
    onTrouble,
    ...(choices.guard !== undefined && { guard: choices.guard }),
  });
  const sending = createReplySender({
    mask: (text) => text,
    store,
    channel: (name) => [fake.channel, ...(choices.others ?? [])].find((one) => one.name === name),
    present: choices.present ?? ((reply) => reply),
    bus,
    keeper,
    timers,
    chance: () => 0.5,
    onTrouble: (error) => troubles.push(error),
  });
  const answering = createMessageAnswerer({
    store,
    conversation: () => conversation,
    images: () => images,
    locale: () => "en",
    channel: () => fake.channel,
    nameJob: (jobId) => jobId,
    mayStillWrite: async () => true,
    settleEarlier: choices.settleEarlier ?? (async (_, noted) => noted),
    actionsFor: (jobIds) => jobIds.map((id) => ({ label: "Undo", message: `/undo ${id}` })),
    bus,
    keeper,
    timers,
    uuid: () => crypto.randomUUID(),
    messages: () => serveMessagesFor("en"),
    dayOf: (at) => at.toISOString().slice(0, 10),
    limit: choices.limit ?? 10,
    isBusy: () => false,
    onTrouble: (error) => troubles.push(error),
  });
  const { receive, isBusy } = createReceiver({
    store,
    images: () => images,
    admit: async () => null,
    workspace: "/ws",
    bus,
    wayOf: (message) => chooseMessageLane(conversation, message),
    tracing: null,
    now: timers.now,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  });
  if (choices.listens !== false) {
    queue.onWork(answering.look);
    queue.onWork(sending.look);
  }
  return {
    file,
    /** Resumes the work of a dead process, then answers new messages. */
    async start() {
      await keeper.start();
      answering.look();
      sending.look();
    },
    queue,
    db,
    store,
    images,
    timers,
    fake,
    bus,
    events,
    troubles,
    answering,
    sending,
    receive,
    isBusy,
    async close() {
      await answering.stop(0);
      await sending.stop(0);
      keeper.stop();
      await queue.close();
      await db.destroy();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type ServeBench = Awaited<ReturnType<typeof createServeBench>>;
