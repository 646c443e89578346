/** The result of a job is judged last, when nothing of it runs any more, and by its content. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { getXattr, setXattrFd } from "../../src/infrastructure/platform/xattr.ts";
import { shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { createTarget, type Target } from "./hostile-kit.ts";

const here = process.platform === "linux" && requirePart("bwrap") && requirePart("git");
const WHO = ["-c", "user.name=t", "-c", "user.email=t@t"];

let target: Target;
beforeEach(() => {
  target = createTarget();
});
afterEach(() => target.remove());

function git(...args: string[]): string {
  const ran = spawnSync("git", [...WHO, ...args], {
    cwd: target.workspace,
    encoding: "utf8",
    timeout: 120_000,
  });
  return `${ran.stdout}${ran.stderr}`;
}

function repository(...init: string[]): void {
  target.write("a", "a\n");
  git("init", "-q", "-b", "main", ...init);
  git("add", ".");
  git("commit", "-qm", "one");
}

/** A program in the workspace that leaves a mark outside when it is run there. */
function plantEvil(): void {
  target.write("evil.sh", `#!/bin/sh\necho ran >> ${target.outside}/ran\nexit 1\n`);
  chmodSync(join(target.workspace, "evil.sh"), 0o755);
}

const create = (path: string, content: string) => ({
  type: "file_edit",
  action: "create",
  target: path,
  content,
});
const ran = () => existsSync(join(target.outside, "ran"));
const mode = (path: string) => statSync(join(target.workspace, path)).mode & 0o7777;

