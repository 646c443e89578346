import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../fakes/model-server/server.ts";
import { makeTestFolder } from "../../left-behind.ts";

const MAIN = join(import.meta.dir, "../../../src/main.ts");

async function doctor(home: string, env: Record<string, string>, ...args: string[]) {
  const child = Bun.spawn([process.execPath, "--no-env-file", MAIN, "doctor", ...args], {
    cwd: home,
    env: { PATH: process.env.PATH ?? "", HOME: home, PICOCLAW_HOME: home, PICOCLAW_LOCALE: "en", ...env },
  });
  return { out: await new Response(child.stdout).text(), code: await child.exited };
}

test("doctor asks every role's model, says what helps, and does not fail for a model that is missing", async () => {
  const server = await startModelServer({ pulled: [{ name: "chat-v1:latest" }] });
  const home = makeTestFolder("doctor");
  writeFileSync(
    join(home, "config.yaml"),
    JSON.stringify({
      ollama: { base_url: server.url },
      providers: {
        claude: { base_url: server.url },
        deepseek: { base_url: "http://127.0.0.1:1/v1" },
        demo: { type: "scripted", script: "missing.yaml" },
      },
      roles: { coder2: { provider: "demo" } },
    }),
  );
  const env = { ANTHROPIC_API_KEY: "sk-ant-12345678", DEEPSEEK_API_KEY: "sk-12345678" };
  const { out, code } = await doctor(home, env);
  const lines = out.split("\n");
  const after = (start: string) => lines[lines.findIndex((line) => line.startsWith(start)) + 1]?.trim();
  expect(lines).toContain("✓ model for chat (Mio): ollama chat-v1:latest: pulled");
  expect(lines).toContain(
    "✓ model for worker (Shiro): ollama chat-v1:latest (worker-v1:latest is not installed; choose with picoclaw init): pulled",
  );
  expect(after("! model for coder1 (Aka): deepseek deepseek-flash: ")).toBe(
    "→ check the network and providers.deepseek.base_url, or choose another model: picoclaw init",
  );
  expect(out).toContain("! model for coder2 (Ao): demo scripted: the script ");
  expect(lines).toContain("✓ model for coder3 (Gin): claude claude-sonnet-5-5: answers");
  expect(code).toBe(0);
  expect(out).not.toContain("12345678");

  const json = JSON.parse((await doctor(home, {}, "--json")).out);
  expect(json.checks).toContainEqual(
    expect.objectContaining({
      name: "model:coder3",
      ok: false,
      optional: true,
      remedy:
        "picoclaw login (asks for the key, tests it and keeps it), or export ANTHROPIC_API_KEY=… where PicoClaw runs",
    }),
  );
  const retired = await startModelServer({
    offered: ["claude-opus-6", "claude-sonnet-6", "claude-sonnet-5"],
  });
  try {
    const at = { ...env, ANTHROPIC_BASE_URL: "", PICOCLAW_PROVIDERS_CLAUDE_BASE_URL: retired.url };
    expect((await doctor(home, at)).out).toContain(
      "→ claude serves claude-sonnet-6 instead: picoclaw init takes it (by hand: roles, or providers.claude.model)",
    );
    expect((await doctor(home, { ...at, PICOCLAW_PROVIDERS_CLAUDE_MODEL: "claude-sonnet-5" })).out).toContain(
      "claude claude-sonnet-5 (newer there: claude-sonnet-6; picoclaw init takes it): answers",
    );
  } finally {
    await retired.stop();
  }
  const missing = { PICOCLAW_ROLES_CHAT_MODEL: "gone:1b" };
  expect((await doctor(home, missing)).out).toContain(
    "→ choose an installed one (chat-v1:latest): picoclaw init; or: ollama pull gone:1b",
  );
  await server.stop();
});
