import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync } from "node:fs";
import { type Bench, createBench, edit, gitOperation, said, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a.txt", "1\n");
});
afterEach(() => bench.remove());

function repository(): void {
  bench.git("init", "-q", "-b", "main");
  bench.git("config", "user.name", "Jo");
  bench.git("config", "user.email", "jo@example.com");
  bench.git("add", "-A");
  bench.git("commit", "-qm", "first");
}

describe("git_operation", () => {
  test("add, commit, reset and checkout do what git does", async () => {
    repository();
    const ran = await bench.run([
      edit("update", "a.txt", "2\n"),
      edit("create", "with space.txt", "x"),
      gitOperation("add", "a.txt"),
      gitOperation("add", "with space.txt"),
      gitOperation("commit", "", "second"),
      edit("update", "a.txt", "3\n"),
      gitOperation("add", "-A"),
      gitOperation("reset", "-q HEAD a.txt"),
      gitOperation("checkout", "-- a.txt"),
      gitOperation("checkout", "-q -b side"),
    ]);
    expect(ran.commands.filter(({ success }) => !success)).toEqual([]);
    expect([bench.git("log", "--format=%s|%an"), bench.git("branch", "--show-current")]).toEqual([
      "second|Jo\nfirst|Jo\n",
      "side\n",
    ]);
    expect([bench.read("a.txt"), bench.git("status", "--short")]).toEqual(["2\n", ""]);
  });

  test("an empty message is the Worker's", async () => {
    repository();
    await bench.run([edit("update", "a.txt", "2\n"), gitOperation("add", "."), gitOperation("commit")]);
    expect(bench.git("log", "-1", "--format=%s")).toBe("Auto-commit by Worker\n");
  });

  test("arguments are never a shell's", async () => {
    repository();
    const ran = await bench.run([
      gitOperation("add", "$(touch pwned)"),
      gitOperation("checkout", "main; touch pwned"),
      gitOperation("commit", "", "`touch pwned`"),
    ]);
    expect(ran.success).toBe(false);
    expect(existsSync(bench.path("pwned"))).toBe(false);
  });

  test("without an identity it commits in PicoClaw's name and says so", async () => {
    bench.git("init", "-q");
    const ran = await bench.run([gitOperation("add", "."), gitOperation("commit", "", "m")]);
    expect(ran.commands[1]).toMatchObject({
      success: true,
      notes: [{ code: "identity-fallback" }],
    });
    expect(bench.git("log", "--format=%an <%ae>")).toBe("PicoClaw <picoclaw@localhost>\n");
  });

  test("a signature that would need a prompt is left out, and said", async () => {
    repository();
    bench.git("config", "commit.gpgsign", "true");
    bench.git("config", "gpg.program", "/bin/false");
    const ran = await bench.run([
      edit("update", "a.txt", "2\n"),
      gitOperation("add", "."),
      gitOperation("commit", "", "m"),
    ]);
    expect(ran.commands[2]).toMatchObject({
      success: true,
      notes: [{ code: "signing-skipped" }],
    });
  });

  test("the repository's own hooks run for a commit that the patch asks for", async () => {
    repository();
    bench.write(".git/hooks/pre-commit", "#!/bin/sh\necho from the hook >&2\nexit 1\n");
    chmodSync(bench.path(".git/hooks/pre-commit"), 0o755);
    const ran = await bench.run([
      edit("update", "a.txt", "2\n"),
      gitOperation("add", "."),
      gitOperation("commit", "", "m"),
    ]);
    expect(said(ran)[2]).toBe("git command failed: exit status 1 (output: from the hook\n)");
  });

  test.each([
    ["an unknown action", gitOperation("push", "origin"), "unknown git_operation action: push"],
    ["a NUL", gitOperation("commit", "", "a\0b"), "git argument contains a NUL byte"],
  ])("%s fails", async (_name, command, text) => {
    expect(said(await bench.run([command]))).toEqual([text]);
  });

  test("outside a repository the result says so", async () => {
    const result = await bench.run([gitOperation("add", ".")]);
    expect(result.commands[0]).toMatchObject({ success: false, reason: { code: "not-a-repository" } });
  });

  test("without git the result says so", async () => {
    const result = await bench.run([gitOperation("add", ".")], { settings: { PATH: "/nonexistent" } });
    expect(result.commands[0]).toMatchObject({ success: false, reason: { code: "git-missing" } });
  });

  test("a timeout names its own limit", async () => {
    repository();
    bench.write(".git/hooks/pre-commit", "#!/bin/sh\nsleep 60\n");
    chmodSync(bench.path(".git/hooks/pre-commit"), 0o755);
    const ran = await bench.run(
      [
        edit("update", "a.txt", "2\n"),
        gitOperation("add", "."),
        gitOperation("commit", "", "m"),
        shell("true"),
      ],
      {
        settings: { PICOCLAW_WORKER_GIT_TIMEOUT: "1" },
      },
    );
    expect(said(ran)[2]).toBe("git command failed: timed out after 1 seconds");
  });
});
