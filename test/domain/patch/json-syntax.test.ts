import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { scanJson } from "../../../src/domain/platform/json-text.ts";

const BROKEN: readonly (readonly [text: string, at: number, reason: string])[] = [
  ["", 0, "unexpected end of text"],
  ["[", 1, "unexpected end of text"],
  ["[1,]", 3, 'unexpected character "]"'],
  ['{"a":1,}', 7, 'unexpected character "}"'],
  ['{"a" 1}', 5, 'unexpected character "1"'],
  ["{a:1}", 1, 'unexpected character "a"'],
  ["[1 2]", 3, 'unexpected character "2"'],
  ["[1}", 2, 'unexpected character "}"'],
  ['{"a":1]', 6, 'unexpected character "]"'],
  ["[tru]", 1, 'unexpected character "t"'],
  ["[01]", 1, 'unexpected character "0"'],
  ["[+1]", 1, 'unexpected character "+"'],
  ["['a']", 1, `unexpected character "'"`],
  ["[😀]", 1, 'unexpected character "😀"'],
  ['["a', 3, "unterminated string"],
  ['["a\nb"]', 3, "control character in a string (a line end is \\n)"],
  ['["\\x"]', 2, "bad escape \\x"],
  ['["\\u12G4"]', 2, "bad \\u escape"],
  ['["\\', 2, "bad escape \\"],
  ["[".repeat(2000), 1000, "nested deeper than 1000 levels"],
];

describe("where JSON stops being JSON: ", () => {
  for (const [text, at, reason] of BROKEN)
    test(JSON.stringify(text.slice(0, 20)), () =>
      expect(scanJson(text, 0)).toEqual({ ok: false, at, reason }),
    );
});

test("a value ends where JSON.parse would end it, regardless of what follows", () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.nat(3),
      fc.constantFrom("", " x", "]", "}", ",", "\n[1]"),
      (json, indent, tail) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        // A bare number or word goes on with the next word character.
        expect(scanJson(`>${text}${tail}`, 1)).toEqual({ ok: true, end: text.length + 1 });
      },
    ),
  );
});

test("what JSON.parse refuses is refused, and the other way round", () => {
  const edits = fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom("", ...'[]{}":,\\u0-1.eE tnf\n\0'));
  fc.assert(
    fc.property(fc.json(), edits, (json, [at, length, piece]) => {
      const from = at % (json.length + 1);
      const text = json.slice(0, from) + piece + json.slice(from + length);
      const accepted = (): boolean => {
        try {
          JSON.parse(text);
          return true;
        } catch {
          return false;
        }
      };
      const extent = scanJson(text, 0);
      expect(extent.ok && text.slice(extent.end).trim() === "").toBe(accepted());
    }),
    { numRuns: 2000 },
  );
});
