import { expect, test } from "bun:test";
import { createTwoFilesPatch } from "diff";
import fc from "fast-check";
import { applyAsClaimed, editFile } from "../../../src/domain/patch/apply-hunks.ts";
import { parseUnifiedDiff } from "../../../src/domain/patch/formats/unified-diff/unified-diff.ts";
import type { Hunk } from "../../../src/domain/patch/patch-command.ts";
import { Matching } from "../../../src/domain/patch/target-lines.ts";
import { toBytesText } from "../../../src/domain/platform/bytes-text.ts";

/** Few different lines, so that hunks match in several places. */
const line = fc.constantFrom("a", "b", "{", "}", "", "  x", "値", "-- y");
const lines = fc.array(line, { maxLength: 30 });
const eol = fc.constantFrom("\n", "\n", "\r\n");

function hunksOf(before: string, after: string, context: number): readonly Hunk[] {
  const parsed = parseUnifiedDiff(createTwoFilesPatch("a/f", "b/f", before, after, "", "", { context }));
  const file = parsed.ok ? parsed.files[0] : undefined;
  return file?.change === "text" ? file.hunks : [];
}

/** The same hunks without the text they were written as: only the search can place them. */
function searched({ lines, oldStart, newStart, anchors }: Hunk): Hunk {
  return { lines, oldStart, newStart, anchors };
}

test("a diff has the same result whether it is applied as claimed or searched for", () => {
  const edits = fc.record({ before: lines, after: lines, above: fc.array(line, { maxLength: 2 }), eol });
  fc.assert(
    fc.property(edits, fc.integer({ min: 0, max: 3 }), (edit, context) => {
      const text = (all: readonly string[]) => all.map((each) => each + edit.eol).join("");
      const hunks = hunksOf(text(edit.before), text(edit.after), context);
      const file = Buffer.from(text([...edit.above, ...edit.before]));
      const quick = editFile("f", file, hunks, "diff", new Matching());
      const slow = editFile("f", file, hunks.map(searched), "diff", new Matching());
      expect(quick).toEqual(slow);
    }),
    { numRuns: 2_000 },
  );
});

test("a diff for the current file needs no search", () => {
  const before = Array.from({ length: 60 }, (_, n) => `line ${n}\n`);
  const after = before.with(10, "ten\n").with(40, "forty\nand more\n");
  const done = applyAsClaimed("f", before.join(""), hunksOf(before.join(""), after.join(""), 3));
  expect(done?.parts.join("")).toBe(toBytesText(after.join("")));
  expect(done?.reports.map((report) => report.line)).toEqual([8, 38]);
});
