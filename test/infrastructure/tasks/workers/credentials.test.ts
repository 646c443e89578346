import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findCredentials } from "../../../../src/infrastructure/tasks/workers/credentials.ts";
import { findWorkerKind } from "../../../../src/infrastructure/tasks/workers/find-kind.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function homeWith(files: Readonly<Record<string, string>>): string {
  const home = mkdtempSync(join(tmpdir(), "picoclaw-credentials-"));
  folders.push(home);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  }
  return home;
}

const codex = findWorkerKind("codex-cli");
const login = {
  ".codex/auth.json": '{"token":"t"}',
  ".codex/config.toml": "model = 'x'",
  ".codex/history.jsonl": "private",
};

test("a login goes with the worker, its key variable then does not", () => {
  const found = findCredentials(codex, {
    home: homeWith(login),
    hostEnv: { CODEX_API_KEY: "k" },
    workerEnv: {},
  });
  expect(found.files.map(({ path }) => path)).toEqual([".codex/auth.json", ".codex/config.toml"]);
  expect([found.env, found.found]).toEqual([{}, true]);
});

test("without a login the key variables stand in, and only those of this kind", () => {
  const hostEnv = { CODEX_API_KEY: "k", ANTHROPIC_API_KEY: "other", HOME: "/x", OPENAI_API_KEY: "" };
  const found = findCredentials(codex, { home: homeWith({}), hostEnv, workerEnv: {} });
  expect([found.env, found.files, found.found]).toEqual([{ CODEX_API_KEY: "k" }, [], true]);
});

test("what the task file gives wins over the host's", () => {
  const found = findCredentials(codex, {
    home: homeWith({}),
    hostEnv: { CODEX_API_KEY: "host" },
    workerEnv: { CODEX_API_KEY: "task", A: "b" },
  });
  expect(found.env).toEqual({ CODEX_API_KEY: "task", A: "b" });
});

test("nothing is nothing", () => {
  expect(findCredentials(codex, { home: homeWith({}), hostEnv: {}, workerEnv: {} }).found).toBe(false);
  const huge = homeWith({ ".codex/auth.json": "x".repeat(2 * 1024 ** 2) });
  expect(findCredentials(codex, { home: huge, hostEnv: {}, workerEnv: {} }).found).toBe(false);
});

test.each([
  ["claude-code", ".claude/.credentials.json"],
  ["claude-code", ".config/claude/.credentials.json"],
  ["gemini-cli", ".gemini/oauth_creds.json"],
] as const)("%s finds its login in %s", (name, path) => {
  const found = findCredentials(findWorkerKind(name), {
    home: homeWith({ [path]: "{}" }),
    hostEnv: {},
    workerEnv: {},
  });
  expect([found.found, found.files.map((file) => file.path)]).toEqual([true, [path]]);
});
