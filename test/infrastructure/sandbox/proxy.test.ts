import { afterEach, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { ask, GREETING, type Host, startHost, startTestProxy, statusOf } from "./proxy-kit.ts";

const open: { stop: () => unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

async function host(...args: Parameters<typeof startHost>): Promise<Host> {
  const started = await startHost(...args);
  open.push(started);
  return started;
}

async function proxy(options: Parameters<typeof startTestProxy>[0]) {
  const started = await startTestProxy(options);
  open.push(started);
  return started;
}

const PUBLIC = "93.184.216.34";
const get = (url: string, ...headers: string[]) =>
  `GET ${url} HTTP/1.1\r\n${[...headers, "", ""].join("\r\n")}`;

describe("a request through the proxy", () => {
  test("reaches an allowed host by the address that was judged", async () => {
    const { port: to, heard } = await host(GREETING);
    const { port, dialled, looked } = await proxy({
      allowed: ["good.example"],
      names: { "good.example": [PUBLIC] },
      to,
    });
    const answer = await ask(port, get("http://GOOD.example/a?b=1", "Host: other.example", "X-Kept: yes"));
    expect(answer).toBe("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    expect(dialled).toEqual([`${PUBLIC} 80`]);
    expect(looked).toEqual(["good.example"]);
    expect(heard).toEqual([
      "GET /a?b=1 HTTP/1.1\r\nHost: GOOD.example\r\nX-Kept: yes\r\nConnection: close\r\n\r\n",
    ]);
  });

  test.each([
    ["a public address", "CONNECT twice.example:443 HTTP/1.1\r\n\r\n", PUBLIC, [`${PUBLIC} 443`]],
    ["an IPv6 address", "CONNECT twice.example:443 HTTP/1.1\r\n\r\n", "2606:4700::1", ["2606:4700::1 443"]],
    ["a loopback address", "CONNECT twice.example:443 HTTP/1.1\r\n\r\n", "::1", []],
  ])(
    "to a name that resolves twice differently, first to %s, dials what was judged alone",
    async (_, head, first, dials) => {
      const { port: to } = await host(GREETING);
      let times = 0;
      const { port, dialled } = await proxy({
        allowed: ["twice.example"],
        resolve: async () => (times++ === 0 ? [first] : first === "::1" ? [PUBLIC] : ["127.0.0.1"]),
        to,
      });
      const status = statusOf(await ask(port, head, "GET / HTTP/1.1\r\n\r\n"));
      expect([times, dialled, status]).toEqual([1, [...dials], dials.length === 0 ? 403 : 200]);
    },
  );

  test("in a tunnel is carried both ways untouched", async () => {
    const { port: to } = await host(
      (heard, socket) => void socket.end(heard.toUpperCase()),
      (heard) => heard.endsWith("!"),
    );
    const { port } = await proxy({ allowed: ["good.example"], names: { "good.example": [PUBLIC] }, to });
    const answer = await ask(port, "CONNECT good.example:443 HTTP/1.1\r\nHost: x\r\n\r\nab", "cd!");
    expect(answer).toBe("HTTP/1.1 200 Connection Established\r\n\r\nABCD!");
  });

  test.each([
    [
      "a name that is not allowed",
      "http://evil.example/",
      "evil.example:80 is not among the allowed domains",
    ],
    ["a denied name", "http://bad.good.example/", "bad.good.example:80 is denied"],
    ["another port", "http://www.good.example:22/", "www.good.example:22 is allowed, but not on this port"],
    ["a name that leads to loopback", "http://loop.good.example/", "has no address that may be reached"],
    [
      "a name that leads to a mapped address",
      "http://mapped.good.example/",
      "has no address that may be reached",
    ],
    ["a name that leads to metadata", "http://meta.good.example/", "has no address that may be reached"],
    ["a name that leads to this machine", "http://self.good.example/", "has no address that may be reached"],
    ["an address", "http://127.0.0.1/", "127.0.0.1:80 is not among the allowed domains"],
    ["an address in a strange form", "http://0x7f.1/", "0x7f.1:80 is not among the allowed domains"],
  ])("to %s is refused with the reason, and nothing is dialled", async (_, url, reason) => {
    const { port, dialled, refusals } = await proxy({
      allowed: ["*.good.example"],
      denied: ["bad.good.example"],
      names: {
        "loop.good.example": ["127.0.0.1", "::1"],
        "mapped.good.example": ["::ffff:10.0.0.1", "64:ff9b::7f00:1"],
        "meta.good.example": ["169.254.169.254"],
        "self.good.example": ["198.100.1.1"],
      },
    });
    const answer = await ask(port, get(url));
    expect(statusOf(answer)).toBe(403);
    expect(answer).toContain(`picoclaw: `);
    expect(answer).toContain(reason);
    const { hostname, port: asked } = new URL(url);
    const tunnel = await ask(port, `CONNECT ${hostname}:${asked || 80} HTTP/1.1\r\n\r\n`);
    expect(statusOf(tunnel)).toBe(403);
    // A client of a tunnel shows the status line alone.
    expect(tunnel.split("\r\n", 1)[0]).toMatch(/^HTTP\/1\.1 403 Refused by picoclaw: [^ ]+:\d+ /);
    expect(dialled).toEqual([]);
    expect(refusals.length).toBe(2);
  });

  test("to a name that is not allowed is not even looked up", async () => {
    const { port, looked } = await proxy({ allowed: ["good.example"] });
    await ask(port, get("http://c2VjcmV0.evil.example/"));
    await ask(port, "CONNECT c2VjcmV0.evil.example:443 HTTP/1.1\r\n\r\n");
    expect(looked).toEqual([]);
  });

  test("to nothing at all is allowed by an empty list", async () => {
    const { port } = await proxy({ allowed: [], names: { "good.example": [PUBLIC] } });
    expect(statusOf(await ask(port, get("http://good.example/")))).toBe(403);
  });

  test("takes the public one of several addresses, and the next when one does not answer", async () => {
    const { port: to } = await host(GREETING);
    const { port, dialled } = await proxy({
      allowed: ["good.example"],
      names: { "good.example": ["10.0.0.1", PUBLIC] },
      to,
    });
    expect(statusOf(await ask(port, get("http://good.example/")))).toBe(200);
    expect(dialled).toEqual([`${PUBLIC} 80`]);
    const shut = await host(GREETING);
    shut.stop();
    const tried: string[] = [];
    const other = await proxy({
      allowed: ["good.example"],
      names: { "good.example": ["1.1.1.1", "8.8.8.8"] },
      connect: (address) => {
        tried.push(address);
        return connect(address === "1.1.1.1" ? shut.port : to, "127.0.0.1");
      },
    });
    expect(statusOf(await ask(other.port, get("http://good.example/")))).toBe(200);
    expect(tried).toEqual(["1.1.1.1", "8.8.8.8"]);
  });

  test("to a private host passes where an exact host:port says so", async () => {
    const { port: to } = await host(GREETING);
    const { port } = await proxy({
      allowed: [`gitlab.local:${to}`, "*.local"],
      names: {
        "gitlab.local": ["127.0.0.1"],
        "other.local": ["127.0.0.1"],
        "meta.local": ["169.254.169.254"],
      },
    });
    expect(statusOf(await ask(port, get(`http://gitlab.local:${to}/`)))).toBe(200);
    expect(statusOf(await ask(port, get("http://gitlab.local/")))).toBe(403);
    expect(statusOf(await ask(port, get(`http://other.local:${to}/`)))).toBe(403);
  });

  test("to a host that is not there says so", async () => {
    // No service listens on port 1; a port that was just free may be another test's by now.
    const { port, refusals } = await proxy({
      allowed: ["none.example", "shut.example"],
      names: { "shut.example": [PUBLIC] },
      to: 1,
    });
    expect(await ask(port, get("http://none.example/"))).toContain("502 Bad Gateway");
    expect(await ask(port, get("http://shut.example/"))).toContain("unreachable");
    expect(refusals).toEqual([]);
  });
});

describe("a request that two readers could understand differently", () => {
  test.each([
    ["a path alone", "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"],
    ["https without a tunnel", get("https://good.example/")],
    ["a user in the address", get("http://user:pw@good.example/")],
    ["a bare line feed", "GET http://good.example/ HTTP/1.1\nHost: a\r\n\r\n"],
    ["a bare line feed in a header", get("http://good.example/", "A: b\nHost: evil")],
    ["a carriage return in a header", get("http://good.example/", "A: b\rB: c")],
    ["a NUL", get("http://good.example/", "A: \0")],
    ["a folded header", get("http://good.example/", "A: b", " c")],
    ["a space before the colon", get("http://good.example/", "Content-Length : 5")],
    ["two lengths", get("http://good.example/", "Content-Length: 5", "Content-Length: 6")],
    ["a length with a sign", get("http://good.example/", "Content-Length: +5")],
    ["a length and chunks", get("http://good.example/", "Content-Length: 5", "Transfer-Encoding: chunked")],
    ["an unknown coding", get("http://good.example/", "Transfer-Encoding: xchunked")],
    ["two codings", get("http://good.example/", "Transfer-Encoding: gzip, chunked")],
    ["another version", "GET http://good.example/ HTTP/2.0\r\n\r\n"],
    ["a space too many", "GET  http://good.example/ HTTP/1.1\r\n\r\n"],
    ["a tunnel without a port", "CONNECT good.example HTTP/1.1\r\n\r\n"],
    ["a tunnel to a path", "CONNECT good.example:443/x HTTP/1.1\r\n\r\n"],
    ["nonsense", "\x16\x03\x01\x02\x00\r\n\r\n"],
  ])("is refused: %s", async (_, text) => {
    const { port, dialled } = await proxy({ allowed: ["good.example"], names: { "good.example": [PUBLIC] } });
    expect(statusOf(await ask(port, text))).toBe(400);
    expect(dialled).toEqual([]);
  });

  test.each([
    ["a body of a known length", "Content-Length: 3", "abc", "abc"],
    ["no body", "X: y", "", ""],
    ["chunks", "Transfer-Encoding: chunked", "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: r\r\n\r\n", undefined],
  ])("does not ride behind %s", async (_, header, body, sent = body) => {
    const { port: to, heard } = await host((__, socket) => void setTimeout(() => socket.end(GREETING), 50));
    const { port } = await proxy({ allowed: ["good.example"], names: { "good.example": [PUBLIC] }, to });
    const answer = await ask(
      port,
      `POST http://good.example/ HTTP/1.1\r\n${header}\r\n\r\n${body}${get("/smuggled", "Host: evil")}`,
    );
    expect(statusOf(answer)).toBe(200);
    expect(answer.split("HTTP/1.1").length).toBe(2);
    expect(heard.length).toBe(1);
    expect(heard[0]).toEndWith(`\r\n\r\n${sent}`);
    expect(heard[0]).not.toContain("smuggled");
  });

  test("loses no framing to a Connection header that names it, and drops the headers it names", async () => {
    const { port: to, heard } = await host(GREETING, (text) => text.endsWith("abc"));
    const { port } = await proxy({ allowed: ["good.example"], names: { "good.example": [PUBLIC] }, to });
    const named = "Connection: close, content-length, host, x-mine, upgrade";
    await ask(
      port,
      `POST http://good.example/ HTTP/1.1\r\nContent-Length: 3\r\nX-Mine: 1\r\nProxy-Authorization: s\r\nUpgrade: h2c\r\n${named}\r\n\r\nabc`,
    );
    expect(heard).toEqual([
      "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
    ]);
  });

  test("with broken chunks is cut off", async () => {
    const { port: to } = await host(() => {});
    const { port } = await proxy({ allowed: ["good.example"], names: { "good.example": [PUBLIC] }, to });
    const head = "POST http://good.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(statusOf(await ask(port, `${head}zz\r\n`))).toBe(400);
    expect(statusOf(await ask(port, `${head}3\r\nabcX\r\n`))).toBe(400);
    expect(statusOf(await ask(port, `${head}3\nabc`))).toBe(400);
  });
});

describe("the answer", () => {
  test("in chunks, after an interim one, arrives whole", async () => {
    const chunks =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    const { port: to } = await host(`HTTP/1.1 100 Continue\r\n\r\n${chunks}`);
    const { port } = await proxy({ allowed: ["good.example"], names: { "good.example": [PUBLIC] }, to });
    expect(await ask(port, get("http://good.example/"))).toBe(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    );
  });

  test.each(["", "nonsense\r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n"])(
    "%p is not an answer",
    async (reply) => {
      const { port: to } = await host(reply);
      const { port } = await proxy({ allowed: ["good.example"], names: { "good.example": [PUBLIC] }, to });
      expect(statusOf(await ask(port, get("http://good.example/")))).toBe(502);
    },
  );

  test("of many megabytes arrives byte for byte, to a slow reader too", async () => {
    const body = "0123456789abcdef".repeat(512 * 1024);
    const { port: to } = await host(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    const { port } = await proxy({ allowed: ["good.example"], names: { "good.example": [PUBLIC] }, to });
    const answer = await ask(port, get("http://good.example/"));
    expect(answer.length - answer.indexOf("\r\n\r\n") - 4).toBe(body.length);
    expect(answer.endsWith(body)).toBe(true);
  });
});

describe("the proxy's limits", () => {
  test("hold for the size of a head", async () => {
    const { port } = await proxy({ limits: { headBytes: 1000 } });
    expect(statusOf(await ask(port, get("http://good.example/", `A: ${"x".repeat(2000)}`)))).toBe(431);
    expect(statusOf(await ask(port, "x".repeat(2000)))).toBe(431);
  });

  test("hold for a client that says nothing", async () => {
    const { port } = await proxy({ limits: { headMs: 30 } });
    expect(statusOf(await ask(port, "GET http://good"))).toBe(408);
  });

  test("hold for connections: a silent one makes room for the next", async () => {
    const { port: to } = await host(() => {});
    const { port } = await proxy({
      allowed: ["good.example"],
      names: { "good.example": [PUBLIC] },
      to,
      limits: { connections: 4 },
    });
    const idle = await Promise.all(
      [1, 2, 3].map(async () => {
        const socket = connect(port, "127.0.0.1");
        const ended = new Promise<string>((resolve) => socket.once("close", () => resolve("ended")));
        await new Promise((resolve) => socket.once("connect", resolve));
        return { socket, ended };
      }),
    );
    const tunnel = connect(port, "127.0.0.1");
    tunnel.write("CONNECT good.example:443 HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => tunnel.once("data", resolve));
    expect(statusOf(await ask(port, get("http://bad.example/")))).toBe(403);
    expect(await Promise.race(idle.map(({ ended }) => ended))).toBe("ended");
    expect(tunnel.destroyed).toBe(false);
    for (const socket of [...idle.map((each) => each.socket), tunnel]) socket.destroy();
  });

  test("hold for a silent tunnel, and for a host that never answers a call", async () => {
    const { port: to } = await host(() => {});
    const silent = await proxy({
      allowed: ["good.example"],
      names: { "good.example": [PUBLIC] },
      to,
      limits: { idleMs: 50 },
    });
    expect(await ask(silent.port, "CONNECT good.example:443 HTTP/1.1\r\n\r\n")).toContain("200 Connection");
    const lost = await proxy({
      allowed: ["good.example"],
      resolve: () => new Promise(() => {}),
      limits: { dialMs: 30 },
    });
    expect(statusOf(await ask(lost.port, get("http://good.example/")))).toBe(504);
  });

  test("end with it: a stopped proxy leaves no connection", async () => {
    const heard = Promise.withResolvers<void>();
    const { port: to } = await host(
      () => heard.resolve(),
      (text) => text === "hello",
    );
    const started = await startTestProxy({
      allowed: ["good.example"],
      names: { "good.example": [PUBLIC] },
      to,
    });
    const waiting = ask(started.port, "CONNECT good.example:443 HTTP/1.1\r\n\r\n", "hello");
    await heard.promise;
    await started.stop();
    await started.stop();
    expect(await waiting).toStartWith("HTTP/1.1 200");
  });
});
