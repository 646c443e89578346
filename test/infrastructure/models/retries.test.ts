import { describe, expect, test } from "bun:test";
import type { ModelEvent, ModelFailure } from "../../../src/application/ports/models.ts";
import { generateWithRetries, type TryOutcome } from "../../../src/infrastructure/models/generate-answer.ts";
import type { Fetch, ModelSettings } from "../../../src/infrastructure/models/model-settings.ts";
import { createWireModel } from "../../../src/infrastructure/models/wire-model.ts";
import { createOllamaWire } from "../../../src/infrastructure/models/wires/ollama.ts";
import { answerOf, ask, eventsOf, testParts } from "../../contracts/model-kit.ts";
import { startModelServer } from "../../fakes/model-server/server.ts";

async function waitsFor(failure: Partial<ModelFailure>, local: boolean, retries = 5): Promise<number[]> {
  const waits: number[] = [];
  const failed: TryOutcome = {
    kind: "failed",
    failure: { code: "server-error", message: "", retryable: true, ...failure },
    again: true,
  };
  async function* attempt(): AsyncGenerator<ModelEvent, TryOutcome> {
    yield* [];
    return failed;
  }
  // With this the spread is none.
  const parts = { ...testParts(waits, { retries }), random: () => 1 };
  const events = await Array.fromAsync(generateWithRetries(attempt, parts, ask(), { local }));
  expect(events.at(-1)).toMatchObject({ type: "failed", failure: failed.failure });
  return waits;
}

describe("an overloaded server is waited for, within a limit", () => {
  test.each([{ code: "rate-limited", status: 429 }, { status: 503 }, { status: 529 }] as const)(
    "a cloud's %j: about a minute",
    async (failure) => {
      expect(await waitsFor(failure, false)).toEqual([2000, 4000, 8000, 16_000, 30_000]);
    },
  );

  test("a cloud that stumbled: shorter", async () => {
    expect(await waitsFor({ status: 500 }, false)).toEqual([500, 1000, 2000, 4000, 8000]);
  });

  test("the user's own server: three times, shortly", async () => {
    expect(await waitsFor({ status: 503 }, true)).toEqual([500, 1000, 2000]);
    expect(await waitsFor({ code: "unreachable" }, true)).toEqual([100, 200, 400]);
  });

  test("as long as the server says, up to a minute a time", async () => {
    expect(await waitsFor({ status: 429, retryAfterMs: 60_000 }, false, 2)).toEqual([60_000, 60_000]);
    expect(await waitsFor({ status: 429, retryAfterMs: 60_001 }, false)).toEqual([]);
  });
});

describe("an Ollama that refuses the connection", () => {
  const CLOSED = "http://127.0.0.1:1";
  const ollama = (baseUrl: string, waits: number[], fetch: Fetch) => {
    const settings: ModelSettings = {
      type: "ollama",
      provider: "ollama",
      model: "m",
      local: true,
      baseUrl,
      apiKey: undefined,
      keyVariable: undefined,
      maxTokens: null,
      temperature: null,
      effort: null,
    };
    const wire = createOllamaWire(settings, { keepAlive: -1, maxContext: 4096 });
    return createWireModel(wire, settings, { ...testParts(waits), random: () => 1, fetch });
  };
  const real = fetch as unknown as Fetch;

  test("is not there: it is tried once", async () => {
    const waits: number[] = [];
    const events = await eventsOf(ollama(CLOSED, waits, real));
    expect(events.map(({ type }) => type)).toEqual(["failed"]);
    expect(waits).toEqual([]);
  });

  test("is being started again where it has answered before: it is tried once more, shortly", async () => {
    const server = await startModelServer();
    let isGone = false;
    const waits: number[] = [];
    const model = ollama(server.url, waits, (url, init) =>
      real(isGone ? `${CLOSED}${new URL(url).pathname}` : url, init),
    );
    try {
      server.say({ text: "here" });
      expect((await answerOf(model)).text).toBe("here");
      isGone = true;
      expect((await eventsOf(model)).map(({ type }) => type)).toEqual(["retrying", "failed"]);
      expect(waits).toEqual([100]);
    } finally {
      await server.stop();
    }
  });
});
