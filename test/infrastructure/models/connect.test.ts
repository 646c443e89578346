import { expect, test } from "bun:test";
import { canConnect } from "../../../src/infrastructure/platform/connections.ts";
import { startModelServer } from "../../fakes/model-server/server.ts";

test("a connection is made, is refused, or is given up", async () => {
  const server = await startModelServer();
  expect(await canConnect(server.url, new AbortController().signal)).toBe(true);
  await server.stop();
  expect(await canConnect("http://127.0.0.1:1/", new AbortController().signal)).toBe(false);
  expect(await canConnect("http://no-such-host.invalid/", new AbortController().signal)).toBe(false);
  expect(await canConnect("http://192.0.2.1/", AbortSignal.abort())).toBe(false);
});
