import { succeeds } from "./error-text.ts";

/** Days as a session counts them: in one time zone, each beginning at the hour and minute of the cut-over. */
export type DayClock = ReturnType<typeof createDayClock>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60;
/** Longer than any step of daylight saving, shorter than any day. */
const STRIDE_MS = 180;

/** The time zone of this machine; `name` changes when the zone does. */
export interface MachineZone {
  readonly name: string;
}

interface WallTime {
  /** Days since 1970. */
  readonly date: number;
  readonly minutes: number;
}

/** As the machine's clock on the wall shows it. The runtime's calendar, which knows other zones too, takes 10 ms to load. */
function readMachineClock(at: Date): WallTime {
  return {
    date: Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / (DAY_MS * MINUTE_MS),
    minutes: at.getHours() * 60 + at.getMinutes(),
  };
}

/** The clock on the wall of a zone. Its formatter is made at the first question, as the first one in a process costs 10 ms. */
function clockIn(timeZone: string): (at: Date) => WallTime {
  const made: { format?: Intl.DateTimeFormat } = {};
  return (at) => {
    made.format ??= new Intl.DateTimeFormat("en-u-ca-gregory-nu-latn", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
    const parts = new Map(made.format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
    return {
      date: Date.UTC(parts.get("year")!, parts.get("month")! - 1, parts.get("day")!) / (DAY_MS * MINUTE_MS),
      minutes: parts.get("hour")! * 60 + parts.get("minute")!,
    };
  };
}

/** Reads the wall clock and never adds hours to it: a midnight that daylight saving skips or repeats needs no care. */
export function createDayClock(zone: string | MachineZone, cutover: string) {
  const [hours = 0, minutes = 0] = cutover.split(":").map(Number);
  const offset = hours * 60 + minutes;
  const read = typeof zone === "string" ? clockIn(zone) : readMachineClock;
  const number = (at: Date): number => {
    const wall = read(at);
    return wall.minutes < offset ? wall.date - 1 : wall.date;
  };
  return {
    /** `Asia/Tokyo 00:00`: what it was made of. */
    name: `${typeof zone === "string" ? zone : zone.name} ${cutover}`,
    /** `YYYYMMDD`. */
    dayOf: (at: Date) =>
      new Date(number(at) * DAY_MS * MINUTE_MS).toISOString().slice(0, 10).replaceAll("-", ""),
    /** The first moment, to the minute, that belongs to a later day than `at` does. */
    nextCut(at: Date): Date {
      const today = number(at);
      let minute = Math.floor(at.getTime() / MINUTE_MS);
      while (number(new Date((minute + STRIDE_MS) * MINUTE_MS)) <= today) minute += STRIDE_MS;
      return new Date(firstMinute(minute, minute + STRIDE_MS, (one) => number(one) > today) * MINUTE_MS);
    },
    /** The first moment, to the minute, of the day that `at` belongs to. */
    startOfDay(at: Date): Date {
      const today = number(at);
      let minute = Math.floor(at.getTime() / MINUTE_MS);
      while (number(new Date((minute - STRIDE_MS) * MINUTE_MS)) >= today) minute -= STRIDE_MS;
      return new Date(firstMinute(minute - STRIDE_MS, minute, (one) => number(one) >= today) * MINUTE_MS);
    },
  };
}

/** The first minute after `from` for which it holds, `to` being one: scanned, as clocks go back as well. */
function firstMinute(from: number, to: number, holds: (at: Date) => boolean): number {
  for (let minute = from + 1; minute < to; minute++) if (holds(new Date(minute * MINUTE_MS))) return minute;
  return to;
}

const dayFormats = new Map<string, Intl.DateTimeFormat>();
const MOST_ZONES = 16;

/** `2026-03-01`, in a time zone; null is the machine's. Formats are kept: making one takes a hundred times as long as using it. */
export function formatDayIn(timeZone: string | null, at: Date): string {
  if (timeZone === null)
    return new Date(readMachineClock(at).date * DAY_MS * MINUTE_MS).toISOString().slice(0, 10);
  const format = dayFormats.get(timeZone) ?? new Intl.DateTimeFormat("sv", { timeZone });
  if (dayFormats.size >= MOST_ZONES) dayFormats.clear();
  dayFormats.set(timeZone, format);
  return format.format(at);
}

/** The same for many moments: to make the format is what takes the time. */
export function dayFormatter(timeZone: string): (iso: string) => string {
  const days = new Intl.DateTimeFormat("sv", { timeZone });
  return (iso) => days.format(Date.parse(iso) || 0);
}

export function isTimeZone(name: string): boolean {
  return succeeds(() => new Intl.DateTimeFormat("en", { timeZone: name }));
}

/** The zone in which a user's days are counted: the configuration's, else the machine's. */
export function resolveTimeZone(configured: string | null): string {
  return configured ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
