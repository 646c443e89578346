import { expect, test } from "bun:test";
import { readForm } from "../../../src/adapters/web/request-bodies.ts";
import { cpuTimeMs } from "../../cpu-time.ts";

const CSRF = "the-token-of-the-session";
const read = (body: URLSearchParams | FormData) =>
  readForm(new Request("http://picoclaw/chat", { method: "POST", body }), CSRF);
const statusOf = async (fields: URLSearchParams | FormData) => {
  const form = await read(fields);
  return form instanceof Response ? form.status : (form?.fields.size ?? "foreign");
};
const many = (count: number) => Array.from({ length: count }, (_, n): [string, string] => [`k${n}`, ""]);
const ours = (fields: Readonly<Record<string, string>>) => new URLSearchParams({ csrf: CSRF, ...fields });
function inParts(fields: readonly (readonly [string, string | File])[]): FormData {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
}

test("a form has as many fields as ours have, and only a message or a patch is long", async () => {
  const long = "x".repeat(100_001);
  expect([
    await statusOf(new URLSearchParams([["csrf", CSRF], ...many(999)])),
    await statusOf(new URLSearchParams([["csrf", CSRF], ...many(1_001)])),
    await statusOf(ours({ text: long, patch: long })),
    await statusOf(ours({ chat: long })),
    await statusOf(
      inParts([
        ["csrf", CSRF],
        ["chat", long],
      ]),
    ),
  ]).toEqual([1_000, 413, 3, 413, 413]);
});

test("a form that no page of ours made is refused, in parts before it is taken apart", async () => {
  const file = new File(["x"], "a.txt");
  expect([
    await statusOf(new URLSearchParams({ text: "x" })),
    await statusOf(new URLSearchParams({ csrf: "another", text: "x" })),
    await statusOf(inParts([["text", "x"]])),
    await statusOf(
      inParts([
        ["text", "x"],
        ["csrf", CSRF],
      ]),
    ),
    await statusOf(inParts([["csrf", "another"]])),
  ]).toEqual(["foreign", "foreign", "foreign", "foreign", "foreign"]);
  const form = await read(
    inParts([
      ["csrf", CSRF],
      ["text", "hello"],
      ["file", file],
    ]),
  );
  if (form === null || form instanceof Response) throw new Error("refused");
  expect([form.fields.get("text"), form.files.map(({ name }) => name)]).toEqual(["hello", ["a.txt"]]);
});

test("a hundred thousand files are counted, not read, with the token of a page and without it", async () => {
  const part = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nx\r\n';
  const csrf = `--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n${CSRF}\r\n`;
  const headers = { "content-type": "multipart/form-data; boundary=b" };
  const files = `${part.repeat(110_000)}--b--\r\n`;
  const ask = (body: string) =>
    readForm(new Request("http://picoclaw/", { method: "POST", body, headers }), CSRF);
  await ask(`${csrf}${part}--b--\r\n`);
  const before = cpuTimeMs();
  expect(await ask(files)).toBeNull();
  expect(await ask(csrf + files)).toMatchObject({ status: 413 });
  expect(cpuTimeMs() - before).toBeLessThan(100);
});
