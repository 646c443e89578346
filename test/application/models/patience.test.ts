import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { complete, createPatience } from "../../../src/application/models/complete.ts";
import { ask } from "../../contracts/model-kit.ts";
import { openStubModel, WIRES } from "../../contracts/stub-model.ts";
import type { ScriptedReply } from "../../fakes/model-server/reply.ts";
import { type ModelServer, startModelServer } from "../../fakes/model-server/server.ts";

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

const WIRE = WIRES[0] as (typeof WIRES)[number];
const status = (code: number): ScriptedReply => ({ fault: { kind: "status", status: code } });

/** Time that only waiting moves. */
function patient(limitMs: number) {
  const waits: number[] = [];
  let now = 0;
  const patience = createPatience({
    limitMs,
    clock: () => now,
    pause: async (ms) => {
      waits.push(ms);
      now += ms;
    },
  });
  return { patience, waits };
}

describe("waiting out what passes", () => {
  const overloaded = Array.from({ length: 12 }, () => status(529));

  test("an overload of minutes is waited out, longer each time", async () => {
    const { patience, waits } = patient(600_000);
    server.say(...overloaded, { text: "here I am" });
    const ended = await complete(openStubModel(WIRE, server), ask(), { patience });
    expect(ended).toMatchObject({ kind: "finished", answer: { text: "here I am" } });
    expect(waits.length).toBeGreaterThan(0);
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
  });

  test("one that lasts longer than the limit is reported as it is", async () => {
    const { patience, waits } = patient(20_000);
    server.say(status(503));
    const ended = await complete(openStubModel(WIRE, server), ask(), { patience });
    expect(ended).toMatchObject({ kind: "failed", failure: { code: "server-error", status: 503 } });
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(20_000);
  });

  test("a stream that was cut in the middle is requested again at once, but not without end", async () => {
    const cut: ScriptedReply = {
      chunks: ["on", "ce"],
      fault: { kind: "cut", after: WIRE.begins + 1 },
    };
    const { patience, waits } = patient(600_000);
    server.say(cut, { text: "once upon a time" });
    expect(await complete(openStubModel(WIRE, server), ask(), { patience })).toMatchObject({
      kind: "finished",
      answer: { text: "once upon a time" },
    });
    server.say(cut);
    expect(await complete(openStubModel(WIRE, server), ask(), { patience })).toMatchObject({
      kind: "failed",
      failure: { code: "cut-off" },
    });
    expect(waits.every((ms) => ms === 0)).toBe(true);
  });

  test.each([
    ["a wrong key", { fault: { kind: "unauthorized" } }, "unauthorized"],
    ["a quota that is spent", { fault: { kind: "status", status: 402 } }, "rate-limited"],
  ] as const)("%s is not waited for", async (_, reply, code) => {
    const { patience, waits } = patient(600_000);
    server.say(reply);
    expect(await complete(openStubModel(WIRE, server), ask(), { patience })).toMatchObject({
      kind: "failed",
      failure: { code },
    });
    expect(waits).toEqual([]);
  });

  test("a server that never answered is not waited for; one that did is", async () => {
    const gone = { code: "unreachable", message: "", retryable: true } as const;
    const { patience } = patient(600_000);
    expect(patience.waitFor({ kind: "failed", failure: gone })).toBeNull();
    const answer = {
      text: "yes",
      toolCalls: [],
      finish: "stop",
      usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0 },
    } as const;
    expect(patience.waitFor({ kind: "finished", answer })).toBeNull();
    expect(patience.waitFor({ kind: "failed", failure: gone })).toBeGreaterThan(0);
  });
});
