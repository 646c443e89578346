import type { Model, ModelRequest } from "../../../src/application/ports/models.ts";
import type { Fetch, ModelSettings } from "../../../src/infrastructure/models/model-settings.ts";
import { createWireModel } from "../../../src/infrastructure/models/wire-model.ts";
import { testParts } from "../../contracts/model-kit.ts";
import { WIRES } from "../../contracts/stub-model.ts";

/** A server's recorded answer, and the tools that it had been offered. */
export interface RecordedAnswer {
  readonly wire: ModelSettings["type"];
  readonly status: number;
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly tools: readonly unknown[];
  readonly text_body: string;
}

export type Bytes = Uint8Array<ArrayBuffer>;

/** A real wire whose server gives this answer, in these chunks, to every request. */
export function openRecorded(
  { wire: type, status, type: contentType, headers }: RecordedAnswer,
  chunks: readonly Bytes[],
): Model {
  const kind = WIRES.find((one) => one.type === type);
  if (kind === undefined) throw new Error(`no wire ${type}`);
  const settings: ModelSettings = {
    type,
    provider: "recorded",
    model: "recorded",
    local: true,
    baseUrl: "http://127.0.0.1:1/v1",
    apiKey: "sk-very-secret",
    keyVariable: "RECORDED_KEY",
    maxTokens: 1000,
    temperature: null,
    effort: null,
  };
  const answer: Fetch = async () =>
    new Response(streamOf(chunks), { status, headers: { ...headers, "content-type": contentType } });
  return createWireModel(kind.wire(settings), settings, { ...testParts([], { retries: 0 }), fetch: answer });
}

export function requestOf({ tools }: RecordedAnswer): ModelRequest {
  const names = tools.filter((name): name is string => typeof name === "string");
  return {
    messages: [{ role: "user", text: "hello" }],
    tools: names.map((name) => ({ name, description: "", parameters: { type: "object" } })),
    signal: new AbortController().signal,
  };
}

function streamOf(chunks: readonly Bytes[]): ReadableStream<Bytes> {
  let next = 0;
  return new ReadableStream({
    pull: (controller) => {
      const chunk = chunks[next++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
}
