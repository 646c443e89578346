import { expect, test } from "bun:test";
import { divideCode } from "../../../src/domain/chat/message-commands.ts";

test.each([
  ["add tests for parseDate", "CODE2"],
  ["write a unit test for src/cart.ts", "CODE2"],
  ["fix the typos in README.md", "CODE2"],
  ["parser のテストを追加して", "CODE2"],
  ["src/cart.ts の単体テストも書いて", "CODE2"],
  ["コメントの誤字を直して", "CODE2"],
  ["redesign the storage layer", "CODE1"],
  ["design an API for plugins", "CODE1"],
  ["refactor the architecture of the worker", "CODE1"],
  ["認証まわりの設計を見直して実装して", "CODE1"],
  ["モジュール構成を整理して", "CODE1"],
  ["仕様書を書いて", "CODE1"],
  ["define the API spec", "CODE1"],
  ["fix the failing test in cart.test.ts", "CODE"],
  ["make the login button blue", "CODE"],
  ["change the design of the button", "CODE"],
  ["テストが落ちるので直して", "CODE"],
  ["ログイン画面を作って", "CODE"],
])("%s → %s", (text, route) => {
  expect(divideCode(text)).toBe(route as ReturnType<typeof divideCode>);
});
