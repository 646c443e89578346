import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findInstaller } from "../../../src/adapters/cli/update.ts";

const root = join(import.meta.dir, "../../..");

test.each([
  ["/home/me/picoclaw", [], "checkout"],
  ["/usr/lib/node_modules/picoclaw", [], "npm"],
  ["/home/me/.npm/_npx/4f2a/node_modules/picoclaw", [], "npx"],
  ["/home/me/.cache/picoclaw/0.2.0-ab", ["/home/me/.cache/picoclaw/0.2.0-ab/complete"], "one-file"],
  [
    "/home/picoclaw/.cache/picoclaw/0-a",
    ["/home/picoclaw/.cache/picoclaw/0-a/complete", "/.dockerenv"],
    "image",
  ],
] as const)("what lies in %s was installed as %s %s", (folder, files: readonly string[], by) => {
  expect(findInstaller(folder, (path) => files.includes(path))).toBe(by);
});

test.each([
  ["en_US.UTF-8", "Then restart picoclaw serve."],
  ["ja_JP.UTF-8", "再起動してください"],
])("update says how, in %s, and changes nothing", (LANG, after) => {
  const env = { PATH: process.env.PATH ?? "", HOME: root, LANG };
  const ran = spawnSync(join(root, "bin/picoclaw"), ["update"], { env, encoding: "utf8" });
  expect([ran.status, ran.stderr]).toEqual([0, ""]);
  expect(ran.stdout).toContain("\n  git pull && npm ci\n");
  expect(ran.stdout).toContain(after);
});

test.each([
  ["en_US.UTF-8", "Delete the folder", "no job can be undone any more"],
  ["ja_JP.UTF-8", "フォルダを削除してください", "どのジョブも取り消せなくなります"],
])("uninstall says how, in %s, and where the data is, and changes nothing", (LANG, how, data) => {
  const env = { PATH: process.env.PATH ?? "", HOME: root, PICOCLAW_HOME: "/data/of/mine", LANG };
  const ran = spawnSync(join(root, "bin/picoclaw"), ["uninstall"], { env, encoding: "utf8" });
  expect([ran.status, ran.stderr]).toEqual([0, ""]);
  for (const said of [root, how, "/data/of/mine", data]) expect(ran.stdout).toContain(said);
});
