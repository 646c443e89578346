import { expect, test } from "bun:test";
import { toErrorText } from "../../../src/domain/platform/error-text.ts";
import { hasMoreMembers } from "../../../src/domain/platform/json-members.ts";

test.each([
  [new Error("no"), "no"],
  ["no", "no"],
  [{ code: "rate-limited", message: "later" }, "later"],
  [{ code: "x" }, '{"code":"x"}'],
  [null, "null"],
])("whatever is thrown has words: %p", (thrown, words) => {
  expect(toErrorText(thrown)).toBe(words);
});

test("members of JSON are counted outside of texts", () => {
  expect(hasMoreMembers('{"a":"1,2,3,[[[{{{","b":"\\",,,"}', 2)).toBe(false);
  expect(hasMoreMembers('{"a":1,"b":2,"c":3}', 2)).toBe(true);
  expect(hasMoreMembers("[[[]]]", 2)).toBe(true);
  expect(hasMoreMembers('{"a":"\\\\","b":1,"c":2}', 2)).toBe(true);
});
