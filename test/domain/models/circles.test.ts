import { expect, test } from "bun:test";
import fc from "fast-check";
import { createCircleWatch } from "../../../src/domain/models/circles.ts";
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

const PAGE = Array.from({ length: 80 }, (_, n) => `line ${n}`).join("\n");
