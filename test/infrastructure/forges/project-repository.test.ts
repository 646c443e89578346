import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProjectRepository } from "../../../src/infrastructure/forges/project-repository.ts";
import { git } from "../../fakes/forges/seed-repository.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-project-repository-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each([0, 5, 40, 79])("a secret is found wherever it is in commits of 16 MB: %d", async (at) => {
  const root = mkdtempSync(join(folder, "root-"));
  git(root, "init", "--quiet");
  const lines = Array.from({ length: 80 }, (_, n) => `${n} ${"x".repeat(200_000)}`);
  lines[at] += "the-token-0123456789";
  writeFileSync(join(root, "long.txt"), lines.join("\n"));
  git(root, "add", "--all");
  git(root, "commit", "--quiet", "-m", "long");
  const repository = createProjectRepository({
    root,
    folder: join(folder, "own"),
    env: process.env,
    passed: {},
    timeoutMs: 20_000,
    owner: "test",
  });
  const pushed = await repository.push({
    url: "http://127.0.0.1:1/acme/tools.git",
    branch: "work",
    credentials: null,
    commit: git(root, "rev-parse", "HEAD"),
    from: null,
    secrets: ["the-token-0123456789"],
    insecureTls: false,
    signal: new AbortController().signal,
  });
  expect(pushed).toEqual({ status: "secret" });
});
