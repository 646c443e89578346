import type { ModelMessage, ModelRequest } from "../../application/ports/model.ts";
import { type CallExtras, createCallExtras } from "./call-extras.ts";
import { readGemini } from "./gemini-reader.ts";
import type { ModelSettings } from "./settings.ts";
import { joinUrl, type Wire } from "./wire.ts";

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
    reader: (answer) => readGemini(answer, signatures),
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
