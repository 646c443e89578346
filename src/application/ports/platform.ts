/**
 * Spans for an OpenTelemetry collector. Whoever makes them is never held up: nothing here throws, rejects or waits, and
 * a collector that is slow or away loses spans, not time. Spans carry figures and names, never what people wrote.
 */
export interface Tracing {
  begin(name: string, start?: SpanStart): Span;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}

export interface SpanStart {
  /** The `traceparent` of the span it belongs to; absent begins a trace. */
  readonly parent?: string | undefined;
  /** The `traceparent` that it has itself, where others know it already. */
  readonly as?: string;
  /** Default: now. */
  readonly at?: Date;
  /** Default: `internal`. */
  readonly kind?: SpanKind;
  readonly facts?: SpanFacts;
}

export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

/** What is undefined or null is left out. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Span {
  /** As W3C Trace Context writes it; stored with what goes on elsewhere. */
  readonly traceparent: string;
  /** Counts once. A span that is never ended is not sent. */
  end(end?: SpanEnd): void;
}

export interface SpanEnd {
  /** Default: now. */
  readonly at?: Date;
  readonly facts?: SpanFacts;
  /** A kind of failure, no text of a person. */
  readonly error?: string | undefined;
}
