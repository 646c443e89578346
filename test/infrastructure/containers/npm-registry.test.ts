import { afterAll, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createNpmRegistry } from "../../../src/infrastructure/containers/download-store.ts";
import { createProcessRunner } from "../../../src/infrastructure/platform/process-runner.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-npm-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function ask(script: string | null, configured: string | null = null) {
  const npm = join(folder, "npm");
  rmSync(npm, { force: true });
  if (script !== null) {
    writeFileSync(npm, `#!/bin/sh\n${script}\n`);
    chmodSync(npm, 0o755);
  }
  return createNpmRegistry({ processes: createProcessRunner(), env: { PATH: folder }, configured })();
}

test("npm says where its registry is, asked outside of any project", async () => {
  expect(
    await ask('[ "$*" = "config get registry" ] && [ "$PWD" = / ] && echo https://packages.example/'),
  ).toBe("https://packages.example/");
});

test("the configuration overrides npm", async () => {
  expect(await ask("echo https://packages.example/", "https://own.example/")).toBe("https://own.example/");
});

test.each([["exit 1"], ["echo undefined"], [null]])(
  "the registry is unknown where npm does not say it: %p",
  async (script) => {
    expect(await ask(script)).toBeNull();
  },
);
