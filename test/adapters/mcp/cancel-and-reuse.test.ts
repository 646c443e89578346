import { expect, test } from "bun:test";
import { PassThrough } from "node:stream";
import type { McpHost } from "../../../src/adapters/mcp/host.ts";
import { serveStdio } from "../../../src/adapters/mcp/serve-stdio.ts";
import { INITIALIZE } from "./mcp-kit.ts";

test("a call that takes up the id of one that was just cancelled is carried out, and the cancelled one is not", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const begun = Promise.withResolvers<void>();
  const ended: string[] = [];
  const host = {
    version: "0",
    workspaceIsGiven: true,
    root: "/ws",
    tools: [],
    realPath: (path: string) => path,
    mask: (text: string) => text,
    log: () => {},
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
