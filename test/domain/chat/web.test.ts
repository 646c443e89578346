import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { htmlToMarkdown, readSearchResults } from "../../../src/domain/chat/web-content.ts";
import { cpuTimeMs } from "../../cpu-time.ts";

const BASE = "https://example.org/docs/page";

test("a page becomes Markdown: headings, links, lists, code, tables; no scripts, no menus", () => {
  const { title, markdown } = htmlToMarkdown(
    `<!doctype html><html><head><title>A &amp; B</title><style>p{}</style></head><body>
     <nav><a href="/">Home</a></nav><script>alert("<p>no</p>")</script>
     <h1>A &amp; B</h1><p>Some <b>bold</b>
     text with a <a href="../other?x=1#y">link</a> and <code>code()</code>.<br>Next</p>
     <ul><li>one</li><li>two<ol><li>deep</li></ol></li></ul>
     <pre><code>if (a &lt; b) {
  run();
}</code></pre>
     <table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table>
     <p>a<a href="javascript:x()">script</a><a href="#top">top</a></p><!-- hidden --><footer>no</footer></body></html>`,
    BASE,
  );
  expect(title).toBe("A & B");
  expect(markdown).toBe(
    [
      "# A & B",
      "Some bold text with a [link](https://example.org/other?x=1#y) and `code()`.\nNext",
      "- one\n- two\n  1. deep",
      "```\nif (a < b) {\n  run();\n}\n```",
      "| k | v\n| 1 | 2",
      "ascripttop",
    ].join("\n\n"),
  );
});

test("any page becomes text, in time that grows with its length", () => {
  const piece = fc.constantFrom(
    "<",
    ">",
    "<p>",
    "</p>",
    "<a href='x'",
    "<script>",
    "</script",
    "&amp;",
    "&#x110000;",
    "<!--",
    "-->",
    '"',
    "x ",
    "<pre>",
    "</li>",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
      expect(typeof htmlToMarkdown(pieces.join(""), BASE).markdown).toBe("string");
    }),
  );
  const begun = cpuTimeMs();
  htmlToMarkdown(`${"<a ".repeat(20_000)}${"<p>x".repeat(20_000)}`, BASE);
  expect(cpuTimeMs() - begun).toBeLessThan(3_000);
});

test.each<[string, unknown]>([
  ["SearXNG", { results: [{ title: "T", url: "https://a.example/", content: "C" }] }],
  ["Brave", { web: { results: [{ title: "T", url: "https://a.example/", description: "C" }] } }],
  ["Bing", { webPages: { value: [{ name: "T", url: "https://a.example/", snippet: "C" }] } }],
  ["Google", { items: [{ title: "T", link: "https://a.example/", snippet: "C" }] }],
])("results of %s", (_, answer) => {
  expect(readSearchResults(JSON.stringify(answer))).toEqual([
    { title: "T", url: "https://a.example/", excerpt: "C" },
  ]);
});

test("a page that is not a list of results has none", () => {
  expect(readSearchResults("<html>")).toEqual([]);
  expect(readSearchResults('{"results":[{"url":"file:///etc/passwd"},1,null]}')).toEqual([]);
});
