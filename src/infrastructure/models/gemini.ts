import type { ModelAnswer, ModelMessage, ModelRequest } from "../../application/ports/model.ts";
import type { AnswerSink } from "./answer.ts";
import { type CallExtras, createCallExtras } from "./call-extras.ts";
import type { ModelSettings } from "./settings.ts";
import { at, countAt, type Json, joinUrl, listAt, textAt, type Wire } from "./wire.ts";

/** What Google takes in the place of a signature that is not at hand. */
const NO_SIGNATURE = "skip_thought_signature_validator";

/** Google's own API. `base_url` ends in the version: `…/v1beta`. */
export function createGeminiWire(settings: ModelSettings): Wire {
  const headers = settings.apiKey === undefined ? {} : { "x-goog-api-key": settings.apiKey };
  const model = joinUrl(settings.baseUrl, `models/${encodeURIComponent(settings.model)}`);
  const signatures = createCallExtras();
  return {
    framing: "sse",
    request: (request, without) => ({
      url: `${model}:streamGenerateContent?alt=sse`,
      headers,
      body: bodyOf(settings, request, without, signatures),
    }),
    reader: (answer) => reader(answer, signatures),
    probe: { url: model, headers, judge: () => "there" },
  };
}

function bodyOf(
  settings: ModelSettings,
  request: ModelRequest,
  without: ReadonlySet<string>,
  signatures: CallExtras,
): object {
  const { tools = [] } = request;
  const maxTokens = request.maxTokens ?? settings.maxTokens;
  const temperature = request.temperature ?? settings.temperature;
  return {
    ...(request.system && { systemInstruction: { parts: [{ text: request.system }] } }),
    contents: contentsOf(request.messages, signatures),
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
      // Not together with tools: the API refuses that.
      ...(request.json === true && tools.length === 0 && { responseMimeType: "application/json" }),
    },
  };
}

function contentsOf(messages: readonly ModelMessage[], signatures: CallExtras): object[] {
  const contents: { role: string; parts: object[] }[] = [];
  for (const message of messages) {
    const role = message.role === "assistant" ? "model" : "user";
    const parts = partsOf(message, signatures);
    const last = contents.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else if (parts.length > 0) contents.push({ role, parts });
  }
  return contents;
}

function partsOf(message: ModelMessage, signatures: CallExtras): object[] {
  const text = message.text === "" ? [] : [{ text: message.text }];
  switch (message.role) {
    case "user":
      return text;
    case "tool":
      return [{ functionResponse: { name: message.name, response: { output: message.text } } }];
    case "assistant":
      return [
        ...text,
        ...(message.toolCalls ?? []).map(({ id, name, arguments: args }, place) => {
          const signature = signatures.get(id) ?? (place === 0 ? NO_SIGNATURE : undefined);
          return {
            functionCall: { name, args: typeof args === "object" && args !== null ? args : { input: args } },
            ...(signature !== undefined && { thoughtSignature: signature }),
          };
        }),
      ];
  }
}

const FINISH: Readonly<Record<string, ModelAnswer["finish"]>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "filtered",
  RECITATION: "filtered",
  BLOCKLIST: "filtered",
  PROHIBITED_CONTENT: "filtered",
  SPII: "filtered",
};

function reader(answer: AnswerSink, signatures: CallExtras): (frame: Json) => void {
  return (given) => {
    for (const frame of Array.isArray(given) ? given : [given]) take(frame);
  };

  function take(frame: Json): void {
    if (at(frame, "error") !== undefined) {
      const status = countAt(frame, "error", "code");
      answer.problem({
        message: textAt(frame, "error", "message"),
        code: textAt(frame, "error", "status"),
        ...(status >= 400 && { status }),
      });
      return;
    }
    const candidate = at(frame, "candidates", 0);
    for (const part of listAt(candidate, "content", "parts")) {
      const call = at(part, "functionCall");
      if (call !== undefined) {
        const id = answer.call({
          id: textAt(call, "id"),
          name: textAt(call, "name"),
          arguments: at(call, "args") ?? {},
        });
        const signature = textAt(part, "thoughtSignature");
        if (signature !== "") signatures.keep(id, signature);
      } else if (at(part, "thought") === true) answer.reasoning(textAt(part, "text"));
      else answer.text(textAt(part, "text"));
    }
    const reason = textAt(candidate, "finishReason");
    if (reason !== "") answer.finish(FINISH[reason] ?? "stop");
    if (textAt(frame, "promptFeedback", "blockReason") !== "") answer.finish("filtered");
    const usage = at(frame, "usageMetadata");
    const inputTokens = countAt(usage, "promptTokenCount");
    if (inputTokens > 0)
      answer.usage({
        inputTokens,
        outputTokens: countAt(usage, "candidatesTokenCount") + countAt(usage, "thoughtsTokenCount"),
        cachedTokens: countAt(usage, "cachedContentTokenCount"),
      });
  }
}
