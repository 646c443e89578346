import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-formula-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const PLATFORMS = ["linux-x64", "linux-aarch64", "darwin-x64", "darwin-aarch64"];
const script = join(import.meta.dir, "../../scripts/formula.ts");

function make(platforms: readonly string[], repository = "https://github.com/acme/picoclaw") {
  const sums = join(folder, "SHA256SUMS");
  const lines = platforms.map((name, at) => `${String(at).repeat(64)}  picoclaw-${version}-${name}\n`);
  writeFileSync(sums, lines.join(""));
  return spawnSync(process.execPath, ["--no-env-file", script, sums, repository], { encoding: "utf8" });
}

test("the formula has an address and the right sum for each platform, and nothing is left open", () => {
  const { status, stdout } = make(PLATFORMS);
  expect(status).toBe(0);
  for (const [at, name] of PLATFORMS.entries())
    expect(stdout).toContain(
      `url "https://github.com/acme/picoclaw/releases/download/v${version}/picoclaw-${version}-${name}"\n      sha256 "${String(at).repeat(64)}"`,
    );
  expect(stdout).not.toMatch(/@[A-Z]/);
});

test("a release without one of the files makes no formula", () => {
  expect(make(PLATFORMS.slice(1))).toMatchObject({ stdout: "", status: 1 });
  expect(make(PLATFORMS, "not an address").status).toBe(2);
});
