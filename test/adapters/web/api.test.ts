import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { z } from "zod";
import { create } from "../../e2e/cli-kit.ts";
import { PNG_BASE64 } from "../../fakes/pictures.ts";
import { createServer, type Server, signIn } from "./web-kit.ts";

type Json = Record<string, unknown>;
type Content = { readonly "application/json": { readonly schema: Json } };
interface Description {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, { responses: Record<string, { content?: Content }> }>>;
  readonly components: {
    readonly schemas: Record<string, Json>;
    readonly responses: { readonly Failed: { readonly content: Content } };
  };
}

let server: Server;
let description: Description;
let operator: string;
let reader: string;
let bob: string;
const used = new Set<string>();

beforeAll(async () => {
  server = await createServer({
    // So far apart that it is never the same day in both.
    config: "session: { timezone: Pacific/Kiritimati }\n",
    env: { TZ: "Etc/GMT+12" },
    script: [
      {
        when: { role: "coder3" },
        text: "## Plan\nWrite it\n\n## Patch\n```text:by-chat.txt\nhello\n```\n\n## Risk\nlow\n",
        usage: { input: 10, output: 5 },
      } as never,
      { when: { message: "/hang$/" }, text: "late", delay_ms: 120_000 },
      { text: "re: {{message}}" },
    ],
  });
  operator = server.token("--scope", "read,chat,jobs,mcp");
  reader = server.token("--scope", "read");
  bob = server.token("--user", "bob", "--role", "user", "--scope", "read,chat,jobs");
  description = (await (await fetch(`${server.url}/api/v1/openapi.json`)).json()) as Description;
});
afterAll(() => server.close());

