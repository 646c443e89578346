import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openPty } from "../application/chat/pty-kit.ts";
import { startModelServer } from "../fakes/model-server/server.ts";
import { type Cli, createCli, NO_LOCAL_SERVERS, PROGRAM } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const BARE = { ...NO_LOCAL_SERVERS, DOCKER_HOST: "unix:///none.sock" };
const ALONE = { ...BARE, PICOCLAW_OLLAMA_BASE_URL: "http://127.0.0.1:9" };

/** An Ollama with two models, one of which never answers. */
async function answer(request: Request): Promise<Response> {
  if (request.url.endsWith("/api/tags"))
    return Response.json({ models: [{ name: "gemma3:4b" }, { name: "deaf:7b" }, { name: "bge-m3:latest" }] });
  const { model } = (await request.json()) as { model: string };
  if (model !== "gemma3:4b") return new Response("out of memory", { status: 500 });
  const message = { role: "assistant", content: "OK" };
  return new Response(`${JSON.stringify({ model, message, done: true, done_reason: "stop" })}\n`);
}

describe("init", () => {
  test("without any model it writes nothing, says the two ways out, and does not end the demo", () => {
    const ran = cli.run(["init"], { env: ALONE });
    expect(ran).toMatchObject({ code: 3, err: "" });
    expect(ran.out).toContain(
      "· Ollama, which runs models on this machine, does not answer (http://127.0.0.1:9).",
    );
    expect(ran.out).toContain("· not set: ANTHROPIC_API_KEY, OPENAI_API_KEY");
    expect(ran.out).toContain("· Docker does not answer");
    expect(ran.out).toContain("No model answers, so nothing was written. Two ways:\n");
    expect(ran.out.endsWith("\nTry next: picoclaw serve --demo\n")).toBe(true);
    expect(existsSync(join(cli.home, "config.yaml"))).toBe(false);
    expect(cli.run(["init"], { env: { ...ALONE, PICOCLAW_LOCALE: "ja" } }).out).toContain("方法は 2 つ:\n");
  });

  test("an existing file stays: without --force always, and with it while no model answers", () => {
    const env = ALONE;
    mkdirSync(cli.home);
    writeFileSync(join(cli.home, "config.yaml"), "# mine\n");
    const kept = cli.run(["init", "--yes"], { env });
    expect(kept.code).toBe(0);
    expect(kept.out).toContain(`already exists and was not changed: ${cli.home}/config.yaml\n`);
    expect(kept.out).toContain("Try next: picoclaw init --force\n");
    expect(cli.run(["init", "--force"], { env }).code).toBe(3);
    expect(readFileSync(join(cli.home, "config.yaml"), "utf8")).toBe("# mine\n");
  });

  test("--json is one document", () => {
    const ran = cli.run(["init", "--json"], { env: ALONE });
    expect(ran.code).toBe(3);
    expect(cli.json(ran)).toMatchObject({
      success: false,
      file: join(cli.home, "config.yaml"),
      written: false,
      found: {
        ollama: { base_url: "http://127.0.0.1:9", reachable: false, models: [] },
        keys: { ANTHROPIC_API_KEY: false, OPENAI_API_KEY: false, DEEPSEEK_API_KEY: false },
        docker: null,
      },
      error: { code: "no-model" },
      next: "picoclaw serve --demo",
    });
  });

  test("at a terminal it asks, tries the chosen model, and writes only a model that answers", async () => {
    const models = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
    const env = { PATH: process.env.PATH ?? "", HOME: cli.folder, PICOCLAW_HOME: cli.home };
    const at = openPty([PROGRAM, "init"], {
      cwd: cli.workspace,
      env: { ...env, ...BARE, OLLAMA_HOST: `127.0.0.1:${models.port}` },
    });
    try {
      await at.expect("Who answers questions?");
      await at.expect("none): ");
      at.type("nobody\r");
      await at.expect("There is no model nobody.");
      at.type("gemma3:4b\r");
      await at.expect("Who writes code?");
      await at.expect("none): ");
      at.type("deaf:7b\r");
      await at.expect('✓ ollama/gemma3:4b answers: "OK"');
      await at.expect("✗ ollama/deaf:7b does not answer:");
      await at.expect("[Y/n] ");
      at.type("n\r");
      await at.expect('Try next: picoclaw chat "Hello"');
      expect(await at.exited).toBe(0);
    } finally {
      at.signal("SIGKILL");
      await models.stop(true);
    }
    const file = readFileSync(join(cli.home, "config.yaml"), "utf8");
    expect(file).toContain('  chat: { provider: ollama, model: "gemma3:4b" }\n');
    expect(file).not.toContain("deaf");
    expect(file).not.toMatch(/^ +local_only/m);
    expect(cli.run(["config", "check"]).code).toBe(0);
  });

  /** The key's variable, and where the configuration has that cloud's address. */
  const CLOUDS = [
    ["ANTHROPIC_API_KEY", "CLAUDE", "anthropic", "claude/claude-sonnet-5-5"],
    ["OPENAI_API_KEY", "OPENAI", "openai-responses", "openai/gpt-6.1-sol"],
    ["GEMINI_API_KEY", "GEMINI", "gemini", "gemini/gemini-3.1-pro-preview"],
    ["DEEPSEEK_API_KEY", "DEEPSEEK", "openai-chat", "deepseek/deepseek-flash"],
    ["OPENROUTER_API_KEY", "OPENROUTER", "openai-chat", "openrouter/anthropic/claude-sonnet-4.6"],
  ] as const;

  test.each(CLOUDS)(
    "with %s alone, Enter and Enter are enough: questions, commands and commits are answered",
    async (variable, provider, protocol, model) => {
      const name = model.slice(model.indexOf("/") + 1);
      const server = await startModelServer({ script: [{ text: "OK" }], offered: ["text-embed-1", name] });
      const env = {
        [variable]: "sk-AAAABBBBCCCCDDDD",
        [`PICOCLAW_PROVIDERS_${provider}_BASE_URL`]: server.baseUrl(protocol),
        ...BARE,
        OLLAMA_HOST: "127.0.0.1:9",
      };
      const at = openPty([PROGRAM, "init"], {
        cwd: cli.workspace,
        env: { PATH: process.env.PATH ?? "", HOME: cli.folder, PICOCLAW_HOME: cli.home, ...env },
      });
      try {
        await at.expect(`1  ${model} (cloud, recommended: no local`);
        await at.expect("2  a local model only");
        await at.expect("none): ");
        at.type("\r");
        await at.expect("Who writes code?");
        await at.expect("none): ");
        at.type("\r");
        await at.expect('Try next: picoclaw chat "Hello"');
        expect(await at.exited).toBe(0);
        for (const message of ["hello", "what does this project do?", "run the tests", "commit this"]) {
          const before = server.requests.length;
          server.say({ text: `Answered: ${message}` });
          const ran = await cli.runAsync(["chat", message], env);
          expect(ran).toMatchObject({ code: 0, out: expect.stringContaining(`Answered: ${message}`) });
          expect(server.requests.length).toBeGreaterThan(before);
        }
      } finally {
        at.signal("SIGKILL");
        await server.stop();
      }
    },
    300_000,
  );

  test("a local model can be preferred to the cloud, and --yes never opens it", async () => {
    const server = await startModelServer({ script: [{ text: "OK" }], offered: ["claude-sonnet-5-5"] });
    const env = {
      ANTHROPIC_API_KEY: "sk-AAAABBBBCCCCDDDD",
      ANTHROPIC_BASE_URL: server.baseUrl("anthropic"),
      ...BARE,
      OLLAMA_HOST: "127.0.0.1:9",
    };
    const ran = await cli.runAsync(["init", "--yes"], env);
    expect(ran.out).toContain(
      "Questions are off: there is no local model, and a cloud model answers only if you allow it",
    );
    expect(readFileSync(join(cli.home, "config.yaml"), "utf8")).not.toMatch(/^ +(local_only|chat):/m);
    const at = openPty([PROGRAM, "init", "--force"], {
      cwd: cli.workspace,
      env: { PATH: process.env.PATH ?? "", HOME: cli.folder, PICOCLAW_HOME: cli.home, ...env },
    });
    try {
      await at.expect("none): ");
      at.type("2\r");
      await at.expect("Who writes code?");
      await at.expect("none): ");
      at.type("\r");
      await at.expect("Questions are off: there is no local model");
      expect(await at.exited).toBe(0);
    } finally {
      at.signal("SIGKILL");
      await server.stop();
    }
    expect(readFileSync(join(cli.home, "config.yaml"), "utf8")).not.toMatch(/^ +(local_only|chat):/m);
  });

  test("a key that is pasted where a provider's name was expected is taken, and never shown", async () => {
    const server = await startModelServer({ script: [{ text: "OK" }], offered: ["claude-sonnet-5-5"] });
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: cli.folder,
      PICOCLAW_HOME: cli.home,
      ...BARE,
      OLLAMA_HOST: "127.0.0.1:9",
      ANTHROPIC_BASE_URL: server.baseUrl("anthropic"),
    };
    const at = openPty([PROGRAM, "init"], { cwd: cli.workspace, env });
    try {
      await at.expect("Add an API key now?");
      await at.expect("Enter: no)");
      at.type("clode\r");
      await at.expect("Unknown provider: clode.");
      await at.expect("Enter: no)");
      at.type("sk-ant-api03-AAAABBBBCCCCDDDD\r");
      await at.expect("claude accepts the key");
      await at.expect("Who answers questions?");
      await at.expect("none): ");
      at.type("\r");
      await at.expect("Who writes code?");
      await at.expect("none): ");
      at.type("\r");
      await at.expect("Try next:");
      expect(await at.exited).toBe(0);
    } finally {
      at.signal("SIGKILL");
      await server.stop();
    }
    expect(at.seen()).not.toContain("AAAABBBB");
    const kept = readFileSync(join(cli.home, "keys.env"), "utf8");
    expect(kept).toBe("ANTHROPIC_API_KEY=sk-ant-api03-AAAABBBBCCCCDDDD\n");
  });

  test("a missing network is not reported as a wrong key, and a refused key is", async () => {
    const env = {
      ...ALONE,
      ANTHROPIC_API_KEY: "sk-AAAABBBBCCCCDDDD",
      ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
    };
    const silent = cli.run(["init"], { env });
    expect(silent.code).toBe(3);
    expect(silent.out).toContain("claude: http://127.0.0.1:9 cannot be reached");
    expect(silent.out).not.toContain("export ANTHROPIC_API_KEY");
    expect(silent.out).not.toContain("refuses");
    const models = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => new Response("{}", { status: 401 }),
    });
    const refused = await cli.runAsync(["init"], { ...env, ANTHROPIC_BASE_URL: models.url.origin });
    await models.stop(true);
    expect(refused.out).toContain("refuses the key in ANTHROPIC_API_KEY");
    expect(refused.out).not.toContain("cannot be reached");
  });

  test("a home that is a file is reported as a problem with files, not as a fault of the program", async () => {
    writeFileSync(cli.home, "");
    const models = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: answer });
    const child = cli.start(["init"], { ...ALONE, PICOCLAW_OLLAMA_BASE_URL: models.url.origin });
    let err = "";
    child.stderr?.on("data", (data) => {
      err += String(data);
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    await models.stop(true);
    expect(code).toBe(3);
    expect(err).toContain(cli.home);
    expect(err).not.toContain("    at ");
  });

  test("a broken configuration is reported as before", () => {
    mkdirSync(cli.home);
    writeFileSync(join(cli.home, "config.yaml"), "wrker: 1\n");
    expect(cli.run(["init"], { env: ALONE })).toMatchObject({ code: 2, out: "" });
    expect(cli.json(cli.run(["init", "--json"], { env: ALONE }))).toMatchObject({
      success: false,
      error: { code: "configuration" },
    });
  });
});
