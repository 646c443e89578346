import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { McpServerSettings } from "../../../src/domain/chat/mcp-servers.ts";
import {
  loginToMcpServer,
  type McpLogins,
  openMcpLogins,
  readLoginState,
} from "../../../src/infrastructure/chat/mcp-login.ts";
import { openMcpTools } from "../../../src/infrastructure/chat/mcp-tools.ts";
import { type OauthMcpOptions, type OauthMcpServer, startOauthMcp } from "../../fakes/oauth-mcp-server.ts";

let home: string;
let logins: McpLogins;
const servers: OauthMcpServer[] = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "picoclaw-login-"));
  logins = openMcpLogins(home);
});
afterEach(() => {
  for (const server of servers.splice(0)) server.stop();
  rmSync(home, { recursive: true });
});

const start = (options?: OauthMcpOptions) => {
  const server = startOauthMcp(options);
  servers.push(server);
  return server;
};
const settings = (url: string, more: Partial<McpServerSettings> = {}): McpServerSettings => ({
  name: "tickets",
  url,
  args: [],
  env: {},
  headers: {},
  coders: "read-only",
  ...more,
});
const page = { done: "in", failed: "out" };
/** The user's browser on the same machine. */
const login = (server: OauthMcpServer, more: Partial<McpServerSettings> = {}) =>
  loginToMcpServer(settings(server.url, more), logins, {
    page,
    signal: new AbortController().signal,
    announce: async (address) => {
      void server.browse(address);
      return null;
    },
  });
const open = (server: OauthMcpServer, more: Partial<McpServerSettings> = {}) =>
  openMcpTools({
    servers: [settings(server.url, more)],
    hostEnv: {},
    workspace: home,
    version: "1",
    home,
  });
const readTicket = async (server: OauthMcpServer, more: Partial<McpServerSettings> = {}) => {
  const tools = await open(server, more);
  const answer = await tools.call("tickets_read", { id: 7 }, new AbortController().signal);
  await tools.close();
  return [tools.unavailable, answer.text];
};
const WORKS = [[], "ticket 7"];
const NEEDED = {
  server: "tickets",
  detail: "401: picoclaw mcp login tickets",
  needsLogin: true,
};

test.each([
  ["streamable HTTP", false],
  ["HTTP+SSE", true],
])("a login over %s is asked for, kept for the owner alone, and used", async (_, isOlder) => {
  const server = start({ isOlder });
  expect((await open(server)).unavailable).toEqual([NEEDED]);
  expect(server.seen.filter((line) => line.includes("/register"))).toEqual([]);
  expect(await readLoginState(settings(server.url), logins)).toBe("needed");
  expect(await login(server)).toEqual({ kind: "done" });
  expect(await readLoginState(settings(server.url), logins)).toBe("kept");
  const [file = ""] = readdirSync(logins.folder);
  expect([statSync(logins.folder).mode & 0o777, statSync(join(logins.folder, file)).mode & 0o777]).toEqual([
    0o700, 0o600,
  ]);
  expect(await readTicket(server)).toEqual(WORKS);
});

test.each([
  ["streamable HTTP", false],
  ["HTTP+SSE", true],
])("a server over %s that requires no login works as before", async (_, isOlder) => {
  const server = start({ isOlder, isOpen: true });
  expect(await readTicket(server)).toEqual(WORKS);
  expect(await login(server)).toEqual({ kind: "not-needed" });
  expect(await readLoginState(settings(server.url), logins)).toBe("none");
});

test("a token that ran out is renewed, before the request where its time is known and after a refusal where not", async () => {
  const server = start({ tokenSeconds: 1 });
  await login(server);
  expect(await readTicket(server)).toEqual(WORKS);
  expect(server.seen.filter((line) => line === "POST /token refresh_token").length).toBeGreaterThan(0);
  const steady = start();
  await login(steady);
  steady.expire();
  expect(await readTicket(steady)).toEqual(WORKS);
  expect(steady.seen.filter((line) => line === "POST /token refresh_token")).toHaveLength(1);
});

