import { expect, test } from "bun:test";
import { toShownJson } from "../../../src/domain/platform/json-text.ts";

test("JSON holds no character that steers a terminal or turns a text, and is the same value when it is read", () => {
  const all = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).join("");
  const value = { "\u202ekey": [`\u009b31m\u0085 a\u202eb \u2066c\u2069 \u{e0041}`, all, "日本語 é"] };
  const text = toShownJson(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(text).not.toMatch(/[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/);
  expect(text).toContain("日本語 é");
  expect(toShownJson({ a: ["\u202e"] }, 2)).toBe('{\n  "a": [\n    "\\u202e"\n  ]\n}');
});
