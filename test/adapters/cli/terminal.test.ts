import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createMarkdownPrinter, renderMarkdown } from "../../../src/adapters/cli/terminal-markdown.ts";
import { textWidth, wrapWords } from "../../../src/adapters/cli/terminal-text.ts";
import { cases } from "../../require.ts";

test.each<[string, number]>([
  ["abc", 3],
  ["日本語", 6],
  ["ｱｲｳ", 3],
  ["é", 1],
  ["👨‍👩‍👧", 2],
  ["한국", 4],
  ["　", 2],
  ["❤️", 2],
])("%s is %d columns wide", (text, columns) => {
  expect(textWidth(text)).toBe(columns);
});

test("only the lines of a diff are coloured", () => {
  expect(renderMarkdown("a\n```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n```\n-b\n")).toBe(
    "a\n\x1b[2m```diff\x1b[22m\n\x1b[36m--- a\x1b[39m\n\x1b[36m+++ b\x1b[39m\n\x1b[36m@@ -1 +1 @@\x1b[39m\n\x1b[31m-x\x1b[39m\n\x1b[32m+y\x1b[39m\n z\n\x1b[2m```\x1b[22m\n-b\n",
  );
});

test.each([
  ["# Head", "\x1b[1mHead\x1b[22m"],
  ["- one `a*b*` **two**", "• one \x1b[36ma*b*\x1b[39m \x1b[1mtwo\x1b[22m"],
  ["2 * 3 * 4, a*b*c, snake_case_name", "2 * 3 * 4, a*b*c, snake_case_name"],
  ["*so* [here](https://x.example/a)", "\x1b[3mso\x1b[23m here (https://x.example/a)"],
  ["```js\n# a heading\n```", "\x1b[2m```js\x1b[22m\n# a heading\n\x1b[2m```\x1b[22m"],
])("Markdown %j is shown as a terminal shows it", (markdown, shown) => {
  expect(renderMarkdown(markdown)).toBe(shown);
});

test("Markdown breaks between words, colours take no columns, and code stays as it is", () => {
  expect(renderMarkdown("- **one** two three\n```\na line of code as it is\n```", 13)).toBe(
    "• \x1b[1mone\x1b[22m two\n  three\n\x1b[2m```\x1b[22m\na line of code as it is\n\x1b[2m```\x1b[22m",
  );
});

test("Markdown in pieces is rendered as at once", () => {
  const text = "# A\n\n- **b**\n```diff\n+c\n```\nend";
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 5 }), (cuts) => {
      const printer = createMarkdownPrinter();
      const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
      const pieces = places.slice(1).map((end, at) => text.slice(places[at], end));
      expect(pieces.map(printer.add).join("") + printer.end()).toBe(renderMarkdown(text));
    }),
    { numRuns: cases(50) },
  );
});

describe("wrapping", () => {
  test("breaks between words, indents what follows, and leaves short lines alone", () => {
    expect(wrapWords("one two three four", 12, " ")).toBe("one two\n three four");
    expect(wrapWords("short\nalso short", 20)).toBe("short\nalso short");
    expect(wrapWords("any length", Number.POSITIVE_INFINITY)).toBe("any length");
  });

  test("Japanese breaks between characters, and no line begins with a full stop", () => {
    expect(wrapWords("あいうえおかきくけ。こ", 18)).toBe("あいうえおかきく\nけ。こ");
    expect(wrapWords("（ABCD_EFGH、IJKL_MNOP）、QRST_UVWX", 18)).toBe(
      "（ABCD_EFGH、\nIJKL_MNOP）、\nQRST_UVWX",
    );
  });

  test("no word is cut and none is lost", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "-"), minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(word), fc.integer({ min: 14, max: 40 }), (words, columns) => {
        const wrapped = wrapWords(words.join(" "), columns, "  ");
        expect(wrapped.split(/\s+/).filter((one) => one !== "")).toEqual(words);
        for (const line of wrapped.split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
      }),
      { numRuns: cases(100) },
    );
  });
});
