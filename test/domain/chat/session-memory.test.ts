import { expect, test } from "bun:test";
import { readMemoryLine } from "../../../src/domain/chat/session.ts";

test.each<[string, string, string | null]>([
  ["tax = 10 %", "tax", "10 %"],
  ["tax: 10 %", "tax", "10 %"],
  ["税率＝10 %", "税率", "10 %"],
  ["tax 10 %", "tax", "10 %"],
  ["url=https://a.example/?x=1", "url", "https://a.example/?x=1"],
  ["tax", "tax", null],
])("%s", (text, name, value) => {
  expect(readMemoryLine(text)).toEqual({ name, value });
});
