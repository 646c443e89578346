import { describe, expect, test } from "bun:test";
import {
  maybeSchedule,
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

test("what only a model can read is told from what asks for no times", () => {
  for (const text of [
    "every other friday at 4pm post the notes",
    "twice a week run the tests",
    "隔週金曜の16時に報告して",
  ])
    expect([text, maybeSchedule(text)]).toEqual([text, true]);
  for (const text of ["every function should have a doc comment", "fix the cron parser", "毎日が楽しいです"])
    expect([text, maybeSchedule(text)]).toEqual([text, false]);
});

test("a rule is told by its shape", () => {
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
