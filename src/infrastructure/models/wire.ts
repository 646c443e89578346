import type { ModelRequest } from "../../application/ports/models.ts";
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

/** OpenAI refuses to promise JSON when nobody mentions it. */
export function mentionsJson({ system = "", messages }: ModelRequest): boolean {
  return /json/i.test(system) || messages.some(({ text }) => /json/i.test(text));
}
