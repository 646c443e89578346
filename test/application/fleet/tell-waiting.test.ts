import { expect, test } from "bun:test";
import { createWaitingNotifier, openMachine } from "../../../src/application/fleet/machine-presence.ts";
import type { NewReply } from "../../../src/application/ports/serve.ts";
import { serveMessagesFor } from "../../../src/domain/texts/serve.ts";

type MachineDeps = Parameters<typeof openMachine>[0];

/** One chat waits for an absent machine; the test moves the clock. */
function bench() {
  const chat = {
    workspace: "m:/ws",
    channel: "test",
    chatId: "chat-1",
    userId: "u",
    machineName: "far",
  };
  const clock = { at: 0 };
  const posted: NewReply[] = [];
  const teller = createWaitingNotifier({
    fleet: {
      waitingForAway: async () => [chat],
      noteAwayNotice: async () => true,
      listAwayNotices: async () => [],
      forgetAwayNotices: async () => false,
    },
    store: { post: async (reply) => void posted.push(reply) },
    reaches: () => true,
    words: () => serveMessagesFor("en"),
    uuid: () => "id",
    timers: { now: () => new Date(clock.at), after: () => () => {} },
    onTrouble: () => {},
  });
  const lookAfter = async (ms: number) => {
    clock.at += ms;
    await teller.tellAway();
    return posted.length;
  };
  return lookAfter;
}

test("a chat gets no message about an outage that its machine shared with all others", async () => {
  const lookAfter = bench();
  expect(await lookAfter(0)).toBe(1);
  expect(await lookAfter(20_000)).toBe(1);
  expect(await lookAfter(5_000)).toBe(1);
  expect(await lookAfter(5_000)).toBe(1);
  expect(await lookAfter(5_000)).toBe(2);
});

/** A machine over a store that accepts everything; a test replaces the calls it is about. */
function enterMachine(given: {
  readonly fleet: Partial<MachineDeps["fleet"]>;
  readonly after?: MachineDeps["timers"]["after"];
}) {
  return openMachine({
    fleet: {
      beat: async () => "held",
      leave: async () => {},
      waitingForAway: async () => [],
      noteAwayNotice: async () => true,
      listAwayNotices: async () => [],
      forgetAwayNotices: async () => false,
      ...given.fleet,
    },
    store: { post: async () => {} },
    busy: () => 0,
    lacking: () => [],
    newerSchema: async () => ({ added: [], breaking: [] }),
    reaches: () => true,
    words: () => serveMessagesFor("en"),
    uuid: () => "id",
    timers: { now: () => new Date(0), after: given.after ?? (() => () => {}) },
    log: () => {},
    end: () => {},
    onTrouble: () => {},
  });
}

test("a machine that leaves without draining, as after a failed start, waits for the running look and starts no other", async () => {
  const due = new Set<() => void>();
  const asked = Promise.withResolvers<void>();
  let looks = 0;
  const machine = await enterMachine({
    fleet: {
      async waitingForAway() {
        looks += 1;
        await asked.promise;
        return [];
      },
    },
    after(_, run) {
      due.add(run);
      return () => void due.delete(run);
    },
  });
  const runDue = () => {
    for (const run of [...due]) if (due.delete(run)) run();
  };
  runDue();
  let hasLeft = false;
  const left = machine.leave().then(() => {
    hasLeft = true;
  });
  await Bun.sleep(0);
  expect({ looks, hasLeft }).toEqual({ looks: 1, hasLeft: false });
  asked.resolve();
  await left;
  runDue();
  expect(looks).toBe(1);
});

test("a machine leaves after its last beat, however slow that is", async () => {
  const written: string[] = [];
  const slow = Promise.withResolvers<void>();
  const machine = await enterMachine({
    fleet: {
      async beat({ draining }) {
        if (draining) await slow.promise;
        written.push(draining ? "drains" : "works");
        return "held";
      },
      leave: async () => void written.push("left"),
    },
  });
  machine.drain();
  const left = machine.leave();
  slow.resolve();
  await left;
  expect(written).toEqual(["works", "drains", "left"]);
});