test("several that renew at once use one refresh token once", async () => {
  const server = start();
  await login(server);
  server.expire();
  const all = await Promise.all([readTicket(server), readTicket(server), readTicket(server)]);
  expect(all).toEqual([WORKS, WORKS, WORKS]);
  expect(server.seen.filter((line) => line === "POST /token refresh_token")).toHaveLength(1);
});

test("a login that the server ended is asked for again, and the next one needs no new registration", async () => {
  const server = start();
  await login(server);
  server.revoke();
  expect((await open(server)).unavailable).toEqual([NEEDED]);
  expect(await readLoginState(settings(server.url), logins)).toBe("needed");
  expect(await login(server)).toEqual({ kind: "done" });
  expect(await readTicket(server)).toEqual(WORKS);
  expect(server.seen.filter((line) => line === "POST /register")).toHaveLength(1);
});

test("a token is sent to the address it was made for, and nowhere else", async () => {
  const [mine, theirs] = [start(), start()];
  await login(mine);
  const seen: (string | null)[] = [];
  const spy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      seen.push(request.headers.get("authorization"));
      return new Response("no", { status: 401 });
    },
  });
  const away = await openMcpTools({
    servers: [settings(`http://127.0.0.1:${spy.port}/mcp`)],
    hostEnv: {},
    workspace: home,
    version: "1",
    home,
  });
  await spy.stop(true);
  expect(away.unavailable).toEqual([NEEDED]);
  expect(seen).toEqual([null]);
  expect((await open(theirs)).unavailable).toEqual([NEEDED]);
});

const keptFiles = () => (existsSync(logins.folder) ? readdirSync(logins.folder) : []);

test.each<[string, NonNullable<OauthMcpOptions["metadata"]>]>([
  [
    "an address that is none of the web",
    (base) =>
      Response.json({
        issuer: base,
        authorization_endpoint: "javascript:alert(1)",
        token_endpoint: `${base}/token`,
        response_types_supported: ["code"],
      }),
  ],
  ["junk", () => new Response("<html>", { headers: { "content-type": "application/json" } })],
  ["another shape", () => Response.json({ hello: [1] })],
  ["more than 1 MiB", () => new Response(`{"issuer": "${"x".repeat(1024 * 1024)}"}`)],
])("an authorization server that answers with %s is refused, and nothing is kept", async (_, metadata) => {
  const server = start({ metadata });
  expect(await login(server)).toEqual({ kind: "bad-server" });
  expect(keptFiles()).toEqual([]);
});

test("an authorization server that does not answer is not waited for", async () => {
  const server = start({ metadata: () => new Promise(() => {}) });
  const outcome = await loginToMcpServer(settings(server.url), logins, never, { answerMs: 300 });
  expect(outcome).toEqual({ kind: "silent", detail: "1" });
  expect(keptFiles()).toEqual([]);
});

test("an address pasted by hand ends the login; another's answer does not", async () => {
  const server = start();
  const paste = (choose: (back: string) => string) =>
    loginToMcpServer(settings(server.url), logins, {
      page,
      signal: new AbortController().signal,
      announce: async (address) => choose(await server.browse(address, { stay: true })),
    });
  expect(await paste((back) => back.replace(/state=[^&]*/, "state=forged"))).toMatchObject({
    kind: "bad-paste",
    detail: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback\?$/),
  });
  for (const junk of ["nonsense", "", "  ", "?code=x"])
    expect(await paste(() => junk)).toMatchObject({ kind: "bad-paste" });
  expect(await paste(() => "?error=access_denied&error_description=not+you")).toEqual({
    kind: "denied",
    detail: "access_denied not you",
  });
  expect(keptFiles()).toEqual([]);
  expect(await paste((back) => `  ${back}\n`)).toEqual({ kind: "done" });
});

