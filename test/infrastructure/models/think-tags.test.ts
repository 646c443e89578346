import { expect, test } from "bun:test";
import fc from "fast-check";
import { createThinkSplitter } from "../../../src/infrastructure/models/answer.ts";

function split(pieces: readonly string[]) {
  const got = { text: "", reasoning: "" };
  const splitter = createThinkSplitter({
    text: (piece) => {
      got.text += piece;
    },
    reasoning: (piece) => {
      got.reasoning += piece;
    },
  });
  for (const piece of pieces) splitter.take(piece);
  splitter.end();
  return got;
}

test.each([
  ["<think>a</think>b", { reasoning: "a", text: "b" }],
  ["\n<think>\na < b\n</think>\n\nyes", { reasoning: "\na < b\n", text: "yes" }],
  ["<thinking>a</thinking>b", { reasoning: "a", text: "b" }],
  ["<think></think>b", { reasoning: "", text: "b" }],
  ["<think>never ends", { reasoning: "never ends", text: "" }],
  ["<thin", { reasoning: "", text: "<thin" }],
  [
    "The tag <think> opens, </think> closes.",
    { reasoning: "", text: "The tag <think> opens, </think> closes." },
  ],
  ["<think>a</think>b<think>c</think>", { reasoning: "a", text: "b<think>c</think>" }],
  ["  indented", { reasoning: "", text: "  indented" }],
])("%j", (whole, expected) => expect(split([whole])).toEqual(expected));

test("it does not matter where the pieces are cut", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("<think>", "</think>", "<thi", "nk>", "a", " ", "<", "/")),
      fc.array(fc.nat(40)),
      (words, cuts) => {
        const whole = words.join("");
        const places = [...new Set([0, ...cuts.filter((cut) => cut < whole.length), whole.length])].sort(
          (a, b) => a - b,
        );
        const pieces = places.slice(1).map((end, index) => whole.slice(places[index], end));
        expect(split(pieces)).toEqual(split([whole]));
      },
    ),
  );
});
