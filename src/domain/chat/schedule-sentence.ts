/** A message that is to be posted at set times. */
export interface ScheduleWish {
  /** Five fields, as cron takes them. */
  readonly cron: string;
  readonly message: string;
}

/** Made when first asked for: most messages name no times, and making these patterns costs more than asking them. */
function onceAsked<T>(make: () => T, made: { value?: T } = {}): () => T {
  return () => (made.value ??= make());
}
const latePattern = (source: string) => onceAsked(() => new RegExp(source, "i"));

const DAY_NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
const DAY_EN = "(?:sun|mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?)(?:days?)?";
const DAYS_EN = `${DAY_EN}(?:(?:, ?(?:and )?| and | & )${DAY_EN})*`;
const TIME_EN = String.raw`(?:noon|midday|midnight|\d{1,2}(?:[:.]\d{2})?(?: ?[ap]\.?m\b\.?| o'clock)?)(?: in the (?:morning|afternoon|evening)| at night)?`;
const WHICH_EN = `day|morning|evening|night|afternoon|weekdays?|work(?:ing)? ?days?|business days?|weekends?|week on ${DAYS_EN}|${DAYS_EN}`;
const NTH_EN = String.raw`\d{1,2}(?:st|nd|rd|th)?|first|last day`;

/** The words for the times; the task is before or after them. */
const TIMES_EN = onceAsked(() => [
  new RegExp(`^(?:every|each) (?<which>${WHICH_EN})(?:,? at| @) ?(?<time>${TIME_EN})`, "i"),
  new RegExp(
    `^(?<which>daily|weekdays|weekends|(?:on )?${DAYS_EN}|on weekdays|on weekends|weekly on ${DAYS_EN})(?:,? at| @) ?(?<time>${TIME_EN})`,
    "i",
  ),
  new RegExp(`^at (?<time>${TIME_EN}),? (?:every|each|on) (?<which>${WHICH_EN})`, "i"),
  new RegExp(`^at (?<time>${TIME_EN}),? (?<which>daily)`, "i"),
  new RegExp(`^(?:every|each) month on the (?<nth>${NTH_EN})(?: at (?<time>${TIME_EN}))?`, "i"),
  new RegExp(`^on the (?<nth>${NTH_EN}) of (?:every|each|the) month(?: at (?<time>${TIME_EN}))?`, "i"),
  new RegExp(`^monthly on the (?<nth>${NTH_EN})(?: at (?<time>${TIME_EN}))?`, "i"),
  /^(?:every|each) (?:(?<count>\d{1,2}) )?(?<unit>min(?:ute)?s?|hours?)\b/i,
  /^(?<unit>hourly)\b/i,
]);

/** How each of those sentences begins: to look for a word costs less than to compile nine patterns. */
const BEGINNINGS_EN = ["every", "each", "daily", "hourly", "week", "on ", "at ", ...DAY_NAMES];

const TIME_JA = String.raw`(?:(?:午前|午後|朝|昼|夕方|夜|am|pm)の?)?(?:\d{1,2}(?:時(?:半|\d{1,2}分)?|:\d{2}))|正午`;
const DAYS_JA = "[月火水木金土日](?:曜日?)?(?:(?:と|、|・|,)?[月火水木金土日](?:曜日?)?)*";

const TIMES_JA = onceAsked(() => [
  new RegExp(
    `^(?<which>毎日|毎朝|毎晩|毎夕|毎夜|平日(?:毎日)?|毎平日|毎?営業日|土日|毎週末|週末|毎週(?:${DAYS_JA})|毎(?:${DAYS_JA}))(?:は|の|、)?(?<time>${TIME_JA})`,
    "i",
  ),
  new RegExp(`^毎月(?<nth>[0-9]{1,2}日|月末|末日)(?:の|、)?(?<time>${TIME_JA})?`, "i"),
  /^(?<count>\d{1,2})(?<unit>分|時間)(?:ごと|毎|おき|間隔)/,
  /^(?<unit>毎時)(?:(?<count>\d{1,2})分)?/,
]);

