/** `init` on a machine without a key where an agent is installed and logged in. */
import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chooseByTalking } from "../../../src/adapters/cli/init.ts";
import type { OpenedSetUp } from "../../../src/application/ports/setup.ts";
import { firstConfig, type SetupFindings, usualChoice } from "../../../src/domain/setup/first-config.ts";
import { setupMessagesFor } from "../../../src/domain/texts/setup.ts";
import { type Cli, createCli, NO_LOCAL_SERVERS } from "../../e2e/cli-kit.ts";
import { requirePart } from "../../require.ts";

const found = (by: "key" | "file", more: Partial<SetupFindings> = {}): SetupFindings => ({
  ollama: { baseUrl: "http://127.0.0.1:11434", reachable: false, models: [] },
  sources: [],
  keys: [],
  github: null,
  git: true,
  docker: null,
  bubblewrap: true,
  heads: [{ name: "claude-code", by }],
  ...more,
});

async function talk(findings: SetupFindings, answers: readonly string[]) {
  const asked: string[] = [];
  const opened = {
    ok: true,
    found: findings,
    test: async () => ({ chat: null, coder: null }),
  } as unknown as Extract<OpenedSetUp, { ok: true }>;
  const left = [...answers];
  const terminal = {
    out: () => {},
    askLine: async (question: string) => {
      asked.push(question);
      return left.shift() ?? null;
    },
  };
  const chosen = await chooseByTalking(terminal, opened, setupMessagesFor("en"));
  return { asked, head: chosen === null ? "left" : (chosen.choice.head ?? null) };
}

describe("at a terminal", () => {
  test("it is offered, with the vendor's terms where the login is a person's; Enter says no", async () => {
    const yes = await talk(found("file"), ["y"]);
    expect(yes.head).toEqual({ name: "claude-code", by: "file" });
    expect(yes.asked.join()).toContain("Its vendor's terms say whether you may.");
    expect((await talk(found("file"), [""])).head).toBeNull();
    expect((await talk(found("file"), [])).head).toBe("left");
  });

  test("with a key that answers, or where nothing can confine it, it is not", async () => {
    const source = {
      provider: "claude",
      address: "https://x",
      local: false,
      keyVariable: "ANTHROPIC_API_KEY",
      models: [],
      trouble: null,
      usual: null,
      settings: null,
    };
    expect((await talk(found("file", { sources: [source] }), ["y"])).asked).toEqual([]);
    expect((await talk(found("file", { bubblewrap: false }), ["y"])).asked).toEqual([]);
  });
});

test("without a person a person's login is left alone", () => {
  expect(usualChoice(found("file")).head).toBeNull();
  expect(usualChoice(found("key")).head).toEqual({ name: "claude-code", by: "key" });
});

test("the file says so", () => {
  const choice = {
    chat: null,
    coder: null,
    cloudMayTalk: false,
    head: { name: "claude-code", by: "file" } as const,
  };
  const text = firstConfig(found("file"), choice, setupMessagesFor("en").file);
  expect(text).toContain("roles:\n  coder: { head: claude-code }\n");
  expect(text).toContain("head:\n  login: file\n");
});

describe("the program", () => {
  let cli: Cli;
  afterEach(() => cli.remove());

  (requirePart("bwrap") ? test : test.skip)(
    "init --yes takes an agent with a token, and the file loads",
    () => {
      cli = createCli();
      const bin = join(cli.folder, "bin");
      mkdirSync(bin);
      writeFileSync(join(bin, "claude"), "#!/bin/sh\n");
      chmodSync(join(bin, "claude"), 0o755);
      const env = {
        PATH: `${bin}:${process.env.PATH}`,
        CLAUDE_CODE_OAUTH_TOKEN: "token-for-use-without-a-person",
        OLLAMA_HOST: "127.0.0.1:9",
        ...NO_LOCAL_SERVERS,
      };
      const ran = cli.run(["init", "--yes"], { env });
      expect(ran.out).toContain("✓ claude-code: installed, with a key");
      expect(ran.code).toBe(0);
      const file = readFileSync(join(cli.home, "config.yaml"), "utf8");
      expect(file).toContain("coder: { head: claude-code }");
      expect(cli.run(["config", "show"], { env }).code).toBe(0);
    },
  );
});
