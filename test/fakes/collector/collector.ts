/** An OpenTelemetry collector: takes OTLP/HTTP with JSON and refuses what the specification does not have. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly kind: number;
  readonly ms: number;
  readonly failed: boolean;
  readonly facts: Readonly<Record<string, unknown>>;
}

type Json = Readonly<Record<string, unknown>>;

export function startCollector(answer: () => Response | Promise<Response> = () => Response.json({})) {
  const spans: CollectedSpan[] = [];
  const seen = { requests: 0, headers: {} as Record<string, string>, bodies: "", problems: [] as string[] };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      seen.requests += 1;
      seen.headers = Object.fromEntries(request.headers);
      const text = await request.text();
      seen.bodies += text;
      const response = await answer();
      if (response.ok)
        try {
          if (new URL(request.url).pathname !== "/v1/traces") throw new Error(request.url);
          if (request.headers.get("content-type") !== "application/json") throw new Error("content-type");
          spans.push(...readRequest(JSON.parse(text) as Json));
        } catch (error) {
          seen.problems.push(String(error));
          return Response.json({ message: String(error) }, { status: 400 });
        }
      return response;
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, spans, seen, stop: () => server.stop(true) };
}

function readRequest(body: Json): CollectedSpan[] {
  only(body, ["resourceSpans"]);
  return (body.resourceSpans as Json[]).flatMap((one) => {
    only(one, ["resource", "scopeSpans"]);
    const { attributes } = one.resource as Json;
    if (factsOf(attributes)["service.name"] === undefined) throw new Error("no service.name");
    return (one.scopeSpans as Json[]).flatMap((scope) => {
      only(scope, ["scope", "spans"]);
      return (scope.spans as Json[]).map(readSpan);
    });
  });
}

const SPAN = "traceId spanId parentSpanId name kind startTimeUnixNano endTimeUnixNano attributes status";

function readSpan(span: Json): CollectedSpan {
  only(span, SPAN.split(" "));
  matches(span.traceId, /^[0-9a-f]{32}$/);
  matches(span.spanId, /^[0-9a-f]{16}$/);
  if (span.parentSpanId !== undefined) matches(span.parentSpanId, /^[0-9a-f]{16}$/);
  for (const time of [span.startTimeUnixNano, span.endTimeUnixNano]) matches(time, /^\d{19}$/);
  const nanos = BigInt(span.endTimeUnixNano as string) - BigInt(span.startTimeUnixNano as string);
  if (nanos < 0n) throw new Error("it ends before it begins");
  return {
    name: String(span.name),
    traceId: String(span.traceId),
    spanId: String(span.spanId),
    parentSpanId: (span.parentSpanId as string | undefined) ?? null,
    kind: Number(span.kind),
    ms: Number(nanos / 1_000_000n),
    failed: (span.status as Json | undefined)?.code === 2,
    facts: factsOf(span.attributes),
  };
}

function factsOf(attributes: unknown): Record<string, unknown> {
  const pairs = (attributes as Json[]).map((one) => {
    only(one, ["key", "value"]);
    const value = one.value as Json;
    only(value, ["stringValue", "boolValue", "intValue", "doubleValue"]);
    if (value.intValue !== undefined) matches(value.intValue, /^-?\d+$/);
    return [String(one.key), Object.values(value)[0]] as const;
  });
  return Object.fromEntries(pairs);
}

function only(json: Json, known: readonly string[]): void {
  const unknown = Object.keys(json).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new Error(`unknown field ${unknown}`);
}

function matches(value: unknown, form: RegExp): void {
  if (typeof value !== "string" || !form.test(value)) throw new Error(`${String(value)} is not ${form}`);
}
