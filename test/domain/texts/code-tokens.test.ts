import { expect, test } from "bun:test";
import fc from "fast-check";
import { readCode } from "../../../src/domain/texts/code-tokens.ts";

/** Everything but plain text, as `kind:text`. */
const marked = (code: string, language: string) =>
  readCode(code, language).tokens.flatMap(({ kind, text }) => (kind === "plain" ? [] : [`${kind}:${text}`]));

test.each<[string, string, string[]]>([
  ["js", 'const a = "b\\"c" + 1.5; // d', ["keyword:const", 'string:"b\\"c"', "number:1.5", "comment:// d"]],
  ["ts", "a /* b\nc */ + `d\n$e`", ["comment:/* b\nc */", "string:`d\n$e`"]],
  ["py", 'x = """a\nb""" # c', ['string:"""a\nb"""', "comment:# c"]],
  ["sh", 'echo "$#" a#b # c', ["keyword:echo", 'string:"$#"', "comment:# c"]],
  ["sql", "SELECT a FROM b -- all", ["keyword:SELECT", "keyword:FROM", "comment:-- all"]],
  ["rust", "fn f<'a>(b: &'a str) { 'c' }", ["keyword:fn", "string:'c'"]],
  ["yaml", "if: it is true # so", ["keyword:true", "comment:# so"]],
  ["Makefile", "a: b # c", ["comment:# c"]],
  [
    "diff",
    "--- a\n@@ -1 +1 @@\n-b\n+c\n d",
    ["place:--- a\n", "place:@@ -1 +1 @@\n", "removed:-b\n", "added:+c\n"],
  ],
  ["md", "for `a` in 'b'", []],
  ["", "for a in 1", []],
])("%s: %j is cut into its strings, comments, numbers and keywords", (language, code, tokens) => {
  expect(marked(code, language)).toEqual(tokens);
});

const code = fc.array(
  fc.constantFrom(
    "/*",
    "*/",
    '"',
    "'",
    '"""',
    "`",
    "#",
    "//",
    "--",
    "\\",
    "\n",
    " ",
    "if",
    "a1",
    "日",
    "2.5",
  ),
);

test("no letter is lost, and code read line by line has the colours of code read at once", () => {
  fc.assert(
    fc.property(code, fc.constantFrom("js", "py", "sql", "rs", "diff", "txt"), (parts, language) => {
      const text = parts.join("");
      const kindsOf = (tokens: ReturnType<typeof readCode>["tokens"]) =>
        tokens.flatMap((token) => [...token.text].map((letter) => (letter === "\n" ? "" : token.kind)));
      const whole = readCode(text, language);
      expect(whole.tokens.map((token) => token.text).join("")).toBe(text);
      let open: string | null = null;
      const byLine = text.split(/(?<=\n)/).flatMap((line) => {
        const read = readCode(line, language, open);
        open = read.open;
        return kindsOf(read.tokens);
      });
      expect(byLine).toEqual(kindsOf(whole.tokens));
    }),
  );
});

test("longer code than anyone reads stays plain", () => {
  expect(marked("if ".repeat(20_000), "js")).toEqual([]);
});
