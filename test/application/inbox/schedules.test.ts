import { afterAll, expect, test } from "bun:test";
import {
  type Cron,
  runSchedules,
  type Schedule,
  schedulesOf,
} from "../../../src/application/inbox/schedules.ts";
import type { InboundMessage } from "../../../src/application/ports/channel.ts";
import { DEFAULTS } from "../../../src/config/defaults.ts";
import { startSchedules } from "../../../src/infrastructure/inbox/schedules.ts";
import { createServer, type Server, signIn } from "../../adapters/web/web-kit.ts";

const schedule: Schedule = {
  name: "morning",
  cron: "0 9 * * *",
  timezone: "Asia/Tokyo",
  chat: "slack:C1:17.1",
  message: "good morning",
};

test("a schedule posts to its chat, named after itself and the time it was due", async () => {
  const received: InboundMessage[] = [];
  const due = new Date("2026-03-01T00:00:00Z");
  const cron: Cron = (_, callback) => {
    callback(due);
    callback(due);
    return () => {};
  };
  runSchedules([schedule], {
    cron,
    receive: async (message) => {
      received.push(message);
      return { status: "accepted", messageId: "msg" };
    },
    onTrouble: () => {},
  });
  expect(received).toEqual(
    Array.from({ length: 2 }, () => ({
      channel: "slack",
      eventId: "schedule:morning:2026-03-01T00:00:00.000Z",
      chatId: "C1:17.1",
      userId: "C1:17.1",
      text: "good morning",
    })),
  );
});

test("a heartbeat is off until it is switched on; what is disabled is left out; zones default to the session's", () => {
  expect(schedulesOf(DEFAULTS)).toEqual([]);
  const entry = { name: "a", cron: "* * * * *", chat: "web:x", message: "m" };
  const config = {
    ...DEFAULTS,
    schedules: [
      { ...entry, enabled: true },
      { ...entry, name: "b", enabled: false },
    ],
    heartbeat: { ...DEFAULTS.heartbeat, enabled: true },
  };
  expect(schedulesOf(config).map(({ name, timezone }) => [name, timezone])).toEqual([
    ["a", "Asia/Tokyo"],
    ["heartbeat", "Asia/Tokyo"],
  ]);
});

test("an expression that means nothing is told by name, and the others run", async () => {
  const troubles: string[] = [];
  const received = Promise.withResolvers<InboundMessage>();
  const entry = { chat: "web:x", message: "m", enabled: true };
  const stop = await startSchedules(
    schedulesOf({
      ...DEFAULTS,
      schedules: [
        { ...entry, name: "broken", cron: "99 99 * * *" },
        { ...entry, name: "every-second", cron: "* * * * * *" },
      ],
    }),
    async (message) => {
      received.resolve(message);
      return { status: "accepted", messageId: "msg" };
    },
    (_, place) => troubles.push(place ?? ""),
  );
  expect(troubles).toEqual(["schedules: broken"]);
  expect((await received.promise).eventId).toMatch(/^schedule:every-second:\d{4}-.*:\d\d\.000Z$/);
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
}, 20_000);
