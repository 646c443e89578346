/** A page follows messages that another process answers. */
import { expect, test } from "bun:test";
import type { StandingMessage, StoredMessage } from "../../../src/application/ports/serve.ts";
import {
  createBus,
  createLiveWorks,
  type LiveWork,
  NOTHING_LIVE,
} from "../../../src/application/serve/serve-events.ts";
import { createChatWatch } from "../../../src/application/web/console-chats.ts";
import { createManualTimers, settle } from "../../fakes/timers.ts";

function open() {
  const timers = createManualTimers();
  const bus = createBus();
  const live = createLiveWorks(bus, () => 0);
  const now: { standing: StandingMessage[]; told: Map<string, LiveWork> } = {
    standing: [],
    told: new Map(),
  };
  const looks = { standing: 0, told: 0 };
  const watch = createChatWatch({
    standing: async () => {
      looks.standing += 1;
      return now.standing;
    },
    remote: async () => {
      looks.told += 1;
      return new Map(now.told);
    },
    live,
    bus,
    timers,
  });
  const heard: string[] = [];
  const page = (chatId: string) =>
    watch(
      { channel: "web", chatId },
      { changed: () => heard.push(`${chatId} changed`), worked: (id) => heard.push(`${chatId} ${id}`) },
    );
  const round = async () => {
    await settle();
    await timers.advance(2_000);
    return heard.splice(0);
  };
  const stand = (id: string, state: StandingMessage["state"], chatId = "c") => ({
    channel: "web",
    chatId,
    id,
    state,
  });
  return { now, looks, live, bus, page, round, stand };
}

test("a page hears of what another process begins, does and answers, by one look for all pages, and none when they are gone", async () => {
  const { now, looks, live, page, round, stand } = open();
  now.standing = [stand("m0", "done")];
  const pages = [...Array.from({ length: 50 }, () => page("c")), page("d")];
  expect([await round(), looks]).toEqual([[], { standing: 3, told: 0 }]);
  for (const close of pages.slice(1, 50)) close();
  now.standing = [stand("m0", "done"), stand("m1", "working")];
  now.told.set("m1", { ...NOTHING_LIVE, lines: "half of it\n" });
  expect(await round()).toEqual(["c changed", "c m1"]);
  expect(live.of("m1").lines).toBe("half of it\n");
  expect(await round()).toEqual([]);
  now.told.set("m1", { ...NOTHING_LIVE, lines: "all of it\n" });
  expect(await round()).toEqual(["c m1"]);
  // Another one waits behind it: the answered one is not the newest any more.
  now.standing = [stand("m1", "working"), stand("m2", "received")];
  expect(await round()).toEqual(["c changed"]);
  now.standing = [stand("m2", "received")];
  now.told.clear();
  expect(await round()).toEqual(["c changed"]);
  expect(live.of("m1")).toEqual(NOTHING_LIVE);
  // Came and was answered between two looks.
  now.standing = [stand("m9", "done", "d"), stand("m2", "received")];
  expect(await round()).toEqual(["d changed"]);
  for (const close of pages) close();
  await round();
  const before = looks.standing;
  await round();
  expect(looks.standing).toBe(before);
});

test("this process alone reports what it answers", async () => {
  const { now, bus, page, round, stand } = open();
  now.standing = [stand("m0", "done")];
  page("c");
  await round();
  bus.publish({ type: "begun", message: { id: "m1" } as StoredMessage });
  for (const state of ["working", "done"] as const) {
    now.standing = [stand("m1", state)];
    expect(await round()).toEqual([]);
  }
});