test("the redirect page takes the answer of this login alone", async () => {
  const server = start();
  const pages: [number, string][] = [];
  const get = async (address: string) => {
    const response = await fetch(address);
    pages.push([response.status, /<p>(.*)<\/p>/.exec(await response.text())?.[1] ?? ""]);
  };
  const outcome = await loginToMcpServer(settings(server.url), logins, {
    page,
    signal: new AbortController().signal,
    async announce(address) {
      const back = await server.browse(address, { stay: true });
      void (async () => {
        await get(back.replace(/state=[^&]*/, "state=forged"));
        await get(back.replace("/callback", "/other"));
        await get(back);
      })();
      return null;
    },
  });
  expect(outcome).toEqual({ kind: "done" });
  expect(pages.slice(0, 2)).toEqual([
    [400, "out"],
    [400, "out"],
  ]);
});

test("the browser sees the login's success only after its code was accepted", async () => {
  const shown = async (server: OauthMcpServer) => {
    const told = Promise.withResolvers<string>();
    const outcome = await loginToMcpServer(settings(server.url), logins, {
      page,
      signal: new AbortController().signal,
      announce: async (address) => {
        const back = await server.browse(address, { stay: true });
        void fetch(back).then(async (response) => told.resolve(await response.text()));
        return null;
      },
    });
    return [outcome.kind, /<p>(.*)<\/p>/.exec(await told.promise)?.[1]];
  };
  expect(await shown(start({ refusesCodes: true }))).toEqual(["failed", "out"]);
  expect(keptFiles()).toEqual([]);
  expect(await shown(start())).toEqual(["done", "in"]);
});

test("a server that refuses, stops or cannot register is reported, and nothing is kept", async () => {
  const server = start();
  const refused = await loginToMcpServer(settings(server.url), logins, {
    page,
    signal: new AbortController().signal,
    announce: async (address) => {
      void server.browse(address, { refuse: true });
      return null;
    },
  });
  expect(refused).toEqual({ kind: "denied", detail: "access_denied" });
  const stop = new AbortController();
  const stopped = await loginToMcpServer(settings(server.url), logins, {
    page,
    signal: stop.signal,
    announce: async () => {
      stop.abort();
      return null;
    },
  });
  expect(stopped).toEqual({ kind: "stopped" });
  expect(await login(start({ withoutRegistration: true }))).toEqual({ kind: "no-registration" });
  expect(await loginToMcpServer(settings("x", { url: undefined, command: "x" }), logins, never)).toEqual({
    kind: "no-address",
  });
  expect(
    await loginToMcpServer(settings(server.url, { headers: { AUTHORIZATION: "Bearer x" } }), logins, never),
  ).toEqual({ kind: "has-header" });
  expect(await loginToMcpServer(settings("http://127.0.0.1:1/mcp"), logins, never)).toMatchObject({
    kind: "failed",
  });
  expect(keptFiles()).toEqual([]);
});
const never = { page, signal: new AbortController().signal, announce: async () => null };

test("a client of the configuration is used where the server registers none, and its secret is not copied", async () => {
  const server = start({ withoutRegistration: true });
  const oauth = { client_id: "picoclaw-by-hand", client_secret: "swordfish-swordfish" };
  expect(await login(server, { oauth })).toEqual({ kind: "done" });
  server.expire();
  expect(await readTicket(server, { oauth })).toEqual(WORKS);
  const [file = ""] = readdirSync(logins.folder);
  expect(readFileSync(join(logins.folder, file), "utf8")).not.toContain("swordfish");
});

test("a broken file of a login counts as no login", async () => {
  const server = start();
  await login(server);
  const [file = ""] = readdirSync(logins.folder);
  writeFileSync(join(logins.folder, file), "{");
  expect((await open(server)).unavailable).toEqual([NEEDED]);
  expect(await login(server)).toEqual({ kind: "done" });
  expect(logins.forget(server.url)).toBe(true);
  expect(logins.forget(server.url)).toBe(false);
});
