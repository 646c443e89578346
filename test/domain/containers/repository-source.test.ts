import { describe, expect, test } from "bun:test";
import { credentialFor, parseRepository } from "../../../src/domain/containers/clone-plan.ts";

const remote = (given: string) => {
  const parsed = parseRepository(given);
  if (!parsed.ok || parsed.source.kind !== "remote") throw new Error(`not remote: ${given}`);
  return parsed.source;
};

describe("what people call a repository", () => {
  const cases: readonly [given: string, kind: string, url: string, host?: string][] = [
    ["https://github.com/o/r.git", "https", "https://github.com/o/r.git", "github.com"],
    ["https://GitHub.com/o/r", "https", "https://github.com/o/r", "github.com"],
    ["http://git.local:8080/o/r.git", "http", "http://git.local:8080/o/r.git", "git.local:8080"],
    ["https://user:p%40ss@host.example/r.git", "https", "https://host.example/r.git", "host.example"],
    ["https://tok123@host.example/r.git", "https", "https://host.example/r.git", "host.example"],
    ["git@github.com:o/r.git", "ssh", "git@github.com:o/r.git", "github.com"],
    ["ssh://git@host:2222/o/r.git", "ssh", "ssh://git@host:2222/o/r.git", "host:2222"],
    ["git://host/r", "git", "git://host/r", "host"],
    ["/srv/repo", "local", "/srv/repo"],
    ["./a:b", "local", "./a:b"],
    ["repo", "local", "repo"],
    ["C:\\repo", "local", "C:\\repo"],
    ["file:///srv/my%20repo", "local", "/srv/my repo"],
  ];
  for (const [given, kind, url, host] of cases)
    test(given, () => {
      const parsed = parseRepository(given);
      if (!parsed.ok) throw new Error(parsed.reason);
      const { source } = parsed;
      if (source.kind === "local") expect(["local", source.path]).toEqual([kind, url]);
      else expect([source.protocol, source.url, source.host]).toEqual([kind, url, host as string] as never);
    });

  const bad: readonly [given: string, reason: string][] = [
    ["", "empty"],
    ["  ", "empty"],
    ["--upload-pack=touch /tmp/x", "option"],
    ["ext::sh -c touch% /tmp/x", "protocol"],
    ["ftp://host/r", "protocol"],
    ["https://", "malformed"],
    ["https://host/a\nb", "malformed"],
  ];
  for (const [given, reason] of bad)
    test(`${JSON.stringify(given)} is refused: ${reason}`, () => {
      expect(parseRepository(given)).toEqual({ ok: false, reason } as never);
    });

  test("a credential in the address is taken out of it", () => {
    expect(remote("https://user:p%40ss@h.example/r").embedded).toEqual({
      username: "user",
      password: "p@ss",
    });
    expect(remote("https://tok123@h.example/r").embedded).toEqual({
      username: "x-access-token",
      password: "tok123",
    });
  });
});

describe("a token is sent to its own forge only", () => {
  const forges = {
    github: { token: "gh", baseUrl: null },
    gitlab: { token: "gl", baseUrl: "https://git.example:8443" },
  };
  const cases: readonly [url: string, user: string | null][] = [
    ["https://github.com/o/r", "x-access-token"],
    ["https://git.example:8443/o/r", "oauth2"],
    ["https://git.example/o/r", null],
    ["https://gitlab.com/o/r", null],
    ["https://github.com.evil.example/o/r", null],
    ["https://evil.example/github.com/r", null],
    ["http://github.com/o/r", null],
    ["git@github.com:o/r", null],
  ];
  for (const [url, user] of cases)
    test(`${url}: ${user ?? "none"}`, () => {
      expect(credentialFor(remote(url), forges)?.username ?? null).toBe(user);
    });

  test("what the address brought wins; a folder has none", () => {
    expect(credentialFor(remote("https://me:mine@github.com/o/r"), forges)).toEqual({
      username: "me",
      password: "mine",
    });
    expect(credentialFor({ kind: "local", path: "/x" }, forges)).toBeNull();
  });

  test("a forge that is configured with plain http gets its token over plain http", () => {
    const plain = { ...forges, gitlab: { token: "gl", baseUrl: "http://git.local:3000" } };
    expect(credentialFor(remote("http://git.local:3000/o/r"), plain)?.username).toBe("oauth2");
  });

  test("GitHub's API host counts as github.com", () => {
    const api = { ...forges, github: { token: "gh", baseUrl: "https://api.github.com" } };
    expect(credentialFor(remote("https://github.com/o/r"), api)?.password).toBe("gh");
  });
});
