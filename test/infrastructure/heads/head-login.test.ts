import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findHeadLogin, type HeadLoginDeps } from "../../../src/infrastructure/heads/head-login.ts";
import { createKeyQuota, startKeyProxy } from "../../../src/infrastructure/heads/key-proxy.ts";
import { findWorkerKind } from "../../../src/infrastructure/heads/kinds/find-kind.ts";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-login-")));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const NOW = Date.parse("2026-11-16T12:00:00Z");

function write(path: string, content: object | string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), typeof content === "string" ? content : JSON.stringify(content));
}

function find(name: "claude-code" | "codex-cli" | "gemini-cli", more: Partial<HeadLoginDeps> = {}) {
  let made = 0;
  return findHeadLogin(findWorkerKind(name), {
    home,
    env: {},
    login: "key",
    settings: "safe",
    now: () => new Date(NOW),
    newStandIn: () => `stand-in-${++made}`,
    ...more,
  });
}

function login(...given: Parameters<typeof find>) {
  const found = find(...given);
  if (!found.ok) throw new Error(found.trouble.code);
  return found.login;
}

const jwt = (exp: number) => `h.${Buffer.from(JSON.stringify({ exp })).toString("base64url")}.s`;

describe("a key is hidden behind a stand-in", () => {
  test.each([
    ["claude-code", "ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY", "https://api.anthropic.com"],
    ["claude-code", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "https://api.anthropic.com"],
    ["codex-cli", "OPENAI_API_KEY", "CODEX_API_KEY", "https://api.openai.com/v1"],
    ["gemini-cli", "GEMINI_API_KEY", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com"],
  ] as const)("%s by %s", (name, variable, inside, upstream) => {
    const { env, keys, upstream: server } = login(name, { env: { [variable]: "the-key" } });
    expect(env).toEqual({ [inside]: "stand-in-1" });
    expect([...keys()]).toEqual([["stand-in-1", "the-key"]]);
    expect(server).toBe(upstream);
  });

  test("codex's own file may hold a key", () => {
    write(".codex/auth.json", { OPENAI_API_KEY: "the-key", tokens: null });
    expect([...login("codex-cli").keys()]).toEqual([["stand-in-1", "the-key"]]);
  });
});

describe("a person's login", () => {
  test("is named and not used unless that is set", () => {
    write(".codex/auth.json", {
      OPENAI_API_KEY: null,
      tokens: { access_token: jwt(NOW / 1000 + 9999), account_id: "acc" },
    });
    expect(find("codex-cli")).toMatchObject({
      ok: false,
      trouble: { code: "no-login", file: "~/.codex/auth.json" },
    });
  });

  test("of codex: both the token and the account are stand-ins, in a file of their own", () => {
    const token = jwt(NOW / 1000 + 9999);
    write(".codex/auth.json", {
      tokens: { access_token: token, refresh_token: "secret", account_id: "acc" },
    });
    const { files, keys, asks, lead } = login("codex-cli", { login: "file" });
    const inside = files.get(".codex/auth.json") ?? "";
    const { tokens } = JSON.parse(inside);
    expect([...keys()]).toEqual([
      [tokens.access_token, token],
      [tokens.account_id, "acc"],
    ]);
    expect(inside).not.toContain("secret");
    expect(["/backend-api/codex/responses", "/oauth/token"].map((path) => asks.test(path))).toEqual([
      true,
      false,
    ]);
    expect(lead("http://127.0.0.1:1").argv.join(" ")).toContain(
      'base_url="http://127.0.0.1:1/backend-api/codex"',
    );
  });

  test("that has expired is said, also when that happens while it is used", () => {
    const file = (expiresAt: number) =>
      write(".claude/.credentials.json", { claudeAiOauth: { accessToken: "t", expiresAt } });
    file(NOW - 1);
    expect(find("claude-code", { login: "file" })).toMatchObject({
      trouble: { code: "login-expired", program: "claude" },
    });
    file(NOW + 3_600_000);
    const { keys } = login("claude-code", { login: "file" });
    expect([...keys().values()]).toEqual(["t"]);
    file(NOW - 1);
    expect([...keys()]).toEqual([]);
  });

  test("with Google is refused", () => {
    write(".gemini/oauth_creds.json", {});
    expect(find("gemini-cli", { login: "file" })).toMatchObject({ trouble: { code: "login-refused" } });
  });

  test.each(["", "null", "[]", "{", '{"claudeAiOauth":{"accessToken":7}}'])(
    "a broken file (%p) counts as none",
    (text) => {
      write(".claude/.credentials.json", text);
      expect(find("claude-code", { login: "file" })).toMatchObject({
        trouble: { code: "no-login", file: null },
      });
    },
  );
});

test("settings that start programs, name servers or hold secrets stay out", () => {
  write(".claude/settings.json", {
    model: "opus",
    hooks: { Stop: [] },
    env: { ANTHROPIC_BASE_URL: "http://evil" },
    apiKeyHelper: "evil",
  });
  write(".gemini/settings.json", { mcpServers: { x: { command: "evil" } }, model: { name: "m" } });
  const env = { ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k" };
  expect(login("claude-code", { env }).files.get(".claude/settings.json")).toBe('{"model":"opus"}');
  expect(JSON.parse(login("gemini-cli", { env }).files.get(".gemini/settings.json") ?? "")).toEqual({
    model: { name: "m" },
    security: { auth: { selectedType: "gemini-api-key" } },
  });
  expect([...login("claude-code", { env, settings: "none" }).files]).toEqual([]);
});

test("the proxy asks its server for the model's paths alone, and answers a look at the root itself", async () => {
  const seen: string[] = [];
  const server = createServer((asked, response) => {
    seen.push(`${asked.url} ${asked.headers.authorization}`);
    response.end("ok");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const keys = new Map([["stand-in", "the-key"]]);
  const proxy = await startKeyProxy({
    upstream: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys: () => keys,
    asks: findWorkerKind("claude-code").asks,
    quota: createKeyQuota({ requests: 10, bytes: 10_000 }),
    onUsedUp: () => {},
  });
  const ask = (path: string, method = "POST") =>
    new Promise<number>((done, fail) => {
      const asked = request({
        socketPath: proxy.socket,
        path,
        method,
        headers: { authorization: "Bearer stand-in" },
      });
      asked.on("response", (response) => {
        response.resume();
        done(response.statusCode ?? 0);
      });
      asked.on("error", fail);
      asked.end();
    });
  try {
    expect([
      await ask("/", "HEAD"),
      await ask("/v1/oauth/token"),
      await ask("/v1/messages?beta=true"),
    ]).toEqual([200, 404, 200]);
    keys.clear();
    expect(await ask("/v1/messages")).toBe(401);
    expect(seen).toEqual(["/v1/messages?beta=true Bearer the-key"]);
  } finally {
    await proxy.close();
    server.close();
  }
});
