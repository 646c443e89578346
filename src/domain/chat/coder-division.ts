import type { Route } from "../config/route.ts";

/** Routes of coders that rules divide work among; `CODE` is whoever is the default. */
export type CoderRoute = Extract<Route, "CODE" | "CODE1" | "CODE2">;

/** Design and architecture: Aka's. */
const DESIGN_TASK =
  /(?:設計|アーキテクチャ|モジュール(?:分割|構成)|レイヤー?(?:構成|分け|分割)|構成を(?:見直|整理|考え))|\b(?:architect(?:ure|ural)?|re-?design|module boundar(?:y|ies)|layering|data model|api design|design (?:the|an?|our) [a-z -]{0,30}(?:api|schema|module|layer|system|interface|architecture|model))\b/iu;

/** Tests, and code that is small: Ao's. */
const SMALL_TASK =
  /テスト(?:コード|ケース)?(?:を|も|の)?(?:.{0,8})(?:追加|書い|書き|作成|作っ|増や|足し|拡充)|(?:誤字|タイポ|コメント|ドキュメンテーション).{0,12}(?:直|修正|追加|書)|ワンライナー|\b(?:add|write|create|extend|generate)\b.{0,40}\b(?:tests?|test cases?|specs?)\b|\b(?:typos?|doc ?strings?|one-?liner|snippet|small helper)\b/iu;

/** Who should write this, where nobody said it: by what the message is about. */
export function divideCode(text: string): CoderRoute {
  if (DESIGN_TASK.test(text)) return "CODE1";
  return SMALL_TASK.test(text) ? "CODE2" : "CODE";
}