describe.if(here).each(["overlay", "copy"] as const)("what a job (%s) leaves", (kind) => {
  const env = { PICOCLAW_WORKER_TRANSACTION: kind };

  test("by a process that plants again every restored file", () => {
    repository();
    plantEvil();
    target.write(".env", "KEY=mine\n");
    const planter =
      "while :; do cp evil.sh .git/hooks/pre-commit; echo KEY=evil > .env; git config core.fsmonitor ./evil.sh; done";
    const line = `(setsid sh -c '${planter}' > /dev/null 2>&1 &); sleep 0.3; : > done`;
    const job = target.apply([shell(line), shell("sleep 0.1")], ["--json"], { env });
    expect(job.code).toBe(1);
    expect(existsSync(join(target.workspace, ".git/hooks/pre-commit"))).toBe(false);
    expect(target.read(".env")).toBe("KEY=mine\n");
    expect(target.read(".git/config")).not.toContain("fsmonitor");
    expect(existsSync(join(target.workspace, "done"))).toBe(true);
  });

  test.each([
    [
      "a folder that is a git directory by what it holds",
      "mkdir -p docs/gd/objects docs/gd/refs; echo ref: refs/heads/main > docs/gd/HEAD; git config -f docs/gd/config core.bare false; git config -f docs/gd/config core.worktree $PWD; git config -f docs/gd/config alias.st !$PWD/evil.sh",
      ["-C", "docs/gd", "st"],
    ],
    [
      "a bare repository with a hook",
      "git init -q --bare b.git; cp evil.sh b.git/hooks/pre-receive; cp evil.sh b.git/hooks/update",
      ["push", "-q", "b.git", "main"],
    ],
    [
      "a worktree of a bare repository",
      "git init -q --bare b; git push -q b main; git -C b symbolic-ref HEAD refs/heads/main; git -C b worktree add -q ../w; git -C b config alias.st !$PWD/evil.sh",
      ["-C", "b", "st"],
    ],
    [
      "a transport that runs a command",
      "git config protocol.allow always; git config branch.main.remote 'ext::sh -c $PWD/evil.sh% x'; git config branch.main.merge refs/heads/main",
      ["fetch"],
    ],
    ["an alias with a setting", "git config alias.st '-c core.fsmonitor=./evil.sh status'", ["st"]],
    [
      "an alias with a command",
      "git config alias.dt 'difftool -y --extcmd=./evil.sh HEAD'; echo b > a",
      ["dt"],
    ],
    [
      "a way to pack archives",
      "git config tar.evil.command ./evil.sh; git config tar.evil.remote true",
      ["archive", "--format=evil", "HEAD"],
    ],
    [
      "a rebase that is half done",
      "mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD > onto; git rev-parse HEAD > orig-head; echo refs/heads/main > head-name; echo 1 > msgnum; echo 1 > end; : > interactive; : > done; printf 'exec ./evil.sh\\n' > git-rebase-todo; cp git-rebase-todo git-rebase-todo.backup",
      ["rebase", "--continue"],
    ],
  ])("runs nothing in the user's git: %s", (_, line, args) => {
    repository();
    plantEvil();
    target.apply([shell(`${line}; true`)], ["--json"], { env });
    git(...args);
    expect(ran()).toBe(false);
  });

  test("in a git directory that lies apart is judged like any other", () => {
    repository("--separate-git-dir", join(target.folder, "apart"));
    plantEvil();
    const line = "git config core.fsmonitor ./evil.sh; cp evil.sh ../apart/hooks/pre-commit";
    const job = target.apply([shell(line)], ["--json"], { env });
    expect(job.code).toBe(1);
    git("status");
    git("commit", "--allow-empty", "-qm", "two");
    expect(ran()).toBe(false);
  });

  test("of git's settings loses only what may not stay", () => {
    repository();
    const line =
      "git remote add o https://example.org/x.git; git config core.fsmonitor ./evil.sh; git branch side";
    const job = target.apply([shell(line)], ["--json"], { env });
    expect([job.code, job.out.includes("core.fsmonitor")]).toEqual([1, true]);
    expect(git("remote")).toBe("o\n");
    expect(git("branch", "--list", "side").trim()).toBe("side");
    expect(target.read(".git/config")).not.toContain("fsmonitor");
  });

  test.each([
    ["packs what it made up", "echo KEY=evil > .env; git add -f .env; git gc -q --prune=now"],
    ["forgets it", "git rm -q --cached .env; rm .env"],
    ["takes the bytes of another file", "cp other .env; git add -f .env"],
  ])("of a protected file is not git's own because a job's git %s", (_, line) => {
    target.write(".env", "KEY=mine\n");
    target.write("other", "KEY=other\n");
    repository();
    git("add", "-f", ".env");
    git("commit", "-qm", "with .env");
    const job = target.apply([shell(line)], ["--json"], { env });
    expect(target.read(".env")).toBe("KEY=mine\n");
    expect([job.code, job.out.includes("protected file cannot be modified: .env")]).toEqual([1, true]);
  });

  test("of a protected file that was put back is the file itself, with its attributes", () => {
    target.write(".env", "KEY=mine\n");
    const path = join(target.workspace, ".env");
    const fd = openSync(path, "r+");
    setXattrFd(fd, "user.mine", Buffer.from("1"));
    closeSync(fd);
    const inode = statSync(path).ino;
    expect(target.apply([shell("echo KEY=evil > .env; : > b")], ["--json"], { env }).code).toBe(1);
    const kept = getXattr(path, "user.mine");
    expect([target.read(".env"), kept.ok && Buffer.from(kept.value).toString(), statSync(path).ino]).toEqual([
      "KEY=mine\n",
      "1",
      inode,
    ]);
  });

  test("is never set-user-id, and files that were so before stay so", () => {
    target.write("was", "x\n");
    chmodSync(join(target.workspace, "was"), 0o4755);
    mkdirSync(join(target.workspace, "shared"));
    chmodSync(join(target.workspace, "shared"), 0o2775);
    const line = "cp /bin/true x; chmod 6755 x; mkdir d; chmod 3775 d; touch shared/y; chmod u+x was";
    const ran = target.apply([shell(line)], [], { env });
    expect([ran.code, ran.out.includes("x: set-user-id, set-group-id or sticky bits were removed")]).toEqual([
      0,
      true,
    ]);
    expect(["x", "was", "d", "shared"].map(mode)).toEqual([0o755, 0o4755, 0o3775, 0o2775]);
    expect(target.run(["undo"]).code).toBe(0);
    expect(["was", "shared"].map(mode)).toEqual([0o4755, 0o2775]);
  });

  test("where it was nothing but that, is not called applied", () => {
    target.write("plain", "x\n");
    chmodSync(join(target.workspace, "plain"), 0o755);
    const ran = target.apply([shell("chmod 4755 plain")], [], { env });
    expect(ran.out).not.toMatch(/^Applied/);
    expect([ran.out.includes("plain: set-user-id"), mode("plain")]).toEqual([true, 0o755]);
  });

  test("of times, and of the mode of the workspace's own folder, is said where it does not land", () => {
    target.write("plain", "x\n");
    const before = mode(".");
    const touched = target.apply([shell("touch -d 2001-01-01 plain")], [], { env });
    expect(touched.out).not.toMatch(/^Applied/);
    expect(touched.out).toContain("plain: only the time was changed, which is not applied");
    const opened = target.apply([shell("chmod 777 .; echo more >> plain")], [], { env });
    expect(opened.out).toMatch(/^Applied/);
    expect(opened.out).toContain("The workspace's own folder keeps its mode, which the job had changed.");
    expect(mode(".")).toBe(before);
  });
});

