import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { until } from "../../e2e/cli-kit.ts";
import { call, createMcp, longCommand, type Mcp, request } from "./mcp-kit.ts";

let mcp: Mcp;
beforeEach(() => {
  mcp = createMcp();
});
afterEach(() => mcp.remove());

describe.if(process.platform === "linux")("a long command", () => {
  test("tells its progress, and a cancelled one ends with its whole tree and writes nothing", async () => {
    const client = await mcp.stdio();
    const long = longCommand();
    const abort = new AbortController();
    const told: { progress: number; message?: string }[] = [];
    const asked = client.callTool(
      { name: "execute_command", arguments: { command: long.command } },
      undefined,
      {
        signal: abort.signal,
        onprogress: ({ progress, message }) => told.push({ progress, ...(message && { message }) }),
      },
    );
    asked.catch(() => {});
    await until(() => told.some(({ message }) => message === "begun") && long.processes() === 2);
    abort.abort("enough");
    await expect(asked).rejects.toThrow("enough");
    await until(() => long.processes() === 0);
    expect(told.every(({ progress }, at) => progress > (told[at - 1]?.progress ?? 0))).toBe(true);
    expect((await call(client, "execute_command", { command: "ls" })).structuredContent).toMatchObject({
      stdout: "",
    });
  });

  test.each(["its pipes close", "SIGTERM", "SIGINT"])(
    "ends with its tree and leaves nothing when, in the middle, %s",
    async (how) => {
      const { server, write, ended, next } = await mcp.bare();
      const long = longCommand();
      write(request(7, "execute_command", { command: long.command }, { progressToken: 1 }));
      await next(({ method }) => method === "notifications/progress");
      await until(() => long.processes() === 2);
      if (how === "its pipes close") {
        server.stdout.destroy();
        server.stdin.end();
      } else server.kill(how as NodeJS.Signals);
      expect(await ended).toBe(0);
      expect(long.processes()).toBe(0);
      expect(mcp.tree()).toEqual({});
      expect(mcp.run(["jobs"]).out).toContain("Stopped, nothing changed");
    },
  );
});

describe("bytes that are not a message", () => {
  test.each<[string, string | Uint8Array, number, unknown]>([
    ["garbage", "garbage}{\n", -32700, null],
    ["binary garbage", new Uint8Array([0, 255, 254, 128, 10]), -32700, null],
    ["half of a message", '{"jsonrpc":"2.0","id":3,"met\n', -32700, null],
    ["JSON that is no message", "[1,2]\n", -32600, null],
    ["a message of another version", '{"jsonrpc":"1.0","id":9,"method":"ping"}\n', -32600, 9],
    ["an id of a wrong type", '{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600, null],
    ["parameters of a wrong type", '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":7}\n', -32600, 4],
    [
      "a text that is not UTF-8",
      Buffer.concat([
        Buffer.from(
          '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write_file","arguments":{"path":"x","content":"',
        ),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}},"id":5}\n'),
      ]),
      -32700,
      5,
    ],
    ["a method that is not there", '{"jsonrpc":"2.0","id":6,"method":"no/such"}\n', -32601, 6],
  ])("%s is answered with an error, and the server goes on", async (_, bytes, code, id) => {
    const { write, next, server, ended } = await mcp.bare();
    write(bytes);
    expect(await next(({ error }) => error?.code === code)).toMatchObject({ id });
    write('{"jsonrpc":"2.0","id":"after","method":"ping"}\n');
    await next((message) => message.id === "after");
    server.stdin.end();
    expect(await ended).toBe(0);
    expect(mcp.tree()).toEqual({});
  });

  test("by the thousand do not stop the server, even if its standard error is not read", async () => {
    const { write, next, messages } = await mcp.bare();
    for (let n = 0; n < 50; n++) write("garbage}{\n".repeat(100));
    write('{"jsonrpc":"2.0","id":"after","method":"ping"}\n');
    await next(({ id }) => id === "after");
    expect(messages.filter(({ error }) => error?.code === -32700).length).toBe(5000);
  });

  test("a message of 100 MB is refused under its own id, and the server continues", async () => {
    const { write, next } = await mcp.bare();
    const params = { name: "write_file", arguments: { path: "big", content: "x".repeat(100_000_000) } };
    write(`${JSON.stringify({ method: "tools/call", params, jsonrpc: "2.0", id: "big" })}\n`);
    expect((await next(({ id }) => id === "big")).error).toMatchObject({ code: -32600 });
    write(request("small", "write_file", { path: "small", content: "s" }));
    await next(({ id }) => id === "small");
    expect(mcp.tree()).toEqual({ small: "s" });
  });

  test("arguments that fit a message but not a tool are refused by the tool", async () => {
    const { write, next } = await mcp.bare();
    write(request(1, "write_file", { path: "big", content: "x".repeat(20_000_000) }));
    const { result } = await next(({ id }) => id === 1);
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: "ARGUMENT_TOO_LARGE" } },
    });
    expect(mcp.tree()).toEqual({});
  });
});
