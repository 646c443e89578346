/** The stub's answer, for every protocol. */
export interface ScriptedReply {
  readonly text?: string;
  /** The text in these pieces; default: one. */
  readonly chunks?: readonly string[];
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedCall[];
  readonly finish?: "stop" | "length" | "filtered";
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number };
  readonly fault?: Fault;
}

export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  /** A string is sent as it is: what a model writes that knows no JSON. */
  readonly arguments: unknown;
  /** A tool of free form, as the responses API has them. */
  readonly custom?: boolean;
}

export type Fault =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
    }
  /** A status with the error that this provider really sends for it. */
  | { readonly kind: "context-length" | "unknown-model" | "unauthorized" | "no-credit" | "no-temperature" }
  /** The server says in the stream that it is overloaded, after so many frames. */
  | { readonly kind: "problem-in-stream"; readonly after: number }
  /** The connection dies after so many frames, in the middle of the next; `when`: not before that. */
  | { readonly kind: "cut"; readonly after: number; readonly when?: Promise<void> }
  /** The stream ends politely after so many frames, without its end. */
  | { readonly kind: "end-early"; readonly after: number }
  | { readonly kind: "hang-before-headers" }
  | { readonly kind: "hang"; readonly after: number }
  /** Every byte a chunk of its own. */
  | { readonly kind: "drip" }
  | { readonly kind: "one-chunk" }
  | { readonly kind: "malformed-frame"; readonly after: number }
  | { readonly kind: "html" }
  | { readonly kind: "whole" };
