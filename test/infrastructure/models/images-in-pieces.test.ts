/** A request with images is megabytes of text, which a server writes while it answers others. */
import { expect, test } from "bun:test";
import type { ModelMessage } from "../../../src/application/ports/models.ts";
import { fillInImages, markImages } from "../../../src/infrastructure/models/wire.ts";
import { WIRES } from "../../contracts/stub-model.ts";
import { turnsDuring } from "../../event-loop.ts";

const LARGE = Buffer.alloc(3_600_000, "picture").toString("base64");
const messages: readonly ModelMessage[] = [
  {
    role: "user",
    text: "日本語 image_call_x_0",
    images: [
      { mediaType: "image/png", data: LARGE },
      { mediaType: "image/jpeg", data: "QUJD" },
    ],
  },
  { role: "assistant", text: 'a "pixel"' },
  { role: "user", text: "and this? 😀", images: [{ mediaType: "image/gif", data: `${LARGE}AAAA` }] },
];

test.each(WIRES.map(({ type, wire }) => [type, wire] as const))(
  "%s: images are put into the request in pieces, where the wire wants them",
  async (type, open) => {
    const wire = open({
      type,
      provider: "p",
      model: "m",
      local: false,
      baseUrl: "http://h/v1",
      apiKey: "key",
      keyVariable: undefined,
      maxTokens: 100,
      temperature: null,
      effort: null,
    });
    const request = { messages, signal: new AbortController().signal };
    const marked = markImages(request, "image_call_xyz_");
    const written = JSON.stringify(wire.request(marked.request, new Set()).body);
    expect(written.length).toBeLessThan(2_000);
    const { turns, done } = await turnsDuring(() => fillInImages(written, marked));
    const wanted = JSON.stringify(wire.request(request, new Set()).body);
    expect(Buffer.from(done as Uint8Array).equals(Buffer.from(wanted))).toBe(true);
    expect(turns).toBeGreaterThanOrEqual(Math.floor((2 * LARGE.length) / 1024 ** 2));
  },
);

test("a request of text alone is sent as it is written", async () => {
  const request = { messages: messages.slice(1, 2), signal: new AbortController().signal };
  const marked = markImages(request, "image_call_xyz_");
  expect(await fillInImages("{}", marked)).toBe("{}");
});
