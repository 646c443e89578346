import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, GREETING, startHost, statusOf } from "./proxy-kit.ts";

const PROGRAM = join(import.meta.dir, "../../../src/wiring/proxy.ts");
const running: { kill: () => void }[] = [];
afterEach(() => {
  for (const one of running.splice(0)) one.kill();
});

function start(argument: string | undefined, env: Record<string, string> = {}) {
  const argv = [process.execPath, "--no-env-file", PROGRAM, ...(argument === undefined ? [] : [argument])];
  const child = Bun.spawn(argv, { env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  running.push(child);
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  const line = async () => {
    while (!held.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`it ended: ${held}`);
      held += value;
    }
    const [first = "", ...rest] = held.split("\n");
    held = rest.join("\n");
    return JSON.parse(first) as Record<string, unknown>;
  };
  return { child, line };
}

describe("the proxy as a program", () => {
  test("carries out allowed requests, reports refused ones, and ends on request", async () => {
    const host = await startHost(GREETING);
    const settings = { listen: { host: "127.0.0.1", port: 0 }, allowed: [`127.0.0.1:${host.port}`] };
    const { child, line } = start(JSON.stringify(settings));
    const { event, port } = await line();
    expect(event).toBe("ready");
    const get = (url: string) => ask(Number(port), `GET ${url} HTTP/1.1\r\n\r\n`);
    expect(statusOf(await get(`http://127.0.0.1:${host.port}/`))).toBe(200);
    expect(statusOf(await get("http://evil.example/"))).toBe(403);
    expect(await line()).toEqual({ event: "refused", host: "evil.example", port: 80, reason: "not-allowed" });
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    host.stop();
  });

  test("reads its settings from a variable if there is no argument", async () => {
    const PICOCLAW_PROXY = JSON.stringify({ listen: { host: "127.0.0.1", port: 0 }, allowed: [] });
    const { line } = start(undefined, { PICOCLAW_PROXY });
    expect((await line()).event).toBe("ready");
  });

  test("ends by itself when it is unused", async () => {
    const listen = { host: "127.0.0.1", port: 0 };
    const { child, line } = start(JSON.stringify({ listen, allowed: [], idle_hours: 0.00002 }));
    expect((await line()).event).toBe("ready");
    expect(await child.exited).toBe(0);
  });

  test("a socket that a killed one left does not stop the next, and every user who sees it may use it", async () => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-proxy-"));
    const path = join(folder, "proxy.sock");
    for (let i = 0; i < 2; i++) {
      const { child, line } = start(JSON.stringify({ listen: { path }, allowed: [] }));
      expect((await line()).event).toBe("ready");
      expect(statSync(path).mode & 0o777).toBe(0o666);
      child.kill("SIGKILL");
      await child.exited;
    }
    rmSync(folder, { recursive: true });
  });

  test.each([
    ["{", "not JSON"],
    ['{"allowed":[],"idle_hours":-1}', '"idle_hours" is not a number above 0'],
    ["{}", '"allowed" is not a list'],
    ['{"allowed":["http://a"]}', '"allowed" holds what is no host: "http://a"'],
    ['{"allowed":[],"denied":[1]}', '"denied" holds what is no host: 1'],
  ])("refuses to start with %s", async (argument, reason) => {
    const { child } = start(argument);
    expect(await child.exited).toBe(2);
    expect(await new Response(child.stderr).text()).toContain(reason);
  });
});
