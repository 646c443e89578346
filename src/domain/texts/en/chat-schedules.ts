import type { CronShape } from "../../chat/schedule-sentence.ts";
import { formatMoment, wordBy } from "../format-text.ts";

/** A schedule, for display. */
export interface ScheduleLine {
  /** `#3`, or the name of one of the configuration. */
  readonly name: string;
  readonly shape: CronShape;
  readonly timezone: string;
  readonly message: string;
  readonly isEnabled: boolean;
  readonly nextAt: string | null;
  /** `<channel>:<chatId>`. */
  readonly chat: string;
}

type ScheduleRunLine = Readonly<{ at: string; isAsked: boolean; outcome: keyof typeof OUTCOMES }>;

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

function ordinal(day: number): string {
  const last = day % 10;
  const isTeen = day > 10 && day < 14;
  return `${day}${isTeen ? "th" : last === 1 ? "st" : last === 2 ? "nd" : last === 3 ? "rd" : "th"}`;
}

const times = wordBy<"kind", CronShape>("kind", {
  days: ({ days, time }) => {
    if (days === "all") return `every day at ${time}`;
    if (days.join() === "1,2,3,4,5") return `every weekday at ${time}`;
    return `every ${days.map((day) => DAYS[day]).join(", ")} at ${time}`;
  },
  month: ({ day, time }) => `every month on the ${day === "last" ? "last day" : ordinal(day)} at ${time}`,
  minutes: ({ each }) => (each === 1 ? "every minute" : `every ${each} minutes`),
  hours: ({ each }) => (each === 1 ? "every hour" : `every ${each} hours`),
  hourly: ({ minute }) => (minute === 0 ? "every hour" : `every hour at minute ${minute}`),
  other: ({ cron }) => `at the times of ${cron}`,
});

const when = (at: string, timezone: string) => formatMoment(at, timezone, "en-GB", "short");

const OUTCOMES = { waits: "not answered yet", answered: "answered", failed: "failed", unknown: "" } as const;

const NOT_SERVED = "No server is running here: messages are posted while picoclaw serve runs.";

export const schedules = {
  scheduleLabels: { run: "Run now", pause: "Pause", resume: "Resume", remove: "Remove" },
  scheduleMade: (
    line: ScheduleLine,
    { isAway, isServed }: { readonly isAway: boolean; readonly isServed: boolean },
  ) =>
    [
      `Scheduled ${line.name}: ${times(line.shape)} (${line.timezone}).`,
      line.nextAt === null ? "" : `Next: ${when(line.nextAt, line.timezone)}`,
      `Message: ${line.message}`,
      isAway ? "Its answers appear in the console." : "Its answers appear in this chat.",
      isServed ? "" : NOT_SERVED,
      `/schedule run|pause|remove ${line.name.replace("#", "")}`,
    ]
      .filter((part) => part !== "")
      .join("\n"),
  scheduleList: (lines: readonly ScheduleLine[], isServed: boolean) =>
    lines.length === 0
      ? "There are no schedules. To make one: every weekday at 9 run the tests"
      : [
          ...lines.map(
            (line) =>
              `${line.name} ${times(line.shape)} (${line.timezone}), ${line.isEnabled ? (line.nextAt === null ? "never again" : `next ${when(line.nextAt, line.timezone)}`) : "paused"}: ${line.message} → ${line.chat}`,
          ),
          ...(isServed ? [] : [NOT_SERVED]),
        ].join("\n"),
  scheduleRuns: (line: ScheduleLine) => `Running ${line.name} now: ${line.message}`,
  schedulePaused: (line: ScheduleLine) =>
    `${line.name} is paused. To resume it: /schedule resume ${line.name.replace("#", "")}`,
  scheduleResumed: (line: ScheduleLine) =>
    `${line.name} is resumed: ${times(line.shape)} (${line.timezone}).${line.nextAt === null ? "" : ` Next: ${when(line.nextAt, line.timezone)}`}`,
  scheduleRemoved: (line: ScheduleLine) => `${line.name} is removed: ${line.message}`,
  scheduleHistory: (line: ScheduleLine, runs: readonly ScheduleRunLine[]) =>
    [
      `${line.name} ${times(line.shape)}: ${line.message}`,
      ...(runs.length === 0
        ? ["It has not run yet."]
        : runs.map(({ at, isAsked, outcome }) =>
            [when(at, line.timezone), isAsked ? "by hand" : "", OUTCOMES[outcome]]
              .filter((part) => part !== "")
              .join(" · "),
          )),
    ].join("\n"),
  scheduleUnknown: (name: string) => `There is no schedule ${name}. All of them: /schedule list`,
  scheduleConfigured: (name: string) =>
    `${name} is defined in the configuration: change it there, or in the console under Settings.`,
  scheduleLongRule: (most: number) =>
    `Nothing was scheduled: a cron rule has at most ${most} characters. Two times are two schedules.`,
  scheduleLongTask: (most: number) =>
    `Nothing was scheduled: a task has at most ${most} characters. Write it into a file, and schedule "do what FILE says".`,
  scheduleTooMany: "There are too many schedules. Remove one first: /schedule list",
  scheduleUnplain: (timezone: string) =>
    [
      "Nothing was scheduled: I could not fully understand these times, and might run at the wrong ones.",
      `A schedule has one time of day in ${timezone} (every day, weekdays, named days, a day of the month), or runs every N minutes or hours. Two times are two schedules; an exception or an end cannot be kept. With a colon after the times, no model has to read them.`,
      "For example: /schedule every weekday at 9: run the tests · /schedule mon,fri 17:30: check the logs · /schedule every 15 minutes: check the queue · /schedule 0 9 1 * * review the dependencies",
    ].join("\n"),
  scheduleUsage:
    "When, and what? For example: /schedule every weekday at 9: run the tests. Also: /schedule list, /schedule run|pause|resume|remove|history N",
};
