import type { ModelRequest } from "../../application/ports/model.ts";
import type { AnswerSink } from "./answer.ts";

/** A protocol: how a request is written, how an answer is read, what to ask for a check. Holds no connection. */
export interface Wire {
  readonly framing: "sse" | "lines";
  /** `without` names parts of the body that the server refused before. */
  request(request: ModelRequest, without: ReadonlySet<string>): WireRequest;
  /** Given each frame of one answer as parsed JSON. */
  reader(answer: AnswerSink): (frame: Json) => void;
  readonly probe: WireProbe;
}

export interface WireRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface WireProbe {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** What a good answer says of the model; `unknown` when it does not tell. */
  judge(body: Json): "there" | "missing" | "unknown" | "in-the-cloud";
}

/** What a server sent, before anybody looked at it. */
export type Json = unknown;

/** A member of what may not be an object. */
export function at(value: Json, ...path: readonly (string | number)[]): Json {
  let found = value;
  for (const step of path) {
    if (typeof found !== "object" || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

export function textAt(value: Json, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path);
  return typeof found === "string" ? found : "";
}

export function countAt(value: Json, ...path: readonly (string | number)[]): number {
  const found = at(value, ...path);
  return typeof found === "number" && Number.isFinite(found) && found > 0 ? Math.floor(found) : 0;
}

export function listAt(value: Json, ...path: readonly (string | number)[]): readonly Json[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** `base/path`, whether or not the base ends in a slash. */
export function joinUrl(base: string, path: string): string {
  return `${base.replace(/\/+$/, "")}/${path}`;
}

/** OpenAI refuses to promise JSON when nobody mentions it. */
export function speaksOfJson({ system = "", messages }: ModelRequest): boolean {
  return /json/i.test(system) || messages.some(({ text }) => /json/i.test(text));
}
