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

const PIECE = "word ".repeat(13_107);

/** A server that goes on for as long as somebody reads, in pieces of one kind. */
function startEndless(message: (piece: string) => object) {
  const seen = { asked: 0, pieces: 0, isCancelled: false };
  const line = new TextEncoder().encode(`${JSON.stringify({ message: message(PIECE), done: false })}\n`);
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

test.each([
  ["text", (piece: string) => ({ role: "assistant", content: piece })],
  ["thoughts", (piece: string) => ({ role: "assistant", content: "", thinking: piece })],
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
  const wire = createOllamaWire(settings, { keepAlive: -1, maxContext: 4096 });
  const model = createWireModel(wire, settings, { ...testParts(waits), fetch });
  const events = await eventsOf(model, ask());
  expect(events.at(-1)).toMatchObject({ type: "failed", failure: { code: "malformed", retryable: false } });
  const last = events.at(-1);
  expect(last?.type === "failed" && last.failure.message).toContain("longer than 4 MiB");
  expect(seen).toMatchObject({ asked: 1, isCancelled: true });
  expect(seen.pieces * PIECE.length).toBeLessThan(8 * MIB);
  expect(waits).toEqual([]);
});
