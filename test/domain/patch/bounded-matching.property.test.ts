/** The work of matching grows with patch and file, not with their product, whichever matcher does it. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { applyHunks, type MatchRule } from "../../../src/domain/patch/apply-hunks.ts";
import type { Hunk, HunkLine } from "../../../src/domain/patch/patch-command.ts";
import { Matching, TextLines } from "../../../src/domain/patch/target-lines.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { cases } from "../../require.ts";

/** Steps that any patch may take, and steps for each line of patch and file; with room for the last search begun. */
const LEAST = 500_000;
const PER_LINE = 25;
const LAST_SEARCH = 8;

/** How many steps the edits of one patch took, each on the file as it is. */
function stepsOf(text: string, edits: readonly (readonly Hunk[])[], rule: MatchRule): number {
  const matching = new Matching();
  let given = LEAST;
  for (const [n, hunks] of edits.entries()) {
    const lines = hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
    given += (lines + (n === 0 ? new TextLines(text).count : 0)) * PER_LINE;
    applyHunks("f", text, hunks, rule, matching);
  }
  return given - matching.budget.left;
}

const tag = fc.constantFrom<HunkLine["tag"]>(" ", "-", "+");
const words = fc.constantFrom("same(value);", "  same(value);", "other", "}", "", "値", "x".repeat(300));
const hunkLine = fc.record({ tag, text: words, eol: fc.constant("\n") });
const hunk = fc.record({
  lines: fc.array(hunkLine, { minLength: 1, maxLength: 40 }),
  oldStart: fc.option(fc.integer({ min: 1, max: 3_000 }), { nil: undefined }),
  anchors: fc.option(fc.array(words, { maxLength: 2 }), { nil: undefined }),
});

test("no patch makes the matchers work for longer than patch and file are long", () => {
  const patches = fc.record({
    unit: fc.array(words, { minLength: 1, maxLength: 5 }),
    times: fc.integer({ min: 1, max: 1_500 }),
    edits: fc.array(fc.array(hunk, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 12 }),
    rule: fc.constantFrom<MatchRule>("diff", "v4a", "search-replace"),
  });
  fc.assert(
    fc.property(patches, ({ unit, times, edits, rule }) => {
      const text = `${unit.join("\n")}\n`.repeat(times);
      const lines = unit.length * times + edits.flat().reduce((sum, each) => sum + each.lines.length, 0);
      expect(stepsOf(text, edits, rule)).toBeLessThan(LEAST + (PER_LINE + LAST_SEARCH) * lines);
    }),
    { numRuns: cases(60) },
  );
});

function block(lines: readonly string[], change: string): Hunk {
  const kept = lines.slice(0, -1).map((text): HunkLine => ({ tag: " ", text, eol: "\n" }));
  const last = lines.at(-1) ?? "";
  return { lines: [...kept, { tag: "-", text: last, eol: "\n" }, { tag: "+", text: change, eol: "\n" }] };
}

test("three hundred blocks that nearly match in a long file end with the patch, not with their product", () => {
  const lines = Array.from({ length: 60_000 }, (_, n) =>
    n % 2 === 0 ? "  same(value);" : `  odd(${n % 7});`,
  );
  const text = `${lines.join("\n")}\n`;
  const edits = Array.from({ length: 300 }, (_, n) => [
    block(
      [...lines.slice(0, 60).map((each, i) => (i % 3 === 0 ? `gone ${n}` : each)), "  same(value);"],
      "new",
    ),
  ]);
  expect(stepsOf(text, edits, "search-replace")).toBeLessThan(LEAST + (PER_LINE + LAST_SEARCH) * 80_000);
  const last = applyHunks("f", text, edits[0] as Hunk[], "search-replace", new Matching(1));
  expect(last.ok).toBe(false);
});

test("a search that the budget ends places nothing, though one place was found", () => {
  const text = `${"x y z\n".repeat(2_000)}unique line\n`;
  const matching = new Matching(-60_000);
  const done = applyHunks("f", text, [block(["x y z", "x y z"], "new")], "v4a", matching);
  expect(done.reports).toMatchObject([
    { status: "refused", message: expect.stringContaining("too large to search further") },
  ]);
  expect(done.text).toBe(text);
});

/** A hunk of so many lines, every fiftieth of them changed, which drifted from its file. */
function longHunk(count: number, inLines = 2 * count): { readonly text: string; readonly hunk: Hunk } {
  const line = (n: number) => `  const value${n} = compute(${n});`;
  const text = `${Array.from({ length: inLines }, (_, n) => line(n)).join("\n")}\n`;
  const lines = Array.from({ length: count }, (_, n): HunkLine[] => {
    const old = { text: n % 50 === 25 ? `  const other${n};` : line(count / 2 + n), eol: "\n" };
    return n % 50 === 26
      ? [
          { ...old, tag: "-" },
          { tag: "+", text: `new ${n}`, eol: "\n" },
        ]
      : [{ ...old, tag: " " }];
  });
  return { text, hunk: { lines: lines.flat(), oldStart: count / 2 + 1 } };
}

/** Processor time: a fraction of it is enough, and comparing each line with each other takes more than twice as much. */
const LONG_HUNK_MS = 1_000;

test("a hunk of sixteen thousand lines that drifted is placed without comparing each line with each other", () => {
  const { text, hunk } = longHunk(16_000);
  const begun = cpuTimeMs();
  expect(applyHunks("f", text, [hunk], "diff", new Matching()).ok).toBe(true);
  expect(cpuTimeMs() - begun).toBeLessThan(LONG_HUNK_MS);
});

/** Showing where a failed edit may have been meant takes as long as some reads of its file, not as its lines times those of the block. */
const HINT_MS = 250;

test.each([
  [
    "a block of fifteen thousand lines in a long file that repeats",
    Array.from({ length: 150_000 }, (_, n) => `  x = ${n % 2_000 < 1_500 ? "same" : n};`),
    [Array.from({ length: 15_000 }, (_, n) => (n === 399 ? "  different;" : `  x = ${1_500 + n};`))],
  ],
  [
    "hundreds of wrong lines in a long file",
    Array.from({ length: 60_000 }, (_, n) => `    value_${n % 100} = compute(alpha_${n % 100});`),
    Array.from({ length: 500 }, (_, n) => [`    nothing ${n} of it`]),
  ],
])("%s: the nearest lines are found at once", (_name, lines, wrong) => {
  const text = `${lines.join("\n")}\n`;
  const hunks = wrong.map((each) => block(each, "new"));
  applyHunks("f", text.slice(0, 1_000), hunks, "v4a", new Matching());
  const begun = cpuTimeMs();
  const done = applyHunks("f", text, hunks, "v4a", new Matching());
  expect(done.reports[0]).toMatchObject({ status: "not-found" });
  expect(cpuTimeMs() - begun).toBeLessThan(HINT_MS);
});

test("a hunk that drifted is found without a look at every line of its file", () => {
  const inLines = 100_000;
  const { text, hunk } = longHunk(1_000, inLines);
  expect(stepsOf(text, [[hunk]], "diff")).toBeLessThan(inLines / 2 + PER_LINE * hunk.lines.length);
});
