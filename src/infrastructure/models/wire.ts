import { giveWay } from "../../application/platform/give-way.ts";
import type { ModelMessage, ModelRequest } from "../../application/ports/models.ts";
import type { AnswerSink } from "./answer.ts";
import { fieldAt, type Json, listAt, textAt } from "./json-fields.ts";
import type { ModelSettings } from "./model-settings.ts";

/** A protocol: how a request is written, how an answer is read, what to ask for a check. Holds no connection. */
export interface Wire {
  readonly framing: "sse" | "lines";
  /** `without` names parts of the body that the server refused before. */
  request(request: ModelRequest, without: ReadonlySet<string>): WireRequest;
  /** Given each frame of one answer as parsed JSON. */
  reader(answer: AnswerSink): (frame: Json) => void;
  readonly probe: WireProbe;
  /** Where the server lists its models; absent for Ollama, whose list is of installed ones. */
  readonly list?: string;
  /** A question to the server whether its model sees images, where the protocol has one. */
  readonly sight?: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: object;
    /** Undefined where the answer does not state it. */
    judge(body: Json): boolean | undefined;
  };
}

interface WireRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export type MarkedRequest = ReturnType<typeof markImages>;

/** Replaces images by `mark`, which occurs nowhere else, and a number, so that the request is written like one of text alone. */
export function markImages(request: ModelRequest, mark: string) {
  /** Base64, by the numbers of the marks. */
  const images: string[] = [];
  const withMarks = (message: ModelMessage): ModelMessage => {
    if (message.role !== "user" || message.images === undefined) return message;
    return {
      ...message,
      images: message.images.map(({ mediaType, data }) => ({
        mediaType,
        data: `${mark}${images.push(data) - 1}_`,
      })),
    };
  };
  return { request: { ...request, messages: request.messages.map(withMarks) }, mark, images };
}

/** Characters copied at once: less than a millisecond. */
const PIECE_CHARACTERS = 1024 ** 2;

/** The body as it is sent: the images, tens of megabytes of them, are put in piece by piece while other work runs. */
export async function fillInImages(
  written: string,
  { mark, images }: Pick<MarkedRequest, "mark" | "images">,
): Promise<string | Uint8Array<ArrayBuffer>> {
  if (images.length === 0) return written;
  // Text and the numbers of marks take turns.
  const parts = written
    .split(new RegExp(`${mark}(\\d+)_`))
    .map((part, n) =>
      n % 2 === 0
        ? { text: part, encoding: "utf8" as const, size: Buffer.byteLength(part) }
        : imagePart(images[Number(part)]),
    );
  const body = Buffer.allocUnsafeSlow(parts.reduce((sum, { size }) => sum + size, 0));
  let at = 0;
  for (const { text, encoding, size } of parts) {
    if (encoding === "utf8") body.write(text, at);
    else
      for (let from = 0; from < size; from += PIECE_CHARACTERS) {
        await giveWay();
        body.write(text.slice(from, from + PIECE_CHARACTERS), at + from, encoding);
      }
    at += size;
  }
  return body;
}

function imagePart(data = "") {
  return { text: data, encoding: "latin1" as const, size: data.length };
}

export interface WireProbe {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The model's state in a good answer; `unknown` when it is not stated. */
  judge(body: Json): "there" | "missing" | "unknown" | "in-the-cloud";
  /** The identity that the same page tells of the model behind its name; empty where it tells nothing. */
  readonly identify?: (body: Json) => string;
  /** Asked where the server has no page for one model. */
  readonly instead?: WireProbe;
}

/** llama.cpp with one model answers to every name; one that chooses between models says how each is. */
export function answersToAnyName(listed: readonly unknown[]): boolean {
  const [only] = listed;
  return (
    listed.length === 1 && textAt(only, "owned_by") === "llamacpp" && fieldAt(only, "status") === undefined
  );
}

/** The model in the list of all, which every server of these protocols has. */
export function probeList(url: string, headers: WireProbe["headers"], model: string): WireProbe {
  return {
    url,
    headers,
    judge: (body) => {
      const listed = listAt(body, "data");
      const ids = listed.map((one) => textAt(one, "id"));
      if (ids.length === 0) return "unknown";
      if (ids.includes(model)) return "there";
      return answersToAnyName(listed) ? "unknown" : "missing";
    },
    identify: (body) => {
      const listed = listAt(body, "data");
      const own =
        listed.find((one) => textAt(one, "id") === model) ?? (listed.length === 1 ? listed[0] : null);
      // llama.cpp tells the size of its model, vLLM the place of it and its window.
      const facts = ["id", "root", "parent", "max_model_len", "meta"].map((name) => fieldAt(own, name));
      return facts.slice(1).some((fact) => fact != null) ? JSON.stringify(facts).slice(0, 300) : "";
    },
  };
}

/** Of a call of an earlier answer. Many servers refuse the whole conversation if a call's arguments are not a JSON object. */
export function argumentsObject(args: unknown): object {
  return typeof args === "object" && args !== null ? args : { input: args };
}

/** A key as most servers take it. */
export function bearer({ apiKey }: Pick<ModelSettings, "apiKey">): Readonly<Record<string, string>> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}

/** The conversation and the tools, as OpenAI's chat completions have them and Ollama took over. */
export function chatParts(
  { system, messages, tools = [] }: ModelRequest,
  write: (message: ModelMessage) => object,
): object {
  return {
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function",
        function: { name, description, parameters },
      })),
    }),
    messages: [...(system ? [{ role: "system", content: system }] : []), ...messages.map(write)],
  };
}

/** The parts of messages in turns: the user's and tools' follow the model's, whose neighbours are one turn. */
export function turnsOf(
  messages: readonly ModelMessage[],
  partsOf: (message: ModelMessage) => readonly object[],
): { readonly isModel: boolean; readonly parts: object[] }[] {
  const turns: { readonly isModel: boolean; readonly parts: object[] }[] = [];
  for (const message of messages) {
    const isModel = message.role === "assistant";
    const parts = partsOf(message);
    const last = turns.at(-1);
    if (last?.isModel === isModel) last.parts.push(...parts);
    else if (parts.length > 0) turns.push({ isModel, parts: [...parts] });
  }
  return turns;
}

/** OpenAI refuses the JSON mode if no message mentions JSON. */
export function mentionsJson({ system = "", messages }: ModelRequest): boolean {
  return /json/i.test(system) || messages.some(({ text }) => /json/i.test(text));
}
