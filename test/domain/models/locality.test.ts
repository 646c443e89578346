import { describe, expect, test } from "bun:test";
import { localityOf } from "../../../src/domain/models/locality.ts";
import { familyOf } from "../../../src/domain/models/model-facts.ts";

const ollama = (baseUrl: string, { declared = false, model = "llama3" } = {}) =>
  localityOf({ type: "ollama", baseUrl, model, declared });
const server = (baseUrl: string | null, declared: boolean) =>
  localityOf({ type: "openai-compatible", baseUrl, model: "m", declared });

describe("Ollama is local by its address", () => {
  test.each([
    "http://127.0.0.1:11434",
    "http://localhost:11434/",
    "http://0.0.0.0:11434",
    "http://2130706433:11434",
    "http://[::1]:11434",
    "http://[::ffff:192.168.0.9]:11434",
    "http://[fd12::1]:11434",
    "http://10.1.2.3:11434",
    "http://172.31.0.1",
    "http://192.168.178.20:11434",
    "http://100.101.1.1:11434",
    "http://ollama:11434",
    "http://gpu.local:11434",
    "http://host.docker.internal:11434",
    "https://llm.intranet/",
  ])("%s", (url) => expect(ollama(url)).toEqual({ local: true }));

  test.each([
    "http://8.8.8.8:11434",
    "http://172.32.0.1",
    "http://192.169.0.1",
    "http://100.128.0.1",
    "http://[2001:db8::1]:11434",
    "http://[::ffff:8.8.8.8]:11434",
    "http://127.0.0.1.nip.io:11434",
    "http://localhost.evil.example:11434",
    "https://ollama.example.com",
    "not a url",
  ])("%s is not", (url) => expect(ollama(url)).toEqual({ local: false, why: "public-host" }));

  test("a public address that is declared is believed, a cloud's never", () => {
    expect(ollama("https://ollama.example.com", { declared: true })).toEqual({ local: true });
    for (const url of ["https://ollama.com", "https://OLLAMA.COM./", "https://api.ollama.com:443"])
      expect(ollama(url, { declared: true })).toEqual({ local: false, why: "cloud-host" });
  });

  test.each(["gpt-oss:120b-cloud", "kimi-k2:cloud", "glm-4.6:CLOUD"])("%s runs elsewhere", (model) =>
    expect(ollama("http://127.0.0.1:11434", { model, declared: true })).toEqual({
      local: false,
      why: "cloud-model",
    }),
  );
});

describe("any other server", () => {
  test("is local only when it is declared", () => {
    expect(server("http://127.0.0.1:8080/v1", false)).toEqual({ local: false, why: "not-declared" });
    expect(server("http://127.0.0.1:8080/v1", true)).toEqual({ local: true });
    expect(server("https://llm.example.org/v1", true)).toEqual({ local: true });
  });

  test("a model of Ollama's cloud is not local, by either provider", () => {
    const placement = { type: "openai-compatible", baseUrl: "http://127.0.0.1:11434/v1", declared: true };
    expect(localityOf({ ...placement, model: "gpt-oss:120b-cloud" })).toEqual({
      local: false,
      why: "cloud-model",
    });
    expect(localityOf({ ...placement, model: "gpt-oss:20b" })).toEqual({ local: true });
  });

  test.each([
    "https://api.openai.com/v1",
    "https://api.deepseek.com",
    "https://openrouter.ai/api/v1",
    "https://my-name.openai.azure.com/v1",
    "https://generativelanguage.googleapis.com/v1beta",
    "https://bedrock-runtime.eu-west-1.amazonaws.com",
  ])("%s is a cloud, regardless of its declaration", (url) =>
    expect(server(url, true)).toEqual({ local: false, why: "cloud-host" }),
  );

  test("a provider's own address is never local, a script always", () => {
    expect(server(null, true)).toEqual({ local: false, why: "cloud-host" });
    expect(server(null, false)).toEqual({ local: false, why: "not-declared" });
    expect(localityOf({ type: "scripted", baseUrl: null, model: "m", declared: false })).toEqual({
      local: true,
    });
  });
});

test.each([
  ["claude-sonnet-4-6", "claude"],
  ["anthropic/claude-opus-4.5", "claude"],
  ["gpt-5.1", "openai"],
  ["gpt-oss:20b", "openai"],
  ["o4-mini", "openai"],
  ["openai/o3", "openai"],
  ["deepseek-chat", "deepseek"],
  ["deepseek-r1:14b", "deepseek"],
  ["gemini-3-pro", "gemini"],
  ["chat-v1:latest", "other"],
  ["olmo2", "other"],
] as const)("%s is of the family %s", (model, family) => expect(familyOf(model)).toBe(family));
