import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Model, ModelRole } from "../../../src/application/ports/models.ts";
import type { ConfigOverrides } from "../../../src/config/config.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { watchModels } from "../../../src/infrastructure/models/watch-models.ts";
import { timers } from "../../../src/infrastructure/platform/timers.ts";
import { openModels } from "../../../src/wiring/models.ts";
import { answerOf, ask, eventsOf, failureOf } from "../../contracts/model-kit.ts";
import { type ModelServer, startModelServer } from "../../fakes/model-server/server.ts";
import { PNG_BASE64 } from "../../fakes/pictures.ts";
import { makeTestFolder } from "../../left-behind.ts";

const home = makeTestFolder("models");

async function open(flags: ConfigOverrides, env: Record<string, string> = {}) {
  const loaded = await loadConfig({ env, cwd: home, home, flags });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
  const models = openModels(loaded.config, loaded.secrets, { locale: "en", home, env });
  return { models, config: loaded.config };
}

async function role(name: ModelRole, flags: ConfigOverrides, env: Record<string, string> = {}) {
  return (await open(flags, env)).models.forRole(name);
}

function isModel(found: Model | { code: string }): Model {
  if ("code" in found) throw new Error(JSON.stringify(found));
  return found;
}

const provider = (more: object) => ({
  type: "openai-compatible",
  model: "m",
  base_url: null,
  api_key: null,
  max_tokens: 100,
  temperature: 0.7,
  local: false,
  script: null,
  ...more,
});
const withProvider = (more: object, who: ModelRole = "chat") =>
  ({ providers: { x: provider(more) }, roles: { [who]: { provider: "x" } } }) as ConfigOverrides;

test("a default model whose server starts after the first look is there at the next one", async () => {
  let installed: readonly { readonly name: string }[] | null = null;
  const fetch = () =>
    installed === null ? new Response("", { status: 503 }) : Response.json({ models: installed });
  await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
  const { models } = await open({ ollama: { base_url: `http://127.0.0.1:${server.port}` } });
  const { signal } = new AbortController();
  await models.look?.(signal, "chat");
  const away = isModel(models.forRole("chat"));
  expect(away.isAway).toBe(true);
  installed = [{ name: away.model }];
  await models.look?.(signal, "chat");
  expect(models.forRole("chat")).toMatchObject({ model: away.model, isAway: false });
});

