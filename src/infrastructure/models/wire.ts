import type { ModelRequest } from "../../application/ports/models.ts";
import type { AnswerSink } from "./answer.ts";
import { fieldAt, type Json, listAt, textAt } from "./json-fields.ts";

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

export interface WireProbe {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The model's state in a good answer; `unknown` when it is not stated. */
  judge(body: Json): "there" | "missing" | "unknown" | "in-the-cloud";
  /** Asked where the server has no page for one model. */
  readonly instead?: WireProbe;
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
      // llama.cpp with one model answers to every name; one that chooses between models says how each is.
      const [only] = listed;
      const answersAll =
        listed.length === 1 &&
        textAt(only, "owned_by") === "llamacpp" &&
        fieldAt(only, "status") === undefined;
      return answersAll ? "unknown" : "missing";
    },
  };
}

/** `base/path`, whether or not the base ends in a slash. */
export function joinUrl(base: string, path: string): string {
  return `${base.replace(/\/+$/, "")}/${path}`;
}

/** A call of an earlier answer. Many a server refuses the whole conversation for one whose arguments are no JSON object. */
export function writeArguments(args: unknown): string {
  return JSON.stringify(typeof args === "object" && args !== null ? args : { input: args });
}

/** OpenAI refuses to promise JSON when nobody mentions it. */
export function mentionsJson({ system = "", messages }: ModelRequest): boolean {
  return /json/i.test(system) || messages.some(({ text }) => /json/i.test(text));
}
