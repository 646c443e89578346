import { describe, expect, test } from "bun:test";
import { dedent, walkReply } from "../../../src/domain/patch/formats/markdown/walk-reply.ts";

/** Info, body and "open" when it was not closed. */
function blocks(text: string): string[][] {
  return [...walkReply(text)].flatMap((piece) =>
    piece.kind === "block" ? [[piece.info, piece.body, ...(piece.closed ? [] : ["open"])]] : [],
  );
}

/** The numbers are those of the examples in CommonMark 0.31.2, "Fenced code blocks". */
const COMMONMARK: readonly (readonly [string, string, string[][]])[] = [
  ["119", "```\n<\n >\n```\n", [["", "<\n >\n"]]],
  ["120", "~~~\n<\n >\n~~~\n", [["", "<\n >\n"]]],
  ["121", "``\nfoo\n``\n", []],
  ["122", "```\naaa\n~~~\n```\n", [["", "aaa\n~~~\n"]]],
  ["123", "~~~\naaa\n```\n~~~\n", [["", "aaa\n```\n"]]],
  ["124", "````\naaa\n```\n``````\n", [["", "aaa\n```\n"]]],
  ["125", "~~~~\naaa\n~~~\n~~~~\n", [["", "aaa\n~~~\n"]]],
  ["126", "```", [["", "", "open"]]],
  ["127", "`````\n\n```\naaa", [["", "\n```\naaa", "open"]]],
  ["129", "```\n\n  \n```\n", [["", "\n  \n"]]],
  ["130", "```\n```\n", [["", ""]]],
  ["131", " ```\n aaa\naaa\n```\n", [["", "aaa\naaa\n"]]],
  ["132", "  ```\naaa\n  aaa\naaa\n  ```\n", [["", "aaa\naaa\naaa\n"]]],
  ["133", "   ```\n   aaa\n    aaa\n  aaa\n   ```\n", [["", "aaa\n aaa\naaa\n"]]],
  ["134", "    ```\n    aaa\n    ```\n", []],
  ["135", "```\naaa\n  ```\n", [["", "aaa\n"]]],
  ["136", "   ```\naaa\n  ```\n", [["", "aaa\n"]]],
  ["137", "```\naaa\n    ```\n", [["", "aaa\n    ```\n", "open"]]],
  ["138", "``` ```\naaa\n", []],
  ["139", "~~~~~~\naaa\n~~~ ~~\n", [["", "aaa\n~~~ ~~\n", "open"]]],
  ["140", "foo\n```\nbar\n```\nbaz\n", [["", "bar\n"]]],
  ["141", "foo\n---\n~~~\nbar\n~~~\n# baz\n", [["", "bar\n"]]],
  ["142", "```ruby\ndef foo(x)\n  return 3\nend\n```\n", [["ruby", "def foo(x)\n  return 3\nend\n"]]],
  ["143", "~~~~    ruby startline=3 $%@#$\nx\n~~~~~~~\n", [["ruby startline=3 $%@#$", "x\n"]]],
  ["144", "````;\n````\n", [[";", ""]]],
  ["145", "``` aa ```\nfoo\n", []],
  ["146", "~~~ aa ``` ~~~\nfoo\n~~~\n", [["aa ``` ~~~", "foo\n"]]],
  ["147", "```\n``` aaa\n```\n", [["", "``` aaa\n"]]],
];

const IN_LISTS: readonly (readonly [string, string, string[][]])[] = [
  ["a fence after the marker", "- ```x\n  a\n  ```\n", [["x", "a\n"]]],
  ["a fence under a wide marker", "100. y\n\n     ```x\n     a\n     ```\n", [["x", "a\n"]]],
  ["a fence further in than the item's text", "- y\n\n     ```x\n     a\n     ```\n", [["x", "a\n"]]],
  ["code in an item that is indented by four", "- y\n\n      ```x\n      a\n", []],
  ["a fence indented with a tab", "1. y\n\n\t```x\n\ta\n\t\tb\n\t```\n", [["x", "a\n\tb\n"]]],
  ["markers in a row", "- 1. + ```x\n       a\n       ```\n", [["x", "a\n"]]],
  ["a list that ended", "- y\n\ntext\n\n    ```x\n    a\n", []],
  ["a paragraph that goes on without indent", "- y\nlazy\n    ```x\n    a\n    ```\n", [["x", "a\n"]]],
  ["a body with less indent than its item", "- y\n  ```x\na\n  ```\n", [["x", "a\n"]]],
  ["bold text is no marker", "**y**\n\n    ```x\n    a\n", []],
  ["a rule is no marker", "* * *\n```x\na\n```\n", [["x", "a\n"]]],
];

describe("fences are CommonMark's", () => {
  for (const [name, text, expected] of COMMONMARK)
    test(`example ${name}`, () => {
      expect(blocks(text)).toEqual(expected);
      expect(blocks(text.replaceAll("\n", "\r\n"))).toEqual(
        expected.map(([info, body, ...open]) => [info!, body!.replaceAll("\n", "\r\n"), ...open]),
      );
    });
});

describe("in lists: ", () => {
  for (const [name, text, expected] of IN_LISTS) test(name, () => expect(blocks(text)).toEqual(expected));
});

test("a tab that reaches past the margin leaves its remaining columns", () => {
  expect(dedent("\ta\n \tb\n  c\n", 2)).toBe("  a\n  b\nc\n");
  expect(dedent("\r\n\n  x", 2)).toBe("\r\n\nx");
  expect(dedent("  x", 0)).toBe("  x");
});

test("Markdown files without inner fences do not use up the look-ahead for the one that has them", () => {
  const plain = "```md:a.md\nx\n```\n".repeat(20);
  const last = blocks(`${plain}\`\`\`md:b.md\n\`\`\`js\ny\n\`\`\`\n\`\`\`\n`).at(-1);
  expect(last).toEqual(["md:b.md", "```js\ny\n```\n"]);
});