describe("local-only", () => {
  test.each([
    ["a provider that is not declared", { base_url: "http://127.0.0.1:1/v1" }],
    ["a cloud that is declared local", { base_url: "https://api.openai.com/v1", local: true }],
    ["OpenAI without an address, declared local", { type: "openai", local: true }],
    ["Ollama at a public host", { type: "ollama", base_url: "http://8.8.8.8:11434" }],
  ])("%s does not answer a chat, with or without a key", async (_, more) => {
    for (const name of ["chat", "worker"] as const)
      expect(await role(name, withProvider(more, name))).toMatchObject({
        code: "refused-remote",
        retryable: false,
      });
    expect(isModel(await role("coder1", withProvider(more, "coder1"))).local).toBe(false);
  });

  test("the refusal says who, why and what helps", async () => {
    const refused = await role(
      "chat",
      withProvider({ base_url: "https://api.deepseek.com/v1", local: true }),
    );
    expect(refused).toMatchObject({
      message: expect.stringMatching(
        /^chat may only use a local model, .*cloud.*Nothing was sent.*roles\.chat/,
      ),
    });
  });

  test("lifted, a cloud may answer and says that it is one", async () => {
    const flags = {
      ...withProvider({ base_url: "https://llm.example.com/v1" }),
      security: { local_only: false },
    };
    expect(isModel(await role("chat", flags)).local).toBe(false);
  });

  test("the public address of the section `ollama` is refused, a private one is not", async () => {
    expect(await role("chat", { ollama: { base_url: "https://ollama.example.com" } })).toMatchObject({
      code: "refused-remote",
    });
    expect(isModel(await role("chat", { ollama: { base_url: "http://10.0.0.7:11434" } }))).toMatchObject({
      provider: "ollama",
      model: "chat-v1:latest",
      local: true,
    });
  });

  describe("an Ollama here whose model is elsewhere", () => {
    let server: ModelServer;
    beforeAll(async () => {
      server = await startModelServer({
        script: [{ text: "leaked" }],
        pulled: [{ name: "chat-v1:latest", remote_host: "https://ollama.com" }, { name: "worker-v1:latest" }],
      });
    });
    afterAll(() => server.stop());

    test("is found out before anything is sent", async () => {
      const model = isModel(await role("chat", { ollama: { base_url: server.url } }));
      expect(await failureOf(model)).toMatchObject({ code: "refused-remote" });
      expect(server.requests).toEqual([]);
      expect(await model.check(new AbortController().signal)).toMatchObject({
        ok: false,
        failure: { code: "refused-remote" },
      });
    });

    test("the other one is asked, and looked at once only", async () => {
      const model = isModel(await role("worker", { ollama: { base_url: server.url } }));
      await answerOf(model);
      await answerOf(model);
      expect(server.requests.length).toBe(2);
    });

    test("a model that is not pulled is named with the one line that helps", async () => {
      const flags = { ollama: { base_url: server.url }, roles: { chat: { model: "qwen3" } } };
      expect(await failureOf(isModel(await role("chat", flags)))).toMatchObject({
        code: "unknown-model",
        message: expect.stringContaining("picoclaw init; or: ollama pull qwen3"),
      });
    });
  });

  test("a proxy of the environment never sees a local model's prompt", async () => {
    const server = await startModelServer({ script: [{ text: "direct" }] });
    const seen: string[] = [];
    const proxy = Bun.serve({
      port: 0,
      fetch: (request) => {
        seen.push(request.url);
        return new Response("no", { status: 502 });
      },
    });
    const script = `
      const { openModels } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/wiring/models.ts"))});
      const { loadConfig } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/config/load.ts"))});
      const loaded = await loadConfig({ env: process.env, cwd: "/", home: ${JSON.stringify(home)} });
      const models = openModels(loaded.config, loaded.secrets, { locale: "en", home: "/", env: process.env });
      const request = { messages: [{ role: "user", text: "x" }], signal: new AbortController().signal };
      for await (const event of models.forRole("chat").generate(request)) if (event.type === "text") console.log(event.text);`;
    const child = Bun.spawn([process.execPath, "--no-env-file", "-e", script], {
      env: {
        HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
        http_proxy: `http://127.0.0.1:${proxy.port}`,
        PICOCLAW_OLLAMA_BASE_URL: server.url,
      },
      stderr: "inherit",
    });
    expect(await new Response(child.stdout).text()).toBe("direct\n");
    expect(seen).toEqual([]);
    await proxy.stop(true);
    await server.stop();
  });
});

describe("missing configuration", () => {
  test("a key that is not there is named, and what sets it", async () => {
    expect(await role("coder3", {})).toMatchObject({
      code: "no-key",
      message:
        "claude has no key: the environment variable ANTHROPIC_API_KEY is not set\n→ picoclaw login (asks for the key, tests it and keeps it), or export ANTHROPIC_API_KEY=… where PicoClaw runs",
    });
    expect(isModel(await role("coder3", {}, { ANTHROPIC_API_KEY: "sk-ant-xxxxxxxx" }))).toMatchObject({
      provider: "claude",
      model: "claude-sonnet-5-5",
      family: "claude",
      local: false,
    });
  });

  test("a model without a name, a server without an address, a script without a file", async () => {
    for (const more of [{ model: null, base_url: "http://h/v1" }, {}, { type: "scripted" }])
      expect(await role("coder1", withProvider(more, "coder1"))).toMatchObject({ code: "not-configured" });
  });

  test("the key is masked in what a server repeats", async () => {
    const server = await startModelServer({ script: [{ fault: { kind: "unauthorized" } }] });
    const flags = { providers: { claude: { base_url: server.url } } };
    const { message } = await failureOf(
      isModel(await role("coder3", flags, { ANTHROPIC_API_KEY: "abc-secret-1" })),
    );
    expect(message).toContain("rejected the API key");
    expect(message).toContain("export ANTHROPIC_API_KEY=…");
    expect(message).not.toContain("abc-secret-1");
    await server.stop();
  });
});

