import { describe, expect, test } from "bun:test";
import { createProtection, inDependencyFolder } from "../../../src/domain/policy/protection.ts";

const protectionOf = (caseInsensitive: boolean, patterns = [".env*", "*credentials*", "*.key", "*.pem"]) =>
  createProtection({
    patterns,
    action: "error",
    caseInsensitive,
    ownPaths: ["state", "a/jobs"],
  });

const PROTECTED: readonly (readonly [path: string, pattern: string | null])[] = [
  [".env", ".env*"],
  [".env.production", ".env*"],
  ["deep/down/.env", ".env*"],
  [".env.d/inside", ".env*"],
  [".env.example", null],
  ["deep/.env.sample", null],
  [".env.template", null],
  [".env.dist", null],
  [".env.production.example", null],
  [".env.examples", ".env*"],
  [".env.example.local", ".env*"],
  [".env.example/inside", ".env*"],
  [".env.d/.env.example", ".env*"],
  ["credentials.example", "*credentials*"],
  ["my-credentials.json", "*credentials*"],
  ["x/credentials/y", "*credentials*"],
  ["server.key", "*.key"],
  ["a/b.pem", "*.pem"],
  ["env", null],
  ["keyboard.txt", null],
  ["key", null],
  ["a.keys", null],
];

describe("protected patterns", () => {
  test.each(PROTECTED)("%s is protected by %p", (path, pattern) => {
    expect(protectionOf(false).protects(path)).toBe(pattern);
  });

  test("a template is protected by a pattern that names it and nothing else", () => {
    const { protects } = protectionOf(false, [".env*", "**/.env.*", "app/.env.sample"]);
    expect(["app/.env.sample", "app/.env.dist", ".env.sample"].map(protects)).toEqual([
      "app/.env.sample",
      null,
      null,
    ]);
    expect(protectionOf(false, [".env.example"]).protects("x/.env.example")).toBe(".env.example");
    expect(protectionOf(true).protects(".ENV.Example")).toBeNull();
    expect(protectionOf(true).protects(".ENV.Local")).toBe(".env*");
  });

  test("a protected name is one in any case, PicoClaw's own only where the file system does not mind it", () => {
    expect(protectionOf(false).protects("SERVER.KEY")).toBe("*.key");
    expect(protectionOf(true).protects("SERVER.KEY")).toBe("*.key");
    expect(protectionOf(true).forbids("PicoClaw.YAML")).toBe("picoclaw");
    expect(["State/x", "A/Jobs", ".PicoClaw/x"].map(protectionOf(true).forbids)).toEqual(
      Array(3).fill("picoclaw"),
    );
    expect(["State/x", "A/Jobs", ".PicoClaw/x"].map(protectionOf(false).forbids)).toEqual(
      Array(3).fill(null),
    );
  });

  test("a pattern with a slash is tried on the whole path", () => {
    const { protects } = protectionOf(false, ["infra/**/*.tf"]);
    expect([protects("infra/a/b.tf"), protects("other/b.tf")]).toEqual(["infra/**/*.tf", null]);
  });
});

describe("paths that must not be edited", () => {
  test.each([
    [".git/config", "git"],
    [".GiT/config", "git"],
    ["a/.git", "git"],
    [".git./x", "git"],
    ["GIT~1/x", "git"],
    [".g\u200dit/x", "git"],
    ["picoclaw.yaml", "picoclaw"],
    [".picoclaw/x", "picoclaw"],
    ["state", "picoclaw"],
    ["state/x", "picoclaw"],
    ["a/jobs/x", "picoclaw"],
    ["stateful", null],
    ["sub/picoclaw.yaml", null],
    [".gitignore", null],
    ["x.git/config", null],
  ] as const)("%s: %p", (path, why) => {
    expect(protectionOf(false).forbids(path)).toBe(why);
  });
});

test("a dependency folder is one above the file", () => {
  expect(
    ["node_modules/x.key", "a/vendor/b/c.pem", "node_modules", "target.key", "src/x.key"].map(
      inDependencyFolder,
    ),
  ).toEqual([true, true, false, false, false]);
});
