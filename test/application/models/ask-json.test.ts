import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { askJson, type JsonReading } from "../../../src/application/models/complete.ts";
import { ask } from "../../contracts/model-kit.ts";
import { openStubModel, WIRES } from "../../contracts/stub-model.ts";
import type { ScriptedReply } from "../../fakes/model-server/reply.ts";
import { type ModelServer, startModelServer } from "../../fakes/model-server/server.ts";

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

const usage = { input: 10, output: 3 };

function readNumber(text: string): JsonReading<number> {
  try {
    const { n } = JSON.parse(text) as { n?: unknown };
    return typeof n === "number" ? { ok: true, value: n } : { ok: false, problem: "`n` is no number" };
  } catch {
    return { ok: false, problem: "no JSON" };
  }
}

describe.each(WIRES.map((kind) => [kind.protocol, kind] as const))("over %s", (_, kind) => {
  const answerTo = async (...replies: ScriptedReply[]) => {
    const before = server.requests.length;
    server.say(...replies);
    const answer = await askJson(openStubModel(kind, server), {
      request: ask("JSON, please"),
      read: readNumber,
    });
    const sent = server.requests.slice(before).map(({ body }) => JSON.stringify(body));
    return { answer, sent };
  };

  test("the first answer is read", async () => {
    const { answer, sent } = await answerTo({ text: '{"n": 1}', usage });
    expect(answer).toEqual({
      kind: "read",
      value: 1,
      usage: { inputTokens: 10, outputTokens: 3, cachedTokens: 0 },
    });
    expect(sent).toHaveLength(1);
  });

  test("a wrong one is returned once, with the mistake", async () => {
    const { answer, sent } = await answerTo({ text: "gladly!", usage }, { text: '{"n": 2}', usage });
    expect(answer).toMatchObject({ kind: "read", value: 2, usage: { inputTokens: 20, outputTokens: 6 } });
    expect(sent).toHaveLength(2);
    expect(sent[1]).toContain("gladly!");
    expect(sent[1]).toContain("That answer cannot be used: no JSON.");
  });

  test("a second wrong one is the end", async () => {
    const { answer, sent } = await answerTo(
      { text: "gladly!" },
      { text: '{"n": "x"}' },
      { text: '{"n": 3}' },
    );
    expect(answer).toMatchObject({ kind: "malformed", problem: "`n` is no number" });
    expect(sent).toHaveLength(2);
  });

  test("one that was cut by its length is returned as such, unless it is complete", async () => {
    const cut = await answerTo({ text: '{"n": ', finish: "length" }, { text: '{"n": 4}' });
    expect(cut.answer).toMatchObject({ kind: "read", value: 4 });
    expect(cut.sent[1]).toContain("the answer was cut because it was too long");
    const whole = await answerTo({ text: '{"n": 5}', finish: "length" });
    expect(whole.answer).toMatchObject({ kind: "read", value: 5 });
    expect(whole.sent).toHaveLength(1);
  });

  test("a missing answer is reported with its facts, also the second time", async () => {
    expect((await answerTo({ fault: { kind: "unauthorized" } })).answer).toMatchObject({
      kind: "failed",
      failure: { code: "unauthorized" },
    });
    expect((await answerTo({ text: "gladly!", usage }, { text: "" })).answer).toMatchObject({
      kind: "empty",
      usage: { inputTokens: 10 },
    });
  });
});