/** A sentence that begins so tells of something and asks for nothing. */
const TELLS_EN =
  /^(?:the|an?|my|our|your|it|its|there|this|that|these|those|i|i'm|we|you|they|he|she|users?|people|some|something|someone|all|nothing|is|are|was|were|has|have)\b/i;
/** The words that may come before the times. */
const ASKS_EN =
  /^(?:run|check|summari[sz]e|send|post|tell|remind|report|update|review|list|pull|fetch|deploy|build|back ?up|clean|generate|give|show|look|say|ask|sync|open|write|email|notify|ping|scan|test|rebuild|refresh)\b/i;
const TELLS_INSIDE_EN =
  /\b(?:that|which|who|when|why|where|if|because|bugs?|errors?|fails?|failing|crash\w*|happens?|breaks?|cron|scheduler)\b/i;
const ASKS_JA =
  /(?:[てで](?:ください|下さい|ほしい(?:です)?|欲しい(?:です)?|もらえ(?:ます|る)?か?|くれ(?:ます|る)?か?|おいて|ね|よ)*|お願い(?:します|ね)?|(?:実行|確認|報告|通知|要約|送信|チェック|レビュー|デプロイ|更新|作成|整理|投稿|集計|バックアップ)(?:する(?:こと)?)?)$/u;
const TELLS_JA = /(?:困って|しまって|[てで](?:い)?(?:る|ます)|落ちて|止まって|壊れて)$/u;

/** Looked for at its first mark alone: a search from each mark of a long row costs the square of the row. */
const END_MARKS = /(?<![。.!?！？])[。.!?！？]+$/u;

const TELLS_TIMED_EN =
  /\b(?:crash(?:es|ed)|fail(?:s|ed)|breaks|broke|happen(?:s|ed)|is|are|was|were|gets)\b/i;

const ZONE_EN = String.raw`(?:utc|gmt|[ckjmpn]st|[cmp]dt|e[sd]t|hst|cest|cet|eest|eet|bst|sgt|hkt|a[ecw][sd]t|nz[sd]t|msk)\b|[+-]\d`;
/** Letters that are words, too, where they are not capitals. */
const ZONE_CAPITALS =
  /^(?:[ECMP]T|AST|ADT|AKST|AKDT|IST|ICT|ART|BRT|CLT|COT|PET|CAT|EAT|WAT|SAST|GST|PKT|NPT|PHT|TRT|WET|WEST|WIB|Z)\b/;
const AREA_EN =
  "(?:africa|america|antarctica|asia|atlantic|australia|europe|indian|pacific|etc)/[a-z_/+-]+\\d*";
const PLACES_EN =
  "local|my|our|your|server|eastern|central|pacific|mountain|japan(?:ese)?|china|korea|india|germany|france|uk|us|osaka|kyoto|beijing|san francisco|seattle|boston|washington|mumbai|delhi|munich|geneva|barcelona";
const WHEN_EN = `${DAY_EN}|weekdays?|weekends?|holidays?|tomorrow|(?:next|the end of)\\b|(?:january|february|march|april|may|june|july|august|september|october|november|december)\\b|\\d`;

/** Words behind the times that say more about them: a zone, a second time, an exception, an end. */
const MORE_EN = onceAsked(() => [
  // A letter or a digit without a space is of the time itself: `9h30`, `100`.
  /^[\w/:.]*\d|^[a-z]/i,
  new RegExp(
    `^[ ,;:(–-]*(?:${ZONE_EN}|${AREA_EN}|in (?:the )?(?:${ZONE_EN}|${AREA_EN}|[\\w/ ]{1,40} (?:time|zone)\\b))`,
    "i",
  ),
  new RegExp(
    `^[ ,;(]*(?:in |at |the )*(?:${PLACES_EN})(?: standard| daylight| summer)? (?:time|zone)\\b`,
    "i",
  ),
  /^[ ,;:(–-]*(?:and|or|to|till?|until|through|thru|except|excluding|but|from|between|unless|starting|beginning|only|not on|other than|apart from)\b/i,
  /^[ ,;:(&/~–-]*[#+-]?\d|^[ ,]*[&~]/,
  new RegExp(
    `^[ ,]*(?:on|at|past) (?:the )?(?:minute|half|quarter|hour|odd|even|noon|midnight|${WHEN_EN})`,
    "i",
  ),
  /^[ ,]*for (?:the next |another )?(?:\d+|an?|one|two|three|four|five|six|seven|ten) (?:minute|hour|day|week|month|year|time)s?\b/i,
  new RegExp(
    `\\b(?:until|till|except|excluding|but not)(?: on| for)? (?:the )?(?:${WHEN_EN})[^ ]*(?: \\w+)?$`,
    "i",
  ),
]);
/** Between the days and the time. */
const LIMITED_DAYS_EN = latePattern(
  `^(?:every|each) (?:${WHICH_EN}),? (?:except|excluding|but|from|until|till|between|and|or|to)\\b.*\\d`,
);

function saysMoreEnglish(rest: string): boolean {
  const bare = rest.replace(END_MARKS, "");
  if (MORE_EN().some((more) => more.test(bare))) return true;
  const place = bare.replace(/^[ ,;(]+/, "");
  if (ZONE_CAPITALS.test(place)) return true;
  const [, isIn, name = ""] = /^(in )?(\p{Lu}\p{L}{1,30}(?: \p{Lu}\p{L}{1,30}){0,3})/u.exec(place) ?? [];
  if (name === "") return false;
  const [first = ""] = name.split(" ");
  const isCity = (one: string) =>
    new RegExp(`^(?:${PLACES_EN})$`, "i").test(one) ||
    Intl.supportedValuesOf("timeZone").some((zone) => zone.endsWith(`/${one.replaceAll(" ", "_")}`));
  // "Wake" and "Center" are places of the zones' list and words as well.
  return isCity(name) || (isCity(first) && (isIn !== undefined || !/^(?:Wake|Center)$/.test(first)));
}

const COURTESY_EN =
  /^(?:(?:please|pls|can you|could you|would you|from now on|schedule:?|remind me:?|set up a schedule:?)[,:]? +)+/i;

/** The times and the message of a plain sentence, in English or Japanese; null for any other. */
export function readScheduleSentence(text: string): ScheduleWish | null {
  const read = readTimes(text);
  return read === "unplain" ? null : read;
}

/**
 * Whether a sentence asks for times, and for more than the plain patterns can say: a zone, a second time, an exception, an
 * end, a number that no clock has. It must not be taken without them.
 */
export function namesUnplainTimes(text: string): boolean {
  return text.length <= LONGEST && readTimes(text) === "unplain";
}

const LONGEST = 1000;

type ReadTimes = ScheduleWish | "unplain" | null;

function readTimes(text: string): ReadTimes {
  const line = text.normalize("NFKC").replace(/\s+/g, " ").trim();
  return readEnglish(line.replace(COURTESY_EN, "")) ?? readJapanese(line);
}

function readEnglish(line: string): ReadTimes {
  const small = line.toLowerCase();
  if (!BEGINNINGS_EN.some((word) => small.startsWith(word))) return readEnglishBehind(line);
  for (const pattern of TIMES_EN()) {
    const found = pattern.exec(line);
    if (found === null) continue;
    const cron = toCron(found.groups ?? {});
    const rest = line.slice(found[0].length);
    const message = rest.replace(/^(?:[,:;–-]| then| please)+ */i, "").trim();
    if (message.length < 2) return null;
    if (saysMoreEnglish(rest)) return TELLS_TIMED_EN.test(message) ? null : "unplain";
    if (TELLS_EN.test(message)) return null;
    return cron === null ? "unplain" : { cron, message };
  }
  if (isLimitedEnglish(line)) return "unplain";
  return readEnglishBehind(line);
}

/** "every day except sunday at 9 …", "at 9 JST every day …". */
function isLimitedEnglish(line: string): boolean {
  if (TELLS_TIMED_EN.test(line)) return false;
  if (LIMITED_DAYS_EN().test(line)) return true;
  const [time = ""] = new RegExp(`^at ${TIME_EN}(?=.* (?:every|each|daily)\\b)`, "i").exec(line) ?? [];
  return time !== "" && saysMoreEnglish(line.slice(time.length));
}

/** "run the tests every weekday at 9". */
function readEnglishBehind(line: string): ReadTimes {
  if (line.length > LONGEST || !ASKS_EN.test(line)) return null;
  const bare = line.replace(END_MARKS, "");
  for (const { index } of bare.matchAll(
    / (?=(?:every|each|daily|weekdays|on|at|hourly|monthly|weekly)\b)/gi,
  )) {
    const tail = bare.slice(index + 1);
    const message = bare.slice(0, index).replace(/,$/, "").trim();
    for (const pattern of TIMES_EN()) {
      const found = pattern.exec(tail);
      if (found === null) continue;
      const rest = tail.slice(found[0].length);
      if (rest !== "" && !saysMoreEnglish(rest)) continue;
      if (TELLS_INSIDE_EN.test(message) || message.length < 2) return null;
      const cron = rest === "" ? toCron(found.groups ?? {}) : null;
      return cron === null ? "unplain" : { cron, message };
    }
  }
  return null;
}

const JAPANESE = /[぀-ヿ一-鿿]/;
const WHEN_JA = `(?:祝日?|休日|平日|週末|土日|[月火水木金土日]曜日?(?:(?:と|、|・)[月火水木金土日]曜日?)*|今週|来週|今月|来月|今年|年末|月末|\\d{1,2}[日月時])(?:中|いっぱい)?`;
const ZONE_JA = String.raw`(?:[一-鿿ァ-ヶー]{2,8}|現地)(?:標準)?時間|(?:utc|gmt|jst|kst|[ceamp][sd]t|cest|cet|bst)(?![a-z])|(?<=[時分\d])[+-]\d`;
/** Directly behind the time: another one, a span, a zone; or, behind に, an exception or an end. */
const MORE_JA = latePattern(
  `^[ (]*(?:${ZONE_JA})|^ ?(?:から|まで|より|以降|~|〜|-|–)|^ ?(?:と|や|か|、|・|,|&|または|もしくは|および|及び|及|and|or)+ ?(?:午前|午後|朝|夜|夕方)?(?:\\d|正午)|^(?:に|は|、| )*(?:午前|午後)?\\d{1,2}(?:時半?|:\\d{2})(?:から|~|〜|-)|^(?:に|は|、| )*(?:${WHEN_JA})(?:以外|を除|はのぞ|をのぞ|まで(?!の))`,
);
const LIMITED_JA = latePattern(`(?:${WHEN_JA})(?:以外|を除|をのぞ|まで|から)|${ZONE_JA}`);
const BEGINS_JA = latePattern(
  `^(?:毎|平日|営業日|週末|土日|(?:${WHEN_JA})(?:以外|を除|をのぞ|まで|から)|${ZONE_JA})`,
);

function readJapanese(line: string): ReadTimes {
  if (!JAPANESE.test(line)) return null;
  const spelt = withDigits(line);
  for (const pattern of TIMES_JA()) {
    const found = pattern.exec(spelt);
    if (found === null) continue;
    const cron = toCron(found.groups ?? {});
    const rest = spelt.slice(found[0].length);
    const message = rest.replace(/^(?:に(?:は)?|は|、|,|ちょうど|ごろ|頃| )+/u, "").trim();
    if (!asksJapanese(message)) return null;
    return cron === null || MORE_JA().test(rest) ? "unplain" : { cron, message };
  }
  const [, before = ""] =
    /^(.{1,60}?)(?:\d{1,2}(?:時|:\d{2})|正午|\d{1,2}分(?:ごと|毎|おき))/.exec(spelt) ?? [];
  const isLimited =
    BEGINS_JA().test(spelt) && /毎|平日|営業日|週末|土日/.test(before) && LIMITED_JA().test(before);
  return isLimited && asksJapanese(spelt) ? "unplain" : null;
}

function asksJapanese(message: string): boolean {
  const bare = message.replace(END_MARKS, "");
  return bare.length >= 2 && !TELLS_JA.test(bare) && ASKS_JA.test(bare);
}

/** 九時, 十二時, 二十三時 in digits, at the beginning alone. */
function withDigits(line: string): string {
  const digit = (text: string) => "〇一二三四五六七八九".indexOf(text);
  return line.replace(
    /(?<![一二三四五六七八九十百])[一二三四五六七八九十]{1,3}(?=時|分|日の)/gu,
    (number) => {
      const [tens = "", ones = ""] = number.includes("十") ? number.split("十") : ["0", number];
      const high = !number.includes("十") ? 0 : tens === "" ? 1 : digit(tens);
      return String(high * 10 + (ones === "" ? 0 : digit(ones)));
    },
  );
}

function toCron({ which, time, nth, count, unit }: Partial<Record<string, string>>): string | null {
  if (unit !== undefined) return toInterval(unit, count);
  const at = time === undefined ? { hour: 9, minute: 0 } : readTime(time, which ?? "");
  if (at === null) return null;
  if (nth !== undefined) {
    const day = /first/i.test(nth) ? "1" : /last|末/i.test(nth) ? "L" : String(Number.parseInt(nth, 10));
    return day !== "L" && !(Number(day) >= 1 && Number(day) <= 31)
      ? null
      : `${at.minute} ${at.hour} ${day} * *`;
  }
  const days = readDays(which ?? "");
  return days === null ? null : `${at.minute} ${at.hour} * * ${days}`;
}

function toInterval(unit: string, count: string | undefined): string | null {
  if (unit === "毎時") return Number(count ?? 0) > 59 ? null : `${Number(count ?? 0)} * * * *`;
  const each = Number(count ?? 1);
  if (/^(?:hour|時)/i.test(unit)) {
    if (each < 1 || 24 % each !== 0) return null;
    return each === 1 ? "0 * * * *" : each === 24 ? "0 0 * * *" : `0 */${each} * * *`;
  }
  if (each < 1 || 60 % each !== 0) return null;
  return each === 60 ? "0 * * * *" : each === 1 ? "* * * * *" : `*/${each} * * * *`;
}

function readTime(text: string, which: string): { readonly hour: number; readonly minute: number } | null {
  if (/noon|midday|正午/i.test(text)) return { hour: 12, minute: 0 };
  if (/midnight/i.test(text)) return { hour: 0, minute: 0 };
  const [, hours = "", minutes] = /(\d{1,2})(?:[:.](\d{2})|時(\d{1,2})分)?/.exec(text) ?? [];
  const minute = text.includes("半") ? 30 : Number(minutes ?? /時(\d{1,2})分/.exec(text)?.[1] ?? 0);
  const isLate =
    /p\.?m|午後|afternoon|evening|night|夕|夜|晩/i.test(text) ||
    /evening|night|afternoon|晩|夕|夜/i.test(which);
  const isEarly = /a\.?m|午前/i.test(text);
  const given = Number(hours);
  const hour = isLate && given < 12 ? given + 12 : isEarly && given === 12 ? 0 : given;
  return hours === "" || hour > 23 || minute > 59 ? null : { hour, minute };
}

function readDays(which: string): string | null {
  const text = which.toLowerCase();
  if (/^(?:毎日|毎朝|毎晩|毎夕|毎夜|day|daily|morning|evening|night|afternoon)$/.test(text)) return "*";
  if (/平日|営業日|weekday|work|business/.test(text)) return "1-5";
  if (/土日|週末|weekend/.test(text)) return "0,6";
  const japanese = [...text.replace(/^毎週?|曜日?/gu, "")].map((one) => "日月火水木金土".indexOf(one));
  const english = [...text.matchAll(/\b(sun|mon|tue|wed|thu|fri|sat)/g)].map(([, name]) =>
    DAY_NAMES.indexOf(name as (typeof DAY_NAMES)[number]),
  );
  const days = english.length > 0 ? english : japanese.filter((day) => day >= 0);
  return days.length === 0 ? null : [...new Set(days)].sort((a, b) => a - b).join(",");
}

const BEGINS_LIKE_ONE =
  /^(?:(?:please|schedule|remind me)[,:]? )?(?:every|each|once an?|twice an?|daily|weekly|monthly|hourly)\b|^(?:毎|隔週|隔日|月末|週に|月に|日に|第[1-5一二三四五])/i;
const NAMES_TIME =
  /\b(?:minutes?|hours?|days?|weeks?|months?|quarters?|years?|mornings?|evenings?|nights?|noon|midnight|weekdays?|weekends?|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{1,2}(?::\d{2})? ?[ap]m|\d{1,2}:\d{2})\b|[日週月朝晩時分曜末]/i;

/** Whether a sentence may be one that a model can read the times of, where the plain patterns do not. */
export function maybeSchedule(text: string): boolean {
  const line = text.normalize("NFKC").replace(/\s+/g, " ").trim();
  if (namesUnplainTimes(text)) return true;
  if (!BEGINS_LIKE_ONE.test(line) || !NAMES_TIME.test(line)) return false;
  return JAPANESE.test(line) ? ASKS_JA.test(line.replace(END_MARKS, "")) : true;
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
