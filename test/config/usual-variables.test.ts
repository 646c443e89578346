import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULTS } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { makeTestFolder } from "../left-behind.ts";

async function load(env: Record<string, string>, file?: string) {
  const root = makeTestFolder("usual");
  mkdirSync(join(root, "ws"));
  if (file !== undefined) writeFileSync(join(root, "config.yaml"), file);
  const loaded = await loadConfig({ env, cwd: join(root, "ws"), home: root });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
  return loaded;
}

describe("variables of other programs", () => {
  test("say where Ollama is: file, then variable, then default", async () => {
    const env = { OLLAMA_HOST: "0.0.0.0:11500" };
    const { config, sources, warnings } = await load(env);
    expect(config).toEqual({
      ...DEFAULTS,
      ollama: { ...DEFAULTS.ollama, base_url: "http://127.0.0.1:11500" },
    });
    expect({ sources, warnings }).toEqual({
      sources: { "ollama.base_url": { kind: "environment", variable: "OLLAMA_HOST" } },
      warnings: [],
    });
    const filed = await load(env, "ollama: { base_url: http://127.0.0.1:9 }\n");
    expect(filed.config.ollama.base_url).toBe("http://127.0.0.1:9");
    const own = await load({ ...env, PICOCLAW_OLLAMA_BASE_URL: "http://127.0.0.1:8" });
    expect(own.config.ollama.base_url).toBe("http://127.0.0.1:8");
  });

  test("name another server of OpenAI's kind, which may do without a key and is not taken for local", async () => {
    const env = { OPENAI_BASE_URL: "http://127.0.0.1:8080/v1" };
    const { config } = await load(env);
    expect(config.providers.openai).toEqual({
      ...DEFAULTS.providers.openai,
      type: "openai-compatible",
      base_url: env.OPENAI_BASE_URL,
      api_key: null,
    });
    expect(config.roles.default_coder).toBe("coder2");
    const keyed = await load({ ...env, OPENAI_API_KEY: "sk-1", ANTHROPIC_API_KEY: "sk-2" });
    expect(keyed.config.providers.openai?.api_key).toBe("env:OPENAI_API_KEY");
    expect(keyed.config.roles.default_coder).toBe("coder3");
    const owned = await load({ OPENAI_BASE_URL: "https://api.openai.com/v1", OPENAI_API_KEY: "sk-1" });
    expect(owned.config.providers.openai?.type).toBe("openai");
  });

  test("half of a server's settings is not mixed with those of another", async () => {
    const env = { OPENAI_BASE_URL: "http://127.0.0.1:8080/v1", ANTHROPIC_BASE_URL: "http://127.0.0.1:1" };
    const file =
      "providers: { openai: { base_url: https://eu.api.openai.com/v1 }, claude: { type: google } }\n";
    const { config } = await load(env, file);
    expect(config.providers.openai).toEqual({
      ...DEFAULTS.providers.openai,
      base_url: "https://eu.api.openai.com/v1",
    });
    expect(config.providers.claude).toEqual({ ...DEFAULTS.providers.claude, type: "google" });
    expect(config.roles).toEqual(DEFAULTS.roles);
  });

  test("the first key says who codes, unless a file names roles or providers", async () => {
    const coderOf = async (env: Record<string, string>, file?: string) => {
      const { roles } = (await load(env, file)).config;
      return `${roles.default_coder} ${roles[roles.default_coder].provider}`;
    };
    expect(await coderOf({ OPENAI_API_KEY: "k", DEEPSEEK_API_KEY: "k" })).toBe("coder2 openai");
    expect(await coderOf({ DEEPSEEK_API_KEY: "k", OPENROUTER_API_KEY: "k" })).toBe("coder1 deepseek");
    expect(await coderOf({ OPENROUTER_API_KEY: "k" })).toBe("coder3 openrouter");
    expect(await coderOf({ OPENROUTER_API_KEY: "k", ANTHROPIC_API_KEY: "k" })).toBe("coder3 claude");
    expect(await coderOf({ OPENAI_API_KEY: "k" }, "roles: { coder1: { provider: claude } }\n")).toBe(
      "coder3 claude",
    );
    const providers = "providers: { claude: { model: m } }\n";
    expect(await coderOf({ OPENAI_API_KEY: "k" }, providers)).toBe("coder3 claude");
  });

  test("PicoClaw's own variables leave the choice of who codes alone, unless they are about it", async () => {
    const coderOf = async (own: Record<string, string>, usual: Record<string, string>) =>
      (await load({ ...own, ...usual })).config.roles.default_coder;
    for (const usual of [{ OPENAI_BASE_URL: "http://127.0.0.1:8080/v1" }, { OPENAI_API_KEY: "k" }]) {
      expect(await coderOf({ PICOCLAW_PROVIDERS_OPENAI_MODEL: "stub" }, usual)).toBe("coder2");
      expect(await coderOf({ PICOCLAW_ROLES_CHAT_MODEL: "small" }, usual)).toBe("coder2");
      expect(await coderOf({ PICOCLAW_ROLES_DEFAULT_CODER: "coder1" }, usual)).toBe("coder1");
      expect(await coderOf({ PICOCLAW_ROLES_CODER3_PROVIDER: "ollama" }, usual)).toBe("coder3");
      expect(await coderOf({ PICOCLAW_PROVIDERS_CLAUDE_API_KEY: "env:MINE" }, usual)).toBe("coder3");
    }
  });

  test("OpenRouter is a provider as soon as its key is there, and the key is a secret", async () => {
    const { config, secrets } = await load({ OPENROUTER_API_KEY: "sk-or-123", ANTHROPIC_API_KEY: "k" });
    expect(config.providers.openrouter).toMatchObject({
      type: "openai-compatible",
      base_url: "https://openrouter.ai/api/v1",
      api_key: "env:OPENROUTER_API_KEY",
      local: false,
      max_tokens: 32_000,
    });
    expect(secrets.values()).toContain("sk-or-123");
  });

  test("GITHUB_TOKEN serves where PicoClaw's own token is not set", async () => {
    const tokenOf = async (env: Record<string, string>) => (await load(env)).config.forges.github.token;
    expect(await tokenOf({ GITHUB_TOKEN: "t" })).toBe("env:GITHUB_TOKEN");
    expect(await tokenOf({ GITHUB_TOKEN: "t", GITHUB_PERSONAL_ACCESS_TOKEN: "p" })).toBe(
      "env:GITHUB_PERSONAL_ACCESS_TOKEN",
    );
  });

  test("one that cannot be used is ignored and named, and nothing else fails for it", async () => {
    const env = { OPENAI_BASE_URL: "nowhere", ANTHROPIC_BASE_URL: "https://u:p@host" };
    const { config, warnings } = await load(env);
    expect(config).toEqual(DEFAULTS);
    expect(warnings).toEqual([
      { code: "unusable-variable", variable: "ANTHROPIC_BASE_URL", key: "providers.claude.base_url" },
      { code: "unusable-variable", variable: "OPENAI_BASE_URL", key: "providers.openai.base_url" },
    ]);
  });

  test.each(["ftp://x", "unix:///run/ollama.sock", "http://user:pw@host", "user:pw@host"])(
    "OLLAMA_HOST=%s is ignored and named",
    async (told) => {
      const { config, warnings } = await load({ OLLAMA_HOST: told });
      expect(config).toEqual(DEFAULTS);
      expect(warnings).toEqual([
        { code: "unusable-variable", variable: "OLLAMA_HOST", key: "ollama.base_url" },
      ]);
    },
  );
});
