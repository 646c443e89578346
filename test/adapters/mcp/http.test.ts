import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { until } from "../../e2e/cli-kit.ts";
import { call, createMcp, INITIALIZE, longCommand, type Mcp, request, TOKEN } from "./mcp-kit.ts";

type Http = Awaited<ReturnType<Mcp["http"]>>;
type Headers = Readonly<Record<string, string>>;

const GOOD: Headers = {
  authorization: `Bearer ${TOKEN}`,
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

/** A bare request: any header, any bytes. */
function post(
  url: string,
  headers: Headers,
  body: string | Uint8Array = JSON.stringify(INITIALIZE),
  method = "POST",
) {
  return new Promise<{ status: number; text: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
    const asked = httpRequest(url, { method, headers, agent: false }, (response) => {
      let text = "";
      response.on("data", (data) => (text += data));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers }),
      );
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** A session begun by hand. */
async function begin(url: string): Promise<Headers> {
  const { headers } = await post(url, GOOD);
  return { ...GOOD, "mcp-session-id": headers["mcp-session-id"] as string };
}

describe("who may talk to the HTTP server", () => {
  let mcp: Mcp;
  let http: Http;
  beforeAll(async () => {
    mcp = createMcp();
    http = await mcp.http();
  });
  afterAll(() => mcp.remove());
  const port = () => new URL(http.url).port;

  test("a client with the token gets a session", async () => {
    const { status, headers, text } = await post(http.url, GOOD);
    expect(status).toBe(200);
    expect(headers["mcp-session-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(text).toContain('"name":"picoclaw"');
  });

  test("what a command prints is the same value in a stream, escaped where a terminal would obey it", async () => {
    const headers = await begin(http.url);
    const command = String.raw`printf 'a\xe2\x80\xaeb\xc2\x9bc'`;
    const asked = { jsonrpc: "2.0", id: 7, method: "tools/call" };
    const params = { name: "execute_command", arguments: { command } };
    const { text } = await post(http.url, headers, JSON.stringify({ ...asked, params }));
    expect(text).not.toMatch(/[\u202a-\u202e\x7f-\x9f]/);
    const [, data = ""] = /^data: (\{.*)$/m.exec(text) ?? [];
    expect(JSON.stringify(JSON.parse(data).result.structuredContent)).toContain("a\u202eb\u009bc");
  });

  test.each<[string, Headers, number]>([
    ["no token", { authorization: "" }, 401],
    ["another token", { authorization: `Bearer ${TOKEN}x` }, 401],
    ["the begin of the token", { authorization: `Bearer ${TOKEN.slice(0, -1)}` }, 401],
    ["another scheme", { authorization: `Basic ${TOKEN}` }, 401],
    ["a page from elsewhere", { origin: "https://evil.example" }, 403],
    ["a page with a name like ours", { origin: "http://localhost.evil.example" }, 403],
    ["a file's page", { origin: "null" }, 403],
    ["a page of this machine", { origin: "http://localhost:3000" }, 200],
    ["a rebound name", { host: "evil.example" }, 403],
    ["a rebound name with our port", { host: "evil.example:PORT" }, 403],
    ["a name of this machine", { host: "localhost:PORT" }, 200],
    ["another port of this machine", { host: "localhost:1" }, 403],
    ["another type of content", { "content-type": "text/plain" }, 415],
    ["a client that takes no stream", { accept: "application/json" }, 406],
    ["an unknown session", { "mcp-session-id": "no-such" }, 404],
  ])("%s", async (_, headers, status) => {
    const sent = Object.fromEntries(
      Object.entries({ ...GOOD, ...headers }).map(([name, value]) => [name, value.replace("PORT", port())]),
    );
    expect((await post(http.url, sent)).status).toBe(status);
  });

  test("another path and another method are refused", async () => {
    expect((await post(http.url.replace("/mcp", "/other"), GOOD)).status).toBe(404);
    expect((await post(http.url, await begin(http.url), "", "PUT")).status).toBe(405);
  });

  test("without a given token one is made and printed on standard error, and a bad port is bad usage", () => {
    expect(mcp.run(["mcp", "--http", "70000"])).toMatchObject({ code: 2, out: "" });
    expect(mcp.run(["mcp", "--http", port()])).toMatchObject({ code: 3, out: "" });
    expect(http.said()).not.toContain(TOKEN);
  });
});

describe("the HTTP server", () => {
  let mcp: Mcp;
  let http: Http;
  beforeEach(async () => {
    mcp = createMcp();
    mcp.write("a.txt", "one\n");
    http = await mcp.http();
  });
  afterEach(() => mcp.remove());

  test("serves the official client: list, edit, undo, resources, two clients at once", async () => {
    const [one, two] = [await http.connect(), await http.connect()];
    expect((await one.listTools()).tools.length).toBeGreaterThan(8);
    const edit = { command: "str_replace", path: "a.txt", old_str: "one", new_str: "1" };
    const { structuredContent } = await call(one, "text_editor", edit);
    expect(mcp.read("a.txt")).toBe("1\n");
    const jobId = structuredContent?.job_id as string;
    const { contents } = await two.readResource({ uri: `picoclaw://jobs/${jobId}/diff` });
    expect(contents[0]).toMatchObject({ mimeType: "text/x-diff" });
    await call(two, "undo_job", { job_id: jobId });
    expect(mcp.read("a.txt")).toBe("one\n");
  });

  test.each<[string, string | Uint8Array, number, number]>([
    ["garbage", "}{", 400, -32700],
    ["a text that is not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), 400, -32700],
    ["JSON that is no message", "[1]", 400, -32700],
    ["nothing", "", 400, -32700],
    ["100 MB", new Uint8Array(100_000_000).fill(0x20), 413, -32600],
  ])("answers %s with an error and stays up", async (_, body, status, code) => {
    const session = await begin(http.url);
    const answer = await post(http.url, session, body).catch((error: Error) => error);
    if (answer instanceof Error) expect(status).toBe(413);
    else {
      const error = { code, message: expect.any(String) };
      expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { jsonrpc: "2.0", id: null, error }]);
    }
    expect((await post(http.url, session, request(1, "tree", { path: "." }))).text).toContain("a.txt");
  });

  test("keeps a hundred sessions; of more, the one unused for longest makes room", async () => {
    const [used, idle] = [await begin(http.url), await begin(http.url)];
    for (let n = 0; n < 98; n++) await begin(http.url);
    const ask = async (session: Headers) =>
      (await post(http.url, session, request(1, "tree", { path: "." }))).status;
    expect(await ask(used)).toBe(200);
    await begin(http.url);
    expect([await ask(used), await ask(idle)]).toEqual([200, 404]);
  });

  describe.if(process.platform === "linux")("a long command", () => {
    test("is reported, and ends with its tree when its client cancels; the stream ends too", async () => {
      const client = await http.connect();
      const long = longCommand();
      const abort = new AbortController();
      const told: (string | undefined)[] = [];
      const asked = client.callTool(
        { name: "execute_command", arguments: { command: long.command } },
        undefined,
        { signal: abort.signal, onprogress: ({ message }) => told.push(message) },
      );
      asked.catch(() => {});
      await until(() => told.includes("begun") && long.processes() === 2);
      abort.abort();
      await expect(asked).rejects.toThrow();
      await until(() => long.processes() === 0);
      expect(Object.keys(mcp.tree())).toEqual(["a.txt"]);
      expect((await call(client, "tree", { path: "." })).isError).toBeUndefined();
    });

    test("ends with its tree when its client is gone, and the server stays up", async () => {
      const session = await begin(http.url);
      const long = longCommand();
      const asked = httpRequest(http.url, { method: "POST", headers: session, agent: false });
      asked.on("error", () => {});
      asked.end(request(1, "execute_command", { command: long.command }));
      await until(() => long.processes() === 2);
      asked.destroy();
      await until(() => long.processes() === 0);
      expect(Object.keys(mcp.tree())).toEqual(["a.txt"]);
      expect((await post(http.url, session, request(2, "tree", { path: "." }))).status).toBe(200);
    });

    test.each(["its session is closed", "the server is told to stop"])(
      "ends with its tree when %s",
      async (how) => {
        const session = await begin(http.url);
        const long = longCommand();
        const answer = post(http.url, session, request(1, "execute_command", { command: long.command }));
        answer.catch(() => {});
        await until(() => long.processes() === 2);
        if (how === "its session is closed") {
          expect((await post(http.url, session, "", "DELETE")).status).toBe(200);
          await until(() => long.processes() === 0);
          expect((await post(http.url, session, request(2, "tree", {}))).status).toBe(404);
        } else {
          http.server.kill("SIGTERM");
          expect(await http.ended).toBe(0);
          expect(long.processes()).toBe(0);
        }
        expect(Object.keys(mcp.tree())).toEqual(["a.txt"]);
      },
    );
  });
});
