import type { Effort, ModelAnswer, ModelMessage, ModelRequest } from "../../../application/ports/models.ts";
import { joinUrl } from "../../../domain/models/locality.ts";
import { ownMember } from "../../../domain/platform/json-members.ts";
import { type AnswerSink, thoughtsOf } from "../answer.ts";
import { countAt, fieldAt, type Json, listAt, textAt } from "../json-fields.ts";
import { type ModelSettings, requestOptions } from "../model-settings.ts";
import { argumentsObject, turnsOf, type Wire } from "../wire.ts";

/** Every other reason ends an answer before its end (a filter, a list, a tool that was not offered), also one not known yet. */
const FINISH: Readonly<Record<string, ModelAnswer["finish"]>> = { STOP: "stop", MAX_TOKENS: "length" };

/** The model wrote a call that Google cannot read; there is no answer. */
const UNREADABLE = /^MALFORMED_/;

/** Reads the stream of Google's API: objects one by one, or in one list. */
export function readGemini(answer: AnswerSink): (frame: Json) => void {
  /** A call whose arguments come in pieces, until a frame says that no more follow. */
  let open: PartialCall | null = null;

  return (given) => {
    for (const frame of Array.isArray(given) ? given : [given]) take(frame);
  };

  function take(frame: Json): void {
    if (fieldAt(frame, "error") !== undefined) {
      const status = countAt(frame, "error", "code");
      answer.problem({
        message: textAt(frame, "error", "message"),
        code: textAt(frame, "error", "status"),
        ...(status >= 400 && { status }),
      });
      return;
    }
    const candidate = fieldAt(frame, "candidates", 0);
    for (const part of listAt(candidate, "content", "parts")) takePart(part);
    const reason = textAt(candidate, "finishReason");
    if (reason !== "") closeCall();
    if (UNREADABLE.test(reason))
      answer.problem({ message: textAt(candidate, "finishMessage") || reason, unreadable: true });
    else if (reason !== "") answer.finish(ownMember(FINISH, reason) ?? "filtered");
    if (textAt(frame, "promptFeedback", "blockReason") !== "") answer.finish("filtered");
    takeUsage(answer, fieldAt(frame, "usageMetadata"));
  }

  function takePart(part: Json): void {
    const call = fieldAt(part, "functionCall");
    if (call !== undefined) {
      const name = textAt(call, "name");
      if (name !== "") {
        closeCall();
        const signature = textAt(part, "thoughtSignature");
        open = { id: textAt(call, "id"), name, signature, args: fieldAt(call, "args") ?? {} };
      }
      // A piece of a call that never began has no name to be called by.
      if (open !== null) for (const piece of listAt(call, "partialArgs")) addPiece(open, piece);
      if (fieldAt(call, "willContinue") !== true) closeCall();
    } else if (fieldAt(part, "thought") === true) answer.reasoning(textAt(part, "text"));
    else answer.text(textAt(part, "text"));
  }

  function closeCall(): void {
    if (open === null) return;
    const { id: given, name, signature, args } = open;
    open = null;
    const id = answer.call({ id: given, name, arguments: args });
    if (signature !== "") answer.thought({ callId: id, signature });
  }
}

interface PartialCall {
  readonly id: string;
  readonly name: string;
  readonly signature: string;
  readonly args: Json;
}

const MOST_ITEMS = 10_000;

/** Puts `{ jsonPath: "$.items[0].name", stringValue: "…" }` in its place; the pieces of one text follow each other. */
function addPiece({ args }: PartialCall, piece: Json): void {
  const path = [...textAt(piece, "jsonPath").matchAll(/\[(\d+)\]|\['([^']*)'\]|([^.[\]$]+)/g)].map(
    ([, index, quoted, plain]) => (index === undefined ? (quoted ?? plain ?? "") : Number(index)),
  );
  const value = ["stringValue", "numberValue", "boolValue"]
    .map((kind) => fieldAt(piece, kind))
    .find((one) => one !== undefined);
  let at = args as Record<string | number, Json>;
  for (const [n, key] of path.entries()) {
    if (typeof at !== "object" || at === null || (typeof key === "number" && key > MOST_ITEMS)) return;
    const here = Object.hasOwn(at, key) ? at[key] : undefined;
    const isLast = n === path.length - 1;
    const next = isLast
      ? typeof here === "string" && typeof value === "string"
        ? here + value
        : (value ?? null)
      : (here ?? (typeof path[n + 1] === "number" ? [] : {}));
    Object.defineProperty(at, key, { value: next, writable: true, enumerable: true, configurable: true });
    at = next as Record<string | number, Json>;
  }
}

