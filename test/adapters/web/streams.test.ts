import { expect, test } from "bun:test";
import { createStreams, type PageInterest } from "../../../src/adapters/web/live-streams.ts";
import type { WebSession } from "../../../src/application/ports/serve.ts";
import { createBus, createLiveWorks } from "../../../src/application/serve/serve-events.ts";
import { consoleMessagesFor } from "../../../src/domain/texts/web.ts";

/** Streams over a clock that is moved by hand and jobs that count how often they are looked at. */
function open() {
  const timers = new Set<{ readonly ms: number; readonly callback: () => void }>();
  const looks = { latest: 0, version: 0 };
  const now = { latest: "a" };
  const gone = new Set<string>();
  const streams = createStreams(
    {
      bus: createBus(),
      closing: new AbortController().signal,
      mask: (text) => text,
      live: createLiveWorks(createBus(), () => 0),
      now: () => new Date(0),
      watchChat: () => () => {},
      access: {
        session: async (hash: string) => (gone.has(hash) ? null : ({ hash } as WebSession)),
      },
      viewerJobs: {
        output: async () => "",
        version: async () => {
          looks.version += 1;
          return "";
        },
        latest: async () => {
          looks.latest += 1;
          return now.latest;
        },
      },
    },
    (ms, callback) => {
      const timer = { ms, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
  );
  const t = consoleMessagesFor("en");
  const listen = (session: string, jobId?: string) => {
    const interest = jobId === undefined ? { kind: "jobs", userId: null } : { kind: "job", jobId };
    const response = streams.open({ session, interest: interest as PageInterest, t });
    if (response === null) return null;
    const heard = { text: "", done: false, reader: response.body!.getReader() };
    void (async () => {
      for (;;) {
        const { done, value } = await heard.reader.read();
        if (done) break;
        heard.text += new TextDecoder().decode(value);
      }
      heard.done = true;
    })();
    return heard;
  };
  const pass = async (ms: number) => {
    for (const timer of [...timers]) if (timer.ms === ms) timer.callback();
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
  return { streams, listen, pass, looks, now, gone, timers };
}

test("a hundred pages are one look a round, and none when they are gone", async () => {
  const { listen, pass, looks, now, timers } = open();
  const pages = Array.from({ length: 100 }, (_, n) => listen(`session${n}`));
  await pass(0);
  expect([looks.latest, timers.size]).toEqual([1, 2]);
  now.latest = "b";
  await pass(2_000);
  expect([looks.latest, pages.every((page) => page?.text.includes("event: changed"))]).toEqual([2, true]);
  for (const page of pages) await page?.reader.cancel();
  expect(timers.size).toBe(0);
});

test("a session has twelve streams at most, and others are not touched by that", () => {
  const { listen } = open();
  const mine = Array.from({ length: 14 }, (_, n) => listen("mine", `job_${n}`));
  expect(mine.filter((page) => page === null).length).toBe(2);
  expect(listen("another's")).not.toBeNull();
});

test("a page that is open many times leaves streams to the other pages of its session", async () => {
  const { listen } = open();
  const same = Array.from({ length: 14 }, () => listen("mine"));
  expect(same.filter((page) => page !== null).length).toBe(4);
  expect(listen("mine", "job_1")).not.toBeNull();
  await same[0]?.reader.cancel();
  expect(listen("mine")).not.toBeNull();
});

test("streams end with their session, however it ended", async () => {
  const { streams, listen, pass, gone } = open();
  const [left, expired, stays] = [listen("left"), listen("expired"), listen("stays")];
  streams.endSession("left");
  gone.add("expired");
  await pass(15_000);
  expect([left?.done, expired?.done, stays?.done]).toEqual([true, true, false]);
  expect(stays?.text).toContain(": beat");
});
