import { expect, test } from "bun:test";
import fc from "fast-check";
import picomatch from "picomatch";
import { compilePlainGlob, isPlainGlob } from "../../../src/domain/policy/protection.ts";
import { cases } from "../../require.ts";

test("only patterns without anything special are plain", () => {
  const plain = [".env*", "*credentials*", "*.key", "*.pem", "x y.txt", "id_rsa"];
  const special = ["**/x", "*.{key,pem}", "[ab]", "!x", "a/b", "+(a)", "a\\*", "", ".", "a**", "a?b", "*.*"];
  expect([plain.filter(isPlainGlob), special.filter(isPlainGlob)]).toEqual([plain, []]);
});

test("a plain pattern matches the paths that picomatch matches", () => {
  const piece = fc.constantFrom("*", ".", "a", "B", "key", "-", "_", " ");
  const text = fc.array(fc.constantFrom("a", "B", "b", ".", "key", "-", "_", "/", " ", "x"), {
    maxLength: 8,
  });
  const property = fc.property(
    fc.array(piece, { minLength: 1, maxLength: 6 }),
    text,
    fc.boolean(),
    (pieces, names, nocase) => {
      const pattern = pieces.join("");
      const name = names.join("");
      fc.pre(isPlainGlob(pattern) && name.split("/").every((part) => !/^\.{0,2}$/.test(part)));
      const mine = compilePlainGlob(pattern, { caseInsensitive: nocase })(name);
      expect([pattern, name, mine]).toEqual([pattern, name, picomatch(pattern, { dot: true, nocase })(name)]);
    },
  );
  fc.assert(property, { numRuns: cases(3000) });
});
