import { expect, test } from "bun:test";
import type { Fetch, ModelSettings } from "../../../src/infrastructure/models/model-settings.ts";
import { createWireModel } from "../../../src/infrastructure/models/wire-model.ts";
import { createOllamaWire } from "../../../src/infrastructure/models/wires/ollama.ts";
import { ask, eventsOf, testParts } from "../../contracts/model-kit.ts";

const MIB = 1024 * 1024;
const settings: ModelSettings = {
  type: "ollama",
  provider: "ollama",
  model: "m",
  local: true,
  baseUrl: "http://127.0.0.1:1",
  apiKey: undefined,
  keyVariable: undefined,
  maxTokens: null,
  temperature: null,
  effort: null,
};

const PIECE = Array.from({ length: 8_000 }, (_, n) => `word${n}`).join(" ");

/** A server that writes as long as the client reads, in pieces of one kind. */
function startEndless(message: (piece: string) => object, piece = PIECE) {
  const seen = { asked: 0, pieces: 0, isCancelled: false };
  const line = new TextEncoder().encode(`${JSON.stringify({ message: message(piece), done: false })}\n`);
  const fetch = (async () => {
    seen.asked += 1;
    const body = new ReadableStream({
      pull: (control) => {
        seen.pieces += 1;
        // A reader without a bound would otherwise never end.
        if (seen.pieces > 1_000) control.close();
        else control.enqueue(line);
      },
      cancel: () => {
        seen.isCancelled = true;
      },
    });
    return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
  }) as unknown as Fetch;
  return { seen, fetch };
}

const text = (piece: string) => ({ role: "assistant", content: piece });
const thoughts = (piece: string) => ({ role: "assistant", content: "", thinking: piece });

function openModel(fetch: Fetch, waits: number[] = []) {
  const wire = createOllamaWire(settings, { keepAlive: -1, maxContext: 4096 });
  return createWireModel(wire, settings, { ...testParts(waits), fetch });
}

test.each([
  ["text", text],
  ["thoughts", thoughts],
  [
    "calls",
    (piece: string) => ({
      role: "assistant",
      content: "",
      tool_calls: [{ function: { name: "write", arguments: { piece } } }],
    }),
  ],
] as const)("an answer of more than 4 MiB of %s is ended, and not asked for again", async (_, message) => {
  const { seen, fetch } = startEndless(message);
  const waits: number[] = [];
  const events = await eventsOf(openModel(fetch, waits), ask());
  expect(events.at(-1)).toMatchObject({ type: "failed", failure: { code: "endless", retryable: false } });
  const last = events.at(-1);
  expect(last?.type === "failed" && last.failure.message).toContain("longer than 4 MiB");
  expect(seen).toMatchObject({ asked: 1, isCancelled: true });
  expect(seen.pieces * PIECE.length).toBeLessThan(8 * MIB);
  expect(waits).toEqual([]);
});

const SENTENCE = "The quick brown fox jumps over the lazy dog, and then it begins again. ";
test.each([
  ["text", text, SENTENCE],
  ["text, a few characters at a time", text, SENTENCE.slice(0, 7)],
  ["thoughts", thoughts, SENTENCE],
] as const)("an answer that goes in circles is ended and says so: %s", async (_, message, piece) => {
  const { seen, fetch } = startEndless(message, piece);
  const events = await eventsOf(openModel(fetch), ask());
  expect(events.at(-1)).toMatchObject({
    type: "failed",
    failure: {
      ...{ code: "endless", retryable: false },
      message: expect.stringMatching(/repeated the same words without end and was stopped\n→ /),
      texts: { ja: expect.stringContaining("繰り返した") },
    },
  });
  expect(seen).toMatchObject({ asked: 1, isCancelled: true });
  expect(seen.pieces * piece.length).toBeLessThan(10_000);
});

test("a refusal that begins with a byte order mark is read as one without", async () => {
  const refusing = (mark: string) =>
    (async () => new Response(`${mark}{"error":"no such thing"}`, { status: 400 })) as unknown as Fetch;
  const [marked, plain] = await Promise.all(
    ["\uFEFF", ""].map((mark) => eventsOf(openModel(refusing(mark)), ask())),
  );
  expect(marked?.at(-1)).toEqual(plain?.at(-1) as never);
});
