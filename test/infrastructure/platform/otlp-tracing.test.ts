import { afterEach, expect, test } from "bun:test";
import { createOtlpTracing, type OtlpOptions } from "../../../src/infrastructure/platform/otlp-tracing.ts";
import { startCollector } from "../../fakes/collector/collector.ts";
import { createManualTimers, settle } from "../../fakes/timers.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function collecting(answer?: () => Response | Promise<Response>) {
  const collector = startCollector(answer);
  closing.push(collector.stop);
  return collector;
}

function tracingTo(endpoint: string, more: Partial<OtlpOptions> = {}) {
  const timers = createManualTimers();
  const troubles: string[] = [];
  const posts: Promise<unknown>[] = [];
  const tracing = createOtlpTracing({
    endpoint,
    headers: "",
    resource: { "service.name": "picoclaw" },
    mask: (text) => text.replaceAll("hunter2", "****"),
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    timers,
    fetch(url, init) {
      const post = fetch(url, init);
      posts.push(post.catch(() => {}));
      return post;
    },
    onTrouble: (error) => troubles.push(String(error)),
    ...more,
  });
  /** Lets the time pass after which spans are sent, and waits for the answer. */
  const pass = async (ms: number) => {
    await timers.advance(ms);
    await Promise.all(posts);
    await settle();
  };
  return { tracing, timers, troubles, pass };
}

test("spans arrive as a collector reads them, in one trace, without secrets", async () => {
  const collector = collecting();
  const { tracing, pass, timers } = tracingTo(`${collector.url}/`, {
    headers: "authorization=Bearer%20x,broken,team=a",
  });
  const root = tracing.begin("receive", { kind: "server", facts: { channel: "line", none: undefined } });
  const child = tracing.begin("answer", {
    parent: root.traceparent,
    facts: { key: "hunter2", n: 2, x: 0.5 },
  });
  await timers.advance(5);
  child.end({ facts: { ok: false }, error: "it was hunter2" });
  child.end();
  root.end();
  tracing.begin("never ended");
  await pass(2_000);
  expect(collector.seen.problems).toEqual([]);
  expect(collector.seen.headers).toMatchObject({ authorization: "Bearer x", team: "a" });
  const [answer, receive] = collector.spans;
  expect(collector.spans).toHaveLength(2);
  expect(receive).toMatchObject({ name: "receive", kind: 2, parentSpanId: null, facts: { channel: "line" } });
  expect(answer).toMatchObject({
    name: "answer",
    kind: 1,
    ms: 5,
    failed: true,
    traceId: receive?.traceId,
    parentSpanId: receive?.spanId,
    facts: { key: "****", n: "2", x: 0.5, ok: false },
  });
  expect(root.traceparent).toBe(`00-${receive?.traceId}-${receive?.spanId}-01`);
  expect(collector.seen.bodies).not.toContain("hunter2");
});

test("a trace from outside is continued, and an unwanted one is not sent", async () => {
  const collector = collecting();
  const { tracing, pass } = tracingTo(collector.url);
  const outside = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";
  tracing.begin("kept", { parent: `${outside}-01` }).end();
  const unwanted = tracing.begin("unwanted", { parent: `${outside}-00` });
  tracing.begin("below", { parent: unwanted.traceparent }).end();
  unwanted.end();
  tracing.begin("no parent", { parent: "nonsense" }).end();
  await pass(2_000);
  expect(collector.spans.map(({ name }) => name)).toEqual(["kept", "no parent"]);
  expect(collector.spans[0]).toMatchObject({
    traceId: "0af7651916cd43dd8448eb211c80319c",
    parentSpanId: "b7ad6b7169203331",
  });
});

test("an absent collector is reported once, keeps a bounded number waiting, and gets them when it is back", async () => {
  const state = { up: false };
  const collector = collecting(() => (state.up ? Response.json({}) : new Response(null, { status: 503 })));
  const { tracing, pass, troubles } = tracingTo(collector.url);
  for (let n = 0; n < 5_000; n += 1) tracing.begin(`span ${n}`).end();
  await pass(2_000);
  await pass(120_000);
  expect(troubles).toHaveLength(1);
  expect(collector.seen.requests).toBeLessThan(8);
  state.up = true;
  for (let n = 0; n < 12; n += 1) await pass(60_000);
  expect(collector.spans).toHaveLength(4_096);
  expect(collector.seen.bodies).toContain('"picoclaw.spans_dropped","value":{"intValue":"904"}');
});

test("a collector that does not take them loses them, and one that never answers holds up no end", async () => {
  const refusing = collecting(() => new Response(null, { status: 400 }));
  const first = tracingTo(refusing.url);
  first.tracing.begin("bad").end();
  await first.pass(2_000);
  await first.pass(120_000);
  expect(refusing.seen.requests).toBe(1);
  expect(first.troubles).toHaveLength(1);
  const hung = Promise.withResolvers<Response>();
  closing.push(() => hung.resolve(Response.json({})));
  const silent = collecting(() => hung.promise);
  const second = tracingTo(silent.url, { closeMs: 200 });
  second.tracing.begin("late").end();
  const began = performance.now();
  await second.tracing.close();
  expect(performance.now() - began).toBeLessThan(30_000);
  expect(second.troubles).toHaveLength(1);
});

test("nothing is asked of a collector while there is nothing to send", async () => {
  const collector = collecting();
  const { tracing, pass } = tracingTo(collector.url);
  await pass(60_000);
  await tracing.close();
  expect(collector.seen.requests).toBe(0);
});
