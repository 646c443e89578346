/** Days as a session counts them: in one time zone, each beginning at the hour and minute of the cut-over. */
export interface DayClock {
  /** `Asia/Tokyo 00:00`: what it was made of. */
  readonly name: string;
  /** `YYYYMMDD`. */
  dayOf(at: Date): string;
  /** The first moment, to the minute, that belongs to a later day than `at` does. */
  nextCut(at: Date): Date;
  /** The first moment, to the minute, of the day that `at` belongs to. */
  startOfDay(at: Date): Date;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60;
/** Longer than any step of daylight saving, shorter than any day. */
const STRIDE_MS = 180;

/**
 * Reads the wall clock and never adds hours to it: a midnight that daylight saving skips or repeats needs no care.
 * Formatters are made at the first question, as the first one in a process costs 10 ms.
 */
export function createDayClock(timeZone: string, cutover: string): DayClock {
  const [hours = 0, minutes = 0] = cutover.split(":").map(Number);
  const offset = hours * 60 + minutes;
  const made: { format?: Intl.DateTimeFormat } = {};
  const number = (at: Date): number => {
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
    const date =
      Date.UTC(parts.get("year")!, parts.get("month")! - 1, parts.get("day")!) / (DAY_MS * MINUTE_MS);
    return parts.get("hour")! * 60 + parts.get("minute")! < offset ? date - 1 : date;
  };
  return {
    name: `${timeZone} ${cutover}`,
    dayOf: (at) => new Date(number(at) * DAY_MS * MINUTE_MS).toISOString().slice(0, 10).replaceAll("-", ""),
    nextCut(at) {
      const today = number(at);
      let minute = Math.floor(at.getTime() / MINUTE_MS);
      while (number(new Date((minute + STRIDE_MS) * MINUTE_MS)) <= today) minute += STRIDE_MS;
      return new Date(firstMinute(minute, minute + STRIDE_MS, (one) => number(one) > today) * MINUTE_MS);
    },
    startOfDay(at) {
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
