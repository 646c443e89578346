import type { SpanFacts, SpanKind, SpanStart, Timers, Tracing } from "../../application/ports/platform.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readTraceparent, type TraceContext, writeTraceparent } from "../../domain/platform/traceparent.ts";

interface EndedSpan extends TraceContext {
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

/** An `ExportTraceServiceRequest` in OTLP's JSON: ids in hexadecimal, 64-bit numbers as texts, enumerations as numbers. */
function otlpJson(resource: SpanFacts, spans: readonly EndedSpan[]): string {
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

export interface OtlpOptions {
  /** Of the collector; spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  /** As OTEL_EXPORTER_OTLP_HEADERS has them: `name=value,name=value`. */
  readonly headers: string;
  readonly resource: SpanFacts;
  readonly mask: (text: string) => string;
  readonly random: (bytes: number) => Uint8Array;
  readonly timers: Timers;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** How long `close` waits for the collector. Default: 3 s. */
  readonly closeMs?: number;
  /** Once for each time that the collector cannot be reached. */
  readonly onTrouble: (error: unknown) => void;
}

/** Some megabytes in all; spans beyond that are lost while the collector is away. */
const MOST_KEPT = 4_096;
const BATCH = 512;
const EVERY_MS = 2_000;
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [5_000, 60_000];
const REQUEST_MS = 10_000;
const CLOSE_MS = 3_000;
const LONGEST_TEXT = 256;
/** Answers after which the same spans may be sent again. */
const AGAIN: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** Gathers spans and posts them in the background, one request at a time. */
export function createOtlpTracing(options: OtlpOptions): Tracing {
  const { timers, random, resource, onTrouble, closeMs = CLOSE_MS } = options;
  const url = `${options.endpoint.replace(/\/+$/, "")}/v1/traces`;
  const headers = { ...parseHeaderList(options.headers), "content-type": "application/json" };
  const clean = (text: string) => options.mask(text).slice(0, LONGEST_TEXT);
  const kept: EndedSpan[] = [];
  const state = { sending: false, planned: false, away: false, waitMs: 0, dropped: 0 };
  const current = { request: Promise.resolve() };

  function keep(span: EndedSpan): void {
    if (kept.length >= MOST_KEPT) {
      state.dropped += 1;
      return;
    }
    kept.push(span);
    plan(kept.length >= BATCH && !state.away ? 0 : Math.max(EVERY_MS, state.waitMs));
  }

  function plan(ms: number): void {
    if (state.planned || state.sending) return;
    state.planned = true;
    timers.after(ms, () => {
      state.planned = false;
      void send(REQUEST_MS);
    });
  }

  function send(limitMs: number): Promise<void> {
    if (!state.sending && kept.length > 0) current.request = sendBatch(limitMs);
    return current.request;
  }

  async function sendBatch(limitMs: number): Promise<void> {
    state.sending = true;
    const batch = kept.slice(0, BATCH);
    const outcome = await post(batch, limitMs);
    state.sending = false;
    if (outcome !== "again") kept.splice(0, batch.length);
    state.waitMs =
      outcome === "again" ? Math.min(LONGEST_WAIT_MS, Math.max(FIRST_WAIT_MS, state.waitMs * 2)) : 0;
    if (kept.length > 0) plan(Math.max(kept.length >= BATCH ? 0 : EVERY_MS, state.waitMs));
  }

  async function post(batch: readonly EndedSpan[], limitMs: number): Promise<"sent" | "again" | "refused"> {
    try {
      const body = otlpJson({ ...resource, "picoclaw.spans_dropped": state.dropped || null }, batch);
      const signal = AbortSignal.timeout(limitMs);
      const answer = await options.fetch(url, { method: "POST", headers, body, signal, redirect: "error" });
      await answer.body?.cancel();
      if (answer.ok) {
        state.away = false;
        return "sent";
      }
      tellOnce(new Error(`${url}: HTTP ${answer.status}`));
      return AGAIN.has(answer.status) ? "again" : "refused";
    } catch (error) {
      tellOnce(new Error(`${url}: ${error instanceof Error ? error.message : String(error)}`));
      return "again";
    }
  }

  function tellOnce(error: Error): void {
    if (!state.away) onTrouble(error);
    state.away = true;
  }

  function contextOf({ as, parent }: SpanStart): { own: TraceContext; parentSpanId: string | null } {
    const above = readTraceparent(parent);
    const given = readTraceparent(as);
    if (given !== null) return { own: given, parentSpanId: above?.spanId ?? null };
    const traceId = above?.traceId ?? hex(random(16));
    const own = { traceId, spanId: hex(random(8)), sampled: above?.sampled ?? true };
    return { own, parentSpanId: above?.spanId ?? null };
  }

  function cleanFacts(facts: SpanFacts): SpanFacts {
    const pairs = Object.entries(facts);
    return Object.fromEntries(
      pairs.map(([key, value]) => [key, typeof value === "string" ? clean(value) : value]),
    );
  }

  return {
    begin(name, start = {}) {
      const { own, parentSpanId } = contextOf(start);
      const { kind = "internal", facts = {} } = start;
      const begunMs = (start.at ?? timers.now()).getTime();
      const ended = { yet: false };
      return {
        traceparent: writeTraceparent(own),
        end({ at = timers.now(), facts: later = {}, error } = {}) {
          if (ended.yet || !own.sampled) return;
          ended.yet = true;
          keep({
            ...own,
            parentSpanId,
            name,
            kind,
            begunMs,
            endedMs: at.getTime(),
            facts: cleanFacts({ ...facts, ...later }),
            error: error === undefined ? null : clean(error),
          });
        },
      };
    },
    async close() {
      const until = timers.now().getTime() + closeMs;
      while (kept.length > 0 && !state.away) {
        const left = until - timers.now().getTime();
        if (left <= 0) return;
        await Promise.race([send(left), new Promise<void>((resolve) => void timers.after(left, resolve))]);
      }
    },
  };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** Values are written as in a URL; anything that is not a pair is left out. */
function parseHeaderList(text: string): Record<string, string> {
  const pairs = text.split(",").flatMap((pair) => {
    const at = pair.indexOf("=");
    if (at <= 0) return [];
    const value = pair.slice(at + 1).trim();
    return [[pair.slice(0, at).trim(), attemptOr(value, () => decodeURIComponent(value))] as const];
  });
  return Object.fromEntries(pairs);
}