/** Calls an operation of the description and holds the answer to it. */
async function call(
  method: "get" | "post",
  template: string,
  options: { path?: Record<string, string>; query?: string; body?: unknown; token?: string } = {},
): Promise<{ status: number; body: Json }> {
  const { path = {}, query = "", body, token = operator } = options;
  const url = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ""));
  const response = await fetch(`${server.url}/api/v1${url}${query}`, {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const answer = (await response.json()) as Json;
  const described = description.paths[template]?.[method]?.responses[String(response.status)];
  if (described === undefined) throw new Error(`${method} ${template}: ${response.status} is not described`);
  const content = described.content ?? description.components.responses.Failed.content;
  const { schema } = content["application/json"];
  const checked = checkerOf(schema).safeParse(answer);
  if (!checked.success) throw new Error(`${method} ${template} ${response.status}: ${checked.error.message}`);
  used.add(`${method} ${template} ${response.status}`);
  return { status: response.status, body: answer };
}

function checkerOf(schema: Json) {
  const moved = JSON.stringify({ ...schema, $defs: description.components.schemas }).replaceAll(
    "#/components/schemas/",
    "#/$defs/",
  );
  return z.fromJSONSchema(JSON.parse(moved));
}

describe("the description", () => {
  test("is OpenAPI 3.1, and a wrong answer does not fit it", () => {
    expect(description.openapi).toBe("3.1.0");
    const job = { $ref: "#/components/schemas/Job" };
    expect(checkerOf(job).safeParse({ job_id: 1 }).success).toBe(false);
    expect(
      checkerOf({ $ref: "#/components/schemas/Diff" }).safeParse({ job_id: "x", diff: "", more: 1 }).success,
    ).toBe(false);
  });
});

describe("messages", () => {
  test("are stored, answered and found again", async () => {
    const sent = await call("post", "/messages", { body: { text: "hi", wait: 20 } });
    expect([sent.status, (sent.body.reply as Json).text]).toEqual([200, "re: hi"]);
    const found = await call("get", "/messages/{id}", { path: { id: sent.body.message_id as string } });
    expect(found.body).toEqual(sent.body);
  });

  test("carry images, which are not sent to a model that sees none; other files are refused as images", async () => {
    const images = [{ name: "a.png", data: PNG_BASE64 }];
    const sent = await call("post", "/messages", { body: { images, chat: "seen", wait: 20 } });
    expect([sent.status, (sent.body.reply as Json).text]).toEqual([
      200,
      expect.stringContaining("cannot read images"),
    ]);
    const status = async (given: unknown) =>
      (await call("post", "/messages", { body: { text: "look", images: given } })).status;
    expect(await status([{ name: "a.png", data: btoa("no image") }])).toBe(415);
    expect(await status(Array(50).fill(images[0]))).toBe(413);
    for (const wrong of ["x", [{ name: "a.png" }], [{ data: "§" }], [null]])
      expect(await status(wrong)).toBe(400);
  });

  test("are stopped while they are answered, by their sender", async () => {
    const sent = await call("post", "/messages", { body: { text: "hang", chat: "hung" } });
    const path = { id: sent.body.message_id as string };
    const stop = (token = operator) => call("post", "/messages/{id}/stop", { path, token });
    expect((await stop(bob)).status).toBe(404);
    // It is not answered before its turn.
    while ((await stop()).status === 409) await Bun.sleep(20);
    let found = await call("get", "/messages/{id}", { path });
    for (; found.body.state !== "done"; found = await call("get", "/messages/{id}", { path }))
      await Bun.sleep(20);
    expect(JSON.stringify(found.body.reply)).not.toContain("late");
    expect((await stop()).status).toBe(409);
  });

  test("sent twice under one id are one", async () => {
    const body = { text: "once", event_id: "e1", wait: 20 };
    const [first, second] = await Promise.all([
      call("post", "/messages", { body }),
      call("post", "/messages", { body }),
    ]);
    expect(first.body.message_id).toBe(second.body.message_id);
  });

  test("come back, as every document and event of the command line does, without characters that steer a terminal", async () => {
    const text = "a\u202eb\u009b31m\u2066";
    const raw = /[\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;
    const headers = { authorization: `Bearer ${operator}` };
    const body = JSON.stringify({ text, wait: 20 });
    const answer = await (
      await fetch(`${server.url}/api/v1/messages`, { method: "POST", headers, body })
    ).text();
    expect(answer).not.toMatch(raw);
    expect((JSON.parse(answer) as Json).text).toBe(text);
    for (const form of ["--json", "--events"]) {
      const { out } = server.run(["chat", form, text]);
      expect(out).not.toMatch(raw);
      expect(out).toContain("a\\u202eb");
    }
  });

  test("without waiting are taken with 202", async () => {
    expect((await call("post", "/messages", { body: { text: "later", chat: "side" } })).status).toBe(202);
  });

  test("that are not right are refused in words", async () => {
    for (const body of [
      "not json",
      "[]",
      {},
      { text: "" },
      { text: 1 },
      { text: "x", route: "FLY" },
      { text: "x", chat: "../operator" },
      { text: "x", wait: 1e9 },
      { text: "x", event_id: "y".repeat(200) },
    ])
      expect([body, (await call("post", "/messages", { body })).status]).toEqual([body, 400]);
  });

  test("on a route carry out a job, whose result the reply holds", async () => {
    const { body } = await call("post", "/messages", {
      body: { text: "write it", route: "CODE3", wait: 20 },
    });
    const reply = body.reply as { jobs: { job_id: string; success: boolean }[]; decision: Json };
    expect([reply.decision.route, reply.jobs.length, reply.jobs[0]?.success]).toEqual(["CODE3", 1, true]);
    expect(server.read("by-chat.txt")).toBe("hello\n");
    const usage = await call("get", "/usage");
    const rows = usage.body.rows as { model: string; requests: number; jobs: number }[];
    const ofModel = rows.filter(({ model }) => model.endsWith("/demo"));
    expect(ofModel.some(({ requests, jobs }) => requests > 0 && jobs > 0)).toBe(true);
  });
});

describe("jobs", () => {
  const patch = JSON.stringify([create("a.txt", "one\n")]);

  test("are previewed, applied, shown, undone and redone", async () => {
    const preview = await call("post", "/jobs", { body: { patch, mode: "preview" } });
    const jobId = (preview.body.result as { job_id: string }).job_id;
    expect([preview.body.outcome, Object.keys(server.tree()).includes("a.txt")]).toEqual(["staged", false]);
    const path = { job: jobId };
    expect((await call("post", "/jobs/{job}/apply", { path })).status).toBe(200);
    expect(server.read("a.txt")).toBe("one\n");
    expect((await call("get", "/jobs/{job}/diff", { path })).body.diff).toContain("+one");
    expect((await call("post", "/jobs/{job}/undo", { path })).status).toBe(200);
    expect((await call("post", "/jobs/{job}/undo", { path })).status).toBe(409);
    expect((await call("post", "/jobs/{job}/redo", { path })).status).toBe(200);
    expect((await call("post", "/jobs/{job}/stop", { path })).status).toBe(409);
    const shown = await call("get", "/jobs/{job}", { path });
    expect([shown.body.state, (shown.body.events as unknown[]).length > 2]).toEqual(["committed", true]);
    const list = await call("get", "/jobs", { query: "?limit=1" });
    expect((list.body.jobs as unknown[]).length).toBe(1);
    const dry = await call("post", "/jobs", { body: { patch, mode: "dry-run" } });
    expect(dry.body.outcome).toBe("dry-run");
  });

  test("a patch that would block other requests is refused before it is parsed", async () => {
    const long = await call("post", "/jobs", { body: { patch: "```\n".repeat(400_000), mode: "dry-run" } });
    expect([long.status, (long.body.error as { code: string }).code]).toEqual([413, "too-large"]);
  });

  test("are narrowed by what became of them, chat, day, file and words, page by page", async () => {
    const made = await call("post", "/jobs", {
      body: { patch: JSON.stringify([create("narrow/find-me.txt", "x\n")]), mode: "apply" },
    });
    const { job_id: id } = made.body.result as { job_id: string };
    const at = (await call("get", "/jobs/{job}", { path: { job: id } })).body.created_at as string;
    const dayIn = (timeZone: string) => new Intl.DateTimeFormat("sv", { timeZone }).format(Date.parse(at));
    const [day, there] = [dayIn("Pacific/Kiritimati"), dayIn("Etc/GMT+12")];
    const found = async (query: string) => {
      const { body, status } = await call("get", "/jobs", { query });
      expect([query, status]).toEqual([query, 200]);
      return body as { jobs: { job_id: string }[]; total: number; page: number; pages: number };
    };
    for (const query of [`?path=find-me&day=${day}`, "?q=find-me", `?q=${id}&status=applied`])
      expect([query, (await found(query)).jobs.map(({ job_id }) => job_id)]).toEqual([query, [id]]);
    for (const query of [
      "?path=find-me&status=taken-back",
      "?q=find-me&chat=web:operator",
      "?day=2001-01-01",
    ])
      expect([query, (await found(query)).total]).toEqual([query, 0]);
    const browser = await signIn(server.login);
    const inConsole = async (query: string) => (await browser.text(`/jobs${query}`)).includes(id);
    for (const [query, zone, fits] of [
      [`?path=find-me&day=${day}`, "", true],
      [`?path=find-me&day=${there}`, "", false],
      [`?path=find-me&day=${day}`, "Etc/GMT+12", false],
      [`?path=find-me&day=${there}`, "Etc/GMT+12", true],
    ] as const) {
      browser.cookies.set("picoclaw_zone", zone);
      const asked = zone === "" ? query : `${query}&zone=${encodeURIComponent(zone)}`;
      expect([asked, (await found(asked)).total]).toEqual([asked, fits ? 1 : 0]);
      expect([asked, await inConsole(query)]).toEqual([asked, fits]);
    }
    const all = await found("?page=1&limit=1");
    expect([all.jobs.length, all.jobs[0]?.job_id, all.pages]).toEqual([1, id, all.total]);
    const last = await found(`?page=${all.pages}&limit=1`);
    expect([last.page, last.jobs.length, last.jobs[0]?.job_id === id]).toEqual([all.pages, 1, false]);
    for (const query of [
      "?status=done",
      "?day=today",
      "?day=2026-02-31",
      "?zone=Mars/Base",
      "?page=0",
      "?limit=0",
      `?q=${"x".repeat(201)}`,
    ])
      expect([query, (await call("get", "/jobs", { query })).status]).toEqual([query, 400]);
  });

  test("that do not exist are unknown, for any address", async () => {
    for (const job of ["job_1_aaaaaaaa", "../x", "..", "job_1_aaaaaaaa/../..", "%00", "\0"])
      for (const template of ["/jobs/{job}", "/jobs/{job}/diff"]) {
        const url = template.replace("{job}", encodeURIComponent(job));
        const response = await fetch(`${server.url}/api/v1${url}`, {
          headers: { authorization: `Bearer ${operator}` },
        });
        const { error } = (await response.json()) as Json;
        expect([url, response.status, error]).toEqual([url, 404, expect.objectContaining({})]);
      }
    for (const verb of ["undo", "redo", "apply", "stop"])
      expect((await call("post", `/jobs/{job}/${verb}`, { path: { job: "job_1_aaaaaaaa" } })).status).toBe(
        404,
      );
  });

  test("that are not patches are refused with the line at fault", async () => {
    const { status, body } = await call("post", "/jobs", { body: { patch: "just words" } });
    expect([status, (body.error as Json).code]).toEqual([422, "not-a-patch"]);
    expect((await call("post", "/jobs", { body: { patch: 1 } })).status).toBe(400);
    expect((await call("get", "/jobs", { query: "?limit=0" })).status).toBe(400);
  });
});

describe("tokens", () => {
  test("open nothing when they are missing, wrong, or taken away", async () => {
    for (const token of ["", "pico_wrong_wrong", `${operator}x`])
      expect((await call("get", "/jobs", { token })).status).toBe(401);
    const gone = server.token("--scope", "read");
    expect((await call("get", "/jobs", { token: gone })).status).toBe(200);
    const list = JSON.parse(server.run(["serve", "token", "list", "--json"]).out) as {
      tokens: { id: string }[];
    };
    expect(JSON.stringify(list)).not.toContain("hash");
    server.run(["serve", "token", "remove", list.tokens.at(-1)?.id ?? ""]);
    expect((await call("get", "/jobs", { token: gone })).status).toBe(401);
  });

  test("with the scope chat alone take nothing back and apply nothing, also not by a command", async () => {
    const headers = { authorization: `Bearer ${server.token("--scope", "chat")}` };
    const say = async (text: string) => {
      const body = JSON.stringify({ text, wait: 20 });
      return (await fetch(`${server.url}/api/v1/messages`, { method: "POST", headers, body })).status;
    };
    for (const text of ["/undo", " /UNDO all", "/redo", "/rewind 2", "/apply", "/discard"])
      expect([text, await say(text)]).toEqual([text, 403]);
    expect(await say("/help")).toBe(200);
  });

  test("and links of a person who is named without a role are a user's; where no one is named, the operator's", () => {
    const roleOf = (...args: string[]) => {
      const { role, user } = JSON.parse(server.run(["serve", ...args, "--json"]).out) as Json;
      return [user, role];
    };
    expect(roleOf("link", "--user", "carol")).toEqual(["carol", "user"]);
    expect(roleOf("token", "create", "t", "--user", "carol")).toEqual(["carol", "user"]);
    expect(roleOf("token", "create", "t", "--user", "carol", "--role", "operator")).toEqual([
      "carol",
      "operator",
    ]);
    expect(roleOf("link")).toEqual(["operator", "operator"]);
    expect(roleOf("link", "--user", "operator")).toEqual(["operator", "operator"]);
    expect(roleOf("token", "create", "t")).toEqual(["operator", "operator"]);
  });

  test("do what their scopes say and no more", async () => {
    expect((await call("post", "/messages", { token: reader, body: { text: "x" } })).status).toBe(403);
    expect((await call("post", "/jobs", { token: reader, body: { patch: "[]" } })).status).toBe(403);
    expect((await call("post", "/jobs", { token: bob, body: { patch: "[]" } })).status).toBe(403);
    expect((await call("get", "/config", { token: bob })).status).toBe(403);
  });

  test("of a user show what that user caused", async () => {
    const sent = await call("post", "/messages", {
      token: bob,
      body: { text: "mine", route: "CODE3", wait: 20 },
    });
    const [job] = (sent.body.reply as { jobs: { job_id: string }[] }).jobs;
    const own = await call("get", "/jobs", { token: bob });
    expect((own.body.jobs as { job_id: string }[]).map(({ job_id }) => job_id)).toEqual([job?.job_id ?? ""]);
    const all = (await call("get", "/jobs")).body.jobs as { job_id: string }[];
    const other = all.find(({ job_id }) => job_id !== job?.job_id)?.job_id ?? "";
    expect((await call("get", "/jobs/{job}", { token: bob, path: { job: other } })).status).toBe(404);
    expect((await call("post", "/jobs/{job}/undo", { token: bob, path: { job: other } })).status).toBe(404);
    const sessions = (await call("get", "/sessions", { token: bob })).body.sessions as { key: string }[];
    expect(sessions.map(({ key }) => key)).toEqual(["web:bob"]);
    const path = { channel: "web", chat: "operator" };
    expect((await call("get", "/sessions/{channel}/{chat}", { token: bob, path })).status).toBe(404);
    expect((await call("get", "/sessions/{channel}/{chat}", { path })).status).toBe(200);
    const id = (await call("post", "/messages", { body: { text: "hers", wait: 20 } })).body
      .message_id as string;
    expect((await call("get", "/messages/{id}", { token: bob, path: { id } })).status).toBe(404);
  });
});

describe("the rest", () => {
  test("health, configuration and metrics answer; secrets are masked", async () => {
    expect((await call("get", "/health")).body.ready).toBe(true);
    const { checks } = (await call("get", "/health", { token: bob })).body as {
      checks: { detail: string }[];
    };
    expect(checks.map(({ detail }) => detail).join("")).toBe("");
    const { keys } = (await call("get", "/config")).body as { keys: { key: string; value: string }[] };
    expect(keys.find(({ key }) => key === "providers.claude.api_key")?.value).toBe('"env:ANTHROPIC_API_KEY"');
    expect((await call("get", "/usage", { query: "?days=0" })).status).toBe(400);
    const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${reader}` } });
    expect(await metrics.text()).toContain("picoclaw_messages_received_total{channel=");
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
    const ready = (await (await fetch(`${server.url}/readyz`)).json()) as { checks: { name: string }[] };
    expect(ready.checks.map(({ name }) => name)).toContain("store");
  });

  test("a page of no origin is turned away from /mcp", async () => {
    const headers = { authorization: `Bearer ${server.token("--scope", "mcp")}`, origin: "null" };
    const answer = await fetch(`${server.url}/mcp`, { method: "POST", body: "{}", headers });
    expect(answer.status).toBe(403);
  });

  test("the log leads from a message to its jobs by their ids", async () => {
    const lines = () =>
      readFileSync(join(server.home, "logs", "picoclaw.log"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    const token = server.token("--scope", "chat");
    const answer = await fetch(`${server.url}/api/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ text: "/help", wait: 20, event_id: "traced" }),
    });
    const { message_id: id } = (await answer.json()) as { message_id: string };
    const told = lines().filter((line) => line.message_id === id);
    expect(told.map(({ event }) => event)).toEqual(["inbox.received", "inbox.answered"]);
    expect(told[1]).toMatchObject({
      event_id: expect.stringMatching(/^operator:api:[0-9a-f]{12}:traced$/),
      job_ids: [],
      ok: true,
    });
  });

  test("MCP at /mcp lends the tools to a client with a token of that scope", async () => {
    const open = (token: string) => {
      const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      });
      const client = new Client({ name: "test", version: "1" });
      return client.connect(transport as never).then(() => client);
    };
    const client = await open(operator);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("apply_patch");
    const read = await client.callTool({ name: "read_file", arguments: { path: "by-chat.txt" } });
    expect(JSON.stringify(read)).toContain("hello");
    await client.close();
    expect(open(reader)).rejects.toThrow();
    expect(open(bob)).rejects.toThrow();
  });

  test("every operation and every answer of the description was seen, but those of faults", () => {
    const described = Object.entries(description.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        Object.keys(responses)
          .filter((status) => status.startsWith("2"))
          .map((status) => `${method} ${path} ${status}`),
      ),
    );
    const missing = described.filter((one) => !used.has(one));
    expect(missing).toEqual(["post /jobs/{job}/stop 200"]);
  });
});
