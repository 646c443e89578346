import { expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import type { McpHost } from "../../../src/adapters/mcp/host.ts";
import { createMcpEndpoint } from "../../../src/adapters/mcp/serve-http.ts";
import { serveStdio } from "../../../src/adapters/mcp/serve-stdio.ts";
import { INITIALIZE } from "./mcp-kit.ts";

const HOST = {
  version: "0",
  workspaceIsGiven: true,
  root: "/ws",
  tools: [],
  realPath: (path: string) => path,
  mask: (text: string) => text,
  log: () => {},
};

test("a call that takes up the id of one that was just cancelled is carried out, and the cancelled one is not", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const begun = Promise.withResolvers<void>();
  const ended: string[] = [];
  const host = {
    ...HOST,
    async invoke(name: string, _: unknown, { signal }: { signal: AbortSignal }) {
      if (name === "first") {
        begun.resolve();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      }
      ended.push(`${name} ${signal.aborted ? "cancelled" : "done"}`);
      return { ok: true, data: {}, content: [] };
    },
  } as unknown as McpHost;
  const served = serveStdio(host, { input, output }, new AbortController().signal);
  const line = (message: object) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
  const callOf = (name: string) => line({ id: 50, method: "tools/call", params: { name, arguments: {} } });
  const second = Promise.withResolvers<void>();
  output.on("data", (data) => {
    if (String(data).includes('"id":50')) second.resolve();
  });
  input.write(line(INITIALIZE));
  input.write(line({ method: "notifications/initialized" }));
  input.write(callOf("first"));
  await begun.promise;
  input.write(line({ method: "notifications/cancelled", params: { requestId: 50 } }) + callOf("second"));
  await second.promise;
  input.end();
  await served;
  expect(ended.sort()).toEqual(["first cancelled", "second done"]);
});

test("over HTTP, a second call under the id of one that has no answer yet is refused; the first gets its answer", async () => {
  const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const invoked: string[] = [];
  const host = {
    ...HOST,
    async invoke(name: string) {
      invoked.push(name);
      begun.resolve();
      if (name === "first") await goOn.promise;
      return { status: "success", data: { said: `answer to ${name}` } };
    },
  } as unknown as McpHost;
  const endpoint = createMcpEndpoint(host);
  const send = (message: object | readonly object[], session?: string) =>
    endpoint.handle(
      new Request("http://127.0.0.1/mcp", {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(session !== undefined && { "mcp-session-id": session }),
        },
        body: JSON.stringify(message),
      }),
    );
  const call = (id: number, name: string) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: {} },
  });
  const session = (await send(INITIALIZE)).headers.get("mcp-session-id") ?? "";
  const first = await send(call(7, "first"), session);
  await begun.promise;
  const second = await send(call(7, "second"), session);
  expect([second.status, await second.json()]).toMatchObject([400, { id: 7, error: { code: -32600 } }]);
  expect((await send([call(8, "twice"), call(8, "twice")], session)).status).toBe(400);
  goOn.resolve();
  expect(await first.text()).toContain("answer to first");
  expect(await (await send(call(7, "third"), session)).text()).toContain("answer to third");
  expect(invoked).toEqual(["first", "third"]);
  await endpoint.close();
});

test("a session belongs to the token that began it", async () => {
  const endpoint = createMcpEndpoint(HOST as unknown as McpHost);
  const ask = (token: string, method: string, session?: string) =>
    endpoint.handle(
      new Request("http://127.0.0.1/mcp", {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(session !== undefined && { "mcp-session-id": session }),
        },
        ...(method === "POST" && {
          body: JSON.stringify(
            session === undefined ? INITIALIZE : { jsonrpc: "2.0", id: 2, method: "ping" },
          ),
        }),
      }),
    );
  const session = (await ask("one", "POST")).headers.get("mcp-session-id") ?? "";
  for (const method of ["POST", "GET", "DELETE"])
    expect((await ask("two", method, session)).status).toBe(404);
  expect((await ask("one", "POST", session)).status).toBe(200);
  await endpoint.close();
});
