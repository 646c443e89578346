/** Files that a job leaves in a git directory run later, outside of any sandbox, when the user calls git. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { createTarget, type Target } from "./hostile-kit.ts";

let target: Target;
beforeEach(() => {
  target = createTarget();
  target.write("a", "a\n");
  const git = ["-c", "user.name=t", "-c", "user.email=t@t"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    [...git, "commit", "-qm", "one"],
  ])
    spawnSync("git", args, { cwd: target.workspace });
  // Some users switch a sample on so; the other link leads nowhere yet.
  rmSync(join(target.workspace, ".git/hooks/post-checkout"), { force: true });
  symlinkSync("pre-commit.sample", join(target.workspace, ".git/hooks/post-index-change"));
  writeFileSync(join(target.workspace, ".git/hooks/pre-commit.sample"), "#!/bin/sh\nexit 0\n", {
    mode: 0o755,
  });
  symlinkSync("new.sample", join(target.workspace, ".git/hooks/post-checkout"));
});
afterEach(() => target.remove());

const EVIL =
  "printf '#!/bin/sh\\necho bad > $OUT/ran\\n' | sed \"s#.OUT#$OUT#\" > evil.sh; chmod +x evil.sh; mkdir -p eh; cp evil.sh eh/pre-commit; cp evil.sh eh/post-checkout; cp evil.sh eh/post-index-change";
const here = process.platform === "linux" && requirePart("bwrap") && requirePart("git");

describe.if(here).each(["overlay", "copy"] as const)(
  "nothing of a job (%s) runs in the user's next git command by",
  (kind) => {
    test.each([
      ["a hook", "cp evil.sh .git/hooks/pre-commit"],
      ["a hook that is a link", "ln -s ../../evil.sh .git/hooks/pre-commit"],
      ["a hook that is a hard link", "ln evil.sh .git/hooks/pre-commit"],
      ["a hooks folder that is a link", "rm -rf .git/hooks; ln -s ../eh .git/hooks"],
      [
        "a hooks folder that was renamed into place",
        "rm -rf .git/hooks; cp -a eh .git/new; mv .git/new .git/hooks",
      ],
      ["a setting", "git config core.hooksPath eh"],
      [
        "a setting in an included file",
        "git config include.path ../inc; git config -f inc core.hooksPath $PWD/eh",
      ],
      [
        "a file of settings that is a link",
        "cp .git/config cfg; git config -f cfg core.hooksPath $PWD/eh; rm .git/config; ln -s ../cfg .git/config",
      ],
      [
        "another common directory",
        "cp -a .git common; git config -f common/config core.hooksPath $PWD/eh; echo ../common > .git/commondir",
      ],
      ["another git directory", "mv .git real; cp -a eh/. real/hooks/; echo 'gitdir: real' > .git"],
      ["a git directory that is a link", "mv .git real; cp -a eh/. real/hooks/; ln -s real .git"],
      [
        "an alias that writes the settings",
        'printf "[core]\\n fsmonitor=./evil.sh\\n" > fs; git config alias.st "diff --no-index --output=.git/config /dev/null fs"; git config alias.lg "log -1 --format=%B --output=.git/config"',
      ],
      [
        "a sample of a hook that a hook is a link to",
        "cp evil.sh .git/hooks/pre-commit.sample; cp evil.sh .git/hooks/new.sample",
      ],
      ["a file system monitor", "git config core.fsmonitor ./evil.sh"],
      [
        "a process that stays behind and acts when it is ended",
        "sh -c 'trap \"cp evil.sh .git/hooks/pre-commit; git config core.fsmonitor ./evil.sh; exit\" TERM; : > up; while :; do sleep 0.02; done' > /dev/null 2>&1 & while ! test -e up; do sleep 0.02; done",
      ],
    ])("%s", (_, line) => {
      const env = { OUT: target.outside, PICOCLAW_WORKER_ENV_PASS: "OUT", PICOCLAW_WORKER_TRANSACTION: kind };
      target.apply([shell(`${EVIL}; ${line}; true`)], [], { env });
      for (const args of [
        ["st"],
        ["lg"],
        ["status"],
        ["add", "-A"],
        ["commit", "-qm", "two"],
        ["checkout", "-q", "-b", "x"],
      ])
        spawnSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], { cwd: target.workspace });
      expect(existsSync(join(target.outside, "ran"))).toBe(false);
    });
  },
);

describe.if(here).each(["overlay", "copy"] as const)(
  "ordinary work with git is not hindered (%s):",
  (kind) => {
    test.each([
      ["a new repository", "git init -q sub", "sub/.git/HEAD"],
      ["a clone", "git clone -q --no-hardlinks . c", "c/.git/HEAD"],
      ["a worktree", "git worktree add -q wt -b wt", "wt/.git"],
      [
        "a submodule",
        "git clone -q --no-hardlinks . s && git -c protocol.file.allow=always submodule add -q file://$PWD/s m",
        "m/.git",
      ],
      ["a repository that goes and comes again", "rm -rf .git; git init -q", ".git/HEAD"],
      [
        "branches whose names mean something elsewhere",
        "git branch config && git branch hooks/x && git branch todo && git branch commondir && git tag HEAD2",
        ".git/refs/heads/hooks/x",
      ],
      ["a remote", "git remote add o https://example.org/x.git", ".git/config"],
    ])("%s", (_, line, makes) => {
      const ran = target.apply([shell(line)], ["--json"], { env: { PICOCLAW_WORKER_TRANSACTION: kind } });
      expect({ code: ran.code, said: ran.code === 0 ? "" : ran.out }).toEqual({ code: 0, said: "" });
      expect(existsSync(join(target.workspace, makes))).toBe(true);
    });
  },
);

describe.if(requirePart("git"))("files that make a folder look like a repository of its own", () => {
  test("are not taken for one by the git that PicoClaw runs itself", () => {
    const target = createTarget();
    try {
      const marker = join(target.outside, "ran");
      const config = `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch ${marker}; false"\n`;
      for (const [path, text] of [
        ["HEAD", "ref: refs/heads/main\n"],
        ["config", config],
        ["objects/x", ""],
        ["refs/x", ""],
      ] as const)
        target.write(path, text);
      const tool = target.run(["tool", "git_status_summary", "{}"]);
      expect(tool.out).toContain("not in a git repository");
      const add = { type: "git_operation", action: "add", target: "." };
      const env = { PICOCLAW_WORKER_TRANSACTION: "none", PICOCLAW_WORKER_CONFINE: "off" };
      expect(target.apply([add], [], { env }).out).toContain("cannot use bare repository");
      expect(existsSync(marker)).toBe(false);
    } finally {
      target.remove();
    }
  });
});

describe.if(here)("files that were judged apart become no hook of a git directory together, by", () => {
  const MAKE_BARE = "git init -q --bare st; rm -rf st/hooks";
  const ADD_HOOK =
    "mkdir -p st/hooks; echo '#!/bin/sh' > st/hooks/post-receive; chmod +x st/hooks/post-receive";
  const job = (line: string, args: readonly string[] = []) => {
    const ran = target.apply([shell(line)], ["--json", ...args]);
    const { job_id } = target.json(ran) as { job_id: string };
    return job_id;
  };
  const has = (path: string) => existsSync(join(target.workspace, path));

  test("an undo that brings HEAD back", () => {
    job(MAKE_BARE);
    const headless = job("rm st/HEAD");
    job(ADD_HOOK);
    const undone = target.run(["undo", headless, "--force"]);
    expect([undone.code, has("st/HEAD"), has("st/hooks/post-receive")]).toEqual([3, false, true]);
    expect(undone.err).toContain("st/hooks/post-receive");
  });

  test("an undo that brings a hook back", () => {
    job(`mkdir st; ${ADD_HOOK}`);
    const hookless = job("rm -r st/hooks");
    job("git init -q --bare new; rm -rf new/hooks; cp -r new/. st/; rm -r new");
    expect([target.run(["undo", hookless, "--force"]).code, has("st/HEAD"), has("st/hooks")]).toEqual([
      3,
      true,
      false,
    ]);
  });

  test("a redo", () => {
    const hooked = job(`mkdir st; ${ADD_HOOK}`);
    expect(target.run(["undo", hooked]).code).toBe(0);
    job(MAKE_BARE);
    expect([target.run(["redo", hooked, "--force"]).code, has("st/hooks")]).toEqual([3, false]);
  });

  test("two previews", () => {
    target.write("st/x", "");
    const hook = job(ADD_HOOK, ["--preview"]);
    const bare = job(MAKE_BARE, ["--preview"]);
    expect(target.run(["apply", "--job", bare]).code).toBe(0);
    expect([target.run(["apply", "--job", hook]).code, has("st/hooks")]).toEqual([1, false]);
  });

  test("while a user's repository is restored with its own hooks, and jobs in it can be undone", () => {
    spawnSync("git", ["init", "-q", "--bare", "st"], { cwd: target.workspace });
    target.write("st/hooks/post-receive", "#!/bin/sh\n");
    const settings = readFileSync(join(target.workspace, "st/config"), "utf8");
    target.write("st/config", `${settings}[core]\n\tpager = mine\n`);
    const set = job("git -C st config user.name me");
    const deleted = job("rm -r st");
    expect([target.run(["undo", deleted]).code, has("st/hooks/post-receive")]).toEqual([0, true]);
    expect(target.run(["undo", set]).code).toBe(0);
    const hookless = job("rm st/hooks/post-receive");
    expect([target.run(["undo", hookless]).code, has("st/hooks/post-receive")]).toEqual([0, true]);
  });
});
