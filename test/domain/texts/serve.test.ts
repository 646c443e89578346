import { describe, expect, test } from "bun:test";
import { serveMessagesFor } from "../../../src/domain/texts/serve.ts";
import { consoleMessagesFor } from "../../../src/domain/texts/web.ts";

/** Every text of a catalogue; functions are called with something that each parameter could be. */
function textsOf(value: unknown, path: string): [string, string][] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value === "function") {
    const given = [
      ["job_1_aaaaaaaa"],
      [3],
      [1],
      [0],
      ["a", "operator"],
      ["b", "local"],
      [2, 1],
      [7_300],
      [130],
    ];
    return given.flatMap((args) => {
      try {
        return [[path, String((value as (...all: unknown[]) => unknown)(...args))] as [string, string]];
      } catch {
        return [];
      }
    });
  }
  if (Array.isArray(value)) return value.flatMap((one, n) => textsOf(one, `${path}[${n}]`));
  return Object.entries(value as object).flatMap(([key, inner]) => textsOf(inner, `${path}.${key}`));
}

const shape = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return typeof value;
  if (Array.isArray(value)) return "list";
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, shape(inner)])
      .sort(([x], [y]) => (String(x) < String(y) ? -1 : 1)),
  );
};

for (const [name, of] of [
  ["the console", consoleMessagesFor],
  ["serve", serveMessagesFor],
] as const)
  describe(`the words of ${name}`, () => {
    test("exist in both languages, each as the other", () => {
      expect(shape(of("ja"))).toEqual(shape(of("en")));
    });

    test("are never empty, and each language keeps to itself", () => {
      for (const [path, text] of textsOf(of("en"), "en")) {
        expect([path, text.trim() !== ""]).toEqual([path, true]);
        expect([path, /[ぁ-んァ-ヶ]/.test(text)]).toEqual([path, false]);
      }
      const japanese = textsOf(of("ja"), "ja");
      const translated = japanese.filter(([, text]) => /[ぁ-んァ-ヶ一-龠]/.test(text));
      expect(translated.length / japanese.length).toBeGreaterThan(0.8);
    });
  });

test("one of a thing is not many of it", () => {
  const en = consoleMessagesFor("en");
  expect([en.changeCount(1), en.changeCount(2), en.commandCount(1)]).toEqual([
    "1 change",
    "2 changes",
    "1 command",
  ]);
  expect([en.uptime(5), en.uptime(600), en.uptime(90_000)]).toEqual(["up 5 s", "up 10 min", "up 25 h"]);
  expect(en.signedInAs("operator", "operator")).toBe("operator");
  expect(consoleMessagesFor("ja").signedInAs("alice", "user")).toBe("alice · ユーザー");
});
