import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  comparePairs,
  isDistinct,
  isNonInferior,
  mcNemarExact,
  wilsonInterval,
} from "../../../src/domain/history/statistics.ts";

const close = (value: number, wanted: number, digits = 4) => expect(value).toBeCloseTo(wanted, digits);

describe("published values", () => {
  test("Wilson's interval", () => {
    const { low, high } = wilsonInterval(8, 10);
    close(low, 0.4902, 3);
    close(high, 0.9433, 3);
    expect(wilsonInterval(0, 0)).toEqual({ low: 0, high: 1 });
  });
  test("McNemar's exact test", () => {
    close(mcNemarExact(0, 5), 0.0625);
    close(mcNemarExact(1, 9), 0.021484375);
    expect(mcNemarExact(0, 0)).toBe(1);
    expect(mcNemarExact(4, 4)).toBe(1);
  });
});

const count = fc.nat(60);

test("an interval holds the share it is of, and narrows with more plays", () => {
  fc.assert(
    fc.property(count, fc.integer({ min: 1, max: 60 }), (solved, of) => {
      fc.pre(solved <= of);
      const { low, high } = wilsonInterval(solved, of);
      expect(low).toBeLessThanOrEqual(solved / of + 1e-9);
      expect(high).toBeGreaterThanOrEqual(solved / of - 1e-9);
      const wide = wilsonInterval(solved * 4, of * 4);
      expect(wide.high - wide.low).toBeLessThanOrEqual(high - low + 1e-9);
    }),
  );
});

test("McNemar's test is a probability, symmetric, and the sum of both tails", () => {
  const choose = (n: number, k: number): number => (k === 0 ? 1 : (choose(n, k - 1) * (n - k + 1)) / k);
  fc.assert(
    fc.property(fc.nat(25), fc.nat(25), (b, c) => {
      const p = mcNemarExact(b, c);
      expect(p).toBeGreaterThan(0);
      expect(p).toBeLessThanOrEqual(1);
      close(mcNemarExact(c, b), p, 9);
      let tail = 0;
      for (let k = 0; k <= Math.min(b, c); k++) tail += choose(b + c, k);
      close(p, Math.min(1, (2 * tail) / 2 ** (b + c)), 9);
    }),
  );
});

const pairs = fc.array(
  fc.record({
    one: fc.array(fc.boolean(), { maxLength: 3 }),
    other: fc.array(fc.boolean(), { maxLength: 3 }),
  }),
  { maxLength: 30 },
);

test("turning a comparison round turns its result round, and cases that one did not play do not count", () => {
  fc.assert(
    fc.property(pairs, (list) => {
      const there = comparePairs(list);
      const back = comparePairs(list.map(({ one, other }) => ({ one: other, other: one })));
      expect(back.cases).toBe(there.cases);
      expect(there.cases).toBe(list.filter(({ one, other }) => one.length * other.length > 0).length);
      expect([back.better, back.worse]).toEqual([there.worse, there.better]);
      close(back.difference, -there.difference, 9);
      close(back.interval.low, -there.interval.high, 9);
      close(back.p, there.p, 9);
    }),
  );
});

test("repeats of a case are one cluster: playing each three times alike proves no more than once", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.boolean()), { maxLength: 30 }), (list) => {
      const once = comparePairs(list.map(([one, other]) => ({ one: [one], other: [other] })));
      const thrice = comparePairs(
        list.map(([one, other]) => ({ one: [one, one, one], other: [other, other, other] })),
      );
      expect(thrice).toEqual(once);
    }),
  );
});

test("a few cases without a difference show neither a difference nor its absence", () => {
  const alike = (cases: number) =>
    comparePairs(Array.from({ length: cases }, () => ({ one: [true], other: [true] })));
  expect(isDistinct(alike(12))).toBe(false);
  expect(isNonInferior(alike(12))).toBe(false);
  expect(isNonInferior(alike(18))).toBe(true);
  const better = comparePairs(Array.from({ length: 8 }, () => ({ one: [true], other: [false] })));
  expect(isDistinct(better)).toBe(true);
});
