import { describe, expect, test } from "bun:test";
import { imageMark, imageTypeOf, MOST_IMAGE_BYTES, readImage } from "../../../src/domain/platform/image.ts";
import { PNG } from "../../fakes/pictures.ts";

const bytes = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

describe("an image is what its bytes say", () => {
  test.each([
    ["a PNG", PNG, "image/png"],
    ["a JPEG", bytes("\xff\xd8\xff\xe0\x00\x10JFIF"), "image/jpeg"],
    ["an old GIF", bytes("GIF87a\x01\x00"), "image/gif"],
    ["a GIF", bytes("GIF89a\x01\x00"), "image/gif"],
    ["a WebP", bytes("RIFF\x10\x00\x00\x00WEBPVP8 "), "image/webp"],
    ["a WAV, which begins like a WebP", bytes("RIFF\x10\x00\x00\x00WAVEfmt "), null],
    ["a HEIC", bytes("\x00\x00\x00\x18ftypheic\x00"), null],
    ["an SVG", bytes("<svg xmlns='http://www.w3.org/2000/svg'/>"), null],
    ["half a signature", PNG.subarray(0, 6), null],
    ["nothing", new Uint8Array(), null],
  ] as const)("%s", (_, given, type) => {
    expect(imageTypeOf(given)).toBe(type);
  });
});

test("one that is too large for a provider is refused with its size, and the largest is not", () => {
  const large = new Uint8Array(MOST_IMAGE_BYTES + 1);
  large.set(PNG);
  expect(readImage("a.png", large)).toEqual({
    ok: false,
    trouble: { kind: "too-large", name: "a.png", sizeBytes: MOST_IMAGE_BYTES + 1 },
  });
  expect(readImage("a.png", large.subarray(0, MOST_IMAGE_BYTES))).toEqual({
    ok: true,
    mediaType: "image/png",
  });
  expect(Buffer.from(large.subarray(0, MOST_IMAGE_BYTES)).toString("base64").length).toBeLessThan(
    5 * 1024 ** 2,
  );
});

test("a name cannot pass for another line or end its mark", () => {
  expect(imageMark("a]\n[image: b.png")).toBe("[image: a   image: b.png]");
});
