import { describe, expect, test } from "bun:test";
import {
  maybeSchedule,
  namesUnplainTimes,
  readCronShape,
  readScheduleSentence,
} from "../../../src/domain/chat/schedule-sentence.ts";

const READ: readonly (readonly [string, string, string])[] = [
  ["every weekday at 9 run the tests", "0 9 * * 1-5", "run the tests"],
  ["Every weekday at 9:30, run the tests and tell me.", "30 9 * * 1-5", "run the tests and tell me."],
  ["please every monday at 9am summarise open issues", "0 9 * * 1", "summarise open issues"],
  ["every Mon, Wed and Fri at 17:00 check the logs", "0 17 * * 1,3,5", "check the logs"],
  ["every day at noon say hi", "0 12 * * *", "say hi"],
  ["each evening at 6 post the summary", "0 18 * * *", "post the summary"],
  ["at 8:15 every day, pull main", "15 8 * * *", "pull main"],
  ["on Fridays at 4pm write the changelog", "0 16 * * 5", "write the changelog"],
  ["run the tests every weekday at 9", "0 9 * * 1-5", "run the tests"],
  ["summarize yesterday's commits daily at 8am.", "0 8 * * *", "summarize yesterday's commits"],
  ["every 15 minutes check the queue", "*/15 * * * *", "check the queue"],
  ["every hour run the linter", "0 * * * *", "run the linter"],
  ["every 2 hours: git pull", "0 */2 * * *", "git pull"],
  ["on the first of every month at 10 review the dependencies", "0 10 1 * *", "review the dependencies"],
  ["毎週月曜の9時にテストを実行して", "0 9 * * 1", "テストを実行して"],
  ["毎週月曜日９時半に未対応の issue をまとめてください", "30 9 * * 1", "未対応の issue をまとめてください"],
  ["平日の朝9時にログを確認して", "0 9 * * 1-5", "ログを確認して"],
  ["毎日午後6時に今日の変更を要約して。", "0 18 * * *", "今日の変更を要約して。"],
  ["毎週火・木曜の10:30にデプロイして", "30 10 * * 2,4", "デプロイして"],
  ["毎晩10時にバックアップをお願いします", "0 22 * * *", "バックアップをお願いします"],
  ["毎月1日の9時に依存関係を確認して", "0 9 1 * *", "依存関係を確認して"],
  ["毎朝九時に挨拶して", "0 9 * * *", "挨拶して"],
  ["30分ごとにキューを確認して", "*/30 * * * *", "キューを確認して"],
  ["1時間ごとにテストを回して", "0 * * * *", "テストを回して"],
];

const NOT_READ: readonly string[] = [
  "every day at 9 the server crashes",
  "fix the bug that happens every day at 9",
  "check why the job fails every day at 9",
  "every function should have a doc comment",
  "add a cron job that runs every weekday at 9",
  "every 7 minutes check the queue",
  "every day at 25 run the tests",
  "every morning I drink coffee",
  "毎日9時にサーバーが落ちています",
  "毎日のログを確認して",
  "毎日9時に起きる",
  "run the tests",
];

describe("a sentence that names times", () => {
  for (const [text, cron, message] of READ)
    test(text, () => expect(readScheduleSentence(text)).toEqual({ cron, message }));
  for (const text of NOT_READ) test(`not: ${text}`, () => expect(readScheduleSentence(text)).toBeNull());
});

