import type { Model } from "../../src/application/ports/models.ts";
import type { ModelDeps, ModelSettings } from "../../src/infrastructure/models/model-settings.ts";
import type { Wire } from "../../src/infrastructure/models/wire.ts";
import { createWireModel } from "../../src/infrastructure/models/wire-model.ts";
import { createAnthropicWire } from "../../src/infrastructure/models/wires/anthropic.ts";
import { createGeminiWire } from "../../src/infrastructure/models/wires/gemini.ts";
import { createOllamaWire } from "../../src/infrastructure/models/wires/ollama.ts";
import { createOpenAiChatWire } from "../../src/infrastructure/models/wires/openai-chat.ts";
import { createOpenAiResponsesWire } from "../../src/infrastructure/models/wires/openai-responses.ts";
import type { Protocol } from "../fakes/model-server/protocols.ts";
import type { ModelServer } from "../fakes/model-server/server.ts";
import { testParts } from "./model-kit.ts";

export interface WireKind {
  readonly protocol: Protocol;
  readonly type: ModelSettings["type"];
  readonly wire: (settings: ModelSettings) => Wire;
  /** Frames before the first part of an answer. */
  readonly begins: number;
}

/** Every protocol that the stub server speaks. */
export const WIRES: readonly WireKind[] = [
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

/** A real wire over HTTP to the stub server; no time passes between tries. */
export function openStubModel(
  { type, protocol, wire }: WireKind,
  server: ModelServer,
  deps: ModelDeps = testParts([]),
): Model {
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
    effort: null,
  };
  return createWireModel(wire(settings), settings, deps);
}
