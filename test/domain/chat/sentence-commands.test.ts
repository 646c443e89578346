import { expect, test } from "bun:test";
import {
  readAsideQuestion,
  readPullWish,
  readSentenceCommand,
} from "../../../src/domain/chat/message-commands.ts";

const COMMANDS: readonly (readonly [string, string])[] = [
  ["open a pull request", "pr "],
  ["Please open a PR for this change.", "pr "],
  ["can you create a draft pull request?", "pr --draft"],
  ["commit this and open a pull request", "pr "],
  ["push it and open a PR", "pr "],
  ["make a merge request against develop", "pr --base develop"],
  ['open a pull request titled "Fix the login"', "pr Fix the login"],
  ["ok, raise a PR please", "pr "],
  ["プルリクエストを作って", "pr "],
  ["この変更でプルリクを出してください", "pr "],
  ["コミットして、PRを作成して", "pr "],
  ["ドラフトのプルリクエストを作ってください。", "pr --draft"],
  ["review PR #12", "review #12"],
  ["review pull request 12 and post it", "review #12 --post"],
  ["please review PR #7 and comment on it", "review #7 --post"],
  ["PR #12 をレビューして", "review #12"],
  ["プルリクエスト12をレビューして、投稿して", "review #12 --post"],
  ["every weekday at 9 run the tests", "schedule every weekday at 9 run the tests"],
];

const MESSAGES: readonly string[] = [
  "open the pull request template",
  "add a button to open a pull request",
  "how do I open a pull request?",
  "create a PR template for this repository",
  "fix the pull request page",
  "review src/app.ts",
  "review the login code and post it to the wiki",
  "プルリクエストの画面を直して",
  "プルリクエストを作るスクリプトを書いて",
  "commit this",
  "/pr",
];

test("a plain sentence is the command that it asks for", () => {
  for (const [text, command] of COMMANDS) {
    const read = readSentenceCommand(text);
    expect([text, read && `${read.name} ${read.rest}`]).toEqual([text, command]);
  }
});

test("what says more, or something else, is a message like any other", () => {
  for (const text of MESSAGES) expect([text, readSentenceCommand(text)]).toEqual([text, null]);
});

test("a question beside the matter says so at its beginning", () => {
  expect(readAsideQuestion("btw, what time is it?")).toBe("what time is it?");
  expect(readAsideQuestion("By the way: who is Gin")).toBe("who is Gin");
  expect(readAsideQuestion("ところで、今何時？")).toBe("今何時？");
  for (const text of ["btw", "rename btw to aside", "btwo is a name", "what about btw, then"])
    expect(readAsideQuestion(text)).toBeNull();
});

test("the words after /pr", () => {
  expect(readPullWish("")).toEqual({ title: "", base: null, isDraft: false });
  const whole = { title: "Fix it", base: "release/1.2", isDraft: true };
  expect(readPullWish('--draft --base release/1.2 "Fix it"')).toEqual(whole);
  expect(readPullWish("Fix it --base=release/1.2 --draft")).toEqual(whole);
  const quoted = { title: "Add --verbose -- at last", base: null, isDraft: true };
  expect(readPullWish('"Add --verbose -- at last" --draft')).toEqual(quoted);
  expect(readPullWish("Fix -- again")).toMatchObject({ title: "Fix -- again" });
  for (const wrong of ["--bad", "--base", "--base=", "--base --draft", "--base a --base b", "Add --verbose"])
    expect(readPullWish(wrong)).toBeNull();
  const said = readSentenceCommand("open a PR titled Add --verbose");
  expect(readPullWish(said?.rest ?? "")).toMatchObject({ title: "Add --verbose" });
});
