import { expect, test } from "bun:test";
import fc from "fast-check";
import { createCircleWatch, createCountWatch } from "../../../src/domain/models/circles.ts";
import { cases } from "../../require.ts";

/** How many characters come before it is noticed, or null where they end before. */
function noticedAfter(text: string, step: number): number | null {
  const { repeatsItself } = createCircleWatch();
  for (let at = 0; at < text.length; at += step)
    if (repeatsItself(text.slice(at, at + step))) return Math.min(text.length, at + step);
  return null;
}

test("any piece of up to 500 characters that is repeated without end is noticed, after any text", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 500 }),
      fc.string({ maxLength: 3_000 }),
      fc.integer({ min: 1, max: 400 }),
      (piece, before, step) => {
        const noticed = noticedAfter(before + piece.repeat(Math.ceil(12_000 / piece.length)), step);
        expect(noticed).not.toBeNull();
        expect((noticed ?? 0) - before.length).toBeLessThan(8_000);
      },
    ),
    { numRuns: cases(200) },
  );
});

test("what counts, differs or ends in time is not a circle", () => {
  const counted = Array.from({ length: 2_000 }, (_, n) => `row ${n}: the same words\n`).join("");
  const zeros = `${"0, ".repeat(1_500)}\n`;
  const table = Array.from({ length: 40 }, (_, n) => `${zeros.slice(0, 400)}${n}\n`).join("");
  const hello = "console.log('hello');\n".repeat(250);
  const pages = PAGE.repeat(30);
  for (const text of [counted, zeros, table, hello, pages]) expect(noticedAfter(text, 50)).toBeNull();
});

test("an answer that repeats one line with other numbers is noticed where it may be endless", () => {
  const after = (text: string) => {
    const { counts } = createCountWatch();
    for (let at = 0; at < text.length; at += 50) if (counts(text.slice(at, at + 50))) return at;
    return null;
  };
  const lines = (word: (n: number) => string) => Array.from({ length: 1_000 }, (_, n) => word(n)).join("");
  const solution = "def f(n):\n    return n\n\n\n";
  expect(after(solution + lines((n) => `    assert f(${n}) == ${n + 1}\n`))).toBeLessThan(8_000);
  expect(after(lines((n) => `    if score == ${n}:\n        return "${n % 7} points"\n`))).toBeLessThan(
    8_000,
  );
  // Data that was asked for, code, and a table of words are not.
  expect(after(lines((n) => `${n}\n`))).toBeNull();
  expect(after(lines((n) => `${n}, ${n * n}\n`))).toBeNull();
  expect(after(lines((n) => `${"abcdefghij"[n % 10]}${"klmnopqrs"[n % 9]}${n}: word\n`))).toBeNull();
  expect(after(lines((n) => `    assert f(${n}) == ${n + 1}\n`).slice(0, 5_000))).toBeNull();
});

const PAGE = Array.from({ length: 80 }, (_, n) => `line ${n}`).join("\n");
