import type { SpanFacts, SpanKind } from "../../application/ports/platform.ts";
import type { TraceContext } from "../../domain/platform/traceparent.ts";

/** A span that has ended. */
export interface EndedSpan extends TraceContext {
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: SpanKind;
  readonly begunMs: number;
  readonly endedMs: number;
  readonly facts: SpanFacts;
  readonly error: string | null;
}

/** The numbers of `Span.SpanKind` and `Status.StatusCode`. */
const KINDS: Readonly<Record<SpanKind, number>> = {
  internal: 1,
  server: 2,
  client: 3,
  producer: 4,
  consumer: 5,
};
const FAILED = 2;

/**
 * An `ExportTraceServiceRequest` in OTLP's JSON: ids in hexadecimal digits, 64-bit numbers as texts, enumerations as
 * numbers, names in lowerCamelCase.
 */
export function otlpJson(resource: SpanFacts, spans: readonly EndedSpan[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: "picoclaw" }, spans: spans.map(spanJson) }],
      },
    ],
  });
}

function spanJson(span: EndedSpan): Record<string, unknown> {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId !== null && { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: nanos(span.begunMs),
    endTimeUnixNano: nanos(Math.max(span.begunMs, span.endedMs)),
    attributes: toAttributes(span.facts),
    ...(span.error !== null && { status: { code: FAILED, message: span.error } }),
  };
}

function toAttributes(facts: SpanFacts): unknown[] {
  return Object.entries(facts).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: string | number | boolean): Record<string, unknown> {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

const nanos = (ms: number): string => `${Math.round(ms * 1_000)}000`;
