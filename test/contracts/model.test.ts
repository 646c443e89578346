import { afterAll, beforeAll, describe } from "bun:test";
import { createAnthropicWire } from "../../src/infrastructure/models/anthropic.ts";
import { createGeminiWire } from "../../src/infrastructure/models/gemini.ts";
import { createOllamaWire } from "../../src/infrastructure/models/ollama.ts";
import { createOpenAiChatWire } from "../../src/infrastructure/models/openai-chat.ts";
import { createOpenAiResponsesWire } from "../../src/infrastructure/models/openai-responses.ts";
import { createScriptedModel } from "../../src/infrastructure/models/scripted.ts";
import type { ModelSettings } from "../../src/infrastructure/models/settings.ts";
import type { Wire } from "../../src/infrastructure/models/wire.ts";
import { createWireModel } from "../../src/infrastructure/models/wire-model.ts";
import type { Protocol } from "../fakes/model-server/protocols.ts";
import type { ScriptedReply } from "../fakes/model-server/reply.ts";
import { type ModelServer, startModelServer } from "../fakes/model-server/server.ts";
import { modelContract } from "./model.ts";
import { type ModelBench, testParts } from "./model-kit.ts";
import { wireContract } from "./model-wire.ts";

interface Kind {
  readonly protocol: Protocol;
  readonly type: ModelSettings["type"];
  readonly wire: (settings: ModelSettings) => Wire;
  /** Frames before the first part of an answer. */
  readonly begins: number;
}

const KINDS: readonly Kind[] = [
  {
    protocol: "ollama",
    type: "ollama",
    wire: (settings) => createOllamaWire(settings, { keepAlive: -1, maxContext: 8192 }),
    begins: 0,
  },
  { protocol: "openai-chat", type: "openai-compatible", wire: createOpenAiChatWire, begins: 0 },
  { protocol: "openai-responses", type: "openai", wire: createOpenAiResponsesWire, begins: 2 },
  { protocol: "anthropic", type: "anthropic", wire: createAnthropicWire, begins: 3 },
  { protocol: "gemini", type: "google", wire: createGeminiWire, begins: 0 },
];

for (const { protocol, type, wire, begins } of KINDS) {
  describe(protocol, () => {
    let server: ModelServer;
    const waits: number[] = [];
    beforeAll(async () => {
      server = await startModelServer();
    });
    afterAll(() => server.stop());
    const bench = (): ModelBench => ({
      server,
      waits,
      say: (...replies) => server.say(...replies),
      asked: () => server.requests.length,
      open: (limits, parts) => {
        const settings: ModelSettings = {
          type,
          provider: "stub",
          model: "stub:latest",
          local: true,
          baseUrl: server.baseUrl(protocol),
          apiKey: "sk-very-secret-key",
          keyVariable: "STUB_KEY",
          maxTokens: 1000,
          temperature: 0.7,
        };
        return createWireModel(wire(settings), settings, { ...testParts(waits, limits), ...parts });
      },
    });
    modelContract(bench);
    wireContract(bench, begins);
  });
}

describe("scripted", () => {
  const waits: number[] = [];
  let answers: object[] = [];
  let asked = 0;
  modelContract(() => ({
    waits,
    asked: () => asked,
    say: (...replies) => {
      answers = replies.map((reply, index) => entryOf(reply, index === replies.length - 1));
    },
    open: (limits, parts) => {
      const model = createScriptedModel(
        { provider: "demo", model: "scripted", file: "/demo.yaml" },
        {
          ...testParts(waits, limits),
          ...parts,
          loadScript: async () => ({ answers: structuredClone(answers) }),
        },
      );
      return {
        ...model,
        generate: async function* (request) {
          let tries = request.signal.aborted ? 0 : 1;
          let last = "";
          for await (const event of model.generate(request)) {
            if (event.type === "retrying") tries += 1;
            if (event.type === "failed" && event.failure.code === "aborted" && last === "retrying")
              tries -= 1;
            last = event.type;
            yield event;
          }
          asked += tries;
        },
      };
    },
  }));
});

/** The same reply as a script tells it. */
function entryOf(reply: ScriptedReply, last: boolean): object {
  const { text, chunks, reasoning, toolCalls, finish, usage, fault } = reply;
  return {
    ...(!last && { times: 1 }),
    ...(text !== undefined && { text }),
    ...(chunks !== undefined && { chunks }),
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls !== undefined && { tool_calls: toolCalls }),
    ...(finish !== undefined && { finish }),
    ...(usage !== undefined && { usage }),
    ...(fault !== undefined && fault.kind !== "hang" && { fail: failOf(fault) }),
  };
}

function failOf(fault: NonNullable<ScriptedReply["fault"]>): object {
  if (fault.kind === "unauthorized" || fault.kind === "unknown-model") return { code: fault.kind };
  if (fault.kind === "context-length") return { code: "context-too-long" };
  if (fault.kind !== "status") return { code: "server-error" };
  const seconds = fault.headers?.["retry-after"];
  const { status } = fault;
  return {
    code: status === 429 ? "rate-limited" : status >= 500 ? "server-error" : "bad-request",
    status,
    ...(seconds !== undefined && { retry_after_ms: Number(seconds) * 1000 }),
  };
}
