import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { splitText } from "../../src/domain/texts/format-text.ts";

describe("a long text in pieces", () => {
  test("is cut between paragraphs, else lines, else sentences, else words", () => {
    expect(splitText("aaaa bbbb\n\ncccc dddd", 15)).toEqual(["aaaa bbbb", "cccc dddd"]);
    expect(splitText("aaaa bbbb\ncccc dddd", 15)).toEqual(["aaaa bbbb", "cccc dddd"]);
    expect(splitText("これは文です。これも文です。", 10)).toEqual(["これは文です。", "これも文です。"]);
    expect(splitText("aaaa bbbb cccc", 10)).toEqual(["aaaa bbbb", "cccc"]);
  });
  test("a code fence is closed and opened again", () => {
    const pieces = splitText(`\`\`\`ts\n${"const a = 1;\n".repeat(40)}\`\`\`\nend`, 300);
    expect(pieces.length).toBeGreaterThan(1);
    for (const piece of pieces) expect((piece.match(/^```/gm) ?? []).length % 2).toBe(0);
    expect(pieces[1]?.startsWith("```ts\n")).toBe(true);
  });
  test("no piece is too long, none is half a character, nothing but space is lost", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 400 }),
        fc.integer({ min: 100, max: 200 }),
        (text, limit) => {
          const quiet = text.replace(/[`~]/g, "'");
          const pieces = splitText(quiet, limit);
          for (const piece of pieces) {
            expect(piece.length).toBeLessThanOrEqual(limit);
            expect(piece.isWellFormed()).toBe(true);
          }
          expect(pieces.join("").replace(/\s/g, "")).toBe(quiet.replace(/\s/g, ""));
        },
      ),
    );
  });
  test("also with fences no piece is too long", () => {
    const line = fc.constantFrom(
      "```",
      "````js",
      "~~~",
      "x".repeat(30),
      "y".repeat(500),
      "",
      "words and words",
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
        for (const piece of splitText(lines.join("\n"), 200)) expect(piece.length).toBeLessThanOrEqual(200);
      }),
    );
  });
});
