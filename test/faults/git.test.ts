import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sealNote } from "../../src/domain/jobs/result.ts";
import { landsAll } from "../contracts/lands-all.ts";
import { createBench } from "../contracts/transaction-bench.ts";
import { requirePart } from "../require.ts";
import { sh } from "./fidelity-workspace.ts";
import { createGitBench, filesSaying, type GitBench, type Shape } from "./git-bench.ts";

let bench: GitBench;
afterEach(() => bench?.remove());

const undo = (jobId: string) => bench.transactions.undo(jobId, { force: false });
const redo = (jobId: string) => bench.transactions.redo(jobId, { force: false });

/** Jobs that move git state, each undone and redone on every shape of workspace. */
const scripts: Readonly<Record<string, string>> = {
  commits: "echo job >>a.txt; echo new >new.txt; git add -A; git commit -q -m job",
  "checks out another branch": "git checkout -q -f --detach HEAD~1; git checkout -q -b third",
  "makes branches and tags": "git branch one/deep; git tag v1; git branch -D other 2>/dev/null || true",
  "collects garbage":
    "echo x >x; git add x; git commit -q -m x; git reset -q --hard HEAD~1; git reflog expire --expire=now --all; git gc -q --prune=now",
  "packs refs": "git branch packed; git pack-refs --all; git repack -adq",
  "amends and resets": "git commit -q --amend -m amended; git reset -q --soft HEAD~1",
  stashes: "echo changed >>a.txt; git stash -q",
  "writes the configuration":
    "git config user.nickname nick; git remote add elsewhere https://example.com/x.git",
};
const SHAPES: readonly Shape[] = ["repository", "subfolder", "worktree", "submodule"];

