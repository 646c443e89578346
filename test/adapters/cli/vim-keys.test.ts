import { expect, test } from "bun:test";
import { createVimKeys, type EditedText } from "../../../src/adapters/cli/vim-keys.ts";

/** `|` is the cursor. Keys are pressed in normal mode; the answer is the text afterwards, in insert mode with `‸`. */
function press(start: string, keys: string): string {
  const before = start.slice(0, start.indexOf("|"));
  const lines = start.replace("|", "").split("\n");
  const line = before.split("\n").length - 1;
  let text: EditedText = { lines, line, column: before.length - (before.lastIndexOf("\n") + 1) };
  const vim = createVimKeys();
  vim.toNormal(text);
  for (const key of keys) {
    const step = vim.press(key, text);
    if (step.kind === "text") text = step.text;
  }
  const mark = vim.isNormal() ? "|" : "‸";
  return text.lines
    .map((row, at) => (at === text.line ? row.slice(0, text.column) + mark + row.slice(text.column) : row))
    .join("\n");
}

test.each([
  ["one |two three", "dw", "one |three"],
  ["|one two three", "2dw", "|three"],
  ["|one two three", "d2w", "|three"],
  ["one t|wo", "cw", "one t‸"],
  ["one |two three", "cw", "one ‸ three"],
  ["one t|wo three", "ciw", "one ‸ three"],
  ["one t|wo three", "daw", "one |three"],
  ["one two|", "0", "|one two"],
  ["|one two", "$", "one tw|o"],
  ["|one two", "wx", "one |wo"],
  ["one tw|o", "b", "one |two"],
  ["|one two", "e", "on|e two"],
  ["|one two", "de", "| two"],
  ["on|e\n\n two", "e", "one\n\n tw|o"],
  ["one\n|two", "b", "|one\ntwo"],
  ["on|e\n  two", "w", "one\n  |two"],
  ["|one, two", "w", "one|, two"],
  ["|a(b)", "f)", "a(b|)"],
  ["|a(b)", "dt)", "|)"],
  ["one| two", "D", "on|e"],
  ["one| two", "C", "one‸"],
  ["|a\nb\nc", "dd", "|b\nc"],
  ["a\n|b\nc", "yyP", "a\n|b\nb\nc"],
  ["|a\nb\nc", "jdd", "a\n|c"],
  ["|a\nb\nc", "dG", "|"],
  ["a\nb\n|c", "gg", "|a\nb\nc"],
  ["|a\nb", "J", "a| b"],
  ["|ab", "xp", "b|a"],
  ["|abc", "rx", "|xbc"],
  ["|abc", "~", "A|bc"],
  ["a|b", "i", "a‸b"],
  ["a|b", "a", "ab‸"],
  ["a|b", "I", "‸ab"],
  ["|ab", "A", "ab‸"],
  ["|a\nb", "o", "a\n‸\nb"],
  ["|a\nb", "cc", "‸\nb"],
  ["|日本語", "lx", "日|語"],
  ["|😀", "ex", "|"],
  ["ab\n|👨‍👩‍👧\nab", "jlkx", "ab\n|\nab"],
  ["|abc", "d\u0007", "|abc"],
])("%j %s: %j", (start, keys, end) => {
  expect(press(start, keys)).toBe(end);
});

test("the ends of the text are the history's, u is the editor's undo, and Enter sends", () => {
  const vim = createVimKeys();
  const text = { lines: ["a", "b"], line: 0, column: 0 };
  vim.toNormal(text);
  expect(vim.press("k", text)).toEqual({ kind: "history", by: "up" });
  expect(vim.press("j", { ...text, line: 1 })).toEqual({ kind: "history", by: "down" });
  expect(vim.press("u", text)).toEqual({ kind: "undo" });
  expect(vim.press("\r", text)).toEqual({ kind: "send" });
  expect(vim.press("2", text)).toEqual({ kind: "waits" });
  expect(vim.pending()).toBe("2");
});
