/** Set-ups that only root can make: files of other users, full and read-only file systems, mounts. */

import { afterEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import type { StagingKind } from "../contracts/transaction-bench.ts";
import { createBench, newJobId, text } from "../contracts/transaction-bench.ts";
import { sh } from "../faults/fidelity-workspace.ts";
import { requirePart } from "../require.ts";

const isRoot = process.getuid?.() === 0 && process.platform === "linux";
const mayMount = isRoot && requirePart("mount");
const folders: string[] = [];
const mounts: string[] = [];
afterEach(() => {
  for (const mount of mounts.splice(0).reverse()) spawnSync("umount", ["-l", mount]);
  for (const folder of folders.splice(0)) removeTree(folder);
});
function newFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-root-")));
  folders.push(folder);
  return folder;
}
function mount(at: string, ...options: string[]): boolean {
  mkdirSync(at, { recursive: true });
  const mounted = spawnSync("mount", [...options, at]).status === 0;
  if (mounted) mounts.push(at);
  return mounted;
}

describe.if(isRoot)("root's jobs on files of others", () => {
  for (const kind of ["direct", "copy"] satisfies StagingKind[])
    test(`keep the owner through a ${kind} edit and its undo`, async () => {
      const bench = createBench(kind, { folder: newFolder() });
      bench.save("theirs.txt", "one\n");
      chownSync(bench.at("theirs.txt"), 12345, 23456);
      const before = bench.tree();
      const jobId = await bench.apply((view) => view.write("theirs.txt", text("two\n")));
      expect(bench.tree()["theirs.txt"]?.owner).toBe("12345:23456");
      await bench.transactions.undo(jobId, { force: false });
      expect(bench.tree()).toEqual(before);
    });

  test("revert a change of owners, of files and of folders", async () => {
    const bench = createBench("copy", { folder: newFolder() });
    bench.save("d/a.txt", "one\n");
    const before = bench.tree();
    const jobId = await bench.apply(
      (_, { directory }) => void sh(directory as string, "chown -R 12345:12345 d"),
    );
    expect([bench.tree().d?.owner, bench.tree()["d/a.txt"]?.owner]).toEqual(["12345:12345", "12345:12345"]);
    await bench.transactions.undo(jobId, { force: false });
    expect(bench.tree()).toEqual(before);
  });
});

describe.if(mayMount)("a file system that is full", () => {
  for (const kind of ["direct", "copy"] satisfies StagingKind[])
    test(`lets a ${kind} job write whole files or none, and the commit of those that fitted succeeds`, async () => {
      const folder = newFolder();
      expect(mount(folder, "-t", "tmpfs", "-o", "size=2m", "tmpfs")).toBe(true);
      const bench = createBench(kind, { folder });
      bench.save("a.txt", "one\n");
      bench.save("big.bin", "b".repeat(300_000));
      const before = bench.tree();
      const jobId = await bench.stage((view) => {
        view.write("a.txt", text("two\n"));
        expect(() => view.write("a.txt", text("x".repeat(3_000_000)))).toThrow("no space left");
        expect(() => view.write("new.txt", text("x".repeat(3_000_000)))).toThrow("no space left");
      });
      expect((await bench.transactions.commit(jobId)).status).toBe("done");
      expect(bench.read("a.txt")).toBe("two\n");
      expect(existsSync(bench.at("new.txt"))).toBe(false);
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
      expect(bench.tree()).toEqual(before);
    });

  test("refuses a copy that does not fit, says why, and leaves nothing behind", async () => {
    const folder = newFolder();
    expect(mount(folder, "-t", "tmpfs", "-o", "size=2m", "tmpfs")).toBe(true);
    const bench = createBench("copy", { folder });
    bench.save("big.bin", "b".repeat(1_300_000));
    const begun = await bench.transactions.begin({ startedBy: "user", jobId: newJobId(), kind: "copy" });
    expect(begun.ok ? null : begun.refusal.code).toBe("no-space");
    expect(readdirSync(join(bench.storage.folder, "jobs"))).toEqual([]);
    expect(readdirSync(join(bench.storage.folder, "running"))).toEqual([]);
  });

  test("refuses a job for which not even a record fits", async () => {
    const folder = newFolder();
    expect(mount(folder, "-t", "tmpfs", "-o", "size=1m,nr_inodes=12", "tmpfs")).toBe(true);
    const bench = createBench("direct", { folder });
    for (let i = 0; ; i++) if (spawnSync("touch", [bench.at(`f${i}`)]).status !== 0) break;
    const begun = await bench.transactions.begin({ startedBy: "user", jobId: newJobId(), kind: "direct" });
    expect(begun.ok ? null : begun.refusal.code).toBe("no-space");
  });
});

describe.if(mayMount)("a workspace on a read-only file system", () => {
  test("is refused before anything runs", async () => {
    const folder = newFolder();
    expect(mount(folder, "-t", "tmpfs", "tmpfs")).toBe(true);
    mkdirSync(join(folder, "ws"));
    expect(spawnSync("mount", ["-o", "remount,ro", folder]).status).toBe(0);
    const bench = createBench("direct", { folder });
    for (const kind of ["direct", "copy"] satisfies StagingKind[]) {
      const begun = await bench.transactions.begin({ startedBy: "user", jobId: newJobId(), kind });
      expect(begun.ok ? null : begun.refusal.code).toBe("read-only");
    }
  });
});

describe.if(mayMount)("a workspace that is a mount point", () => {
  test("keeps its jobs inside, and jobs work", async () => {
    const folder = newFolder();
    expect(mount(join(folder, "ws"), "-t", "tmpfs", "tmpfs")).toBe(true);
    const bench = createBench("copy", { folder });
    expect(bench.storage.inside).toMatch(/^\.picoclaw-[0-9a-f]{16}$/);
    bench.save("a.txt", "one\n");
    const jobId = await bench.apply((_, { directory }) => void sh(directory as string, "echo two >a.txt"));
    expect(bench.read("a.txt")).toBe("two\n");
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
  });

  test("by a bind of the same file system keeps its jobs where a rename can reach", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, "real"));
    expect(mount(join(folder, "ws"), "--bind", join(folder, "real"))).toBe(true);
    const bench = createBench("copy", { folder });
    bench.save("a.txt", "one\n");
    const jobId = await bench.apply((view) => view.write("a.txt", text("two\n")), "direct");
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(bench.read("a.txt")).toBe("one\n");
  });
});

describe.if(mayMount)("a volume mounted below the workspace", () => {
  test("is neither copied nor deleted by a job, and a direct edit of it is refused whole", async () => {
    const bench = createBench("copy", { folder: newFolder() });
    bench.save("a.txt", "one\n");
    expect(mount(bench.at("vol/data"), "-t", "tmpfs", "tmpfs")).toBe(true);
    bench.save("vol/data/db", "precious\n");
    const jobId = await bench.apply(
      (_, { directory }) => void sh(directory as string, "rm -rf vol; echo two >a.txt"),
    );
    expect(readFileSync(bench.at("vol/data/db"), "utf8")).toBe("precious\n");
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    const direct = await bench.stage((view) => {
      view.write("a.txt", text("three\n"));
      view.write("vol/data/db", text("changed\n"));
    }, "direct");
    expect(await bench.transactions.commit(direct)).toEqual({
      status: "conflict",
      conflicts: [{ path: "vol/data/db", reason: "other-mount" }],
    });
    expect([bench.read("a.txt"), bench.read("vol/data/db")]).toEqual(["one\n", "precious\n"]);
    expect(lstatSync(bench.at("vol/data/db")).isFile()).toBe(true);
  });
});
