import { expect, test } from "bun:test";
import { readForm } from "../../../src/adapters/web/request-bodies.ts";

const statusOf = async (fields: URLSearchParams | FormData) => {
  const read = await readForm(new Request("http://picoclaw/chat", { method: "POST", body: fields }));
  return read instanceof Response ? read.status : read.fields.size;
};
const many = (count: number) => Array.from({ length: count }, (_, n): [string, string] => [`k${n}`, ""]);

test("a form has as many fields as ours have, and only a message or a patch is long", async () => {
  const long = "x".repeat(100_001);
  const inParts = new FormData();
  inParts.set("chat", long);
  expect([
    await statusOf(new URLSearchParams(many(1_000))),
    await statusOf(new URLSearchParams(many(1_002))),
    await statusOf(new URLSearchParams({ text: long, patch: long })),
    await statusOf(new URLSearchParams({ chat: long })),
    await statusOf(inParts),
  ]).toEqual([1_000, 413, 2, 413, 413]);
});
