import { afterAll, beforeAll, expect, test } from "bun:test";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { createNetworkPolicy } from "../../../src/domain/policy/network.ts";
import { createWeb } from "../../../src/infrastructure/sandbox/read-web.ts";

let server: Server;
let port = 0;
const { signal } = new AbortController();

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? "/";
    if (path === "/page") response.setHeader("content-type", "text/html").end("<p>hello</p>");
    else if (path === "/gzip")
      response
        .writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" })
        .end(gzipSync("packed"));
    else if (path === "/bomb")
      response
        .writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" })
        .end(gzipSync(Buffer.alloc(8 * 1024 ** 2)));
    else if (path === "/sjis")
      response
        .writeHead(200, { "content-type": "text/html; charset=Shift_JIS" })
        .end(Buffer.from([0x93, 0xfa, 0x96, 0x7b]));
    else if (path === "/png") response.setHeader("content-type", "image/png").end("x");
    else if (path === "/long") response.setHeader("content-type", "text/plain").end("x".repeat(200_000));
    else if (path === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else if (path === "/inside")
      response.writeHead(302, { location: `http://private.example:${port}/page` }).end();
    else if (path === "/other-port")
      response.writeHead(302, { location: `http://127.0.0.1:${port + 1}/` }).end();
    else if (path === "/file") response.writeHead(302, { location: "file:///etc/passwd" }).end();
    else if (path === "/cut") {
      response.writeHead(200, { "content-type": "text/plain", "content-length": "100" }).write("half");
      setTimeout(() => response.destroy(), 20);
    } else if (path !== "/hang") response.writeHead(404, { "content-type": "text/plain" }).end("nowhere");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** `open.example` is the local server by an exact entry; every other name is looked up to it as well, and refused. */
const web = (timeoutMs = 5_000) =>
  createWeb({
    policy: createNetworkPolicy({ allowed: ["*:*", `open.example:${port}`], denied: ["denied.example"] }),
    resolve: async (host) => (host === "nowhere.example" ? [] : ["127.0.0.1"]),
    timeoutMs,
    limitBytes: 100_000,
    userAgent: "test",
  });
const at = (path: string) => `http://open.example:${port}${path}`;

test("a page, packed or in another encoding", async () => {
  expect(await web().read(at("/page"), signal)).toEqual({
    ok: true,
    url: at("/page"),
    status: 200,
    type: "text/html",
    text: "<p>hello</p>",
    cut: false,
  });
  expect(await web().read(at("/gzip"), signal)).toMatchObject({ text: "packed" });
  expect(await web().read(at("/sjis"), signal)).toMatchObject({ text: "日本" });
  expect(await web().read(at("/none"), signal)).toMatchObject({ ok: true, status: 404 });
});

test("a long page is cut", async () => {
  const read = await web().read(at("/long"), signal);
  expect(read).toMatchObject({ ok: true, cut: true });
  expect(read.ok && read.text.length).toBe(100_000);
});

test.each<[string, () => string, string]>([
  ["a name whose address is private", () => `http://private.example:${port}/page`, "refused"],
  ["a redirect to such a name", () => at("/inside"), "refused"],
  ["a redirect out of the web", () => at("/file"), "bad-url"],
  ["a literal loopback address", () => `http://127.0.0.1:${port}/page`, "refused"],
  ["one written as a number", () => `http://2130706433:${port}/page`, "refused"],
  ["loopback of IPv6", () => `http://[::1]:${port}/page`, "refused"],
  ["a mapped address", () => `http://[::ffff:127.0.0.1]:${port}/page`, "refused"],
  ["a cloud's metadata", () => "http://169.254.169.254/latest/meta-data/", "refused"],
  ["a denied host", () => "http://denied.example/", "refused"],
  ["a password in the address", () => `http://me:secret@open.example:${port}/page`, "bad-url"],
  ["another protocol", () => "ftp://open.example/x", "bad-url"],
  ["no address at all", () => "not an address", "bad-url"],
  ["a host that is not there", () => "http://nowhere.example/", "no-such-host"],
  ["redirects without end", () => at("/loop"), "too-many-redirects"],
  ["a picture", () => at("/png"), "not-text"],
  ["a small page that unpacks to megabytes", () => at("/bomb"), "unreachable"],
  ["a page that is cut off", () => at("/cut"), "unreachable"],
])("%s is refused", async (_, url, why) => {
  expect(await web().read(url(), signal)).toMatchObject({ ok: false, why });
});

test("a server that never answers, and a caller who gives up", async () => {
  expect(await web(100).read(at("/hang"), signal)).toMatchObject({ ok: false, why: "timeout" });
  const given = new AbortController();
  const reading = web().read(at("/hang"), given.signal);
  given.abort();
  expect(await reading).toMatchObject({ ok: false, why: "aborted" });
});

test("of the loopback only the ports of the workspace's own processes are read, after a redirect too", async () => {
  const own = createWeb({
    policy: createNetworkPolicy({ allowed: ["*:*"], denied: [] }),
    timeoutMs: 60_000,
    limitBytes: 100_000,
    userAgent: "test",
    isOwnPort: async (asked) => asked === port,
  });
  for (const host of ["127.0.0.1", "localhost"])
    expect(await own.read(`http://${host}:${port}/page`, signal)).toMatchObject({ ok: true, status: 200 });
  expect(await own.read(`http://127.0.0.1:${port}/other-port`, signal)).toMatchObject({ why: "refused" });
  expect(await own.read(`http://127.0.0.1:${port + 1}/page`, signal)).toMatchObject({ why: "refused" });
});
