import { describe, expect, test } from "bun:test";
import { resolveHome } from "../../src/config/environment.ts";
import { coerceText, parseByteSize } from "../../src/config/scalar-values.ts";
import { editDistance, nearestName } from "../../src/domain/platform/nearest.ts";
import { resolveLocale } from "../../src/domain/texts/locale.ts";

describe("language", () => {
  const cases: readonly (readonly [Record<string, string>, "ja" | "en" | undefined, "ja" | "en"])[] = [
    [{}, undefined, "en"],
    [{ LANG: "en_US.UTF-8" }, undefined, "en"],
    [{ LANG: "C.UTF-8" }, undefined, "en"],
    [{ LANG: "de_DE.UTF-8" }, undefined, "en"],
    [{ LC_MESSAGES: "ja_JP.UTF-8", LANG: "en_US" }, undefined, "ja"],
    [{ LC_ALL: "", LANG: "ja_JP" }, undefined, "ja"],
    [{ LC_ALL: "ja_JP.UTF-8", LANG: "en_US" }, undefined, "ja"],
    [{ LC_ALL: "C", LANG: "ja_JP" }, undefined, "en"],
    [{ LANG: "en" }, "ja", "ja"],
    [{ PICOCLAW_LOCALE: "en" }, "ja", "en"],
    [{ PICOCLAW_LOCALE: "fr", LANG: "en" }, undefined, "en"],
    [{ LANG: "jam" }, undefined, "en"],
  ];
  for (const [env, locale, expected] of cases) {
    test(`${JSON.stringify(env)} and ${locale} speak ${expected}`, () => {
      expect(resolveLocale({ env, config: locale === undefined ? {} : { locale } })).toBe(expected);
    });
  }
});

test("sizes", () => {
  const sizes = {
    "2GiB": 2 * 1024 ** 3,
    "500MB": 500e6,
    "4g": 4 * 1024 ** 3,
    "10": 10,
    "1.5 KiB": 1536,
    "7B": 7,
  };
  for (const [text, bytes] of Object.entries(sizes))
    expect([text, parseByteSize(text)]).toEqual([text, bytes]);
  for (const text of ["", "GiB", "-1", "2 gigs", "1e3", "99999999TiB"])
    expect([text, parseByteSize(text)]).toEqual([text, undefined]);
});

test("the nearest name", () => {
  expect(editDistance("kitten", "sitting")).toBe(3);
  expect(editDistance("auto_comimt", "auto_commit")).toBe(1);
  expect(nearestName("tiemout", ["timeout", "time", "port"])).toBe("timeout");
  expect(nearestName("banana", ["timeout", "port"])).toBeUndefined();
});

test("text becomes what the key takes, or nothing", () => {
  expect(coerceText("On", { type: "boolean" })).toBe(true);
  expect(coerceText("2", { type: "boolean" })).toBeUndefined();
  expect(coerceText("1.5", { type: "integer" })).toBeUndefined();
  expect(coerceText("[1", { type: "array" })).toBeUndefined();
  expect(coerceText('{"a":1}', { type: "object" })).toEqual({ a: 1 });
  expect(coerceText("[]", { type: "object" })).toBeUndefined();
});

test("PicoClaw's home", () => {
  expect(resolveHome({ PICOCLAW_HOME: "/p", HOME: "/h" })).toBe("/p");
  expect(resolveHome({ PICOCLAW_HOME: "", HOME: "/h" })).toBe("/h/.picoclaw");
});