describe("a script", () => {
  const write = (text: string) => writeFileSync(join(home, "demo.yaml"), text);
  const demo = async (text: string, who: ModelRole = "chat") => {
    write(text);
    return isModel(await role(who, withProvider({ type: "scripted", script: "demo.yaml" }, who)));
  };

  test("answers by role, message, turn and step; placeholders are filled in", async () => {
    const text = `
answers:
  - when: { role: worker }
    text: from the worker
  - when: { message: "/my name is (\\\\w+)/i" }
    text: "hello {{1}}"
  - when: { message: look, step: 0 }
    tool_calls: [ { name: read_file, arguments: { path: "{{message}}" } } ]
  - when: { message: LOOK, step: 1 }
    text: I looked.
  - when: { turn: 2 }
    text: second
  - text: anything else
`;
    const chat = await demo(text);
    expect((await answerOf(chat, ask("My name is Bob"))).text).toBe("hello Bob");
    expect((await answerOf(chat, ask("x"))).text).toBe("anything else");
    const { toolCalls } = await answerOf(chat, ask("look"));
    expect(toolCalls).toMatchObject([{ name: "read_file", arguments: { path: "look" } }]);
    const looked = ask("look", {
      messages: [
        { role: "user", text: "look" },
        { role: "assistant", text: "", toolCalls },
        { role: "tool", callId: "1", name: "read_file", text: "" },
      ],
    });
    expect((await answerOf(chat, looked)).text).toBe("I looked.");
    const second = ask("x", { messages: [ask().messages, ask().messages].flat() });
    expect((await answerOf(chat, second)).text).toBe("second");
    expect((await answerOf(await demo(text, "worker"))).text).toBe("from the worker");
  });

  test("fails as configured, as often as configured", async () => {
    const model = await demo(`
- { times: 1, fail: { code: rate-limited, retry_after_ms: 1 } }
- { times: 1, fail: context-too-long }
- { text: "yes" }
`);
    expect((await eventsOf(model)).map(({ type }) => type)).toEqual(["retrying", "failed"]);
    expect((await answerOf(model)).text).toBe("yes");
  });

  test.each([
    ["- { txt: hi }", "answers[0] has an unknown key txt"],
    ["- { when: { role: boss }, text: hi }", "answers[0].when.role is none of"],
    ["- { fail: nonsense }", "answers[0].fail is none of"],
    ["- { when: { message: '/(/' }, text: hi }", "Invalid regular expression"],
    ["text: hi", "no list `answers`"],
    ["a: [", "demo.yaml"],
  ])("%j cannot be used, and it says why", async (text, reason) => {
    const failure = await failureOf(await demo(text));
    expect(failure.code).toBe("not-configured");
    expect(failure.message).toContain("demo.yaml");
    expect(failure.message).toContain(reason);
  });

  test("without an answer says so; a missing file as well", async () => {
    expect((await failureOf(await demo("- { when: { message: x }, text: y }"))).message).toContain(
      "no answer to: hello",
    );
    const missing = isModel(await role("chat", withProvider({ type: "scripted", script: "none.yaml" })));
    expect((await failureOf(missing)).message).toContain("none.yaml");
  });
});

test("a watch tells who is ill and what helps, not who is well from the start", async () => {
  const server = await startModelServer({ pulled: [{ name: "chat-v1:latest" }] });
  const { models, config } = await open({
    ollama: { base_url: server.url },
    roles: { worker: { model: "gone:1b" } },
  });
  const told = Promise.withResolvers<string>();
  const stop = watchModels(models, {
    intervalMs: config.ollama.health_check_interval * 1000,
    timeoutMs: config.models.connect_timeout * 1000,
    locale: "en",
    after: timers.after,
    say: told.resolve,
  });
  expect(await told.promise).toBe(
    "model for worker (Shiro): ollama gone:1b: ollama has no model gone:1b\n→ choose an installed one (chat-v1:latest): picoclaw init; or: ollama pull gone:1b",
  );
  stop();
  await server.stop();
});

