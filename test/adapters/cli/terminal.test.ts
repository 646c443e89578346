import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  applyKey,
  createKeyReader,
  type EditorState,
  EMPTY_EDITOR,
  editorText,
  type Key,
} from "../../../src/adapters/cli/terminal-editor.ts";
import { createMarkdownPrinter, renderMarkdown } from "../../../src/adapters/cli/terminal-markdown.ts";
import { textWidth, wrapWords } from "../../../src/adapters/cli/terminal-text.ts";
import { cases } from "../../require.ts";

const WORLD = { history: ["first", "second"], commands: ["undo", "usage", "code", "code1", "diff"] };

/** Types bytes as a terminal sends them; `|` in the answer is the cursor. */
function type(text: string, world = WORLD): string {
  let state: EditorState = EMPTY_EDITOR;
  const reader = createKeyReader((key) => {
    state = applyKey(state, key, world).state;
  });
  reader.add(new TextEncoder().encode(text));
  return `${state.before.join("")}|${state.after.join("")}`;
}

describe("editing", () => {
  test.each<[string, string, string]>([
    ["letters", "abc", "abc|"],
    ["arrows", "abc\x1b[D\x1b[Dx", "ax|bc"],
    ["home and end", "abc\x01x\x05y", "xabcy|"],
    ["backspace over a whole character", "日本👨‍👩‍👧é\x7f\x7f", "日本|"],
    ["delete", "abc\x01\x1b[3~", "|bc"],
    ["words", "one two three\x1bb\x1bb\x17", "|two three"],
    ["word right", "one two\x01\x1bf\x1b[1;5Cx", "one twox|"],
    ["kill to the end and the start", "one two\x1bb\x0b\x15x", "x|"],
    ["history", "\x1b[A\x1b[A", "first|"],
    ["history and back to the draft", "draft\x1b[A\x1b[B", "draft|"],
    ["the history's ends", "\x1b[A\x1b[A\x1b[A\x1b[B\x1b[B\x1b[B", "|"],
    ["a paste of lines", "\x1b[200~a\r\nb\tc\x1b[201~", "a\nb  c|"],
    ["a backslash at the end goes on below", "a\\\rb", "a\nb|"],
    ["alt-enter", "a\x1b\rb", "a\nb|"],
    ["up and down within several lines", "abc\x1b\rde\x1b[Ax\x1b[By", "abxc\ndey|"],
    ["home within several lines", "abc\x1b\rde\x01x", "abc\nx|de"],
    ["completion of the only one", "/di\t", "/diff |"],
    ["completion as far as it is clear", "/co\t", "/code|"],
    ["no completion in a sentence", "see /di\t", "see /di|"],
    ["unknown sequences are passed over", "a\x1b[99;5~b\x1bOPc", "abc|"],
    ["interrupt empties the line", "abc\x03", "|"],
    ["ctrl-d deletes where there is something", "abc\x01\x04", "|bc"],
  ])("%s", (_, typed, expected) => {
    expect(type(typed)).toBe(expected);
  });

  test("several ways to go on are shown", () => {
    let state: EditorState = EMPTY_EDITOR;
    for (const key of ["/", "u"]) state = applyKey(state, { kind: "text", text: key }, WORLD).state;
    expect(applyKey(state, { kind: "tab" }, WORLD)).toMatchObject({
      done: "choices",
      choices: ["/undo", "/usage"],
    });
  });

  test("enter submits, ctrl-d on nothing ends, ctrl-l clears", () => {
    expect(applyKey(EMPTY_EDITOR, { kind: "enter" }, WORLD).done).toBe("submit");
    expect(applyKey(EMPTY_EDITOR, { kind: "eof" }, WORLD).done).toBe("eof");
    expect(applyKey(EMPTY_EDITOR, { kind: "clear" }, WORLD).done).toBe("clear");
    expect(applyKey(EMPTY_EDITOR, { kind: "escape" }, WORLD)).toEqual({ state: EMPTY_EDITOR, done: "no" });
  });

  test("however the bytes are cut into pieces, the same keys come out", () => {
    const bytes = new TextEncoder().encode("aé日本👍\x1b[A\x1b[200~x\r\ny\x1b[201~\x1b[1;5D\x7f\x1bOHz\r");
    const keysOf = (cuts: readonly number[]): Key[] => {
      const keys: Key[] = [];
      const reader = createKeyReader((key) => keys.push(key));
      let from = 0;
      for (const cut of [...cuts, bytes.length].sort((a, b) => a - b)) {
        reader.add(bytes.slice(from, cut));
        from = cut;
      }
      // Text may come in more pieces.
      return keys.reduce<Key[]>((all, key) => {
        const last = all.at(-1);
        if (key.kind === "text" && last?.kind === "text")
          all[all.length - 1] = { kind: "text", text: last.text + key.text };
        else all.push(key);
        return all;
      }, []);
    };
    const whole = keysOf([]);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 6 }), (cuts) => {
        expect(keysOf(cuts)).toEqual(whole);
      }),
      { numRuns: cases(200) },
    );
  });

  test("an escape that stands alone is a key of its own", () => {
    const keys: Key[] = [];
    const reader = createKeyReader((key) => keys.push(key));
    reader.add(new Uint8Array([0x1b]));
    expect(keys).toEqual([]);
    reader.flush();
    expect(keys).toEqual([{ kind: "escape" }]);
  });

  test("no keys make the cursor leave the text", () => {
    const kinds = [
      "left",
      "right",
      "up",
      "down",
      "home",
      "end",
      "word-left",
      "word-right",
      "kill-end",
      "kill-start",
      "kill-word",
      "backspace",
      "delete",
      "newline",
      "tab",
    ] as const;
    const key = fc.oneof(
      fc.constantFrom(...kinds).map((kind): Key => ({ kind })),
      fc.string({ unit: "grapheme", maxLength: 5 }).map((text): Key => ({ kind: "text", text })),
    );
    fc.assert(
      fc.property(fc.array(key, { maxLength: 40 }), (keys) => {
        let state: EditorState = EMPTY_EDITOR;
        for (const one of keys) {
          const before = editorText(state);
          const next = applyKey(state, one, WORLD).state;
          if (["left", "right", "home", "end", "word-left", "word-right"].includes(one.kind))
            expect(editorText(next)).toBe(before);
          state = next;
        }
      }),
      { numRuns: cases(200) },
    );
  });
});

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
    "a\n\x1b[2m```diff\x1b[22m\n\x1b[1m--- a\x1b[0m\n\x1b[1m+++ b\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m-x\x1b[0m\n\x1b[32m+y\x1b[0m\n z\n\x1b[2m```\x1b[22m\n-b\n",
  );
});

test.each([
  ["# Head", "\x1b[1mHead\x1b[22m"],
  ["- one `a*b*` **two**", "• one \x1b[36ma*b*\x1b[39m \x1b[1mtwo\x1b[22m"],
  ["2 * 3 * 4, a*b*c, snake_case_name", "2 * 3 * 4, a*b*c, snake_case_name"],
  ["*so* [here](https://x.example/a)", "\x1b[3mso\x1b[23m here (https://x.example/a)"],
  ["```js\n# not a heading\n```", "\x1b[2m```js\x1b[22m\n# not a heading\n\x1b[2m```\x1b[22m"],
])("Markdown %j is shown as a terminal shows it", (markdown, shown) => {
  expect(renderMarkdown(markdown)).toBe(shown);
});

test("Markdown breaks between words, colours take no columns, and code stays as it is", () => {
  expect(renderMarkdown("- **one** two three\n```\na line of code as it is\n```", 13)).toBe(
    "• \x1b[1mone\x1b[22m two\n  three\n\x1b[2m```\x1b[22m\na line of code as it is\n\x1b[2m```\x1b[22m",
  );
});

test("Markdown that comes in pieces is the same as at once", () => {
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
