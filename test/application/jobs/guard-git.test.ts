import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Bench, createBench, said, shell } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a.txt", "1\n");
  bench.git("init", "-q", "-b", "main");
  bench.git("config", "user.name", "Jo");
  bench.git("config", "user.email", "jo@example.com");
  bench.git("add", "-A");
  bench.git("commit", "-qm", "first");
});
afterEach(() => bench.remove());

/** The same repository, entered where people stand in it. */
const PLACES: readonly (readonly [name: string, enter: () => string])[] = [
  ["the top", () => bench.workspace],
  [
    "a subfolder",
    () => {
      mkdirSync(bench.path("sub"));
      return bench.path("sub");
    },
  ],
  [
    "a worktree",
    () => {
      bench.git("worktree", "add", "-q", "../tree");
      return join(bench.folder, "tree");
    },
  ],
];

describe.each(PLACES)("a shell command in %s", (_name, enter) => {
  test("cannot install a hook", async () => {
    const ran = await bench.run(
      [shell("echo '#!/bin/sh' > $(git rev-parse --git-common-dir)/hooks/post-commit")],
      {
        at: enter(),
      },
    );
    expect(said(ran)[0]).toMatch(
      /^git hooks cannot be installed by a job: .*hooks\/post-commit \(restored\)$/,
    );
    expect(existsSync(bench.path(".git/hooks/post-commit"))).toBe(false);
  });

  test("cannot make git run programs", async () => {
    const before = bench.read(".git/config");
    const at = enter();
    const ran = await bench.run([shell("git config core.sshCommand evil; git config alias.x '!evil'")], {
      at,
    });
    expect(said(ran)[0]).toContain(
      "git settings that are not known to be harmless cannot be set by a job: core.sshcommand, alias.x (",
    );
    expect(bench.read(".git/config")).toBe(before);
  });

  test("may name a remote, a user and an alias, and make branches", async () => {
    const ran = await bench.run(
      [
        shell(
          "git remote add origin https://example.com/x; git config user.name Me; git config alias.st status; git branch side",
        ),
      ],
      { at: enter() },
    );
    expect([ran.success, said(ran)]).toEqual([true, [""]]);
    expect(bench.git("remote")).toBe("origin\n");
    expect([bench.git("config", "user.name"), bench.git("branch", "--list", "side")]).toEqual([
      "Me\n",
      "  side\n",
    ]);
  });
});

describe("git's own files", () => {
  test("settings that ran programs before stay as they are", async () => {
    bench.git("config", "core.sshCommand", "mine");
    const ran = await bench.run([shell("git config user.name Me")]);
    expect(ran.success).toBe(true);
    expect(bench.git("config", "core.sshCommand")).toBe("mine\n");
  });

  test("a new repository may have its samples, but no hook", async () => {
    const ran = await bench.run([shell("git init -q nested; echo x > nested/.git/hooks/pre-push")]);
    expect(said(ran)).toEqual([
      "git hooks cannot be installed by a job: nested/.git/hooks/pre-push (restored)",
    ]);
    expect(existsSync(bench.path("nested/.git/HEAD"))).toBe(true);
    expect(existsSync(bench.path("nested/.git/hooks/pre-push"))).toBe(false);
  });

  test("a hook that was there may go, and may not change", async () => {
    bench.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    const changed = await bench.run([shell("echo evil >> .git/hooks/pre-commit")]);
    expect(changed.success).toBe(false);
    expect(readFileSync(bench.path(".git/hooks/pre-commit"), "utf8")).toBe("#!/bin/sh\n");
    expect((await bench.run([shell("rm .git/hooks/pre-commit")])).success).toBe(true);
  });

  test.each(["commit-msg", "post-receive", "sendemail-validate", "post-index-change"])(
    "a sample may not change while the hook %s is a link",
    async (hook) => {
      const sample = ".git/hooks/pre-push.sample";
      bench.write(sample, "#!/bin/sh\n");
      symlinkSync("pre-push.sample", bench.path(`.git/hooks/${hook}`));
      const ran = await bench.run([shell(`echo evil >> ${sample}`)]);
      expect(said(ran)).toEqual([`git hooks cannot be installed by a job: ${sample} (restored)`]);
      expect(bench.read(sample)).toBe("#!/bin/sh\n");
    },
  );
});