describe.if(here)("edits alone", () => {
  test("make no git directory that runs something", () => {
    plantEvil();
    const config = `[core]\n\tbare = false\n\tworktree = ${target.workspace}\n\n[alias]\n\tst = !${target.workspace}/evil.sh\n`;
    const job = target.apply(
      [
        create("docs/gd/HEAD", "ref: refs/heads/main\n"),
        create("docs/gd/objects/x", ""),
        create("docs/gd/refs/x", ""),
        create("docs/gd/config", config),
        create("docs/other", "o\n"),
      ],
      ["--json"],
    );
    git("-C", "docs/gd", "st");
    expect([ran(), job.code, target.read("docs/other")]).toEqual([false, 1, "o\n"]);
  });
});

describe.if(here).each(["overlay", "copy"] as const)("the commit after a job (%s)", (kind) => {
  const env = { PICOCLAW_WORKER_TRANSACTION: kind };

  test("is made by our own git: no program of the job's runs in it, and nothing lands after the judgement", () => {
    repository();
    plantEvil();
    const plant = `cp evil.sh .git/hooks/pre-commit; echo ran > $PWD/mark`;
    target.write("plant.sh", `#!/bin/sh\n${plant}\ncat\n`);
    chmodSync(join(target.workspace, "plant.sh"), 0o755);
    const line = [
      "G=$(command -v git); export G",
      "(setsid sh -c 'while :; do $G config core.fsmonitor $PWD/plant.sh; $G config filter.f.clean $PWD/plant.sh; sleep 0.01; done' > /dev/null 2>&1 &)",
      "echo 'c filter=f' > .gitattributes; echo c > c",
      "mkdir -p ~/.local/bin ~/bin",
      "for d in ~/.local/bin ~/bin; do printf '#!/bin/sh\\n: > '$PWD'/mark\\nexec /usr/bin/git \"$@\"\\n' > $d/git; chmod +x $d/git; done",
      "$G config --global core.fsmonitor $PWD/plant.sh",
      "echo b > a; sleep 0.2",
    ].join("; ");
    const home = join(target.folder, "user");
    mkdirSync(join(home, ".local/bin"), { recursive: true });
    mkdirSync(join(home, "bin"), { recursive: true });
    const PATH = `${home}/.local/bin:${home}/bin:${process.env.PATH}`;
    const job = target.apply([shell(line), create("d", "d\n")], ["--json", "--auto-commit"], {
      env: { ...env, PATH, HOME: home },
    });
    expect(existsSync(join(target.workspace, "mark"))).toBe(false);
    expect(existsSync(join(target.workspace, ".git/hooks/pre-commit"))).toBe(false);
    expect(target.read(".git/config")).not.toContain("plant.sh");
    expect(git("log", "-1", "--format=%s")).toContain("After patch");
    // A file for which a filter is asked that the user never had is not committed, and is named.
    expect(git("show", "--name-only", "--format=", "HEAD").split("\n").sort()).toEqual([
      "",
      ".gitattributes",
      "a",
      "d",
    ]);
    expect(job.out).toContain("git filter");
  });

  test("is not switched on by an untrusted workspace", () => {
    repository();
    writeFileSync(join(target.workspace, "picoclaw.yaml"), "worker:\n  auto_commit: true\n");
    const before = git("rev-parse", "HEAD");
    const job = target.apply([shell("echo b > a")], [], { env });
    expect([job.code, git("rev-parse", "HEAD")]).toEqual([0, before]);
    expect(`${job.out}${job.err}`).toContain("worker.auto_commit");
    expect(readFileSync(join(target.workspace, "a"), "utf8")).toBe("b\n");
  });
});
