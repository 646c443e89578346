import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PICOCLAW = join(import.meta.dir, "../../bin/picoclaw");

describe("solve, before anything is touched", () => {
  const home = mkdtempSync(join(tmpdir(), "picoclaw-cli-solve-"));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  const run = (args: string[], env: Record<string, string> = {}) => {
    const { status, stdout, stderr } = spawnSync(PICOCLAW, ["solve", ...args], {
      cwd: home,
      encoding: "utf8",
      env: { PATH: process.env.PATH ?? "", HOME: home, PICOCLAW_LOCALE: "en", ...env },
    });
    return { status, text: stdout + stderr };
  };
  const token = { GITHUB_PERSONAL_ACCESS_TOKEN: "ghp-not-a-real-token" };
  const url = "https://github.com/acme/calc/issues/1";

  test("an address is needed, of an issue, PR or MR: exit 2", () => {
    expect(run([])).toMatchObject({ status: 2, text: expect.stringContaining("picoclaw solve URL") });
    expect(run(["https://example.org/x"])).toMatchObject({
      status: 2,
      text: expect.stringContaining("Not the address"),
    });
    expect(run([url, "--worker", "copilot"], token)).toMatchObject({
      status: 2,
      text: expect.stringContaining("codex-cli"),
    });
  });
  test("without a token it names the variable: exit 3", () => {
    expect(run([url])).toMatchObject({
      status: 3,
      text: expect.stringContaining("GITHUB_PERSONAL_ACCESS_TOKEN"),
    });
  });
  test("without Docker it says what helps, also where the forge does not answer: exit 3", () => {
    const { status, text } = run([url], {
      ...token,
      DOCKER_HOST: "unix:///nonexistent.sock",
      PICOCLAW_FORGES_GITHUB_BASE_URL: "http://127.0.0.1:9",
    });
    expect([status, text.includes("Start Docker")]).toEqual([3, true]);
    expect(text).not.toContain(token.GITHUB_PERSONAL_ACCESS_TOKEN);
    expect(readdirSync(home)).not.toContain("publish");
  });
  test("as JSON it is one document", () => {
    const { status, stdout } = spawnSync(PICOCLAW, ["solve", url, "--json"], {
      cwd: home,
      encoding: "utf8",
      env: { PATH: process.env.PATH ?? "", HOME: home },
    });
    expect([status, Object.keys(JSON.parse(stdout)).length > 0]).toEqual([3, true]);
  });
});
