import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { fileDiffs, fileDiffView } from "../../../src/adapters/web/diff-view.ts";
import { markdown } from "../../../src/adapters/web/markdown.ts";
import { html, visible } from "../../../src/adapters/web/markup.ts";
import { consoleMessagesFor } from "../../../src/domain/texts/web.ts";

const t = consoleMessagesFor("en");
const bytes = (text: string) => new TextEncoder().encode(text);
/** Texts that try to become something else. */
const hostile = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({
    unit: fc.constantFrom(
      "<",
      ">",
      '"',
      "'",
      "&",
      "`",
      "*",
      "\n",
      " ",
      "a",
      "-",
      "\u202e",
      "#",
      "\x1b[",
      "~",
      "|",
      "|-|",
      "```js\n",
      "1. ",
      "_",
      "[",
      "](",
      ")",
      "https://",
      "> ",
      "  - ",
    ),
  }),
);
/** Every tag and attribute of our own; anything else that looks like one came from a text. */
const TAGS =
  /<\/?(?:p|pre|code|a|em|s|hr|blockquote|ul|ol|li|thead|th|strong|br|details|summary|span|div|table|caption|tbody|colgroup|col|tr|td|mark)(?: (?:class|tabindex|role|aria-label|colspan|start|href|rel|target)="[^"<>]*"| open)*\s*>/g;
/** Addresses of links stay: they are letters of the text too, unless they are its label. */
const bare = (markup: unknown) =>
  String(markup)
    .replace(/<a href="([^"<>]*)"[^<>]*>([^<]*)<\/a>/g, (_, to, label) =>
      to === label ? to : `${to}${label}`,
    )
    .replace(TAGS, "");

describe("a template", () => {
  test("lines in columns keep their places, as in a table for a terminal", () => {
    const table = "Day         Jobs  Undone\n2026-11-18  3     0";
    expect(String(markdown(`Sum:\n\n${table}`))).toBe(
      `<p>Sum:</p><pre class="output" tabindex="0">${table}</pre>`,
    );
    expect(String(markdown("two  words\nhere"))).toStartWith("<p>");
  });

  test("escapes every value, and nothing of its own markup", () => {
    expect(
      String(
        html`<a href="${'"><script>'}">${"<b>"}${html`<i>${"&"}</i>`}${[1, null, false, undefined, ["x"]]}</a>`,
      ),
    ).toBe('<a href="&quot;&gt;&lt;script&gt;">&lt;b&gt;<i>&amp;</i>1x</a>');
  });

  test("trusts no value that claims to be safe", () => {
    const forged = { text: "<script>", toString: () => "<script>" } as never;
    expect(String(html`${forged}`)).toBe("&lt;script&gt;");
  });

  test("leaves no text in which a tag could begin or an attribute end", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(String(html`${text}`)).not.toMatch(/[<>"'`]/);
      }),
    );
  });
});

