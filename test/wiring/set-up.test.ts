import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeFound, describeNothing } from "../../src/application/setup/setup-steps.ts";
import { loadConfig } from "../../src/config/load.ts";
import { type ModelChoice, offeredFor, usualChoice } from "../../src/domain/setup/first-config.ts";
import { setupMessagesFor } from "../../src/domain/texts/setup.ts";
import { openModels } from "../../src/wiring/models.ts";
import { openSetUp } from "../../src/wiring/set-up.ts";
import { NO_LOCAL_SERVERS } from "../e2e/cli-kit.ts";

let folder: string;
let server: Bun.Server<undefined> | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-init-"));
  mkdirSync(join(folder, "ws"));
});
afterEach(async () => {
  await server?.stop(true);
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** An Ollama that answers `/api/tags` with this, and messages to the models of that list. */
function ollama(tags: () => Response | Promise<Response>): string {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === "/api/tags") return tags();
      if (pathname === "/v1/models") return Response.json({ data: [{ id: "served-1" }, { id: "embed-1" }] });
      const { model } = (await request.json()) as { model: string };
      const message = { role: "assistant", content: `OK from ${model}` };
      if (pathname === "/api/chat" && model !== "broken:70b")
        return new Response(`${JSON.stringify({ model, message, done: true, done_reason: "stop" })}\n`);
      if (pathname === "/v1/chat/completions")
        return new Response(
          `data: ${JSON.stringify({ choices: [{ delta: message, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`,
          { headers: { "content-type": "text/event-stream" } },
        );
      return new Response("", { status: 404 });
    },
  });
  return `http://127.0.0.1:${server.port}`;
}

const pulled = (...names: string[]) => Response.json({ models: names.map((name) => ({ name })) });
const nobody = "http://127.0.0.1:9";
const { signal } = new AbortController();

function start(env: Record<string, string>) {
  const here = {
    HOME: folder,
    PICOCLAW_HOME: join(folder, "home"),
    PICOCLAW_LOCALE: "en",
    DOCKER_HOST: `unix://${folder}/none.sock`,
    PATH: join(folder, "bin"),
    OLLAMA_HOST: nobody,
    ...NO_LOCAL_SERVERS,
    ...env,
  };
  const at = { cwd: join(folder, "ws") };
  return {
    file: join(folder, "home/config.yaml"),
    async open(more: { configFile?: string; startOver?: boolean } = {}) {
      const opened = await openSetUp(here, { ...at, startOver: false, ...more });
      if (!opened.ok) throw new Error(JSON.stringify(opened.problems));
      return opened;
    },
    opening: () => openSetUp(here, { ...at, startOver: false }),
    async models() {
      const loaded = await loadConfig({ env: here, ...at });
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
      const { config, secrets, home } = loaded;
      return { models: openModels(config, secrets, { env: here, home, locale: "en" }) };
    },
    config: async () => {
      const loaded = await loadConfig({ env: here, ...at });
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
      return loaded.config;
    },
  };
}

const talker: ModelChoice = {
  chat: { provider: "ollama", model: "qwen3:8b", local: true },
  coder: null,
  cloudMayTalk: false,
};

