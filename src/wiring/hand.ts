/**
 * A process that answers the messages of a server on the same home: the program of `join`, whose store and events go over a channel to
 * the server that started it. In: the orders of the front. Out: answers in the store, events for pages. It ends with its channel.
 */
import type { FrontWord, HandEvent, HandOrders, HandWord } from "../application/ports/serve-hands.ts";
import type { StoreAnswer } from "../application/ports/store-lent.ts";
import type { Bus, ServeEvent } from "../application/serve/serve-events.ts";
import { secretVariables } from "../domain/platform/known-secrets.ts";
import { openParentChannel } from "../infrastructure/platform/process-channel.ts";
import { hideSecrets, writeAll } from "../infrastructure/platform/standard-streams.ts";
import { openLentStore } from "../infrastructure/store/lent-store.ts";
import { openServe } from "./serve.ts";
import type { HandDeps } from "./serve-state.ts";
import type { Environment } from "./services.ts";

type Steered = Parameters<HandDeps["take"]>[0];

export async function runHand(env: Environment): Promise<number> {
  hideSecrets(() => secretVariables(env));
  const asked = new Map<number, (answer: StoreAnswer) => void>();
  const ordered = Promise.withResolvers<HandOrders>();
  const stopped = Promise.withResolvers<void>();
  const held: { steered: Steered | null; reload: () => void } = { steered: null, reload: () => {} };
  const { say, close } = openParentChannel((heard) => {
    const word = heard as FrontWord;
    if (word.type === "orders") ordered.resolve(word);
    else if (word.type === "answer") {
      asked.get(word.answer.id)?.(word.answer);
      asked.delete(word.answer.id);
    } else if (word.type === "look") held.steered?.look();
    else if (word.type === "cancel") held.steered?.cancel(word.messageId);
    else if (word.type === "reload") held.reload();
    else stopped.resolve();
  });
  // A terminal signals its whole group, and the front alone decides.
  for (const name of ["SIGINT", "SIGHUP"] as const) process.on(name, () => {});
  process.on("SIGTERM", () => stopped.resolve());
  const orders = await ordered.promise;
  const { options, demo, lanes, isTraced } = orders;
  const count = { questions: 0 };
  const lent = openLentStore(
    (question) =>
      new Promise((resolve) => {
        const id = ++count.questions;
        asked.set(id, resolve);
        say({ type: "question", question: { ...question, id } });
      }),
  );
  const opened = await openServe(
    env,
    { ...options, demo },
    {
      lentStore: ({ databaseUrl }) => (databaseUrl === undefined ? lent : undefined),
      noteCall: (call) => isTraced && say({ type: "asked", call }),
      noteReplies: () => say({ type: "replies" }),
      listen: (bus) => tellEvents(bus, say),
      take: (steered) => {
        held.steered = steered;
      },
    },
  );
  if (!opened.ok) throw new Error(opened.message ?? "the configuration is not valid");
  const log = (text: string) => writeAll(2, `${text}\n`);
  const joined = await opened.join({ labels: [], concurrency: lanes, log });
  held.reload = () => void joined.reload();
  say({ type: "ready" });
  await stopped.promise;
  await joined.stop();
  await opened.close();
  close();
  return 0;
}

/** Longer texts are in the store, where the front reads them if it shows them. */
const MOST_CHARACTERS = 64 * 1024;

function tellEvents(bus: Bus, say: (word: HandWord) => void): void {
  bus.subscribe((event) => {
    const told = toHandEvent(event);
    if (told !== null) say({ type: "event", event: told });
  });
}

function toHandEvent(event: ServeEvent): HandEvent | null {
  switch (event.type) {
    case "received":
      return null;
    case "begun":
      return { type: "begun", message: event.message };
    case "left":
      return { type: "left", id: event.message.id };
    case "chat":
      return JSON.stringify(event.event).length > MOST_CHARACTERS
        ? null
        : { type: "chat", id: event.message.id, event: event.event };
    case "answered": {
      const { message, reply, ms } = event;
      const { said: _, ...brief } = { ...reply, text: reply.text.slice(0, MOST_CHARACTERS) };
      return { type: "answered", id: message.id, reply: brief, ms };
    }
    case "delivered":
      return event.messageId === undefined
        ? null
        : { type: "delivered", channel: event.channel, messageId: event.messageId };
    case "job":
      return event;
  }
}
