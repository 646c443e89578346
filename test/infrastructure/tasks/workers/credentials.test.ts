import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { findWorkerKind } from "../../../../src/infrastructure/heads/kinds/find-kind.ts";
import { findCredentials } from "../../../../src/infrastructure/tasks/credentials.ts";

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

function standIns(): () => string {
  let count = 0;
  return () => `stand-${++count}`;
}

const codex = findWorkerKind("codex-cli");
const login = {
  ".codex/auth.json": '{"token":"t"}',
  ".codex/config.toml": "model = 'x'",
  ".codex/history.jsonl": "private",
};

test("a login is passed to the worker, its key variable then is not", () => {
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
  const found = findCredentials(codex, {
    home: homeWith({}),
    hostEnv,
    workerEnv: {},
    newStandIn: standIns(),
  });
  expect([found.env, found.files, found.found]).toEqual([{ CODEX_API_KEY: "stand-1" }, [], true]);
  expect([...found.keys]).toEqual([["stand-1", "k"]]);
});

test("what the task file gives wins over the host's", () => {
  const found = findCredentials(codex, {
    home: homeWith({}),
    hostEnv: { CODEX_API_KEY: "host" },
    workerEnv: { CODEX_API_KEY: "task", A: "b" },
    newStandIn: standIns(),
  });
  expect(found.env).toEqual({ CODEX_API_KEY: "stand-1", A: "b" });
  expect([...found.keys.values()]).toEqual(["task"]);
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

test("whole folders come along, but for what the CLI only remembers", () => {
  const files = { ".gemini/oauth_creds.json": "{}", ".gemini/a/b.json": "{}", ".gemini/tmp/log": "private" };
  const found = findCredentials(findWorkerKind("gemini-cli"), {
    home: homeWith(files),
    hostEnv: {},
    workerEnv: {},
  });
  expect(found.files.map(({ path, isLogin }) => [path, isLogin])).toEqual([
    [".gemini/a/b.json", false],
    [".gemini/oauth_creds.json", true],
  ]);
  const claude = { ".config/claude/.credentials.json": "{}", ".config/claude/settings.json": "{}" };
  expect(
    findCredentials(findWorkerKind("claude-code"), { home: homeWith(claude), hostEnv: {}, workerEnv: {} })
      .files,
  ).toHaveLength(2);
});

test("a key alone is said in the settings of a CLI that asks for that, beside the user's own", () => {
  const own = { ".gemini/settings.json": '{"model":"x","security":{"folderTrust":true}}' };
  const [none, some] = [{}, own].map((files) => {
    const found = findCredentials(findWorkerKind("gemini-cli"), {
      home: homeWith(files),
      hostEnv: { GEMINI_API_KEY: "real-key" },
      workerEnv: {},
    });
    return found.files.map(({ path, bytes }) => [path, JSON.parse(new TextDecoder().decode(bytes))]);
  });
  const auth = { selectedType: "gemini-api-key" };
  expect(none).toEqual([[".gemini/settings.json", { security: { auth } }]]);
  expect(some).toEqual([[".gemini/settings.json", { model: "x", security: { folderTrust: true, auth } }]]);
});

test("a key in a file is a key: the copy holds a stand-in", () => {
  const gemini = findCredentials(findWorkerKind("gemini-cli"), {
    home: homeWith({ ".gemini/.env": 'A=b\nexport GEMINI_API_KEY="real-key"\n' }),
    hostEnv: { GEMINI_API_KEY: "another" },
    workerEnv: {},
    newStandIn: standIns(),
  });
  expect(new TextDecoder().decode(gemini.files[0]?.bytes)).toBe('A=b\nexport GEMINI_API_KEY="stand-1"\n');
  expect([[...gemini.keys.values()], gemini.found, gemini.env]).toEqual([["real-key"], true, {}]);
  const auth = findCredentials(codex, {
    home: homeWith({ ".codex/auth.json": '{"OPENAI_API_KEY":"sk-real","tokens":null}' }),
    hostEnv: {},
    workerEnv: {},
    newStandIn: standIns(),
  });
  expect(auth.files[0]).toMatchObject({ path: ".codex/auth.json", isLogin: false });
  expect(new TextDecoder().decode(auth.files[0]?.bytes)).toBe('{"OPENAI_API_KEY":"stand-1","tokens":null}');
});

test.each([
  ["", "openai_base_url", "https://api.openai.com/v1"],
  ['openai_base_url = "http://x/v1"\n', "openai_base_url", "http://x/v1"],
  [
    'model_provider = "mine"\n[model_providers.other]\nbase_url = "http://no"\n[model_providers.mine]\nname = "m"\nbase_url = "http://mine/v1"\n[profiles.x]\n',
    "model_providers.mine.base_url",
    "http://mine/v1",
  ],
])("codex is led away from the server that its settings name: %j", (toml, key, upstream) => {
  const route = codex.route({ env: {}, textOf: () => toml });
  expect([route.upstream, route.lead("http://127.0.0.1:1/v1").argv.slice(0, 4)]).toEqual([
    upstream,
    ["codex", "exec", "-c", `${key}="http://127.0.0.1:1/v1"`],
  ]);
});
