/** A message's way through a real server, as a collector sees it. */

import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "../adapters/web/web-kit.ts";
import { type CollectedSpan, startCollector } from "../fakes/collector/collector.ts";
import { makeTestFolder } from "../left-behind.ts";
import { until } from "./cli-kit.ts";

const SCRIPT = [
  {
    when: { message: "/secret wish$/" },
    text: "## Plan\nWrite it\n\n## Patch\n```text:wish.txt\nhello\n```\n```bash\ntrue\n```\n\n## Risk\nlow\n",
  },
  { text: "re: {{message}}" },
];

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, 300_000);

async function ask(config: string, env: Record<string, string>, headers: Record<string, string> = {}) {
  const server = await createServer({ script: SCRIPT, config, env });
  closing.push(server.close);
  const token = server.token("--role", "operator", "--scope", "read,chat,jobs");
  const response = await fetch(`${server.url}/api/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify({ text: "/code3 my secret wish", wait: 25 }),
  });
  const answer = (await response.json()) as { state: string; message_id: string; reply: { ok: boolean } };
  expect(answer).toMatchObject({ state: "done", reply: { ok: true } });
  return { server, messageId: answer.message_id };
}

function under(spans: readonly CollectedSpan[], parent: CollectedSpan | undefined): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent?.spanId)
    .map(({ name }) => name)
    .sort();
}

describe("with a collector", () => {
  test("one trace leads from the request to the reply and down to each command, without a word of the message", async () => {
    const collector = startCollector();
    closing.push(collector.stop);
    const { server, messageId } = await ask(
      "",
      { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
    );
    const named = (name: string) => collector.spans.find((span) => span.name === name);
    await until(() => named("answer") !== undefined && named("reply send") !== undefined);
    expect(collector.seen.problems).toEqual([]);
    const { spans } = collector;
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(
      new Set(["0af7651916cd43dd8448eb211c80319c"]),
    );
    expect(named("receive")).toMatchObject({
      parentSpanId: "b7ad6b7169203331",
      facts: { "picoclaw.message_id": messageId, channel: "web" },
    });
    expect(under(spans, named("receive"))).toEqual(["answer", "queue wait", "reply send"]);
    expect(under(spans, named("answer"))).toEqual(["job", "model call", "route"]);
    expect(under(spans, named("job"))).toEqual([
      "job command",
      "job command",
      "job commit",
      "job seal",
      "job stage",
    ]);
    expect(named("route")?.facts).toMatchObject({ route: "CODE3", source: "explicit" });
    expect(named("model call")).toMatchObject({
      kind: 3,
      facts: { "gen_ai.request.model": "demo", role: "coder3", local: true },
    });
    expect(Number(named("model call")?.facts["gen_ai.usage.input_tokens"])).toBeGreaterThan(0);
    for (const word of ["secret wish", "hello", "wish.txt"])
      expect(collector.seen.bodies).not.toContain(word);
    const log = readFileSync(join(server.home, "logs", "picoclaw.log"), "utf8").split("\n");
    const answered = log.find((line) => line.includes("inbox.answered")) ?? "";
    expect(JSON.parse(answered)).toMatchObject({
      message_id: messageId,
      trace_id: "0af7651916cd43dd8448eb211c80319c",
    });
  }, 300_000);

  test("one that is away neither delays nor fails a message, and the log says so", async () => {
    const { server } = await ask('telemetry: { otlp_endpoint: "http://127.0.0.1:9" }\n', {});
    const log = () => readFileSync(join(server.home, "logs", "picoclaw.log"), "utf8");
    await until(() => log().includes("telemetry.not_sent"));
  }, 300_000);
});

test("without one, nothing of it is loaded", () => {
  const root = join(import.meta.dir, "../..");
  const quoted = (text: string) => JSON.stringify(text);
  const script = `
    const home = ${quoted(makeTestFolder("traces"))};
    const { openServe } = await import(${quoted(join(root, "src/wiring/serve.ts"))});
    const opened = await openServe(
      { HOME: home, PICOCLAW_HOME: home, ...(process.argv[2] && { OTEL_EXPORTER_OTLP_ENDPOINT: process.argv[2] }) },
      { cwd: home, demo: false });
    const serving = await opened.listen({ host: "127.0.0.1", port: 0, log: () => {} });
    await serving.stop();
    await opened.close();
    console.log(Object.keys(require.cache).filter((name) => /otlp|message-tracer|wiring.telemetry/.test(name)).length);
  `;
  const loaded = (endpoint: string) =>
    Bun.spawnSync([process.execPath, "--no-env-file", "-e", script, "x", endpoint], { cwd: root })
      .stdout.toString()
      .trim();
  expect(loaded("")).toBe("0");
  expect(Number(loaded("http://127.0.0.1:9"))).toBeGreaterThan(2);
}, 300_000);
