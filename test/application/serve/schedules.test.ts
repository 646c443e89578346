import { afterAll, afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { NewMessage, Schedule, ScheduleStore } from "../../../src/application/ports/serve.ts";
import { configuredSchedules, runSchedules } from "../../../src/application/serve/timed-rounds.ts";
import { DEFAULTS } from "../../../src/config/config.ts";
import { timers } from "../../../src/infrastructure/platform/timers.ts";
import { createScheduleStore, startSchedules } from "../../../src/infrastructure/serve/schedules.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { createServer, type Server, signIn } from "../../adapters/web/web-kit.ts";
import { createManualTimers, settle } from "../../fakes/timers.ts";
import { newMessage, openMessages } from "../../infrastructure/store/open-messages.ts";

const schedule: Schedule = {
  name: "morning",
  cron: "0 9 * * *",
  timezone: "Asia/Tokyo",
  chat: "slack:C1:17.1",
  message: "good morning",
};

/** Processes on one store, with one clock; `hours` counts from midnight UTC. */
async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-schedules-"));
  const db = openSqlite(join(folder, "store.db"));
  const timers = createManualTimers("2026-03-01T00:00:00.000Z");
  const { store: messages } = await openMessages({ db, now: timers.now });
  const store = createScheduleStore({ db, workspace: "/ws", now: timers.now, messages });
  const fired: string[] = [];
  const troubles: unknown[] = [];
  const ids = { last: 0 };
  const run = (schedules: readonly Schedule[], minutes: number, through: ScheduleStore = store) =>
    runSchedules(schedules, {
      store: through,
      timesOf: () => (after) =>
        new Date((Math.floor(after.getTime() / 60_000 / minutes) + 1) * minutes * 60_000),
      newMessage: (message) => newMessage(message, `msg_${++ids.last}`, timers.now().toISOString()),
      onFired: ({ message }) => fired.push(message.eventId),
      timers,
      onTrouble: (error) => troubles.push(error),
    });
  closing.push(async () => {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  return { db, timers, messages, store, fired, troubles, run };
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

test("a schedule posts to its chat, named after itself and the time it was due, once for all processes", async () => {
  const { timers, messages, fired, run } = await setUp();
  const stops = [run([schedule], 30), run([schedule], 30), run([schedule], 30)];
  await settle();
  await timers.advance(3_600_000 + 1_000);
  expect(fired).toEqual([
    "schedule:morning:2026-03-01T00:30:00.000Z",
    "schedule:morning:2026-03-01T01:00:00.000Z",
  ]);
  const claimed = await messages.claimMessage({});
  expect(claimed?.message).toMatchObject({
    channel: "slack",
    chatId: "C1:17.1",
    userId: "C1:17.1",
    text: "good morning",
  });
  for (const stop of stops) stop();
});

test("times that passed while nothing ran are not made up for; an outage of seconds is", async () => {
  const { timers, store, fired, troubles, run } = await setUp();
  const away = { is: false };
  const through: ScheduleStore = {
    ...store,
    times: () => (away.is ? Promise.reject(new Error("away")) : store.times()),
  };
  run([schedule], 30, through)();
  await settle();
  await timers.advance(3 * 3_600_000);
  const stop = run([schedule], 30, through);
  await settle();
  expect(fired).toEqual([]);
  away.is = true;
  await timers.advance(1_800_000 + 15_000);
  away.is = false;
  await timers.advance(5_000);
  expect(fired).toEqual(["schedule:morning:2026-03-01T03:30:00.000Z"]);
  expect(troubles.length).toBeGreaterThan(0);
  stop();
});

test("a schedule whose rule was changed follows the new one", async () => {
  const { timers, fired, run } = await setUp();
  run([schedule], 600)();
  await settle();
  const stop = run([{ ...schedule, cron: "*/5 * * * *" }], 5);
  await settle();
  await timers.advance(300_000);
  expect(fired).toEqual(["schedule:morning:2026-03-01T00:05:00.000Z"]);
  stop();
});

test("a heartbeat is off until it is switched on; a disabled one is left out; zones default to the session's", () => {
  expect(configuredSchedules(DEFAULTS)).toEqual([]);
  const entry = { name: "a", cron: "* * * * *", chat: "web:x", message: "m" };
  const config = {
    ...DEFAULTS,
    schedules: [
      { ...entry, enabled: true },
      { ...entry, name: "b", enabled: false },
    ],
    heartbeat: { ...DEFAULTS.heartbeat, enabled: true },
    session: { ...DEFAULTS.session, timezone: "Asia/Tokyo" },
  };
  expect(configuredSchedules(config).map(({ name, timezone }) => [name, timezone])).toEqual([
    ["a", "Asia/Tokyo"],
    ["heartbeat", "Asia/Tokyo"],
  ]);
});

test("a schedule made in a chat is posted with its run recorded, as long as its maker may write there", async () => {
  const { db, timers, store, fired, messages } = await setUp();
  const chat = (number: number, user: string) => ({
    ...{ workspace: "/ws", number, channel: "line", chat_id: user, user_id: user, cron: "0 9 * * *" },
    ...{ timezone: "UTC", message: "hi", enabled: 1, created_at: timers.now().toISOString() },
  });
  await db
    .insertInto("chat_schedules")
    .values([chat(1, "U1"), chat(2, "U2"), { ...chat(3, "U1"), enabled: 0 }])
    .execute();
  const half = 1_800_000;
  const stop = runSchedules([], {
    store,
    timesOf: () => (after) => new Date((Math.floor(after.getTime() / half) + 1) * half),
    mayPost: async ({ user }) => user === "U1",
    newMessage: (message) => newMessage(message, `msg_${message.eventId}`, timers.now().toISOString()),
    onFired: ({ message }) => fired.push(message.eventId),
    timers,
    onTrouble: (error) => {
      throw error;
    },
  });
  await settle();
  await timers.advance(half + 1_000);
  stop();
  expect(fired).toEqual(["schedule:chat/1:2026-03-01T00:30:00.000Z"]);
  expect((await messages.claimMessage({}))?.message).toMatchObject({
    channel: "line",
    chatId: "U1",
    text: "hi",
  });
  const runs = await db.selectFrom("schedule_runs").select(["name", "asked"]).execute();
  expect(runs).toEqual([{ name: "chat/1", asked: 0 }]);
});

test("an expression without a meaning is reported by name, and the others run", async () => {
  const { store } = await setUp();
  const troubles: string[] = [];
  const fired = Promise.withResolvers<NewMessage>();
  const entry = { chat: "web:x", message: "m", enabled: true };
  const real: ScheduleStore = {
    ...store,
    times: async () => ({ ...(await store.times()), now: new Date() }),
  };
  const stop = await startSchedules(
    configuredSchedules({
      ...DEFAULTS,
      schedules: [
        { ...entry, name: "broken", cron: "99 99 * * *" },
        { ...entry, name: "every-second", cron: "* * * * * *" },
      ],
    }),
    {
      store: real,
      newMessage: (message) => newMessage(message, `msg_${crypto.randomUUID()}`, new Date().toISOString()),
      onFired: fired.resolve,
      timers,
      onTrouble: (_error: unknown, place?: string) => void troubles.push(place ?? ""),
    },
  );
  expect(troubles).toEqual(["schedules: broken"]);
  expect((await fired.promise).message.eventId).toMatch(/^schedule:every-second:\d{4}-.*:\d\d\.000Z$/);
  stop();
});

let server: Server | undefined;
afterAll(() => server?.close());

test("a running server posts a scheduled message, and its chat shows the answer", async () => {
  server = await createServer({
    config:
      'schedules:\n  - { name: tick, cron: "* * * * * *", chat: "web:operator.tick", user: operator, message: tock }\n',
  });
  const operator = await signIn(server.login);
  let page = "";
  while (!page.includes("re: tock")) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    page = await operator.text("/chat/operator.tick");
  }
  expect(page.indexOf("tock")).toBeLessThan(page.indexOf("re: tock"));
}, 300_000);
