import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { createServer, get, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  createKeyQuota,
  type KeyLimits,
  type KeyProxy,
  startKeyProxy,
  sweepKeys,
} from "../../../../src/infrastructure/heads/key-proxy.ts";

let server: Server;
let proxy: KeyProxy;
const seen: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => {
      body += piece;
    });
    request.on("end", () => {
      const { url, method, headers } = request;
      seen.push([method, url, headers["x-api-key"], headers.authorization, body].join(" "));
      response.writeHead(url === "/v1/refused" ? 401 : 200, { "x-said": "yes" });
      response.write("one ");
      setTimeout(() => response.end("two"), 20);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  proxy = await startKeyProxy({
    upstream: `http://host.docker.internal:${port}/v1`,
    keys: new Map([["stand-in", "sk-real"]]),
    quota: createKeyQuota({ requests: 1000, bytes: 1_000_000 }),
    onUsedUp: () => {},
  });
});
afterAll(async () => {
  await proxy.close();
  expect(existsSync(dirname(proxy.socket))).toBe(false);
  server.closeAllConnections();
  server.close();
});

const ask = (path: string, init: RequestInit = {}) =>
  fetch(`http://127.0.0.1${path}`, { ...init, unix: proxy.socket } as RequestInit);

test("a key replaces its stand-in, in headers and in the address, and the answer is passed unchanged", async () => {
  const headers = { "x-api-key": "stand-in", authorization: "Bearer stand-in" };
  const answer = await ask("/v1/messages?key=stand-in", { method: "POST", body: "stand-in", headers });
  expect([answer.status, answer.headers.get("x-said"), await answer.text()]).toEqual([200, "yes", "one two"]);
  expect(seen.at(-1)).toBe("POST /v1/messages?key=sk-real sk-real Bearer sk-real stand-in");
  expect((await ask("/v1/refused", { headers })).status).toBe(401);
});

test("who has no stand-in is refused, and nothing leads to another server", async () => {
  const count = seen.length;
  expect((await ask("/v1/messages")).status).toBe(403);
  expect(seen.length).toBe(count);
  await new Promise((done) => {
    const headers = { "x-api-key": "stand-in" };
    get({ socketPath: proxy.socket, path: "//example.org/steal", headers }, (answer) =>
      answer.resume().on("end", done),
    );
  });
  expect(seen.at(-1)).toMatch(/^GET \/+example\.org\/steal sk-real/);
  expect(statSync(dirname(proxy.socket)).mode & 0o077).toBe(0);
});

test("a server that does not run is reported as such", async () => {
  const gone = await startKeyProxy({
    upstream: "http://127.0.0.1:9",
    keys: new Map([["s", "k-real"]]),
    quota: createKeyQuota({ requests: 1, bytes: 1 }),
    onUsedUp: () => {},
  });
  const answer = await fetch("http://127.0.0.1/", { headers: { a: "s" }, unix: gone.socket } as RequestInit);
  expect([answer.status, (await answer.text()).includes("k-real")]).toEqual([502, false]);
  await gone.close();
});

describe("what one task may use of a key", () => {
  const within = async (
    limits: KeyLimits,
    use: (headers: Record<string, string>, socket: string) => Promise<void>,
  ) => {
    const { port } = server.address() as AddressInfo;
    const told = { usedUp: 0 };
    const quota = createKeyQuota(limits);
    const open = () =>
      startKeyProxy({
        upstream: `http://127.0.0.1:${port}/v1`,
        keys: new Map([["s", "k-real"]]),
        quota,
        onUsedUp: () => told.usedUp++,
      });
    const first = await open();
    await use({ a: "s" }, first.socket);
    await first.close();
    // The next run of the same task has what is left.
    const next = await open();
    const answer = await fetch("http://127.0.0.1/v1/x", {
      headers: { a: "s" },
      unix: next.socket,
    } as RequestInit);
    await answer.text();
    await next.close();
    return { status: answer.status, usedUp: quota.usedUp(), told: told.usedUp > 0 };
  };
  const send = (socket: string, init: RequestInit) =>
    fetch("http://127.0.0.1/v1/x", { ...init, unix: socket } as RequestInit);

  test("requests beyond the quota reach no server, also those of a later run", async () => {
    const count = seen.length;
    const end = await within({ requests: 2, bytes: 1_000_000 }, async (headers, socket) => {
      const answers = [1, 2, 3].map(async () => (await send(socket, { headers })).status);
      expect((await Promise.all(answers)).sort()).toEqual([200, 200, 403]);
      expect((await send(socket, { headers: { a: "none" } })).status).toBe(403);
    });
    expect(end).toEqual({ status: 403, usedUp: "requests", told: true });
    expect(seen.length).toBe(count + 2);
  });

  test("a body larger than the remaining quota is not passed on", async () => {
    const count = seen.length;
    const end = await within({ requests: 99, bytes: 50_000 }, async (headers, socket) => {
      const body = new Uint8Array(200_000);
      const answer = await send(socket, { method: "POST", body, headers }).catch(() => ({ status: 403 }));
      expect(answer.status).toBe(403);
    });
    expect(end).toEqual({ status: 403, usedUp: "bytes", told: true });
    expect(seen.length).toBe(count);
  });

  test("an answer larger than the remaining quota is broken off", async () => {
    const end = await within({ requests: 99, bytes: 5 }, async (headers, socket) => {
      const answer = await send(socket, { headers });
      expect(await answer.text().catch(() => "broken off")).not.toBe("one two");
    });
    expect(end).toEqual({ status: 403, usedUp: "bytes", told: true });
  });
});

test("remains of a killed process are swept, and files in use stay", async () => {
  const below = mkdtempSync(join(tmpdir(), "picoclaw-sweep-"));
  try {
    const make = (name: string) => {
      mkdirSync(join(below, name));
      return join(below, name, "s");
    };
    const killed = make("picoclaw-keys-killed");
    const script = `require("net").createServer().listen(${JSON.stringify(killed)}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", script]);
    expect(existsSync(killed)).toBe(true);
    make("picoclaw-keys-new");
    make("picoclaw-keys-empty");
    utimesSync(join(below, "picoclaw-keys-empty"), 1, 1);
    make("other-keys");
    const used = createServer();
    await new Promise<void>((done) => used.listen(make("picoclaw-keys-used"), done));
    await sweepKeys(below, "picoclaw-keys-");
    expect(readdirSync(below).sort()).toEqual(["other-keys", "picoclaw-keys-new", "picoclaw-keys-used"]);
    used.close();
  } finally {
    rmSync(below, { recursive: true, force: true });
  }
});
