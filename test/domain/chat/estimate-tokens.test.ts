import { expect, test } from "bun:test";
import fc from "fast-check";
import { cutToTokens } from "../../../src/domain/chat/session.ts";
import { estimateTokens } from "../../../src/domain/models/model-facts.ts";

test("Japanese counts by character, Latin by four", () => {
  expect(estimateTokens("")).toBe(0);
  expect(estimateTokens("こんにちは")).toBe(5);
  expect(estimateTokens("hello world!")).toBe(3);
});

test("a cut text fits, begins alike, and holds no half character", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.integer({ min: 2, max: 80 }),
      (text, limit) => {
        const cut = cutToTokens(text, limit);
        expect(estimateTokens(cut)).toBeLessThanOrEqual(limit);
        if (cut !== text) expect(cut.isWellFormed()).toBe(true);
        expect(
          text.toWellFormed().startsWith(cut === text ? text : cut.replace(/…$/u, "").toWellFormed()),
        ).toBe(true);
      },
    ),
  );
});
