import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { init } from "../../src/wiring/init.ts";

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

/** An Ollama that answers `/api/tags` with this. */
function ollama(answer: () => Response | Promise<Response>): string {
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new URL(request.url).pathname === "/api/tags" ? answer() : new Response("", { status: 404 }),
  });
  return `http://127.0.0.1:${server.port}`;
}

const pulled = (...names: string[]) => Response.json({ models: names.map((name) => ({ name })) });
const nobody = "http://127.0.0.1:9";

function start(env: Record<string, string>) {
  const here = {
    HOME: folder,
    PICOCLAW_HOME: join(folder, "home"),
    PICOCLAW_LOCALE: "en",
    DOCKER_HOST: `unix://${folder}/none.sock`,
    PATH: join(folder, "bin"),
    PICOCLAW_OLLAMA_BASE_URL: nobody,
    ...env,
  };
  const at = { cwd: join(folder, "ws") };
  return {
    file: join(folder, "home/config.yaml"),
    run: (more: { configFile?: string } = {}) => init(here, { ...at, ...more }),
    config: async () => {
      const loaded = await loadConfig({ env: here, ...at });
      if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
      return loaded.config;
    },
  };
}

describe("init", () => {
  test("on a bare machine it writes a file that sets nothing, readable by its owner only", async () => {
    const at = start({});
    const defaults = await at.config();
    expect(await at.run()).toMatchObject({
      ok: true,
      file: at.file,
      written: true,
      talks: false,
      codes: false,
      missingModel: null,
      found: { ollama: { reachable: false, models: [] }, docker: null },
    });
    expect(await at.config()).toEqual(defaults);
    expect(statSync(at.file).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "home")).mode & 0o777).toBe(0o700);
  });

  test("uses the models that are pulled, for coders too when there is no key", async () => {
    const at = start({
      PICOCLAW_OLLAMA_BASE_URL: ollama(() =>
        pulled("nomic-embed-text:latest", "gpt-oss:120b-cloud", "qwen3:8b", "bad\u001b[31m\nlocale: en"),
      ),
    });
    const done = await at.run();
    expect(done).toMatchObject({
      talks: true,
      codes: true,
      missingModel: null,
      found: { ollama: { reachable: true, models: ["nomic-embed-text:latest", "qwen3:8b"] } },
    });
    expect((await at.config()).roles).toMatchObject({
      chat: { provider: "ollama", model: "qwen3:8b" },
      worker: { provider: "ollama", model: "qwen3:8b" },
      coder3: { provider: "ollama", model: "qwen3:8b" },
      default_coder: "coder3",
    });
  });

  test("the default coder is one whose key is there; no key is written down", async () => {
    const at = start({ OPENAI_API_KEY: "sk-proj-AAAABBBBCCCCDDDD" });
    expect(await at.run()).toMatchObject({
      talks: false,
      codes: true,
      found: {
        keys: [
          { variable: "ANTHROPIC_API_KEY", there: false },
          { variable: "OPENAI_API_KEY", there: true },
          { variable: "DEEPSEEK_API_KEY", there: false },
        ],
      },
    });
    expect((await at.config()).roles.default_coder).toBe("coder2");
    expect(readFileSync(at.file, "utf8")).not.toContain("AAAABBBB");
  });

  test("what is there already stays as it is, a link that leads nowhere too", async () => {
    const at = start({ PICOCLAW_OLLAMA_BASE_URL: ollama(() => pulled("qwen3:8b")) });
    mkdirSync(join(folder, "home"));
    writeFileSync(at.file, "# mine\n");
    expect(await at.run()).toMatchObject({ written: false, talks: false, missingModel: "chat-v1:latest" });
    expect(readFileSync(at.file, "utf8")).toBe("# mine\n");
    rmSync(at.file);
    symlinkSync(join(folder, "elsewhere.yaml"), at.file);
    expect(await at.run()).toMatchObject({ written: false });
    expect(statSync(join(folder, "elsewhere.yaml"), { throwIfNoEntry: false })).toBeUndefined();
  });

  test("two at once write one file", async () => {
    const at = start({});
    const done = await Promise.all([at.run(), at.run()]);
    expect(done.map((one) => one.ok && one.written).sort()).toEqual([false, true]);
  });

  test("a configuration with a mistake is told and nothing is written", async () => {
    const at = start({});
    writeFileSync(join(folder, "ws/picoclaw.yaml"), "wrker: 1\n");
    expect(await at.run()).toMatchObject({ ok: false, problems: [{ code: "unknown-key", key: "wrker" }] });
    expect(statSync(at.file, { throwIfNoEntry: false })).toBeUndefined();
  });

  test("--config names the file to write", async () => {
    const at = start({});
    const file = join(folder, "ws/mine.yaml");
    expect(await at.run({ configFile: "mine.yaml" })).toMatchObject({ ok: true, file, written: true });
    expect(statSync(at.file, { throwIfNoEntry: false })).toBeUndefined();
  });

  test.each([
    ["what is no list of models", () => new Response("<html>")],
    ["an error", () => new Response("no", { status: 500 })],
    ["a redirect elsewhere", () => Response.redirect("http://127.0.0.1:9/", 302)],
  ])("an answer that is %s is no Ollama", async (_, answer) => {
    const at = start({ PICOCLAW_OLLAMA_BASE_URL: ollama(answer) });
    expect(await at.run()).toMatchObject({ found: { ollama: { reachable: false, models: [] } } });
  });
});