/** Times with a zone, a second time, an exception or an end: no plain ones, and never part of the message. */
const UNPLAIN: readonly string[] = [
  "every weekday at 9 JST run x",
  "every day at 9 utc run x",
  "every day at 9 UTC+9 run x",
  "every day at 9 +09:00 run x",
  "every day at 9 (JST) run x",
  "every day at 9 Asia/Tokyo run x",
  "every day at 9am Tokyo time run x",
  "every monday at 9am in Tokyo time check logs",
  "every monday at 9am in New York check logs",
  "every day at 9 my time run x",
  "at 9 JST every day run x",
  "at 9 every day JST run x",
  "every day at 9 and 17 say hi",
  "every day at 9, 12 and 17 say hi",
  "every day at 9 or 10 say hi",
  "every day at 9 to 17 run x",
  "every day at 9-17 run x",
  "every day at 9 except sunday run x",
  "every day at 9 but not on sunday run x",
  "every day at 9 until friday run x",
  "every day at 9 from monday run x",
  "every day at 9 for 3 weeks run x",
  "every day at 9 on weekdays run x",
  "every day except sunday at 9 run x",
  "every day at 9 run x until friday",
  "every day at 9 run x except on sundays.",
  "every hour at 61 do x",
  "every 7 minutes check the queue",
  "every day at 25 run the tests",
  "every hour at 15 do x",
  "every hour between 9 and 17 do x",
  "every 2 hours from 9 do x",
  "every month on the 1st and 15th at 9 run x",
  "run the tests every weekday at 9 JST",
  "run the tests every day at 9 and 17",
  "毎日日本時間の9時にテストを実行して",
  "日本時間の毎日9時にテストを実行して",
  "毎日9時JSTにテストを実行して",
  "毎日9時(JST)にテストを実行して",
  "毎日9時と17時にテストを実行して",
  "毎日9時、17時にテストを実行して",
  "毎日9時から17時までテストを実行して",
  "毎日9時〜17時にテストを実行して",
  "日曜以外の毎日9時にテストを実行して",
  "毎日、日曜以外の9時にテストを実行して",
  "毎日9時に日曜以外はテストを実行して",
  "金曜まで毎日9時にテストを実行して",
  "毎日9時に金曜までテストを実行して",
  "毎月1日と15日の9時にテストを実行して",
  "毎時61分にテストを実行して",
  "30分ごとに9時から17時まで確認して",
];

const PLAIN_NEAR_THEM: readonly (readonly [string, string])[] = [
  ["every day at 9 cat the log", "cat the log"],
  ["every day at 9 GET /health", "GET /health"],
  ["every day at 9 in src run the tests", "in src run the tests"],
  ["every day at 9 check the response time", "check the response time"],
  ["every day at 9 wake the server", "wake the server"],
  ["every day at 9 tell me the time in Tokyo", "tell me the time in Tokyo"],
  ["every day at 9 post on Slack what is open and what is not", "post on Slack what is open and what is not"],
  ["every hour test the build", "test the build"],
  ["毎日9時に月曜から金曜までのログを要約して", "月曜から金曜までのログを要約して"],
  ["毎日9時に1と2を確認して", "1と2を確認して"],
];

describe("times that are not plain", () => {
  for (const text of UNPLAIN)
    test(text, () =>
      expect([readScheduleSentence(text), namesUnplainTimes(text), maybeSchedule(text)]).toEqual([
        null,
        true,
        true,
      ]),
    );
  for (const [text, message] of PLAIN_NEAR_THEM)
    test(`plain: ${text}`, () =>
      expect([readScheduleSentence(text)?.message, namesUnplainTimes(text)]).toEqual([message, false]));
  for (const text of [
    ...READ.map(([one]) => one),
    ...NOT_READ.filter((one) => !UNPLAIN.includes(one)),
    "every day at 9 and 17 the server crashes",
    "every function should have 3 lines",
    "9時まで待って",
  ])
    test(`none: ${text}`, () => expect(namesUnplainTimes(text)).toBe(false));
});

test("times that only a model can read are distinguished from sentences without times", () => {
  for (const text of [
    "every other friday at 4pm post the notes",
    "twice a week run the tests",
    "隔週金曜の16時に報告して",
  ])
    expect([text, maybeSchedule(text)]).toEqual([text, true]);
  for (const text of ["every function should have a doc comment", "fix the cron parser", "毎日が楽しいです"])
    expect([text, maybeSchedule(text)]).toEqual([text, false]);
});

test("a rule is recognised by its shape", () => {
  expect(readCronShape("0 9 * * 1-5")).toEqual({ kind: "days", days: [1, 2, 3, 4, 5], time: "09:00" });
  expect(readCronShape("30 18 * * *")).toEqual({ kind: "days", days: "all", time: "18:30" });
  expect(readCronShape("*/15 * * * *")).toEqual({ kind: "minutes", each: 15 });
  expect(readCronShape("* * * * *")).toEqual({ kind: "minutes", each: 1 });
  expect(readCronShape("0 */2 * * *")).toEqual({ kind: "hours", each: 2 });
  expect(readCronShape("5 * * * *")).toEqual({ kind: "hourly", minute: 5 });
  expect(readCronShape("0 9 L * *")).toEqual({ kind: "month", day: "last", time: "09:00" });
  for (const cron of ["0 9 * 1 *", "0 9-17 * * *", "0 0 9 * * *", "1-5 * * * *"])
    expect(readCronShape(cron)).toEqual({ kind: "other", cron });
});
