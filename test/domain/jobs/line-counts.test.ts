import { expect, test } from "bun:test";
import { countLines } from "../../../src/domain/patch/compare-lines.ts";

const of = (before: string | null, after: string | null) =>
  countLines(before === null ? null : Buffer.from(before), after === null ? null : Buffer.from(after));

test.each([
  ["the same", "a\nb\n", "a\nb\n", { added: 0, removed: 0 }],
  ["a line more", "a\nb\n", "a\nx\nb\n", { added: 1, removed: 0 }],
  ["a line changed", "a\nb\nc\n", "a\nx\nc\n", { added: 1, removed: 1 }],
  ["a line moved", "a\nb\nc\n", "b\nc\na\n", { added: 1, removed: 1 }],
  ["a new file", null, "a\nb\n", { added: 2, removed: 0 }],
  ["a file that goes", "a\nb", null, { added: 0, removed: 2 }],
  ["two places", "a\nb\nc\nd\ne\n", "x\nb\nc\nd\ny\nz\n", { added: 3, removed: 2 }],
])("%s", (_, before, after, counts) => {
  expect(of(before, after)).toEqual(counts);
});

test("bytes that are not text have no lines", () => {
  expect(of("a\0b", "c")).toBeNull();
});
