import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  createCharacterGate,
  createOutputCapture,
  cutAtCharacter,
} from "../../../src/infrastructure/platform/output-capture.ts";

const note = (cut: number) => `<${cut}>`;

function captured(limitBytes: number, ...chunks: readonly string[]) {
  const capture = createOutputCapture(limitBytes, note);
  for (const chunk of chunks) capture.add(Buffer.from(chunk));
  return capture.finish();
}

describe("an output capture", () => {
  const cases: readonly [string, ReturnType<typeof captured>, ReturnType<typeof captured>][] = [
    ["nothing", captured(10), { text: "", cutBytes: 0 }],
    ["exactly the limit", captured(10, "01234", "56789"), { text: "0123456789", cutBytes: 0 }],
    ["one byte more", captured(10, "0123456789a"), { text: "01234<1>6789a", cutBytes: 1 }],
    ["many small chunks", captured(4, ..."abcdefgh"), { text: "ab<4>gh", cutBytes: 4 }],
    ["no room at all", captured(0, "abc"), { text: "<3>", cutBytes: 3 }],
    ["characters at both edges", captured(8, "日本語日本語"), { text: "日<12>語", cutBytes: 12 }],
  ];
  test.each(cases)("%s", (_name, actual, expected) => expect(actual).toEqual(expected));

  test("for any chunks, head and tail are the text's own and the bytes add up", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary", maxLength: 30 })), fc.nat(60), (chunks, limit) => {
        const whole = Buffer.from(chunks.join(""));
        const { text, cutBytes } = captured(limit, whole.toString());
        if (cutBytes === 0) return text === whole.toString() && whole.length <= limit;
        const [head = "", tail = ""] = text.split(`<${cutBytes}>`);
        const kept = Buffer.byteLength(head) + Buffer.byteLength(tail);
        const valid = whole.toString();
        return (
          valid.startsWith(head) && valid.endsWith(tail) && kept <= limit && kept + cutBytes === whole.length
        );
      }),
    );
  });
});

describe("a character gate", () => {
  test("joins characters over any split and loses no byte", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat(7)), (text, sizes) => {
        const passed: string[] = [];
        const gate = createCharacterGate((bytes) => passed.push(Buffer.from(bytes).toString()));
        let rest = Buffer.from(text);
        for (const size of sizes) {
          gate.add(rest.subarray(0, size));
          rest = rest.subarray(size);
        }
        gate.add(rest);
        gate.end();
        return passed.join("") === Buffer.from(text).toString();
      }),
    );
  });

  test.each([
    [[0x61], 1],
    [[0xe6, 0x97], 0],
    [[0x61, 0xf0, 0x9f, 0x98], 1],
    [[0xf0, 0x9f, 0x98, 0x80], 4],
    [[0x80, 0x80, 0x80, 0x80], 4],
    [[0xff], 1],
    [[0xc0], 1],
  ])("of %p can decode %p", (bytes, decodable) => {
    expect(cutAtCharacter(Uint8Array.from(bytes))).toBe(decodable);
  });
});
