import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { createConnections } from "../../../src/adapters/mcp/serve-http.ts";
import { until } from "../../e2e/cli-kit.ts";
import { createMcp, INITIALIZE, type Mcp, request, TOKEN } from "./mcp-kit.ts";

let mcp: Mcp;
let http: Awaited<ReturnType<Mcp["http"]>>;
beforeAll(async () => {
  mcp = createMcp();
  http = await mcp.http();
});
afterAll(() => mcp.remove());

interface Stream {
  readonly text: () => string;
  readonly lastId: () => string;
  readonly ended: Promise<void>;
  destroy(): void;
}

/** One connection whose end is in our hands. */
async function open(
  method: "GET" | "POST",
  headers: Readonly<Record<string, string>>,
  body = "",
): Promise<Stream & { readonly response: IncomingMessage }> {
  const asked = httpRequest(http.url, {
    method,
    agent: false,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...headers,
    },
  });
  asked.on("error", () => {});
  asked.end(body);
  const response = await new Promise<IncomingMessage>((resolve) => asked.once("response", resolve));
  let text = "";
  response.on("data", (data) => (text += data));
  response.on("error", () => {});
  return {
    response,
    text: () => text,
    lastId: () => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "",
    ended: new Promise((resolve) => response.once("close", () => resolve())),
    destroy: () => asked.destroy(),
  };
}

async function begin(protocolVersion: string) {
  const params = { ...INITIALIZE.params, protocolVersion };
  const { response, ended } = await open("POST", {}, JSON.stringify({ ...INITIALIZE, params }));
  const session = {
    "mcp-session-id": String(response.headers["mcp-session-id"]),
    "mcp-protocol-version": protocolVersion,
  };
  await ended;
  return session;
}

describe("a stream that breaks", () => {
  test("is resumed by its last event: the call continued, and its answer arrives once", async () => {
    const session = await begin("2025-11-25");
    const command = "echo begun; sleep 1; echo done > made.txt; echo ended";
    const broken = await open(
      "POST",
      session,
      request(7, "execute_command", { command }, { progressToken: "p" }),
    );
    await until(() => broken.text().includes("begun"));
    broken.destroy();
    await broken.ended;
    const resumed = await open("GET", { ...session, "last-event-id": broken.lastId() });
    expect(resumed.response.statusCode).toBe(200);
    await until(() => resumed.text().includes('"id":7'));
    expect(resumed.text()).toContain("ended");
    expect(resumed.text()).not.toContain(`id: ${broken.lastId()}\n`);
    expect(mcp.read("made.txt")).toBe("done\n");
    resumed.destroy();

    const again = await open("GET", { ...session, "last-event-id": broken.lastId() });
    await until(() => again.text().includes('"id":7'));
    expect(again.text().match(/"id":7/g)).toHaveLength(1);
    again.destroy();
  }, 300_000);

  test("an event that is not known begins no stream", async () => {
    const session = await begin("2025-11-25");
    const { response } = await open("GET", { ...session, "last-event-id": "12345" });
    expect(response.statusCode).toBe(500);
  });
});

describe("a client", () => {
  const request = (version = "2025-11-25") => {
    const connection = new AbortController();
    const headers = { "mcp-protocol-version": version };
    return {
      connection,
      request: new Request("http://localhost/mcp", { headers, signal: connection.signal }),
    };
  };
  const after = (ms: number) => Bun.sleep(ms);

  test("that does not come back is gone after a while; one that cannot come back is gone at once", async () => {
    const connections = createConnections(30);
    const [asked, old] = [request(), request("2025-06-18")];
    const [gone, goneAtOnce] = [connections.goneAfter(asked.request), connections.goneAfter(old.request)];
    asked.connection.abort();
    old.connection.abort();
    expect([gone.aborted, goneAtOnce.aborted]).toEqual([false, true]);
    await new Promise((resolve) => gone.addEventListener("abort", resolve, { once: true }));
  });

  test("that reconnects counts as present as long as its new connection", async () => {
    const connections = createConnections(30);
    const [asked, back] = [request(), request()];
    const gone = connections.goneAfter(asked.request);
    asked.connection.abort();
    connections.resumed(back.request);
    await after(90);
    expect(gone.aborted).toBe(false);
    back.connection.abort();
    await new Promise((resolve) => gone.addEventListener("abort", resolve, { once: true }));
  });

  test("may come back before its old connection is known to be broken", async () => {
    const connections = createConnections(30);
    const [asked, back] = [request(), request()];
    const gone = connections.goneAfter(asked.request);
    connections.resumed(back.request);
    asked.connection.abort();
    await after(90);
    expect(gone.aborted).toBe(false);
    back.connection.abort();
    await new Promise((resolve) => gone.addEventListener("abort", resolve, { once: true }));
  });
});
