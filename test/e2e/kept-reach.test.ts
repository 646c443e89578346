/** A job's undo, redo and repair reach what the job reached, although the `.git` that gave it the reach has changed since. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { requirePart } from "../require.ts";
import { type Cli, createCli, shell } from "./cli-kit.ts";

let cli: Cli;
let pkg: string;
beforeEach(() => {
  cli = createCli();
  pkg = join(cli.workspace, "packages/a");
  mkdirSync(pkg, { recursive: true });
  cli.write("lock", "old\n");
  cli.write("packages/a/x", "old\n");
  cli.git("init", "-q");
  cli.git("add", ".");
});
afterEach(() => cli.remove());

const LINE = "echo new >../../lock; echo new >x";
const both = () => [cli.read("lock"), cli.read("packages/a/x")];
const OLD = ["old\n", "old\n"];
const NEW = ["new\n", "new\n"];
const staged = process.platform === "linux" && requirePart("bwrap") ? ["overlay", "copy"] : ["copy"];

describe.if(requirePart("git")).each(staged)("staged as %s", (transaction) => {
  const env = { PICOCLAW_WORKER_TRANSACTION: transaction };
  const run = (...args: string[]) => cli.run(args, { cwd: pkg, env });
  const apply = (line: string) => cli.apply([shell(line)], [], { cwd: pkg, env });

  /** Undo, redo, undo again; the words of the first that fails. */
  const thereAndBack = () => {
    for (const [command, files] of [
      ["undo", OLD],
      ["redo", NEW],
      ["undo", OLD],
    ] as const) {
      const ran = run(command);
      expect([command, ran.code, ran.err, both()]).toEqual([command, 0, "", [...files]]);
    }
  };

  test.each([
    ["removes the .git above", "rm -rf ../../.git"],
    ["renames the .git above", "mv ../../.git ../../.git-off"],
    ["begins a repository in the package", "git init -q"],
  ])("a job that %s is undone and redone", (_, line) => {
    const ran = apply(`${LINE}; ${line}`);
    expect([ran.code, both()]).toEqual([0, NEW]);
    expect(run("show", "1", "--diff").out).toContain("lock");
    thereAndBack();
    expect(existsSync(join(cli.workspace, ".git/HEAD"))).toBe(true);
  });

  test.each([
    ["removed the .git above", () => removeTree(join(cli.workspace, ".git"))],
    ["began a repository in the package", () => void cli.git("-C", "packages/a", "init", "-q")],
    ["stopped tracking the package", () => void cli.git("rm", "-rqf", "--cached", ".")],
  ])("a job whose user later %s is undone and redone", (_, change) => {
    expect(apply(LINE).code).toBe(0);
    change();
    expect(run("diff", "1").out).toContain("lock");
    thereAndBack();
  });

  test("a preview is applied with the reach that it was made with", () => {
    expect(cli.apply([shell(LINE)], ["--preview"], { cwd: pkg, env }).code).toBe(0);
    removeTree(join(cli.workspace, ".git"));
    expect(both()).toEqual(OLD);
    const ran = run("apply", "--job", "1");
    expect([ran.code, ran.err, both()]).toEqual([0, "", NEW]);
    thereAndBack();
  });

  test("a job of a linked worktree is undone although the worktree was pruned, and a root that is gone is named", () => {
    cli.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first");
    const tree = join(cli.folder, "tree");
    cli.git("worktree", "add", "-q", tree);
    const line = "echo new >lock; git add lock";
    expect(cli.apply([shell(line)], [], { cwd: tree, env }).code).toBe(0);
    removeTree(join(tree, ".git"));
    const undone = cli.run(["undo"], { cwd: tree, env });
    expect([undone.code, undone.err, readFileSync(join(tree, "lock"), "utf8")]).toEqual([0, "", "old\n"]);
    expect(cli.run(["redo"], { cwd: tree, env }).code).toBe(0);
    renameSync(join(cli.workspace, ".git"), join(cli.workspace, "away"));
    const gone = cli.run(["undo"], { cwd: tree, env });
    const named = expect.stringContaining("\n  ../ws/.git/worktrees/tree/index\n");
    expect([gone.code, gone.out, readFileSync(join(tree, "lock"), "utf8")]).toEqual([0, named, "old\n"]);
  });
});

test.if(requirePart("git"))(
  "a job killed anywhere in its commit is completed, though it removes the .git above",
  () => {
    const env = { PICOCLAW_WORKER_TRANSACTION: "copy" };
    const run = (...args: string[]) => cli.run(args, { cwd: pkg, env });
    const child = join(import.meta.dir, "../faults/crash-child.ts");
    let isOver = false;
    for (let point = 1; !isOver; point++) {
      const staged = cli.apply([shell(`${LINE}; rm -rf ../../.git`)], ["--preview", "--json"], {
        cwd: pkg,
        env,
      });
      const { job_id: jobId } = cli.json(staged) as { readonly job_id: string };
      const args = [
        "--no-env-file",
        child,
        cli.folder,
        "commit",
        jobId,
        `${point}`,
        "SIGKILL",
        "ws/packages/a",
      ];
      isOver = spawnSync(process.execPath, args).signal !== "SIGKILL";
      const repaired = run("doctor", "--repair");
      expect([point, repaired.out]).not.toEqual([point, expect.stringContaining("Permission denied")]);
      // A commit that was killed before its intent was written has moved nothing.
      const isApplied = run("show", jobId).out.startsWith("Applied");
      const isThere = existsSync(join(cli.workspace, ".git"));
      expect([point, both(), isThere]).toEqual([point, isApplied ? NEW : OLD, !isApplied]);
      const ended = run(isApplied ? "undo" : "discard", jobId);
      const hasGit = existsSync(join(cli.workspace, ".git/HEAD"));
      expect([point, ended.code, ended.err, both(), hasGit]).toEqual([point, 0, "", OLD, true]);
    }
  },
);
