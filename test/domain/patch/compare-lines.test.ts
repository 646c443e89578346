import { describe, expect, test } from "bun:test";
import { applyPatch } from "diff";
import fc from "fast-check";
import { compareLines, splitLines, toHunks } from "../../../src/domain/patch/compare-lines.ts";

function rebuild(old: readonly string[], now: readonly string[]): string[] {
  const result: string[] = [];
  let at = 0;
  for (const change of compareLines(old, now)) {
    result.push(...old.slice(at, change.old[0]), ...now.slice(...change.now));
    at = change.old[1];
  }
  return [...result, ...old.slice(at)];
}

function unified(old: string, now: string): string {
  const hunks = toHunks(splitLines(old), splitLines(now));
  const body = hunks.map(
    ({ oldStart, oldCount, newStart, newCount, lines }) =>
      `@@ -${oldStart},${oldCount} +${newStart},${newCount} @@\n${lines.join("\n")}\n`,
  );
  return `--- a\n+++ b\n${body.join("")}`;
}

const shuffled = (lines: number): string[] => {
  const all = Array.from({ length: lines }, (_, n) => `line ${n}\n`);
  let seed = 7;
  for (let n = all.length - 1; n > 0; n -= 1) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const other = seed % (n + 1);
    [all[n], all[other]] = [all[other] as string, all[n] as string];
  }
  return all;
};

describe("a comparison of lines", () => {
  test("leads from the one text to the other, for any texts", () => {
    const line = fc.constantFrom("a\n", "b\n", "c\n", "}\n", "\n", "d\n", "e");
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), fc.array(line, { maxLength: 60 }), (old, now) => {
        expect(rebuild(old, now)).toEqual(now);
      }),
      { numRuns: 2_000 },
    );
  });

  test("leads there also where it is too long to be exact", () => {
    const old = Array.from({ length: 3_000 }, (_, n) => `line ${n}\n`);
    const repeated = Array.from({ length: 3_000 }, (_, n) => (n % 3 === 0 ? "}\n" : `${n % 7}\n`));
    for (const now of [shuffled(3_000), shuffled(3_000).slice(500), repeated, [...repeated, ...old]])
      expect(rebuild(old, now)).toEqual(now);
    expect(rebuild(repeated, shuffled(2_000))).toEqual(shuffled(2_000));
  });

  test("is the shortest one where few lines differ", () => {
    const old = Array.from({ length: 1_000 }, (_, n) => `line ${n % 40}\n`);
    const now = old.toSpliced(700, 1, "new\n").toSpliced(100, 2);
    expect(compareLines(old, now)).toEqual([
      { old: [100, 102], now: [100, 100] },
      { old: [700, 701], now: [698, 699] },
    ]);
  });

  test("is read by a program that applies unified diffs", () => {
    const text = fc
      .array(fc.constantFrom("a", "b", "c", "d", ""), { maxLength: 40 })
      .map((all) => all.join("\n"));
    fc.assert(
      fc.property(text, text, (old, now) => {
        expect(applyPatch(old, unified(old, now))).toBe(now);
      }),
      { numRuns: 1_000 },
    );
  });
});
