import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { lstatSync } from "node:fs";
import type { View } from "../../src/application/ports/platform-view.ts";
import {
  createBench,
  type StagingKind,
  type TransactionBench,
  text,
} from "../contracts/transaction-bench.ts";
import type { Tree } from "../contracts/tree.ts";
import { requirePart } from "../require.ts";
import { fillWorkspace, git, HARD_NAMES, sh } from "./fidelity-workspace.ts";

let bench: TransactionBench;
let before: Tree;
const FILES = [
  "crlf.txt",
  "mixed.txt",
  "staged.txt",
  "tracked.txt",
  ".env",
  "node_modules/pkg/index.js",
  "untracked.txt",
  "binary.bin",
  "private.key",
  "run.sh",
  "nested/inner.txt",
  "linked-a.txt",
  "sparse.img",
  "attributed.txt",
  "old.txt",
  ...HARD_NAMES.map((name) => `names/${name}`),
];

/** Jobs that a view can do by its own operations. */
const edits: Readonly<Record<string, (view: View) => void>> = {
  "overwrites every file": (view) => {
    for (const path of FILES) view.write(path, text(`changed ${path}`));
  },
  "deletes every file, link and empty folder": (view) => {
    for (const path of [...FILES, "linked-b.txt", "link", "dangling", "link-to-folder"]) view.remove(path);
    for (const path of ["empty/in/empty", "empty/in", "empty", "names"]) view.remove(path);
  },
  "renames every file": (view) => {
    for (const path of FILES) view.rename(path, `moved/${path}`);
  },
  "puts files, folders and links in each other's places": (view) => {
    view.remove("link");
    view.makeDirectory("link/now/a/folder");
    view.remove("untracked.txt");
    view.makeSymlink("untracked.txt", "/etc/passwd");
    view.remove("empty/in/empty");
    view.write("empty/in/empty", text("a file"));
    view.remove("dangling");
    view.write("dangling", text("a file"));
  },
};

/** Jobs that only a process can do. */
const scripts: Readonly<Record<string, string>> = {
  "deletes all there is, the repository too": "rm -rf ./* ./.[!.]*",
  "appends to every file in place":
    "find . -path ./.git -prune -o -type f -exec sh -c 'echo more >>\"$1\"' _ {} \\;",
  "changes every mode": "chmod -R u+rwX,go-rwx . && chmod 700 run.sh && chmod 0444 private.key",
  "moves everything into a folder":
    'mkdir all && for f in * .env; do [ "$f" = all ] || mv -- "$f" all/; done',
  "touches every time": "find . -path ./.git -prune -o -type f -exec touch {} +",
  "changes attributes only": "setfattr -x user.note attributed.txt && setfattr -n user.mine -v 1 old.txt",
  "drops an access list": "setfacl -b attributed.txt",
  "breaks and makes hard links": "rm linked-b.txt && echo x >linked-b.txt && ln run.sh also-run.sh",
  "fills a hole": "printf x | dd of=sparse.img bs=1 seek=4194304 conv=notrunc 2>/dev/null",
  "deletes the fifo and makes another": "rm fifo && mkfifo other-fifo",
  "makes read-only folders": "mkdir -p ro/in && echo x >ro/in/f && chmod 555 ro/in ro && chmod 555 names",
};

async function expectExact(jobId: string): Promise<void> {
  const after = bench.tree();
  expect(after).not.toEqual(before);
  for (let round = 0; round < 2; round++) {
    const undone = await bench.transactions.undo(jobId, { force: false });
    expect(undone.status === "done" ? undone.left : undone).toEqual([]);
    expect(bench.tree()).toEqual(before);
    const redone = await bench.transactions.redo(jobId, { force: false });
    expect(redone.status === "done" ? redone.left : redone).toEqual([]);
    expect(bench.tree()).toEqual(after);
  }
}

describe.if(requirePart("git") && requirePart("attr") && requirePart("acl"))("undo, to the byte", () => {
  beforeEach(() => {
    bench = createBench("copy");
    fillWorkspace(bench);
    before = bench.tree();
  });
  afterEach(() => bench.remove());

  for (const kind of ["direct", "copy"] satisfies StagingKind[])
    for (const [what, change] of Object.entries(edits))
      test(`of a ${kind} job that ${what}`, async () => expectExact(await bench.apply(change, kind)));

  for (const [what, script] of Object.entries(scripts))
    test(`of a copy job that ${what}`, async () => {
      const jobId = await bench.apply((_, { directory }) => void sh(directory as string, script));
      await expectExact(jobId);
    });

  test("keeps HEAD, the index and what the user made after the job", async () => {
    const [head, index] = [git(bench.workspace, "rev-parse", "HEAD"), git(bench.workspace, "ls-files", "-s")];
    const jobId = await bench.apply((view) => {
      for (const path of FILES) view.write(path, text("changed"));
    }, "direct");
    bench.save("mine/later.txt", "mine\n");
    git(bench.workspace, "add", "mine");
    git(bench.workspace, "commit", "-q", "-m", "mine", "--", "mine");
    const later = git(bench.workspace, "rev-parse", "HEAD");
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(git(bench.workspace, "rev-parse", "HEAD")).toBe(later);
    expect(git(bench.workspace, "rev-parse", "HEAD~1")).toBe(head);
    expect(git(bench.workspace, "ls-files", "-s", "--", ":!mine")).toBe(index);
    expect(bench.read("mine/later.txt")).toBe("mine\n");
  });

  test("keeps a sparse file sparse", async () => {
    const blocks = lstatSync(bench.at("sparse.img")).blocks;
    const jobId = await bench.apply((_, { directory }) => void sh(directory as string, "rm sparse.img"));
    await bench.transactions.undo(jobId, { force: false });
    expect(lstatSync(bench.at("sparse.img")).blocks).toBe(blocks);
  });

  test("keeps two names of one file one file", async () => {
    const jobId = await bench.apply(
      (_, { directory }) => void sh(directory as string, "echo x >>linked-a.txt"),
    );
    expect(bench.read("linked-b.txt")).toBe("two names\nx\n");
    expect(lstatSync(bench.at("linked-a.txt")).ino).toBe(lstatSync(bench.at("linked-b.txt")).ino);
    await bench.transactions.undo(jobId, { force: false });
    expect(lstatSync(bench.at("linked-a.txt")).ino).toBe(lstatSync(bench.at("linked-b.txt")).ino);
  });
});