test("an Ollama that is not running is reported at once, its address once in each language", async () => {
  const model = isModel(await role("chat", { ollama: { base_url: "http://127.0.0.1:1" } }));
  const [event, ...more] = await eventsOf(model);
  expect(more).toEqual([]);
  if (event?.type !== "failed") throw new Error("it answered");
  const { code, message, texts } = event.failure;
  expect(code).toBe("unreachable");
  expect(message).toContain("→ start Ollama (ollama serve; ");
  for (const text of [message, texts?.en, texts?.ja]) expect(text?.split("127.0.0.1:1")).toHaveLength(2);
});

describe("a request with an image", () => {
  const picture = () =>
    ask("what is this?", {
      messages: [
        { role: "user", text: "what is this?", images: [{ mediaType: "image/png", data: PNG_BASE64 }] },
      ],
    });
  let server: ModelServer;
  afterEach(() => server.stop());

  test("is not sent to a model that the table calls blind, nor to a script", async () => {
    server = await startModelServer({ script: [{ text: "no" }] });
    const base_url = server.baseUrl("openai-chat");
    const blind = isModel(
      await role("coder1", withProvider({ base_url, model: "deepseek-v4-pro" }, "coder1")),
    );
    expect(await failureOf(blind, picture())).toMatchObject({ code: "no-images", retryable: false });
    const script = join(home, "blind.json");
    writeFileSync(script, JSON.stringify({ answers: [{ text: "no" }] }));
    const scripted = isModel(await role("chat", withProvider({ type: "scripted", script, local: true })));
    expect(await failureOf(scripted, picture())).toMatchObject({ code: "no-images" });
    expect(server.requests).toEqual([]);
    expect((await answerOf(scripted)).text).toBe("no");
  });

  test("is sent to one that the user's own table says to see", async () => {
    server = await startModelServer({ script: [{ text: "a pixel" }] });
    const table = join(home, "models.json");
    writeFileSync(table, JSON.stringify({ models: { "deepseek-v4-pro": { images: true } } }));
    try {
      const base_url = server.baseUrl("openai-chat");
      const found = await role("coder1", withProvider({ base_url, model: "deepseek-v4-pro" }, "coder1"));
      expect(isModel(found).seesImages).toBe(true);
      expect((await answerOf(isModel(found), picture())).text).toBe("a pixel");
    } finally {
      rmSync(table);
    }
  });

  test.each([
    ["a refusal", 400, "Invalid content type. image_url is only supported by certain models."],
    [
      "llama.cpp's",
      500,
      "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj",
    ],
  ])("fails by %s of a server, once, and is not answered blindly", async (_, status, message) => {
    const fault = { kind: "status", status, body: JSON.stringify({ error: { message } }) } as const;
    server = await startModelServer({ script: [{ fault }, { text: "a guess" }] });
    const base_url = server.baseUrl("openai-chat");
    const model = isModel(await role("coder1", withProvider({ base_url }, "coder1")));
    const failure = await failureOf(model, picture());
    expect(failure).toMatchObject({ code: "no-images", status });
    expect(failure.message).toContain(message);
    expect(server.requests.length).toBe(1);
  });

  test("is not sent to an Ollama that says that its model does not see", async () => {
    for (const [vision, sent] of [
      [false, 0],
      [true, 1],
    ] as const) {
      server = await startModelServer({ script: [{ text: "a pixel" }], vision });
      const model = isModel(await role("chat", { ollama: { base_url: server.url } } as ConfigOverrides));
      const last = (await eventsOf(model, picture())).at(-1);
      expect(last).toMatchObject(
        vision ? { type: "finished" } : { type: "failed", failure: { code: "no-images" } },
      );
      expect(server.requests.length).toBe(sent);
      if (!vision) await server.stop();
    }
  });
});
