import { expect, test } from "bun:test";
import { costOf, priceOf } from "../../../src/domain/models/catalogue.ts";

test("cached input has its own price, and counts once", () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 100_000, cachedTokens: 400_000 };
  expect(costOf(usage, { input: 3, output: 15, cached: 0.3 })).toBeCloseTo(0.6 * 3 + 0.4 * 0.3 + 1.5, 10);
  expect(costOf({ ...usage, cachedTokens: 9_000_000 }, { input: 3, output: 0, cached: 1 })).toBeCloseTo(
    1,
    10,
  );
});

test("the user's price wins, a local model is free, and an unknown price is null", () => {
  const own = { input: 1, output: 2, cached: 1 };
  expect(priceOf({ model: "gpt-5.1", local: false }, { "gpt-5.1": own })).toEqual(own);
  expect(priceOf({ model: "gpt-5.1", local: false })).toEqual({ input: 1.25, output: 10, cached: 0.125 });
  expect(priceOf({ model: "chat-v1:latest", local: true })).toEqual({ input: 0, output: 0, cached: 0 });
  expect(priceOf({ model: "mine", local: true }, { mine: own })).toEqual(own);
  expect(priceOf({ model: "gpt-99", local: false })).toBeNull();
  expect(priceOf({ model: "constructor", local: false })).toBeNull();
});
