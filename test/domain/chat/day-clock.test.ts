import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { chatKeyOf } from "../../../src/application/ports/chat.ts";
import { sessionIdOf } from "../../../src/domain/chat/session.ts";
import { createDayClock, formatDayIn } from "../../../src/domain/platform/days.ts";
import { runs } from "../../require.ts";

describe("a day", () => {
  test.each([
    ["Asia/Tokyo", "00:00", "2026-03-01T14:59:59.999Z", "20260301", "2026-03-01T15:00:00.000Z"],
    ["Asia/Tokyo", "00:00", "2026-03-01T15:00:00.000Z", "20260302", "2026-03-02T15:00:00.000Z"],
    ["Asia/Tokyo", "04:00", "2026-03-01T18:59:00.000Z", "20260301", "2026-03-01T19:00:00.000Z"],
    ["UTC", "00:00", "2024-02-28T23:59:00.000Z", "20240228", "2024-02-29T00:00:00.000Z"],
    // Clocks go forward at midnight: there is no 00:00 that day.
    ["Africa/Cairo", "00:00", "2026-04-23T21:30:00.000Z", "20260423", "2026-04-23T22:00:00.000Z"],
    ["Asia/Beirut", "00:00", "2026-03-28T21:30:00.000Z", "20260328", "2026-03-28T22:00:00.000Z"],
    // Clocks go back at midnight: 23:00 comes twice, and the first midnight counts.
    ["Africa/Cairo", "00:00", "2026-10-29T20:30:00.000Z", "20261029", "2026-10-29T22:00:00.000Z"],
    // 01:30 comes twice; the first of them ends the day.
    ["America/New_York", "01:30", "2026-11-01T05:29:00.000Z", "20261031", "2026-11-01T05:30:00.000Z"],
    // 02:30 does not come at all.
    ["America/New_York", "02:30", "2026-03-08T06:59:00.000Z", "20260307", "2026-03-08T07:00:00.000Z"],
    // A whole day that Samoa left out.
    ["Pacific/Apia", "00:00", "2011-12-30T09:00:00.000Z", "20111229", "2011-12-30T10:00:00.000Z"],
    ["Asia/Kathmandu", "00:00", "2026-01-01T18:14:00.000Z", "20260101", "2026-01-01T18:15:00.000Z"],
  ])("in %s with cut-over %s: %s is %s, until %s", (zone, cutover, at, day, next) => {
    const clock = createDayClock(zone, cutover);
    expect(clock.dayOf(new Date(at))).toBe(day);
    expect(clock.nextCut(new Date(at)).toISOString()).toBe(next);
  });

  const ZONES = [
    "Asia/Tokyo",
    "UTC",
    "America/New_York",
    "America/St_Johns",
    "Africa/Cairo",
    "Asia/Beirut",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Kiritimati",
    "Asia/Kathmandu",
    "Europe/London",
    "America/Sao_Paulo",
    "Antarctica/Troll",
  ];
  const cutovers = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }));
  const pad = (n: number) => String(n).padStart(2, "0");

  test("ends at its cut and not before, and begins where the one before ended, in every zone", () => {
    const moments = fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2040, 0, 1) });
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), cutovers, moments, (zone, [hour, minute], moment) => {
        const clock = createDayClock(zone, `${pad(hour)}:${pad(minute)}`);
        const at = new Date(moment);
        const cut = clock.nextCut(at);
        expect(cut.getTime()).toBeGreaterThan(moment);
        expect(cut.getTime() - moment).toBeLessThanOrEqual(26 * 3_600_000);
        expect(clock.dayOf(cut) > clock.dayOf(at)).toBe(true);
        expect(clock.dayOf(new Date(cut.getTime() - 60_000)) <= clock.dayOf(at)).toBe(true);
        const start = clock.startOfDay(at);
        expect(start.getTime()).toBeLessThanOrEqual(moment);
        expect(clock.dayOf(start) >= clock.dayOf(at)).toBe(true);
        expect(clock.dayOf(new Date(start.getTime() - 60_000)) < clock.dayOf(at)).toBe(true);
      }),
      { numRuns: runs(150) },
    );
  });

  test("of the machine's zone is that of the zone with this name, whichever it is", () => {
    const moments = fc.integer({ min: Date.UTC(2010, 0, 1), max: Date.UTC(2040, 0, 1) });
    const before = process.env.TZ;
    try {
      fc.assert(
        fc.property(fc.constantFrom(...ZONES), cutovers, moments, (zone, [hour, minute], moment) => {
          process.env.TZ = zone;
          const cutover = `${pad(hour)}:${pad(minute)}`;
          const [own, named] = [
            createDayClock({ name: "localtime 1a" }, cutover),
            createDayClock(zone, cutover),
          ];
          expect([own.name, named.name]).toEqual([`localtime 1a ${cutover}`, `${zone} ${cutover}`]);
          const at = new Date(moment);
          expect(own.dayOf(at)).toBe(named.dayOf(at));
          expect(formatDayIn(null, at)).toBe(formatDayIn(zone, at));
        }),
        { numRuns: runs(100) },
      );
    } finally {
      process.env.TZ = before ?? "UTC";
    }
  });
});

test("keys and ids have their fixed form", () => {
  expect(chatKeyOf("line", "U123456")).toBe("line:U123456");
  expect(sessionIdOf("20260301", "line", "U123456")).toBe("20260301-line-U123456");
  expect(sessionIdOf("20260301", "line", "U123456", 2)).toBe("20260301-line-U123456.2");
});
