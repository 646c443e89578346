import type { ModelImage, ModelMessage, ModelRequest } from "../../application/ports/models.ts";
import type { AnswerSink } from "./answer.ts";
import type { Json } from "./json-fields.ts";

/** A protocol: how a request is written, how an answer is read, what to ask for a check. Holds no connection. */
export interface Wire {
  readonly framing: "sse" | "lines";
  /** `without` names parts of the body that the server refused before. */
  request(request: ModelRequest, without: ReadonlySet<string>): WireRequest;
  /** Given each frame of one answer as parsed JSON. */
  reader(answer: AnswerSink): (frame: Json) => void;
  readonly probe: WireProbe;
}

interface WireRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

interface WireProbe {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The model's state in a good answer; `unknown` when it is not stated. */
  judge(body: Json): "there" | "missing" | "unknown" | "in-the-cloud";
}

/** `base/path`, whether or not the base ends in a slash. */
export function joinUrl(base: string, path: string): string {
  return `${base.replace(/\/+$/, "")}/${path}`;
}

/** A user's message in the model's form: a model that takes no images is notified of them. */
export function toUserContent(
  { text, images = [] }: Extract<ModelMessage, { role: "user" }>,
  without: ReadonlySet<string>,
): { readonly text: string; readonly images: readonly ModelImage[] } {
  if (images.length === 0 || !without.has("images")) return { text, images };
  return { text: `${text}\n(${images.length} image(s) left out: this model takes none)`, images: [] };
}

/** OpenAI refuses to promise JSON when nobody mentions it. */
export function mentionsJson({ system = "", messages }: ModelRequest): boolean {
  return /json/i.test(system) || messages.some(({ text }) => /json/i.test(text));
}
