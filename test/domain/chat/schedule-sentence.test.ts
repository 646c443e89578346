import { describe, expect, test } from "bun:test";
import { maySchedule, readCronShape, readScheduleForm } from "../../../src/domain/chat/schedule-sentence.ts";

const READ: readonly (readonly [string, string, string])[] = [
  ["every weekday at 9: run the tests", "0 9 * * 1-5", "run the tests"],
  ["Every weekday at 9:30: run the tests and tell me.", "30 9 * * 1-5", "run the tests and tell me."],
  ["monday 9am: summarise open issues", "0 9 * * 1", "summarise open issues"],
  ["every Mon, Wed and Fri at 17:00: check the logs", "0 17 * * 1,3,5", "check the logs"],
  ["mon,fri 17:30: check the logs", "30 17 * * 1,5", "check the logs"],
  ["on Fridays at 4:15 pm: write the changelog: all of it", "15 16 * * 5", "write the changelog: all of it"],
  ["daily 9:00: say hi", "0 9 * * *", "say hi"],
  ["weekends at 12am: back up", "0 0 * * 0,6", "back up"],
  ["every 15 minutes: check the queue", "*/15 * * * *", "check the queue"],
  ["every 30m: check the queue", "*/30 * * * *", "check the queue"],
  ["every hour: run the linter", "0 */1 * * *", "run the linter"],
  ["every 2 hours: git pull", "0 */2 * * *", "git pull"],
  ["0 9 1 * * review the dependencies", "0 9 1 * *", "review the dependencies"],
  ["0 9 * * mon-fri: run the tests", "0 9 * * mon-fri", "run the tests"],
  ["毎週月曜の9時：テストを実行して", "0 9 * * 1", "テストを実行して"],
  ["毎週火・木曜の１０:30: デプロイして", "30 10 * * 2,4", "デプロイして"],
  ["平日9時半: ログを確認して", "30 9 * * 1-5", "ログを確認して"],
  ["毎日午後6時: 今日の変更を要約して。", "0 18 * * *", "今日の変更を要約して。"],
  ["30分ごと: キューを確認して", "*/30 * * * *", "キューを確認して"],
  ["1時間ごとに：テストを回して", "0 */1 * * *", "テストを回して"],
];

/** Times with a zone, a second time, an exception or an end are none of the form's, and neither is a task without its colon. */
const NOT_READ: readonly string[] = [
  "every weekday at 9 run the tests",
  "every weekday at 9 JST: run x",
  "every day at 9 and 17: say hi",
  "every day at 9-17: run x",
  "every day at 9 until friday: run x",
  "every 7 minutes: check the queue",
  "every day at 25: run the tests",
  "毎日日本時間の9時: テストを実行して",
  "毎日9時と17時: テストを実行して",
  "run the tests: every weekday at 9",
  "run the tests",
];

describe("the times of /schedule", () => {
  for (const [text, cron, message] of READ)
    test(text, () => expect(readScheduleForm(text)).toEqual({ cron, message }));
  for (const text of NOT_READ) test(`not: ${text}`, () => expect(readScheduleForm(text)).toBeNull());
});

test("times that only a model can read are distinguished from sentences without times", () => {
  for (const text of [
    "every weekday at 9 run the tests",
    "please every monday at 9am summarise open issues",
    "at 8:15 every day, pull main",
    "on Fridays at 4pm write the changelog",
    "run the tests every weekday at 9",
    "summarize yesterday's commits daily at 8am.",
    "on the first of every month at 10 review the dependencies",
    "every other friday at 4pm post the notes",
    "twice a week run the tests",
    "every day at 9 until friday run x",
    "毎週月曜の9時にテストを実行して",
    "平日の朝9時にログを確認して",
    "毎朝九時に挨拶して",
    "30分ごとにキューを確認して",
    "日曜以外の毎日9時にテストを実行して",
    "毎日日本時間の9時にテストを実行して",
    "隔週金曜の16時に報告して",
    "every day in the morning send me the open issues",
    "check the queue every 15 minutes",
    "毎週レポートを送って",
    "毎月1日に請求書を作って",
    "毎時0分に確認して",
    "check every day whether there are new issues",
    "tell me every morning what changed",
    "every first of the month send the invoices",
    "週に3回テストを実行して",
  ])
    expect([text, maySchedule(text)]).toEqual([text, true]);
  for (const text of [
    "every function should have a doc comment",
    "every function should have 3 lines",
    "fix the cron parser",
    "fix the bug that happens every day at 9",
    "add a cron job that runs every weekday at 9",
    "make it run every 5 minutes instead",
    "run the tests",
    "毎日が楽しいです",
    "毎日のログを確認して",
    "9時まで待って",
    "Each test takes 2 minutes, make them faster",
    "each day in the calendar shows the wrong hour",
    "every hour is shown twice in the table",
    "update the weekly report page",
    "show monthly totals in the table",
    "show the totals for each month and year",
    "update the daily backup script so that it keeps a week",
    "check each day in the calendar component for overflow",
    "毎回ビルドに5分かかるので速くして",
    "毎日の集計を3列で表示して",
    "1日に5件までの制限を追加して",
    "第3章の9行目を直して",
    "1分ごとの平均を計算する関数を書いて",
    "every day of the month should be a link",
  ])
    expect([text, maySchedule(text)]).toEqual([text, false]);
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
