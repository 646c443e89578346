/** A message that is to be posted at set times. */
export interface ScheduleWish {
  readonly cron: string;
  readonly message: string;
}

const DAY_NAMES: readonly string[] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const DAY_LETTERS = "日月火水木金土";
const FIELDS_AND_TASK = /^((?:[\d*,/L-]+ ){4}[\w*,/#-]+):? (\S.*)$/;
const TIMES_AND_TASK = /^([^:]{1,60}(?::\d{2}(?: ?[ap]m)?)?) ?: ?(\S.*)$/i;
const INTERVAL =
  /^(?:(?:every|each) )?(?:(\d{1,2}) ?)?(?:(m(?:in(?:ute)?s?)?|分)|h(?:ours?)?|時間)(?:ごと|おき|毎)?に?$/i;
const DAY = "(?:sun|mon|tue(?:s)?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?)(?:days?)?";
const DAYS_AND_TIME = `^(?:(?:every|each|on) )?(?<days>day|daily|weekdays?|weekends?|${DAY}(?:(?:, ?| and )${DAY})*|毎日|平日|週末|土日|毎週[${DAY_LETTERS}](?:曜日?)?(?:[・、,と][${DAY_LETTERS}](?:曜日?)?)*)(?: at)?[ の]?(?<late>午後)?(?<hour>\\d{1,2})(?:[:時](?<minute>\\d{1,2}|半)?分?)?に?(?: ?(?<half>[ap])m)?$`;

/** The forms of `/schedule` that need no model: cron's five fields, or plain times and a colon (`every weekday at 9: run the tests`). */
export function readScheduleForm(text: string): ScheduleWish | null {
  const line = text.normalize("NFKC").replace(/\s+/g, " ").trim();
  const [, fields, task = ""] = FIELDS_AND_TASK.exec(line) ?? [];
  if (fields !== undefined) return { cron: fields, message: task };
  const [, times = "", message = ""] = TIMES_AND_TASK.exec(line) ?? [];
  const cron = readInterval(times) ?? readDaysAndTime(times);
  return cron === null ? null : { cron, message };
}

function readInterval(times: string): string | null {
  const [found, count = "1", minutes] = INTERVAL.exec(times) ?? [];
  const each = Number(count);
  if (found === undefined || each < 1 || (minutes === undefined ? 24 : 60) % each !== 0) return null;
  if (minutes === undefined) return each === 24 ? "0 0 * * *" : `0 */${each} * * *`;
  return each === 60 ? "0 * * * *" : `*/${each} * * * *`;
}

function readDaysAndTime(times: string): string | null {
  const { days, late, hour, minute = "0", half } = new RegExp(DAYS_AND_TIME, "i").exec(times)?.groups ?? {};
  if (days === undefined) return null;
  const given = Number(hour);
  const isLate = late !== undefined || half?.toLowerCase() === "p";
  const at = isLate && given < 12 ? given + 12 : half?.toLowerCase() === "a" && given === 12 ? 0 : given;
  const past = minute === "半" ? 30 : Number(minute);
  return at > 23 || past > 59 ? null : `${past} ${at} * * ${readDays(days.toLowerCase())}`;
}

function readDays(days: string): string {
  if (/^(?:day|daily|毎日)$/.test(days)) return "*";
  if (/^(?:weekday|平日)/.test(days)) return "1-5";
  if (/^(?:weekend|週末|土日)/.test(days)) return "0,6";
  const named = [...days.matchAll(/\b(?:sun|mon|tue|wed|thu|fri|sat)/g)].map(([name]) =>
    DAY_NAMES.indexOf(name),
  );
  const letters = [...days.replace(/曜日?/gu, "")].map((letter) => DAY_LETTERS.indexOf(letter));
  return [...new Set([...named, ...letters])]
    .filter((day) => day >= 0)
    .sort((one, other) => one - other)
    .join(",");
}

const UNIT =
  "(?:minute|hour|day|week|month|quarter|year|morning|evening|night|weekday|weekend|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?)s?";
const EVERY = `(?<!\\b(?:for|of|in|from|by|per|with) )(?:every|each) (?:[\\w-]+ )?(?:${UNIT}|\\d+ ?[mh])\\b`;
const ADVERB = `(?:daily|hourly|nightly|weekly|monthly|weekdays|(?:once|twice) an? ${UNIT}|on \\w+days)\\b`;
const VERB =
  "(?:run|check|summari[sz]e|send|post|tell|remind|report|update|review|list|pull|fetch|deploy|build|back ?up|clean|generate|give|show|look|say|ask|sync|open|write|email|notify|ping|scan|test|rebuild|refresh)\\b";
const HALF_DAY = "the (?:morning|afternoon|evening|night)";
/** "Each day in the calendar", "every hour is …" and "the weekly report" are about the code; "every day in the morning" is a time. */
const BEGINS_WITH_TIMES = `^(?:(?:please|schedule|remind me|from now on)[,:]? )*(?:${EVERY}(?! (?:in (?!${HALF_DAY})|of|that|is|has|should|must|takes|shows)\\b)|${ADVERB}(?=[,:]| (?:at|on|\\d|${VERB}))|(?:on the [\\w ]{1,12}|every (?:first|last|\\d\\w+)) of (?:every|each|the) month\\b|at .{1,30}\\b(?:${EVERY}|${ADVERB}))`;
const ENDS_WITH_TIMES = `^(?:(?:please|can you|could you) )*${VERB}.*\\b(?:${EVERY}|${ADVERB})(?=[.!?]?$|[,:]| (?:at|on|from|until|before|after|around|by|except|starting|and|for|to|with|if|whether|what|which|in ${HALF_DAY})\\b).{0,60}$`;
const TIMES_JA =
  /^.{0,12}?(?:毎(?=[日週月年朝晩夕夜時])|隔[週日]|平日|営業日|週末|土日|第[1-5一二三四五]|\d(?:分|時間)(?:ごと|おき|間隔)).{0,20}?(?:\d{1,2}(?:時(?!間)|:\d|[日分]に)|[一二三四五六七八九十]時(?!間)|朝|晩|夕|夜|正午|曜|週(?![の間])|末)|^\d{1,2}(?:分|時間)(?:ごと|おき|毎)(?!の)|^.{0,12}?[月週日]に\d+[回度]/;

/** Routing alone: whether a message begins or ends as one that asks for set times does. A model says whether it does, and for which. */
export function maySchedule(text: string): boolean {
  const line = text.normalize("NFKC").replace(/\s+/g, " ").trim();
  return TIMES_JA.test(line) || new RegExp(`${BEGINS_WITH_TIMES}|${ENDS_WITH_TIMES}`, "i").test(line);
}

/** The times of a rule, for words about it; `other`: nothing simpler than the rule itself. */
export type CronShape =
  | { readonly kind: "days"; readonly days: "all" | readonly number[]; readonly time: string }
  | { readonly kind: "month"; readonly day: number | "last"; readonly time: string }
  | { readonly kind: "minutes" | "hours"; readonly each: number }
  | { readonly kind: "hourly"; readonly minute: number }
  | { readonly kind: "other"; readonly cron: string };

export function readCronShape(cron: string): CronShape {
  const [minute = "", hour = "", day = "", month = "", week = "", ...more] = cron.trim().split(/\s+/);
  const other = { kind: "other", cron } as const;
  if (more.length > 0 || month !== "*") return other;
  const isAlways = day === "*" && week === "*";
  const [, minutes] = /^\*(?:\/(\d+))?$/.exec(minute) ?? [null];
  if (isAlways && hour === "*" && minute.startsWith("*"))
    return minutes === null ? other : { kind: "minutes", each: Number(minutes ?? 1) };
  if (!/^\d+$/.test(minute)) return other;
  const hours = /^\*\/(\d+)$/.exec(hour)?.[1];
  if (isAlways && minute === "0" && hours !== undefined) return { kind: "hours", each: Number(hours) };
  if (isAlways && hour === "*") return { kind: "hourly", minute: Number(minute) };
  if (!/^\d+$/.test(hour)) return other;
  const time = `${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (week === "*" && day !== "*")
    return /^\d+$|^L$/.test(day) ? { kind: "month", day: day === "L" ? "last" : Number(day), time } : other;
  if (day !== "*") return other;
  if (week === "*") return { kind: "days", days: "all", time };
  const range = /^([0-6])-([0-6])$/.exec(week);
  const days =
    range === null
      ? week.split(",").map(Number)
      : Array.from({ length: Number(range[2]) - Number(range[1]) + 1 }, (_, n) => Number(range[1]) + n);
  return days.every((one) => Number.isInteger(one) && one >= 0 && one <= 6)
    ? { kind: "days", days, time }
    : other;
}
