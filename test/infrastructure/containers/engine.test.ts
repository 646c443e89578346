import { describe, expect, test } from "bun:test";
import { createEngine, parseEngineAddress } from "../../../src/infrastructure/containers/docker-engine.ts";

describe("the engine's address", () => {
  test.each([
    ["unix:///run/docker.sock", { kind: "unix", path: "/run/docker.sock" }],
    ["tcp://10.0.0.1:2375", { kind: "tcp", host: "10.0.0.1", port: 2375 }],
    ["tcp://[::1]:2375", { kind: "tcp", host: "::1", port: 2375 }],
    ["https://engine:2376", { kind: "tcp", host: "engine", port: 2376, tls: {} }],
    ["ssh://me@host", undefined],
    ["unix://relative", undefined],
    ["docker", undefined],
  ])("%s", (host, address) => {
    expect(parseEngineAddress(host)).toEqual(address as never);
  });

  test("a call to a silent engine ends with a time limit of ours", async () => {
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    const host = `tcp://127.0.0.1:${silent.port}`;
    const address = parseEngineAddress(host);
    if (!address) throw new Error("no address");
    const engine = createEngine({ address, host, timeoutMs: 200 });
    expect(await engine.call("GET", "/info")).toMatchObject({ code: "engine-timeout" });
    silent.stop(true);
  });
});