describe("set-up", () => {
  test("on a bare machine there is nothing to choose", async () => {
    const { found } = await start({}).open();
    expect(found).toMatchObject({ ollama: { reachable: false, models: [] }, sources: [], docker: null });
    expect(usualChoice(found)).toEqual({ chat: null, coder: null, cloudMayTalk: false, head: null });
  });

  test("the usual choice are the best installed models, and OLLAMA_HOST is where they are", async () => {
    const address = ollama(() =>
      pulled(
        ...["nomic-embed-text:latest", "gpt-oss:120b-cloud", "llama3.2:3b", "qwen3:8b", "broken:70b"],
        ...["qwen2.5-coder:7b", "bad\u001b[31m\nlocale: en"],
      ),
    );
    const at = start({ OLLAMA_HOST: address.replace("http://127.0.0.1", "0.0.0.0") });
    const opened = await at.open();
    const choice = usualChoice(opened.found);
    expect(await opened.test(choice, signal)).toMatchObject({
      chat: { ok: true, answer: "OK from qwen3:8b" },
      coder: { ok: true, answer: "OK from qwen2.5-coder:7b" },
    });
    expect(opened.write(choice, { replace: false })).toEqual({ written: true, kept: null });
    const config = await at.config();
    expect(config.ollama.base_url).toBe(address);
    expect(config.security.local_only).toBe(true);
    expect(config.roles).toMatchObject({
      chat: { provider: "ollama", model: "qwen3:8b" },
      worker: { provider: "ollama", model: "qwen3:8b" },
      coder3: { provider: "ollama", model: "qwen2.5-coder:7b" },
      default_coder: "coder3",
    });
    expect(statSync(at.file).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "home")).mode & 0o777).toBe(0o700);
  });

  test("OLLAMA_HOST counts over the address in the old file, and PicoClaw's own variable over both", async () => {
    const address = ollama(() => pulled("qwen3:8b"));
    mkdirSync(join(folder, "home"));
    const at = start({ OLLAMA_HOST: address });
    writeFileSync(at.file, `ollama: { base_url: "${nobody}" }\n`);
    for (const startOver of [false, true])
      expect((await at.open({ startOver })).found.ollama).toMatchObject({
        baseUrl: address,
        reachable: true,
      });
    const own = start({ OLLAMA_HOST: nobody, PICOCLAW_OLLAMA_BASE_URL: address });
    expect((await own.open()).found.ollama).toMatchObject({ baseUrl: address, reachable: true });
  });

  test("the shipped names go first where they are installed, and nothing is written of them", async () => {
    const at = start({ OLLAMA_HOST: ollama(() => pulled("qwen3:8b", "chat-v1:latest", "worker-v1:latest")) });
    const opened = await at.open();
    const choice = usualChoice(opened.found);
    expect(choice.chat?.model).toBe("chat-v1:latest");
    opened.write({ ...choice, coder: null }, { replace: false });
    expect(readFileSync(at.file, "utf8")).not.toMatch(/^ +(chat|worker):/m);
  });

  test("a server that OPENAI_BASE_URL names is local on a private address and needs no key", async () => {
    const address = `${ollama(() => pulled())}/v1`;
    const at = start({ OPENAI_BASE_URL: address });
    const opened = await at.open();
    const choice = usualChoice(opened.found);
    const served = { provider: "openai", model: "served-1", local: true };
    expect(choice).toEqual({ chat: served, coder: served, cloudMayTalk: false, head: null });
    expect(await opened.test(choice, signal)).toMatchObject({ chat: { ok: true }, coder: { ok: true } });
    opened.write(choice, { replace: false });
    expect((await at.config()).roles).toMatchObject({
      chat: served.model && { provider: "openai" },
      default_coder: "coder2",
    });
  });

  test("llama.cpp is looked for at the port of its own variable", async () => {
    const { port } = new URL(ollama(() => pulled()));
    const { found } = await start({ LLAMA_ARG_PORT: port }).open();
    expect(found.sources).toMatchObject([
      { provider: "llamacpp", address: `http://127.0.0.1:${port}/v1`, local: true },
    ]);
  });

  /** As a llama.cpp of 2026 answers, started with a window of this size for each of its slots. */
  function llamaCpp(context: number): string {
    const listed = { id: "my-model", object: "model", owned_by: "llamacpp", meta: { n_ctx_train: 8192 } };
    const props = {
      default_generation_settings: { params: { n_predict: -1 }, n_ctx: context },
      total_slots: 2,
    };
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === "/props") return Response.json(props);
        return pathname === "/v1/models"
          ? Response.json({ object: "list", data: [listed] })
          : Response.json({ error: { code: 404 } }, { status: 404 });
      },
    });
    return `${server.port}`;
  }

  test.each([16_384, 2_048])(
    "the window of a llama.cpp of %d tokens is asked, shown and kept",
    async (context) => {
      const at = start({ LLAMA_ARG_PORT: llamaCpp(context) });
      const table = join(folder, "home/models.json");
      mkdirSync(join(folder, "home"));
      writeFileSync(table, JSON.stringify({ dated: "2026-01-02", models: { "my-model": { images: true } } }));
      const opened = await at.open();
      for (const locale of ["en", "ja"] as const) {
        const line = describeFound(opened.found, setupMessagesFor(locale)).find((one) =>
          one.includes("llamacpp"),
        );
        expect(line).toContain(`${context}`);
        expect(line?.includes("--ctx-size")).toBe(context < 8_192);
      }
      opened.write(usualChoice(opened.found), { replace: false });
      expect(JSON.parse(readFileSync(table, "utf8"))).toEqual({
        dated: "2026-01-02",
        models: { "my-model": { images: true, context } },
      });
      const { models } = await at.models();
      expect(models.forRole("chat")).toMatchObject({ model: "my-model", window: context });
    },
  );

  test("a table of models that cannot be read is not written over by a window", async () => {
    const at = start({ LLAMA_ARG_PORT: llamaCpp(4_096) });
    mkdirSync(join(folder, "home"));
    writeFileSync(join(folder, "home/models.json"), "{ mine");
    const opened = await at.open();
    expect(opened.write(usualChoice(opened.found), { replace: false })).toMatchObject({ written: true });
    expect(readFileSync(join(folder, "home/models.json"), "utf8")).toBe("{ mine");
  });

  test("a local server that wants a key is reported with the way in, and does not hide the other ways", async () => {
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.json({ error: { message: "Invalid API Key" } }, { status: 401 }),
    });
    const address = `http://127.0.0.1:${server.port}/v1`;
    mkdirSync(join(folder, "home"));
    const at = start({});
    writeFileSync(
      at.file,
      `providers: { llamacpp: { type: openai-compatible, base_url: "${address}", model: m, local: true } }\n`,
    );
    const { found } = await at.open({ startOver: true });
    const words = setupMessagesFor("en");
    expect(describeFound(found, words).filter((line) => line.includes("llamacpp"))).toEqual([
      `· llamacpp: ${address} needs a key. If models answer there: export OPENAI_BASE_URL=${address} OPENAI_API_KEY=…, then picoclaw init`,
    ]);
    expect(describeNothing(found, null, words).slice(0, 2)).toEqual(words.nothing.slice(0, 2));
  });

  test("a cloud is for coders, and talks only by a person's word; no key is written down", async () => {
    const at = start({
      ANTHROPIC_API_KEY: "sk-ant-AAAABBBBCCCCDDDD",
      ANTHROPIC_BASE_URL: ollama(() => pulled()),
      GITHUB_TOKEN: "ghp_AAAABBBB",
    });
    const opened = await at.open();
    const cloud = { provider: "claude", model: "served-1", local: false };
    expect(offeredFor(opened.found, "talk")).toEqual([cloud]);
    expect(usualChoice(opened.found)).toEqual({ chat: null, coder: cloud, cloudMayTalk: false, head: null });
    opened.write({ chat: cloud, coder: cloud, cloudMayTalk: true }, { replace: false });
    const config = await at.config();
    expect(config.security.local_only).toBe(false);
    expect(config.forges.github.token).toBe("env:GITHUB_TOKEN");
    expect(readFileSync(at.file, "utf8")).not.toContain("AAAABBBB");
  });

  test("the address in the old file is where models are listed, tested, and looked for from then on", async () => {
    const address = ollama(() => pulled());
    mkdirSync(join(folder, "home"));
    const at = start({ DEEPSEEK_API_KEY: "sk-AAAABBBBCCCCDDDD" });
    writeFileSync(at.file, `providers: { deepseek: { base_url: "${address}/v1" } }\n`);
    const opened = await at.open({ startOver: true });
    const coder = { provider: "deepseek", model: "served-1", local: false };
    expect(opened.found.sources).toMatchObject([
      { address: `${address}/v1`, models: ["served-1", "embed-1"] },
    ]);
    const choice = usualChoice(opened.found);
    expect(choice).toEqual({ chat: null, coder, cloudMayTalk: false, head: null });
    expect(await opened.test(choice, signal)).toMatchObject({ coder: { ok: true } });
    opened.write(choice, { replace: true });
    expect((await at.config()).providers.deepseek.base_url).toBe(`${address}/v1`);
  });

  test("a model that does not answer is reported, with the reason", async () => {
    const at = start({ OLLAMA_HOST: ollama(() => pulled("broken:70b")) });
    const opened = await at.open();
    const tested = await opened.test(usualChoice(opened.found), signal);
    expect(tested.chat).toMatchObject({ ok: false, why: expect.stringContaining("broken:70b") });
  });

  test("an existing file stays unchanged, a dangling link too; replaced, it is kept", async () => {
    const at = start({ OLLAMA_HOST: ollama(() => pulled("qwen3:8b")) });
    mkdirSync(join(folder, "home"));
    writeFileSync(at.file, "# mine\n");
    const opened = await at.open();
    expect(opened.exists()).toBe(true);
    expect(opened.write(talker, { replace: false })).toEqual({ written: false, why: "exists" });
    expect(readFileSync(at.file, "utf8")).toBe("# mine\n");
    expect(opened.write(talker, { replace: true })).toEqual({ written: true, kept: `${at.file}.old` });
    expect(readFileSync(`${at.file}.old`, "utf8")).toBe("# mine\n");
    rmSync(at.file);
    symlinkSync(join(folder, "elsewhere.yaml"), at.file);
    expect(opened.exists()).toBe(true);
    expect(opened.write(talker, { replace: false })).toEqual({ written: false, why: "exists" });
    expect(statSync(join(folder, "elsewhere.yaml"), { throwIfNoEntry: false })).toBeUndefined();
  });

  test("a mistake in the configuration is reported; with startOver it does not count", async () => {
    const at = start({});
    mkdirSync(join(folder, "home"));
    writeFileSync(at.file, "wrker: 1\n");
    expect(await at.opening()).toMatchObject({
      ok: false,
      problems: [{ code: "unknown-key", key: "wrker" }],
    });
    expect(await at.open({ startOver: true })).toMatchObject({ ok: true });
  });

  test("--config names the file to write", async () => {
    const at = start({});
    expect(await at.open({ configFile: "mine.yaml" })).toMatchObject({ file: join(folder, "ws/mine.yaml") });
  });

  test.each([
    ["what is no list of models", () => new Response("<html>")],
    ["an error", () => new Response("no", { status: 500 })],
    ["a redirect elsewhere", () => Response.redirect("http://127.0.0.1:9/", 302)],
  ])("an answer that is %s is no Ollama", async (_, answer) => {
    const at = start({ OLLAMA_HOST: ollama(answer) });
    expect((await at.open()).found.ollama).toMatchObject({ reachable: false, models: [] });
  });
});
