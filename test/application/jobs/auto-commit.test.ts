import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Bench, createBench, edit, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a.txt", "1\n");
});
afterEach(() => bench.remove());

const COMMIT = { autoCommit: true } as const;
const PATCH = [edit("append", "a.txt", "2\n")];

function repository(options: { readonly commit: boolean } = { commit: true }): void {
  bench.git("init", "-q", "-b", "main");
  bench.git("config", "user.name", "Jo");
  bench.git("config", "user.email", "jo@example.com");
  if (!options.commit) return;
  bench.git("add", "-A");
  bench.git("commit", "-qm", "first");
}

const log = () => bench.git("log", "--format=%s").trimEnd().split("\n");
const filesOf = (commit: string) =>
  bench.git("show", "--name-only", "--format=", commit).trimEnd().split("\n").filter(Boolean);

describe("auto-commit", () => {
  test("commits the user's work before and the job's after, with prefix and summary", async () => {
    repository();
    bench.write("mine.txt", "uncommitted");
    const result = await bench.run(PATCH, {
      ...COMMIT,
      plan: "Add a line to a.txt, because it is needed there now, urgently\nmore",
    });
    expect(log()).toEqual([
      "[Worker Auto-Commit] After patch: Add a line to a.txt, because it is needed there no",
      "[Worker Auto-Commit] Before patch",
      "first",
    ]);
    expect([filesOf("HEAD"), filesOf("HEAD~1")]).toEqual([["a.txt"], ["mine.txt"]]);
    expect(result.gitCommit).toBe(bench.git("rev-parse", "HEAD").trim());
    expect(bench.git("status", "--short")).toBe("");
  });

  test("the summary is the patch's first line, cut by characters, and the prefix is configurable", async () => {
    repository();
    await bench.run(`${"文".repeat(60)}\n\n\`\`\`txt:b.txt\nx\n\`\`\`\n`, {
      ...COMMIT,
      settings: { PICOCLAW_WORKER_COMMIT_PREFIX: "[bot]" },
    });
    expect(log()[0]).toBe(`[bot] After patch: ${"文".repeat(50)}`);
  });

  test("a clean tree is fine: nothing is committed before, and nothing after when nothing changed", async () => {
    repository();
    const result = await bench.run([shell("true")], COMMIT);
    expect([result.success, result.gitCommit, log()]).toEqual([true, undefined, ["first"]]);
  });

  test("after a job without a successful command nothing is committed", async () => {
    repository();
    const result = await bench.run([shell("echo x > made; false")], COMMIT);
    expect([result.executedCmds, log(), bench.read("made")]).toEqual([0, ["first"], "x\n"]);
  });

  test("protected files are never captured: changed, new, in a folder, or staged already", async () => {
    bench.write("old.key", "1");
    repository();
    bench.write("old.key", "2");
    bench.write("new.pem", "1");
    bench.write(".env.d/inner", "1");
    bench.write("deep/my-credentials.txt", "1");
    bench.write("staged.key", "1");
    bench.git("add", "-f", "staged.key");
    bench.write("free.txt", "1");
    await bench.run(PATCH, COMMIT);
    expect([filesOf("HEAD"), filesOf("HEAD~1")]).toEqual([["a.txt"], ["free.txt"]]);
    expect(bench.git("status", "--short", "-uall").trimEnd().split("\n").sort()).toEqual([
      " M old.key",
      "?? .env.d/inner",
      "?? deep/my-credentials.txt",
      "?? new.pem",
      "A  staged.key",
    ]);
  });

  test("patterns that git's own globs do not know protect as well", async () => {
    repository();
    bench.write("x.lock", "1");
    bench.write("y.sum", "1");
    await bench.run(PATCH, {
      ...COMMIT,
      settings: { PICOCLAW_WORKER_PROTECTED_PATTERNS: '["*.{lock,sum}"]' },
    });
    expect([log().length, filesOf("HEAD")]).toEqual([2, ["a.txt"]]);
  });

  test("no hook of the user runs, and with run_hooks they do", async () => {
    repository();
    for (const hook of [
      "pre-commit",
      "commit-msg",
      "post-commit",
      "post-index-change",
      "reference-transaction",
    ]) {
      bench.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${bench.folder}/ran\nexit 1\n`);
      chmodSync(bench.path(`.git/hooks/${hook}`), 0o755);
    }
    const result = await bench.run(PATCH, COMMIT);
    expect([typeof result.gitCommit, existsSync(`${bench.folder}/ran`)]).toEqual(["string", false]);
    bench.write("mine.txt", "1");
    const refused = await bench.execute(PATCH, {
      ...COMMIT,
      settings: { PICOCLAW_WORKER_RUN_HOOKS: "true" },
    });
    expect([refused.status, existsSync(`${bench.folder}/ran`)]).toEqual(["refused", true]);
    expect(bench.read("a.txt")).toBe("1\n2\n");
  });

  test("commits are unsigned, and in PicoClaw's name if git has no identity; both are said once", async () => {
    bench.git("init", "-q");
    bench.git("config", "commit.gpgsign", "true");
    bench.git("config", "gpg.program", "/bin/false");
    const result = await bench.run(PATCH, COMMIT);
    expect(bench.git("log", "--format=%an %G?")).toBe("PicoClaw N\nPicoClaw N\n");
    expect(result.notes.slice(1)).toEqual([{ code: "identity-fallback" }, { code: "signing-skipped" }]);
  });

  test("works in a repository without a commit, and undo returns to that", async () => {
    repository({ commit: false });
    const result = await bench.run(PATCH, COMMIT);
    expect(log()).toHaveLength(2);
    const worker = await bench.open();
    expect(await worker.takeBack({ direction: "undo", name: result.jobId, force: false })).toMatchObject({
      status: "done",
    });
    expect(() => bench.git("rev-parse", "HEAD")).toThrow();
    expect([bench.read("a.txt"), bench.git("status", "--short")]).toEqual(["1\n", "?? a.txt\n"]);
  });

  test("from a subfolder it commits that folder only", async () => {
    mkdirSync(bench.path("sub"));
    bench.write("sub/s.key", "1");
    repository();
    bench.write("top.txt", "1");
    bench.write("sub/s.key", "2");
    bench.write("sub/mine", "1");
    await bench.run([edit("create", "new", "x")], { ...COMMIT, at: bench.path("sub") });
    expect([filesOf("HEAD"), filesOf("HEAD~1"), bench.git("status", "--short")]).toEqual([
      ["sub/new"],
      ["sub/mine"],
      " M sub/s.key\n?? top.txt\n",
    ]);
  });
});

describe("auto-commit that cannot be", () => {
  test("outside a repository nothing runs", async () => {
    const execution = await bench.execute([...PATCH, shell("touch ran")], COMMIT);
    expect(execution).toMatchObject({
      status: "refused",
      why: { refusal: { code: "auto-commit", cause: "not-a-repository" } },
    });
    expect([bench.read("a.txt"), existsSync(bench.path("ran"))]).toEqual(["1\n", false]);
  });

  test("without git nothing runs", async () => {
    const execution = await bench.execute(PATCH, { ...COMMIT, settings: { PATH: "/nonexistent" } });
    expect(execution).toMatchObject({
      status: "refused",
      why: { refusal: { code: "auto-commit", cause: "git-missing" } },
    });
  });

  test("in the middle of a merge nothing runs, and git's reason is given", async () => {
    repository();
    bench.git("checkout", "-qb", "side");
    bench.write("a.txt", "side\n");
    bench.git("commit", "-qam", "side");
    bench.git("checkout", "-q", "main");
    bench.write("a.txt", "main\n");
    bench.git("commit", "-qam", "main");
    expect(() => bench.git("merge", "-q", "side")).toThrow();
    const before = bench.read("a.txt");
    expect(await bench.execute([shell("touch ran")], COMMIT)).toMatchObject({
      status: "refused",
      why: { refusal: { cause: "failed" } },
    });
    expect([bench.read("a.txt"), existsSync(bench.path(".git/MERGE_HEAD"))]).toEqual([before, true]);
  });

  test("after the job it is a warning, and the changes are applied", async () => {
    repository();
    const result = await bench.run([...PATCH, shell("touch .git/index.lock")], COMMIT);
    expect([result.success, bench.read("a.txt")]).toEqual([true, "1\n2\n"]);
    expect(result.notes).toContainEqual({
      code: "auto-commit-failed",
      error: expect.stringContaining("git add failed"),
    });
  });

  test("with stop_on_error a failure restores HEAD, index and uncommitted work exactly", async () => {
    repository();
    bench.write("a.txt", "staged\n");
    bench.git("add", "a.txt");
    bench.write("a.txt", "unstaged\n");
    bench.write("untracked", "mine");
    const state = () => [
      bench.git("rev-parse", "HEAD"),
      bench.git("status", "--short"),
      bench.git("diff"),
      bench.git("diff", "--cached"),
    ];
    const before = state();
    const ran = await bench.run(
      [edit("update", "a.txt", "job\n"), shell("git reset -q --hard; rm untracked; false")],
      {
        ...COMMIT,
        stopOnError: true,
      },
    );
    expect(ran.outcome).toBe("rolled-back");
    const logged = readFileSync(join(bench.folder, "home/logs/picoclaw.log"), "utf8");
    expect(logged).toContain(`"rollback_commit":"${before[0]?.trim()}"`);
    expect([state(), bench.read("a.txt"), bench.read("untracked")]).toEqual([before, "unstaged\n", "mine"]);
  });
});