describe.if(requirePart("git"))("a job that", () => {
  for (const shape of SHAPES)
    for (const [what, script] of Object.entries(scripts))
      test(`${what} in a ${shape} is undone and redone, refs, HEAD and index`, async () => {
        bench = createGitBench(shape);
        const seed = shape === "subfolder" ? "echo seed >a.txt; git add -A; git commit -q -m seed" : "true";
        await bench.script(seed);
        const before = bench.state();
        const jobId = await bench.script(script);
        const after = bench.state();
        bench.fsck();
        // A glance by the user refreshes the index; that is no obstacle.
        bench.git("status", "--short");
        const undone = await undo(jobId);
        expect(undone.status === "done" ? undone.left : undone).toEqual([]);
        expect(bench.state()).toEqual(before);
        bench.fsck();
        bench.git("status", "--short");
        const redone = await redo(jobId);
        expect(redone.status === "done" ? redone.left : redone).toEqual([]);
        expect(bench.state()).toEqual(after);
        bench.fsck();
        expect(filesSaying(bench.folder, join(bench.storage.folder, "jobs"))).toEqual([]);
      });

  for (const [what, script, path] of [
    [
      "makes a repository",
      "mkdir fresh && cd fresh && git init -q && echo x >x && git add x && git commit -q -m x",
      "fresh",
    ],
    ["clones", "git clone -q . clone", "clone"],
    ["adds a worktree inside", "git worktree add -q inside", "inside"],
  ] as const)
    test(`${what} leaves one that works in its place, and undo takes it away`, async () => {
      bench = createGitBench("repository");
      const before = bench.tree();
      const jobId = await bench.script(script);
      expect(readFileSync(bench.at(`${path}/.git${path === "inside" ? "" : "/HEAD"}`), "utf8")).not.toBe("");
      bench.git("-C", path, "fsck", "--strict", "--no-progress");
      // An index without the times of files: the user's `git status` rewrites it, which is not an obstacle.
      bench.git("-C", path, "read-tree", "HEAD");
      bench.git("-C", path, "status");
      expect(filesSaying(bench.folder, join(bench.storage.folder, "jobs"))).toEqual([]);
      expect(await undo(jobId)).toMatchObject({ status: "done", left: [] });
      const now = bench.tree();
      expect(Object.keys(now).filter((each) => !/^\.git\/objects\//.test(each))).toEqual(
        Object.keys(before).filter((each) => !/^\.git\/objects\//.test(each)),
      );
      bench.fsck();
    });

  test("makes a repository keeps what the user staged in it since: undo names the index", async () => {
    bench = createGitBench("repository");
    const jobId = await bench.script("git init -q fresh && cd fresh && echo x >x && git add x");
    bench.git("-C", "fresh", "rm", "-q", "--cached", "x");
    expect(await undo(jobId)).toEqual({
      status: "conflict",
      conflicts: [{ path: "fresh/.git/index", reason: "changed" }],
    });
  });

  test("committed is undone under a commit of the user's: moved refs are named and left", async () => {
    bench = createGitBench("repository");
    const jobId = await bench.script(
      "echo job >job.txt; git add -A; git commit -q -m job; git branch of-the-job",
    );
    writeFileSync(bench.at("mine.txt"), "mine\n");
    bench.git("add", "mine.txt");
    bench.git("commit", "-q", "-m", "mine");
    const head = bench.git("rev-parse", "HEAD");
    const undone = await undo(jobId);
    expect(undone.status === "done" ? undone.left.map(({ path }) => path).sort() : undone).toEqual([
      ".git/COMMIT_EDITMSG",
      ".git/index",
      ".git/logs/HEAD",
      ".git/logs/refs/heads/main",
      ".git/refs/heads/main",
    ]);
    expect(bench.git("rev-parse", "HEAD")).toBe(head);
    expect(bench.git("branch", "--list", "of-the-job")).toBe("");
    expect(existsSync(bench.at("job.txt"))).toBe(false);
    expect(bench.read("mine.txt")).toBe("mine\n");
    bench.fsck();
  });

  test("adds objects leaves them when it is undone", async () => {
    bench = createGitBench("repository");
    const jobId = await bench.script("echo job >job.txt; git add -A; git commit -q -m job");
    const commit = bench.git("rev-parse", "HEAD").trim();
    await undo(jobId);
    expect(bench.git("cat-file", "-t", commit)).toBe("commit\n");
  });

  test("prunes an object that the user's git needed meanwhile leaves it", async () => {
    bench = createGitBench("repository");
    writeFileSync(bench.at("loose.txt"), "loose\n");
    const loose = bench.git("hash-object", "-w", "loose.txt").trim();
    const jobId = await bench.stage((_, { directory }) => {
      bench.git("-C", directory as string, "prune", "--expire=now");
    });
    bench.git("hash-object", "-w", "loose.txt");
    bench.git("update-index", "--add", "--cacheinfo", `100644,${loose},loose.txt`);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect(bench.git("cat-file", "-t", loose)).toBe("blob\n");
    bench.fsck();
  });

  test("is to be committed while a git of the user's holds a lock waits as a preview", async () => {
    bench = createGitBench("repository");
    const jobId = await bench.stage((_, { directory }) => {
      bench.git("-C", directory as string, "branch", "new");
      bench.git("-C", directory as string, "rm", "-q", "a.txt");
    });
    writeFileSync(bench.at(".git/index.lock"), "");
    expect(await bench.transactions.commit(jobId)).toEqual({
      status: "conflict",
      conflicts: [{ path: ".git/index", reason: "open", by: "git" }],
    });
    rmSync(bench.at(".git/index.lock"));
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
  });

  test("works in a subfolder and one that works above it never mix: the second to commit is stopped", async () => {
    bench = createGitBench("repository");
    const below = createBench("copy", { folder: bench.folder, workspaceAt: "main/sub" });
    const commits = "echo x >>b.txt; git -c user.name=J -c user.email=j@e commit -qam";
    const above = await bench.stage(
      (_, { directory }) => void sh(join(directory as string, "sub"), `${commits} above`),
    );
    const inside = await below.stage((_, { directory }) => void sh(directory as string, `${commits} below`));
    const outcomes = await Promise.all([bench.transactions.commit(above), below.transactions.commit(inside)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["conflict", "done"]);
    expect(bench.git("status", "--short")).toBe("");
    expect(bench.git("rev-list", "--count", "HEAD")).toBe("3\n");
    bench.fsck();
  });

  test("was killed inside git leaves no lock behind", async () => {
    bench = createGitBench("repository");
    const { jobId, transaction } = await bench.begin();
    writeFileSync(join(transaction.directory as string, ".git/index.lock"), "");
    writeFileSync(join(transaction.directory as string, "b.txt"), "b\n");
    const sealed = await transaction.seal(landsAll);
    expect(sealed.notes).toEqual([sealNote("stale-lock", ".git/index.lock")]);
    await bench.transactions.commit(jobId);
    expect(existsSync(bench.at(".git/index.lock"))).toBe(false);
  });
});
