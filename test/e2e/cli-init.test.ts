import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, createCli } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const ALONE = { PICOCLAW_OLLAMA_BASE_URL: "http://127.0.0.1:9", DOCKER_HOST: "unix:///none.sock" };

describe("init", () => {
  test("says what is there, what is missing, and what to try; the second time it leaves the file alone", () => {
    const first = cli.run(["init"], { env: ALONE });
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toContain(`Wrote the configuration: ${cli.home}/config.yaml\n`);
    expect(first.out).toContain("! Ollama is not reachable (http://127.0.0.1:9).");
    expect(first.out).toContain("! ANTHROPIC_API_KEY is not set\n");
    expect(first.out).toContain("! Docker is not reachable.");
    expect(first.out.endsWith("\nTry next: picoclaw serve --demo\n")).toBe(true);
    expect(cli.run(["config", "check"], { env: ALONE })).toMatchObject({ code: 0 });

    const japanese = { ...ALONE, PICOCLAW_LOCALE: "ja", ANTHROPIC_API_KEY: "sk-ant-api03-AAAABBBBCCCC" };
    const again = cli.run(["init"], { env: japanese });
    expect(again.out).toContain(
      `設定ファイルはすでにあります（変更していません）: ${cli.home}/config.yaml\n`,
    );
    expect(again.out).toContain("✓ ANTHROPIC_API_KEY があります\n");
    expect(again.out).toContain('次に試す: picoclaw chat "/code hello.txt にあいさつを書いて"\n');
    expect(again.out).not.toContain("AAAABBBB");
  });

  test("--json is one document", () => {
    const ran = cli.run(["init", "--json"], { env: ALONE });
    expect(cli.json(ran)).toMatchObject({
      success: true,
      file: join(cli.home, "config.yaml"),
      written: true,
      found: {
        ollama: { base_url: "http://127.0.0.1:9", reachable: false, models: [] },
        keys: { ANTHROPIC_API_KEY: false, OPENAI_API_KEY: false, DEEPSEEK_API_KEY: false },
        docker: null,
      },
      missing_model: null,
      next: "picoclaw serve --demo",
    });
  });

  test("a home that is a file is told as trouble with files, not as a fault of the program", () => {
    writeFileSync(cli.home, "");
    const ran = cli.run(["init"], { env: ALONE });
    expect(ran.code).toBe(3);
    expect(ran.err).toContain(cli.home);
    expect(ran.err).not.toContain("    at ");
  });

  test("a broken configuration is told as ever", () => {
    mkdirSync(cli.home);
    writeFileSync(join(cli.home, "config.yaml"), "wrker: 1\n");
    expect(cli.run(["init"], { env: ALONE })).toMatchObject({ code: 2, out: "" });
    expect(cli.json(cli.run(["init", "--json"], { env: ALONE }))).toMatchObject({
      success: false,
      error: { code: "configuration" },
    });
  });
});
