/** A waiting caller gets an answer when it is stored, whichever process wrote it. */
import { expect, test } from "bun:test";
import type { Reply } from "../../../src/application/ports/chat.ts";
import type { StoredMessage } from "../../../src/application/ports/serve.ts";
import { createBus } from "../../../src/application/serve/serve-events.ts";
import { createWaitForAnswer } from "../../../src/application/web/console-chats.ts";
import { createManualTimers, settle } from "../../fakes/timers.ts";

function open() {
  const timers = createManualTimers();
  const bus = createBus();
  const store: { state: StoredMessage["state"]; away: boolean; looks: number } = {
    state: "received",
    away: false,
    looks: 0,
  };
  const wait = createWaitForAnswer({
    message: async () => {
      store.looks += 1;
      if (store.away) throw new Error("the store is away");
      return { state: store.state };
    },
    bus,
    timers,
  });
  const heard = { ended: false };
  void wait("m1", 20_000).then(() => {
    heard.ended = true;
  });
  return { timers, bus, store, heard };
}

test("an answer that another process stored is found a second later, and not looked for after that", async () => {
  const { timers, store, heard } = open();
  await timers.advance(3_000);
  expect(heard.ended).toBe(false);
  store.away = true;
  await timers.advance(3_000);
  expect(heard.ended).toBe(false);
  Object.assign(store, { state: "done", away: false });
  await timers.advance(1_000);
  expect(heard.ended).toBe(true);
  const { looks } = store;
  await timers.advance(60_000);
  expect(store.looks).toBe(looks);
});

test("an answer of this process is heard at once; one of another message is not it", async () => {
  const { timers, bus, store, heard } = open();
  await settle();
  const answered = (id: string) => {
    const message = { id } as StoredMessage;
    bus.publish({ type: "answered", message, reply: {} as Reply, ms: 1 });
  };
  answered("m2");
  await settle();
  expect(heard.ended).toBe(false);
  answered("m1");
  await settle();
  expect(heard.ended).toBe(true);
  await timers.advance(60_000);
  expect(store.looks).toBe(1);
});

test("one without an answer is waited for until the time is over", async () => {
  const { timers, heard } = open();
  await timers.advance(19_999);
  expect(heard.ended).toBe(false);
  await timers.advance(1);
  expect(heard.ended).toBe(true);
});
