/** The wires against a real server of llama.cpp, by night. Its model is a table that says known words. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model, ModelEvent } from "../../src/application/ports/models.ts";
import { listOffered } from "../../src/infrastructure/models/list-models.ts";
import type { ModelLimits, ModelSettings } from "../../src/infrastructure/models/model-settings.ts";
import type { Wire } from "../../src/infrastructure/models/wire.ts";
import { createWireModel } from "../../src/infrastructure/models/wire-model.ts";
import { createAnthropicWire } from "../../src/infrastructure/models/wires/anthropic.ts";
import { createOpenAiChatWire } from "../../src/infrastructure/models/wires/openai-chat.ts";
import { createOpenAiResponsesWire } from "../../src/infrastructure/models/wires/openai-responses.ts";
import { type LlamaServer, startLlamaServer } from "../real/llama-server.ts";
import { STORY, writeTinyModel } from "../real/tiny-gguf.ts";
import { requirePart } from "../require.ts";
import { answerOf, ask, eventsOf, failureOf, testParts } from "./model-kit.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const PATIENCE_MS = 120_000;
// The server closes a connection after a hundred requests, also under the next one: the second try that every request has.
const LIMITS: ModelLimits = {
  connectMs: PATIENCE_MS,
  firstTokenMs: PATIENCE_MS,
  idleMs: PATIENCE_MS,
  retries: 3,
};
const TOOL = {
  name: "read_file",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
} as const;
const KEY = "sk-of-the-tiny-model";

interface Kind {
  readonly name: string;
  readonly type: ModelSettings["type"];
  readonly path: string;
  readonly wire: (settings: ModelSettings) => Wire;
}

const KINDS: readonly Kind[] = [
  { name: "chat completions", type: "openai-compatible", path: "/v1", wire: createOpenAiChatWire },
  { name: "responses", type: "openai", path: "/v1", wire: createOpenAiResponsesWire },
  { name: "messages", type: "anthropic", path: "", wire: createAnthropicWire },
];

const folder = mkdtempSync(join(tmpdir(), "picoclaw-llama-"));
const file = join(folder, "tiny.gguf");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the model is one file with a header of GGUF", () => {
  writeTinyModel(file, 1024);
  const bytes = readFileSync(file);
  expect([bytes.toString("latin1", 0, 4), bytes.readUInt32LE(4), bytes.length % 32]).toEqual(["GGUF", 3, 0]);
});

if (nightly && requirePart("llama-server"))
  for (const kind of KINDS) describe(`llama.cpp by ${kind.name}`, () => realContract(kind));

function realContract({ type, path, wire }: Kind): void {
  let server: LlamaServer;
  beforeAll(async () => {
    writeTinyModel(file, 131_072);
    server = await startLlamaServer(file, { slots: 2, context: 131_072, key: KEY });
  }, PATIENCE_MS);
  afterAll(() => server.stop());

  const open = (more: Partial<ModelSettings> = {}, limits: Partial<ModelLimits> = {}): Model => {
    const settings: ModelSettings = {
      type,
      provider: "llama",
      model: "tiny",
      local: true,
      baseUrl: `${server.url}${path}`,
      apiKey: KEY,
      keyVariable: "LLAMA_KEY",
      maxTokens: 1000,
      temperature: 0,
      effort: null,
      ...more,
    };
    return createWireModel(wire(settings), settings, testParts([], { ...LIMITS, ...limits }));
  };
  const textOf = (events: readonly ModelEvent[]) =>
    events.flatMap((event) => (event.type === "text" ? [event.text] : [])).join("");

  test("an answer arrives in pieces, whole characters each, and is their sum", async () => {
    const events = await eventsOf(open());
    expect(textOf(events)).toBe(STORY);
    expect(events.filter(({ type: one }) => one === "text").length).toBeGreaterThan(4);
    const last = events.at(-1);
    if (last?.type !== "finished") throw new Error(JSON.stringify(last));
    expect(last.answer).toMatchObject({ text: STORY, finish: "stop", toolCalls: [] });
    const { inputTokens, outputTokens } = last.answer.usage ?? {};
    expect(inputTokens).toBeGreaterThan(6);
    expect(outputTokens).toBe(13);
  });
  test("the same question again is read from the cache, and said so", async () => {
    const question = ask("the same question, long enough to be kept");
    await answerOf(open(), question);
    const { usage } = await answerOf(open(), question);
    expect(usage?.cachedTokens).toBeGreaterThan(10);
    expect(usage?.cachedTokens).toBeLessThanOrEqual(usage?.inputTokens ?? 0);
  });
  test("an answer that its limit cuts says so", async () => {
    const answer = await answerOf(open({ maxTokens: 20 }), ask("endless"));
    expect(answer).toMatchObject({ finish: "length", usage: { outputTokens: 20 } });
    expect(answer.text.trim().split(" ").length).toBe(20);
  });
  test("thoughts are reported apart", async () => {
    const events = await eventsOf(open(), ask("<think>"));
    const thoughts = events.flatMap((event) => (event.type === "reasoning" ? [event.text] : [])).join("");
    expect([thoughts, textOf(events)]).toEqual(["Hm, yes", "Done"]);
  });
  test("a tool is called with arguments of its schema, and its result is sent back", async () => {
    const model = open();
    const question = ask("<tool_call>", { tools: [TOOL] });
    const answer = await answerOf(model, question);
    expect(answer.finish).toBe("tool-calls");
    const [call] = answer.toolCalls;
    if (call === undefined) throw new Error("no call");
    expect(call).toMatchObject({ name: "read_file", arguments: { path: "a" } });
    const next = await answerOf(model, {
      ...question,
      messages: [
        ...question.messages,
        { role: "assistant", text: answer.text, toolCalls: answer.toolCalls },
        { role: "tool", callId: call.id, name: call.name, text: "the content" },
      ],
    });
    expect(next).toMatchObject({ text: STORY, finish: "stop" });
  });
  test("a call that was cut in the middle does not spoil the conversation", async () => {
    const call = { id: "c1", name: "read_file", arguments: '{"path": "a' };
    const { text } = await answerOf(open(), {
      ...ask("x", { tools: [TOOL] }),
      messages: [
        { role: "user", text: "read it" },
        { role: "assistant", text: "", toolCalls: [call] },
        { role: "tool", callId: call.id, name: call.name, text: "no JSON" },
      ],
    });
    expect(text).toBe(STORY);
  });
  test("a JSON document that was asked for is one", async () => {
    const { text } = await answerOf(open(), ask("as JSON", { json: true }));
    if (type === "openai-compatible") expect(JSON.parse(text)).toBeObject();
    else expect(text).not.toBe("");
  });
  test("a prompt longer than the context is refused as that", async () => {
    const failure = await failureOf(open(), ask("x".repeat(70_000)));
    expect(failure).toMatchObject({ code: "context-too-long", retryable: false });
  });
  test("a wrong key is refused as that", async () => {
    const failure = await failureOf(open({ apiKey: "sk-another" }));
    expect(failure).toMatchObject({ code: "unauthorized", status: 401 });
    const checked = await open({ apiKey: "sk-another" }).check(new AbortController().signal);
    expect(checked).toMatchObject({ ok: false, failure: { code: "unauthorized" } });
  });
  test("a check and the list of models name the model", async () => {
    const signal = new AbortController().signal;
    expect(await open().check(signal)).toMatchObject({ ok: true });
    const address = {
      url: `${server.url}/v1/models`,
      headers: { authorization: `Bearer ${KEY}` },
      local: true,
    };
    expect(await listOffered(address, signal)).toEqual({ ok: true, models: ["tiny"] });
  });
  test("a server with one model answers to any name, and a check does not doubt it", async () => {
    const model = open({ model: "any-name" });
    expect(await model.check(new AbortController().signal)).toMatchObject({ ok: true });
    expect((await answerOf(model)).text).toBe(STORY);
  });
  test("an image that it cannot see is refused as that", async () => {
    const image = { mediaType: "image/png", data: "iVBORw0KGgo=" } as const;
    const messages = [{ role: "user", text: "what is this?", images: [image] }] as const;
    expect((await failureOf(open(), { ...ask(), messages })).code).toBe("no-images");
  });
  test(
    "an abort in the middle frees the server",
    async () => {
      const stop = new AbortController();
      const seen: string[] = [];
      const endless = ask("endless", { signal: stop.signal, maxTokens: 60_000 });
      for await (const event of open().generate(endless)) {
        seen.push(event.type === "failed" ? event.failure.code : event.type);
        stop.abort();
      }
      expect([seen[0], seen.at(-1)]).toEqual(["text", "aborted"]);
      await server.idle();
    },
    PATIENCE_MS,
  );
  test("more at once than it has slots are all answered", async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => answerOf(open())));
    expect(answers.map(({ text }) => text)).toEqual(Array(6).fill(STORY));
  });
  test(
    "one that stalls after its first words is given up, one that is killed is cut off",
    async () => {
      const own = await startLlamaServer(file, { slots: 1, context: 65_536, key: KEY });
      try {
        const endless = ask("endless", { maxTokens: 60_000 });
        const at = { baseUrl: `${own.url}${path}` };
        const ends = async (model: Model, act: () => void) => {
          let last: ModelEvent | undefined;
          let acted = false;
          for await (const event of model.generate(endless)) {
            last = event;
            if (!acted && event.type === "text") act();
            acted ||= event.type === "text";
          }
          return last;
        };
        const stalled = await ends(open(at, { idleMs: 1_000 }), own.freeze);
        own.thaw();
        expect(stalled).toMatchObject({ type: "failed", failure: { code: "timeout", retryable: true } });
        await own.idle();
        const killed = await ends(open(at), own.kill);
        expect(killed).toMatchObject({ type: "failed", failure: { code: "cut-off", retryable: true } });
        expect(await failureOf(open(at))).toMatchObject({ code: "unreachable" });
      } finally {
        await own.stop();
      }
    },
    PATIENCE_MS,
  );
}