describe("Markdown", () => {
  test("is what replies use of it", () => {
    expect(
      String(
        markdown("# Title\ntext `a<b` **bold**\nmore\n\n- one\n- two\n  goes on\n\n```js\n<x>\n```\nend"),
      ),
    ).toBe(
      '<p class="heading">Title</p><p>text <code>a&lt;b</code> <strong>bold</strong><br>more</p>' +
        '<ul><li>one</li><li>two goes on</li></ul><pre class="code" tabindex="0"><code>&lt;x&gt;</code></pre><p>end</p>',
    );
  });

  test("tables, numbered lists and coloured code are drawn", () => {
    expect(String(markdown("| a | n |\n|---|--:|\n| `x` | 1 | 2 |\n\n3. three\n4. four"))).toBe(
      '<div class="scroll"><table class="plain"><thead><tr><th class="">a</th><th class="num">n</th></tr></thead>' +
        '<tbody><tr><td class=""><code>x</code></td><td class="num">1 | 2</td></tr></tbody></table></div>' +
        '<ol start="3"><li>three</li><li>four</li></ol>',
    );
    expect(String(markdown('```ts\nconst a = "<b>"; // 1\n```'))).toBe(
      '<pre class="code" tabindex="0"><code><span class="hl-keyword">const</span> a = <span class="hl-string">&quot;&lt;b&gt;&quot;</span>; <span class="hl-comment">// 1</span></code></pre>',
    );
    expect(String(markdown("```diff\n-a\n+b\n c\n```"))).toContain(
      '<span class="hl-removed">-a\n</span><span class="hl-added">+b\n</span> c',
    );
  });

  test("italics, quotes, links and lists in lists are drawn", () => {
    const drawn: [string, string][] = [
      [
        "an *italic* and _one more_, 2*3*4, a_b_c, 2 * 3 * 4",
        "<p>an <em>italic</em> and <em>one more</em>, 2*3*4, a_b_c, 2 * 3 * 4</p>",
      ],
      [
        "**bold *and italic* too** ~~gone~~",
        "<p><strong>bold <em>and italic</em> too</strong> <s>gone</s></p>",
      ],
      [
        "> said\n> *twice*\n>\n> - x\nend",
        "<blockquote><p>said<br><em>twice</em></p><ul><li>x</li></ul></blockquote><p>end</p>",
      ],
      [
        "- a\n  - b\n    1. c\n  - d\n\n- [x] e\n- [ ] f",
        '<ul><li>a<ul><li>b<ol start="1"><li>c</li></ol></li><li>d</li></ul></li><li>☑ e</li><li>☐ f</li></ul>',
      ],
      [
        "1. run\n   ```sh\n   ls\n   ```\n2. end",
        '<ol start="1"><li>run<pre class="code" tabindex="0"><code>ls</code></pre></li><li>end</li></ol>',
      ],
      ["a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"],
      [
        "[site](https://e.org/a?b=1&c)",
        '<p><a href="https://e.org/a?b=1&amp;c" rel="noopener noreferrer nofollow" target="_blank">site</a></p>',
      ],
      [
        "see https://e.org/x. [f](src/f.ts)",
        '<p>see <a href="https://e.org/x" rel="noopener noreferrer nofollow" target="_blank">https://e.org/x</a>. f (<code>src/f.ts</code>)</p>',
      ],
      [
        "[x](javascript:alert) [y](data:text/html,z)",
        "<p>x (<code>javascript:alert</code>) y (<code>data:text/html,z</code>)</p>",
      ],
    ];
    for (const [text, expected] of drawn) expect(String(markdown(text))).toBe(expected);
  });

  test("never lets a text become a tag, and never loses its letters", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const made = bare(markdown(text));
        expect(made).not.toMatch(/[<>]/);
        const letters = (of: string) => of.replace(/[^a]/g, "");
        expect(letters(made.replace(/&[a-z0-9#]+;/g, ""))).toBe(letters(visible(text)));
      }),
    );
  });
});

describe("a difference", () => {
  test("is numbered on both sides, with the changed part of a line marked", async () => {
    const before = "one\ntwo three four\nfive\n";
    const after = "one\ntwo 3 four\nfive\nsix\n";
    const [file] = await fileDiffs([{ path: "a.txt", before: bytes(before), after: bytes(after) }]);
    expect(file).toMatchObject({ kind: "modified", added: 2, removed: 1 });
    expect(file?.rows).toEqual([
      { kind: "same", before: 1, after: 1, text: "one" },
      { kind: "removed", before: 2, text: "two three four", mark: [4, 9] },
      { kind: "added", after: 2, text: "two 3 four", mark: [4, 5] },
      { kind: "same", before: 3, after: 3, text: "five" },
      { kind: "added", after: 4, text: "six" },
    ]);
    expect(String(fileDiffView(t, file!, "split"))).toContain("two <mark>three</mark> four");
    expect(String(fileDiffView(t, file!, "inline"))).toContain("two <mark>3</mark> four");
  });

  test("of a file that is not text, too large, too long or no longer known says so", async () => {
    const large = new Uint8Array(700_000).fill(97);
    const long = Array.from({ length: 4_000 }, (_, n) => `line ${n}\n`).join("");
    const files = await fileDiffs([
      { path: "b", before: null, after: new Uint8Array([0, 1]) },
      { path: "c", before: large, after: large },
      { path: "d", before: undefined, after: bytes("x") },
      { path: "e", before: null, after: bytes(long) },
      { path: "f", before: bytes("x\n"), after: null },
    ]);
    expect(files.map(({ note, kind }) => [note, kind])).toEqual([
      ["binary", "added"],
      ["too-large", "modified"],
      ["unknown", "modified"],
      ["cut", "added"],
      [undefined, "deleted"],
    ]);
    expect(files[3]?.rows.length).toBe(1_500);
    for (const file of files) expect(String(fileDiffView(t, file, "inline"))).toContain(file.path);
  });

  test("of hostile texts and names holds no tag but ours", async () => {
    await fc.assert(
      fc.asyncProperty(hostile, hostile, hostile, async (path, before, after) => {
        const [file] = await fileDiffs([{ path, before: bytes(before), after: bytes(after) }]);
        for (const view of ["inline", "split"] as const)
          expect(bare(fileDiffView(t, file!, view))).not.toMatch(/[<>]/);
      }),
      { numRuns: 60 },
    );
  });
});

test("what cannot be seen is shown", () => {
  expect(visible("a\u202eb\x1b[31mred\x1b[0m\r\n\x07\tc\u200bd")).toBe("a⟦202E⟧bred\n⟦7⟧\tc⟦200B⟧d");
});
