import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { type Bench, createBench, edit, said } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("plain.txt", "plain");
  bench.write("conf/.env.local", "secret");
  bench.write("conf/other", "other");
  symlinkSync("conf/.env.local", bench.path("innocent"));
  symlinkSync("conf", bench.path("linked"));
});
afterEach(() => bench.remove());

type Command = Readonly<Record<string, unknown>>;

const PROTECTED: readonly (readonly [name: string, command: Command, error: string])[] = [
  [
    "by its base name",
    edit("update", "conf/.env.local", "x"),
    "protected file cannot be modified: conf/.env.local",
  ],
  [
    "when new",
    edit("create", "a/b/my-credentials.json", "x"),
    "protected file cannot be modified: a/b/my-credentials.json",
  ],
  ["by a folder's name", edit("create", ".env.d/x", "x"), "protected file cannot be modified: .env.d/x"],
  ["behind a symlink", edit("update", "innocent", "x"), "protected file cannot be modified: innocent"],
  [
    "through a linked folder",
    edit("delete", "linked/.env.local"),
    "protected file cannot be modified: linked/.env.local",
  ],
  [
    "spelled with dots",
    edit("append", "./conf/../conf/.env.local", "x"),
    "protected file cannot be modified: ./conf/../conf/.env.local",
  ],
  [
    "as source of a rename",
    edit("rename", "conf/.env.local", "stolen"),
    "protected file cannot be modified: conf/.env.local",
  ],
  [
    "as source of a copy",
    edit("copy", "conf/.env.local", "stolen"),
    "protected file cannot be modified: conf/.env.local",
  ],
  [
    "as destination of a rename",
    edit("rename", "plain.txt", "server.pem"),
    "cannot rename to protected file: server.pem",
  ],
  [
    "as destination of a copy",
    edit("copy", "plain.txt", "server.key"),
    "cannot copy to protected file: server.key",
  ],
  [
    "inside a folder that moves",
    edit("rename", "conf", "moved"),
    "protected file cannot be modified: conf/.env.local",
  ],
];

const FORBIDDEN: readonly (readonly [name: string, target: string])[] = [
  ["config", ".git/config"],
  ["hooks", ".git/hooks/pre-commit"],
  ["refs", ".git/refs/heads/main"],
  ["another case", ".GIT/config"],
  ["a trailing dot and blank", ".git. /config"],
  ["an ignorable character", ".g\u200cit/config"],
  ["a short name", "git~1/config"],
  ["a nested repository", "vendor/lib/.git/config"],
  ["the pointer file itself", "sub/.git"],
];

describe("protected files", () => {
  test.each(PROTECTED)("%s: error", async (_name, command, error) => {
    const ran = await bench.run([command]);
    expect([ran.success, said(ran), ran.changes]).toEqual([false, [error], []]);
  });

  test.each(PROTECTED)("%s: skip counts as success and does nothing", async (_name, command) => {
    const settings = { PICOCLAW_WORKER_ACTION_ON_PROTECTED_FILE: "skip" };
    const ran = await bench.run([command], { settings });
    expect([ran.success, said(ran), ran.changes]).toEqual([true, ["skipped (protected file)"], []]);
  });

  test.each(PROTECTED)("%s: log does it and says so", async (_name, command) => {
    const settings = { PICOCLAW_WORKER_ACTION_ON_PROTECTED_FILE: "log" };
    const result = await bench.run([command], { settings });
    expect([result.success, result.changes.length > 0]).toEqual([true, true]);
    expect(result.commands[0]?.notes).toContainEqual({
      code: "protected-logged",
      paths: [expect.any(String)] as unknown as string[],
    });
  });

  test("a diff with one protected file is refused as a whole", async () => {
    const diff =
      "--- a/plain.txt\n+++ b/plain.txt\n@@ -1 +1 @@\n-plain\n\\ No newline at end of file\n+x\n--- /dev/null\n+++ b/new.key\n@@ -0,0 +1 @@\n+x\n";
    const ran = await bench.run(diff);
    expect([said(ran), bench.read("plain.txt")]).toEqual([
      ["protected file cannot be modified: new.key"],
      "plain",
    ]);
  });

  test("patterns are configurable, with braces and paths", async () => {
    const settings = { PICOCLAW_WORKER_PROTECTED_PATTERNS: '["*.{lock,sum}", "infra/**/*.tf"]' };
    const ran = await bench.run(
      [
        edit("create", "a.lock"),
        edit("create", "go.sum"),
        edit("create", "infra/x/y.tf"),
        edit("create", "y.tf"),
        edit("create", "free.key"),
      ],
      { settings },
    );
    expect(ran.commands.map(({ success }) => success)).toEqual([false, false, false, true, true]);
  });
});

describe("git's and PicoClaw's own files", () => {
  test.each(FORBIDDEN)("%s cannot be edited, regardless of the configuration", async (_name, target) => {
    const settings = { PICOCLAW_WORKER_ACTION_ON_PROTECTED_FILE: "log" };
    const ran = await bench.run([edit("create", target, "x"), edit("copy", "plain.txt", target)], {
      settings,
    });
    const error = `git internals cannot be modified by file_edit: ${target}`;
    expect([said(ran), ran.changes]).toEqual([[error, error], []]);
  });

  test(".gitignore, .github and git.txt are ordinary files", async () => {
    const ran = await bench.run([
      edit("create", ".gitignore", "x"),
      edit("create", ".github/ci.yml", "x"),
      edit("create", "git.txt", "x"),
    ]);
    expect(ran.success).toBe(true);
  });

  test("picoclaw.yaml cannot be edited", async () => {
    const ran = await bench.run([edit("create", "picoclaw.yaml", "x")]);
    expect(said(ran)).toEqual(["PicoClaw's own files cannot be modified: picoclaw.yaml"]);
  });
});
