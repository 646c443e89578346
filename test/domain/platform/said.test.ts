import { expect, test } from "bun:test";
import { toErrorText } from "../../../src/domain/platform/error-text.ts";
import { hasMoreMembers, parseEvent, parseEventForm } from "../../../src/domain/platform/json-members.ts";

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

test("an event of a service is read within what any event has", () => {
  expect(parseEvent('{"a":[1,"x,y"]}')).toEqual({ a: [1, "x,y"] });
  expect(parseEvent("null")).toBeNull();
  expect(parseEvent("{")).toBeUndefined();
  expect(parseEvent(`["${"[{,".repeat(100_000)}"]`)).toHaveLength(1);
  for (const many of [
    `[${"0,".repeat(60_000)}0]`,
    `{"events":${"[".repeat(60_000)}${"]".repeat(60_000)}}`,
    `{${Array.from({ length: 60_000 }, (_, at) => `"k${at}":1`).join()}}`,
  ])
    expect(parseEvent(many)).toBeUndefined();
});

test("so is one that is sent as a form", () => {
  expect(parseEventForm("payload=%7B%7D&a=b")?.get("payload")).toBe("{}");
  expect(parseEventForm("&".repeat(999))).not.toBeNull();
  expect(parseEventForm("&".repeat(1_000))).toBeNull();
});
