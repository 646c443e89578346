import { expect, test } from "bun:test";
import fc from "fast-check";
import { createTextCalls } from "../../../src/infrastructure/models/answer.ts";

function read(pieces: readonly string[], offered: readonly string[] = ["read_file", "tree"]) {
  const got = { text: "", calls: [] as { name: string; arguments: unknown }[], during: "" };
  const reader = createTextCalls({
    offered: new Set(offered),
    text: (piece) => {
      got.text += piece;
    },
    call: (one) => void got.calls.push(one),
  });
  for (const piece of pieces) reader.take(piece);
  got.during = got.text;
  reader.end();
  return got;
}

const CALL = { name: "read_file", arguments: { path: "a.ts" } };
const WRITTEN = JSON.stringify(CALL);

test.each([
  ["a document", WRITTEN, "", [CALL]],
  ["one that says parameters", '{"name":"tree","parameters":{}}', "", [{ name: "tree", arguments: {} }]],
  ["one in a fence", `\`\`\`json\n${WRITTEN}\n\`\`\``, "", [CALL]],
  ["a list", `\n[${WRITTEN}, ${WRITTEN}]`, "", [CALL, CALL]],
  ["a tag", `<tool_call>\n${WRITTEN}\n</tool_call>`, "", [CALL]],
  [
    "two tags after words",
    `Let me look.\n<tool_call>${WRITTEN}</tool_call><tool_call>${WRITTEN}</tool_call>`,
    "Let me look.\n",
    [CALL, CALL],
  ],
  ["a tag that is never closed", `<tool_call>${WRITTEN}`, "", [CALL]],
])("%s is a call", (_, whole, text, calls) => {
  expect(read([whole])).toMatchObject({ text, calls });
});

test.each([
  ["a tool that was not offered", '{"name":"rm","arguments":{}}'],
  ["JSON that is an answer", '{"route":"CHAT","confidence":0.9}'],
  ["half a call", '{"name":"read_file","arg'],
  ["a broken tag beside a good one", `<tool_call>${WRITTEN}</tool_call><tool_call>{oops</tool_call>`],
  ["code", '```json\n{"name": "my-package"}\n```\nis your package.json'],
  ["words", "read_file reads a file"],
  ["a tag's beginning", "a <tool_"],
])("%s is text", (_, whole) => {
  expect(read([whole])).toMatchObject({ text: whole, calls: [] });
});

test("words stream as they come; without tools everything does", () => {
  expect(read(["Hello ", "there"]).during).toBe("Hello there");
  expect(read(['{"a":', "1}"], []).during).toBe('{"a":1}');
});

test("it does not matter where the pieces are cut", () => {
  const words = fc.array(fc.constantFrom("<tool_call>", "</tool_call>", WRITTEN, "{", "a", "\n", "<tool"));
  fc.assert(
    fc.property(words, fc.array(fc.nat(120)), (parts, cuts) => {
      const whole = parts.join("");
      const ends = [...new Set([...cuts.filter((cut) => cut < whole.length), whole.length])].sort(
        (a, b) => a - b,
      );
      const pieces = ends.map((end, index) => whole.slice(ends[index - 1] ?? 0, end));
      const { text, calls } = read([whole]);
      expect(read(pieces)).toMatchObject({ text, calls });
    }),
  );
});
