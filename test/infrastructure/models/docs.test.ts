import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { loadConfig } from "../../../src/config/load.ts";
import { findInCatalogue, readCatalogue, SHIPPED_CATALOGUE } from "../../../src/domain/models/catalogue.ts";
import { readScript } from "../../../src/infrastructure/models/scripted.ts";
import { openModels } from "../../../src/lib.ts";
import { startModelServer } from "../../fakes/model-server/server.ts";
import { makeTestFolder } from "../../left-behind.ts";

const [page = "", scripted = ""] = ["models.md", "scripted-models.md"].map((name) =>
  readFileSync(join(import.meta.dir, "../../../docs", name), "utf8"),
);
const blocks = [...`${page}\n${scripted}`.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(
  (match) => match[1] ?? "",
);
const scripts = blocks.filter((block) => block.startsWith("answers:"));
const configs = blocks.filter((block) => !block.startsWith("answers:"));

describe("docs/models.md and docs/scripted-models.md", () => {
  test("their configurations are accepted", async () => {
    expect(configs.length).toBe(4);
    for (const text of configs) {
      const home = makeTestFolder("docs");
      writeFileSync(join(home, "config.yaml"), text);
      expect(await loadConfig({ env: {}, cwd: home, home })).toMatchObject({ ok: true });
    }
  });

  test("the script can be played", () => {
    expect(scripts.length).toBe(1);
    expect(readScript(parse(scripts[0] ?? "")).answers.length).toBe(7);
  });

  test("the first configuration makes five models", async () => {
    const home = makeTestFolder("docs");
    writeFileSync(join(home, "config.yaml"), configs[0] ?? "");
    const env = { PICOCLAW_HOME: home, OPENROUTER_API_KEY: "k-12345678", GEMINI_API_KEY: "k-12345678" };
    const models = await openModels({ home, env, workspace: home });
    const made = (["chat", "worker", "coder1", "coder2", "coder3"] as const).map((role) => {
      const model = models.forRole(role);
      return "code" in model ? model.message : `${model.provider} ${model.model} ${model.local}`;
    });
    expect(made).toEqual([
      "here qwen3-coder true",
      "here qwen3-coder true",
      "router moonshotai/kimi-k2 false",
      "gemini gemini-3.1-pro-preview false",
      "ollama qwen3-coder:30b true",
    ]);
  });

  test("the settings for Azure, Bedrock and Vertex send a key to the path that the service has", async () => {
    const text = configs.find((one) => one.includes("azure:")) ?? "";
    const server = await startModelServer({ script: [{ text: "Hello" }] });
    const home = makeTestFolder("docs");
    writeFileSync(join(home, "config.yaml"), text.replaceAll(/https:\/\/[\w.-]+/g, server.url));
    const key = "k-12345678";
    const keys = { AZURE_OPENAI_API_KEY: key, AWS_BEARER_TOKEN_BEDROCK: key, VERTEX_API_KEY: key };
    try {
      const models = await openModels({ home, env: { PICOCLAW_HOME: home, ...keys }, workspace: home });
      for (const role of ["coder1", "coder2", "coder3"] as const) {
        const model = models.forRole(role);
        if ("code" in model) throw new Error(model.message);
        const { signal } = new AbortController();
        for await (const event of model.generate({ messages: [{ role: "user", text: "Hi" }], signal }))
          expect(event.type).not.toBe("failed");
      }
      expect(
        server.requests.map(({ path, headers }) => [
          path,
          headers.authorization ?? headers["x-goog-api-key"],
        ]),
      ).toEqual([
        ["/openai/v1/responses", `Bearer ${key}`],
        ["/openai/v1/chat/completions", `Bearer ${key}`],
        ["/v1/publishers/google/models/gemini-3.1-pro-preview:streamGenerateContent", key],
      ]);
    } finally {
      await server.stop();
    }
  });

  test("docs/models.md has the shipped table of models, dated", () => {
    expect(page).toContain(`as of ${SHIPPED_CATALOGUE.dated}`);
    const yes = (flag: boolean | null) => (flag === null ? "–" : flag ? "yes" : "no");
    expect(readCatalogue(SHIPPED_CATALOGUE)).toMatchObject({ ok: true });
    for (const model of Object.keys(SHIPPED_CATALOGUE.models)) {
      const { context, price, images, effort, source } =
        findInCatalogue(SHIPPED_CATALOGUE, model) ?? expect.unreachable(model);
      expect(page).toContain(
        `| \`${model}\` | ${context} | ${price?.input} / ${price?.output} / ${price?.cached} | ${yes(images)} | ${yes(effort)} | ${source} |`,
      );
    }
  });
});