function takeUsage(answer: AnswerSink, usage: Json): void {
  const thoughts = countAt(usage, "thoughtsTokenCount");
  if (thoughts > 0) answer.thought();
  const inputTokens = countAt(usage, "promptTokenCount");
  const outputTokens = countAt(usage, "candidatesTokenCount") + thoughts;
  if (inputTokens + outputTokens > 0)
    answer.usage({
      inputTokens,
      outputTokens,
      cachedTokens: countAt(usage, "cachedContentTokenCount"),
    });
}

/** The value that Google accepts in place of a missing signature. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** Google's own API. `base_url` ends in the version: `…/v1beta`. */
export function createGeminiWire(settings: ModelSettings): Wire {
  const headers = settings.apiKey === undefined ? {} : { "x-goog-api-key": settings.apiKey };
  const model = joinUrl(settings.baseUrl, `models/${encodeURIComponent(settings.model)}`);
  return {
    framing: "sse",
    request: (request, without) => ({
      url: `${model}:streamGenerateContent?alt=sse`,
      headers,
      body: requestBody(settings, request, without),
    }),
    reader: readGemini,
    list: joinUrl(settings.baseUrl, "models?pageSize=200"),
    probe: { url: model, headers, judge: () => "there" },
  };
}

function requestBody(settings: ModelSettings, request: ModelRequest, without: ReadonlySet<string>): object {
  const { tools = [] } = request;
  const { maxTokens, temperature, effort } = requestOptions(settings, request);
  return {
    ...(request.system && { systemInstruction: { parts: [{ text: request.system }] } }),
    contents: turnsOf(request.messages, (message) => partsOf(message, settings)).map(
      ({ isModel, parts }) => ({ role: isModel ? "model" : "user", parts }),
    ),
    ...(tools.length > 0 && {
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, parameters }) => ({
            name,
            description,
            parametersJsonSchema: parameters,
          })),
        },
      ],
    }),
    generationConfig: {
      ...(maxTokens !== null && { maxOutputTokens: maxTokens }),
      ...(temperature !== null && !without.has("temperature") && { temperature }),
      ...(effort !== null &&
        !without.has("thinkingConfig") && { thinkingConfig: thinkingOf(settings.model, effort) }),
      // Not together with tools: the API refuses that.
      ...(request.json !== undefined &&
        request.json !== false &&
        tools.length === 0 && { responseMimeType: "application/json" }),
    },
  };
}

const BUDGET = { low: 1024, medium: 8192, high: 24_576 } as const;

/** From 3 on a level, before that a number of tokens. The larger models always think. */
function thinkingOf(model: string, effort: Effort): object {
  const isPro = /pro/.test(model);
  if (!/gemini-[12]/.test(model))
    return { thinkingLevel: effort === "off" ? (isPro ? "low" : "minimal") : effort };
  return { thinkingBudget: effort === "off" ? (isPro ? 128 : 0) : BUDGET[effort] };
}

function partsOf(message: ModelMessage, settings: ModelSettings): object[] {
  switch (message.role) {
    case "user": {
      const { text, images = [] } = message;
      return [
        ...images.map(({ mediaType, data }) => ({ inlineData: { mimeType: mediaType, data } })),
        ...(text === "" ? [] : [{ text }]),
      ];
    }
    case "tool":
      return [
        {
          functionResponse: { id: message.callId, name: message.name, response: { output: message.text } },
        },
      ];
    case "assistant": {
      const kept = thoughtsOf(message, settings);
      const signatures = new Map(kept.map((one) => [textAt(one, "callId"), textAt(one, "signature")]));
      return [
        ...(message.text === "" ? [] : [{ text: message.text }]),
        ...(message.toolCalls ?? []).map(({ id, name, arguments: args }, place) => {
          const signature = signatures.get(id) ?? (place === 0 ? NO_SIGNATURE : undefined);
          return {
            functionCall: { id, name, args: argumentsObject(args) },
            ...(signature !== undefined && { thoughtSignature: signature }),
          };
        }),
      ];
    }
  }
}
