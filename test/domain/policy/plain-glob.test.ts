import { expect, test } from "bun:test";
import fc from "fast-check";
import picomatch from "picomatch";
import { compileNames } from "../../../src/domain/policy/protection.ts";
import { cases } from "../../require.ts";

test("a pattern of names matches the paths that picomatch matches", () => {
  const piece = fc.constantFrom("*", ".", "a", "B", "key", "-", "_", "?", "[ab]", "{a,B.key}", "[^x]");
  const part = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(""));
  const pattern = fc
    .array(fc.oneof(part, part, fc.constant("**")), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join("/"));
  const text = fc.array(fc.constantFrom("a", "B", "b", ".", "key", "-", "_", "/", "x"), { maxLength: 8 });
  const property = fc.property(pattern, text, fc.boolean(), (written, names, nocase) => {
    const name = names.join("");
    // Beyond git's rules: a double star within a name, and a star that picomatch wants something after.
    fc.pre(!/[^/]\*\*|\*\*[^/]|(?:^|[/,{])[.]{1,2}(?:$|[/,}])|\*\.\*|\*[?]/.test(written));
    fc.pre(name.split("/").every((one) => !/^\.{0,2}$/.test(one)));
    const mine = compileNames(written, { caseInsensitive: nocase })(name);
    const theirs = picomatch(written, { dot: true, nocase })(name);
    // Of a folder before `/**`, picomatch matches some and not others.
    expect([written, name, mine]).toEqual([written, name, theirs || (mine && written.endsWith("/**"))]);
  });
  fc.assert(property, { numRuns: cases(3000) });
});
