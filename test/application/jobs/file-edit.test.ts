import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { type Bench, createBench, edit, said } from "./worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a.txt", "one\n");
  bench.write("dir/in.txt", "in\n");
});
afterEach(() => bench.remove());

type Case = readonly [name: string, command: Readonly<Record<string, unknown>>, said: string];

const DONE: readonly Case[] = [
  ["create", edit("create", "new/deep/x.txt", "é\n"), "File new/deep/x.txt written successfully (3 bytes)"],
  ["update", edit("update", "a.txt", "two\n"), "File a.txt written successfully (4 bytes)"],
  ["delete", edit("delete", "a.txt"), "File a.txt deleted"],
  ["append", edit("append", "a.txt", "é"), "Appended 2 bytes to a.txt"],
  ["append to nothing", edit("append", "log/new.txt", "x"), "Appended 1 bytes to log/new.txt"],
  ["mkdir", edit("mkdir", "x/y/z"), "Directory x/y/z created"],
  ["mkdir of what is there", edit("mkdir", "dir"), "Directory dir created"],
  ["rename", edit("rename", "a.txt", "b/c.txt"), "renamed a.txt -> b/c.txt"],
  ["rename of a folder", edit("rename", "dir", "moved"), "renamed dir -> moved"],
  ["rename onto itself", edit("rename", "a.txt", "./a.txt"), "renamed a.txt -> ./a.txt"],
  ["copy", edit("copy", "a.txt", "b/c.txt"), "copied a.txt -> b/c.txt"],
  ["copy onto itself", edit("copy", "a.txt", "a.txt"), "copied a.txt -> a.txt"],
];

const FAILED: readonly Case[] = [
  ["an unknown action", edit("frob", "a.txt"), "unknown file_edit action: frob"],
  ["an unknown type", { ...edit("run", "a.txt"), type: "magic" }, "unknown command type: magic"],
  ["rename to nowhere", edit("rename", "a.txt"), "rename requires Content field (destination path)"],
  ["copy to nowhere", edit("copy", "a.txt"), "copy requires Content field (destination path)"],
  ["a path above", edit("create", "../x"), "file path outside workspace: ../x"],
  ["a path away", edit("delete", "/etc/passwd"), "file path outside workspace: /etc/passwd"],
  ["a destination above", edit("rename", "a.txt", "../b.txt"), "file path outside workspace: ../b.txt"],
  ["a NUL", edit("create", "a\0b"), 'file path contains a NUL byte: "a\\u0000b"'],
  ["a folder as file", edit("update", "dir", "x"), "failed to write file dir: is a directory: dir"],
  ["appending to a folder", edit("append", "dir", "x"), "failed to append to file dir: is a directory: dir"],
  [
    "deleting what is not there",
    edit("delete", "nope"),
    "failed to delete file nope: no such file or directory: nope",
  ],
  ["deleting a full folder", edit("delete", "dir"), "failed to delete file dir: directory not empty: dir"],
  ["a file as folder", edit("create", "a.txt/b", "x"), "a parent is not a directory: a.txt/b"],
  ["mkdir over a file", edit("mkdir", "a.txt"), "failed to create directory a.txt: not a directory: a.txt"],
  ["renaming nothing", edit("rename", "nope", "b"), "failed to rename nope: no such file or directory: nope"],
  ["copying a folder", edit("copy", "dir", "b"), "failed to copy dir: is a directory: dir"],
  [
    "a folder into itself",
    edit("rename", "dir", "dir/sub"),
    "failed to rename dir: cannot move a folder into itself: dir/sub",
  ],
  ["rename over a folder", edit("rename", "a.txt", "dir"), "failed to rename a.txt: already exists: dir"],
  ["a name too long", edit("create", "n".repeat(300), "x"), `file name too long: ${"n".repeat(80)}…`],
];

describe("file_edit", () => {
  test.each(DONE)("%s is done and says so", async (_name, command, text) => {
    const ran = await bench.run([command]);
    expect([ran.success, said(ran)]).toEqual([true, [text]]);
  });

  test.each(FAILED)("%s fails and changes nothing", async (_name, command, text) => {
    const ran = await bench.run([command]);
    expect([ran.success, said(ran), ran.changes]).toEqual([false, [text], []]);
    expect(readdirSync(bench.workspace).sort()).toEqual(["a.txt", "dir"]);
    expect([bench.read("a.txt"), bench.read("dir/in.txt")]).toEqual(["one\n", "in\n"]);
  });

  test("an absolute path inside the workspace is the relative one", async () => {
    await bench.run([edit("create", bench.path("x/y"), "1")]);
    expect(bench.read("x/y")).toBe("1");
  });

  test("a mode and the kind of a symlink are kept", async () => {
    chmodSync(bench.path("a.txt"), 0o750);
    symlinkSync("a.txt", bench.path("link"));
    await bench.run([
      edit("update", "link", "through\n"),
      edit("rename", "link", "moved-link"),
      edit("copy", "a.txt", "copy.txt"),
    ]);
    expect(readlinkSync(bench.path("moved-link"))).toBe("a.txt");
    expect([bench.read("a.txt"), bench.read("copy.txt")]).toEqual(["through\n", "through\n"]);
    expect([
      statSync(bench.path("a.txt")).mode & 0o777,
      statSync(bench.path("copy.txt")).mode & 0o777,
    ]).toEqual([0o750, 0o750]);
  });

  test("a symlink to outside is never written through, not even one made by the same patch", async () => {
    mkdirSync(`${bench.folder}/outside`);
    symlinkSync(`${bench.folder}/outside`, bench.path("out"));
    const ran = await bench.run(
      "diff --git a/s b/s\nnew file mode 120000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+../outside\n\\ No newline at end of file\n",
    );
    expect(lstatSync(bench.path("s")).isSymbolicLink()).toBe(ran.success);
    const again = await bench.run([
      edit("create", "out/x", "1"),
      edit("create", "s/x", "1"),
      edit("delete", "out"),
    ]);
    expect(again.commands.map(({ success }) => success)).toEqual([false, false, true]);
    expect(said(again)[0]).toStartWith("file path outside workspace: out/x (symlink out -> ");
    expect(readdirSync(`${bench.folder}/outside`)).toEqual([]);
  });

  test("commands see what the ones before them did", async () => {
    const ran = await bench.run([
      edit("create", "x", "1"),
      edit("append", "x", "2"),
      edit("rename", "x", "y"),
      edit("copy", "y", "z"),
      edit("delete", "y"),
    ]);
    expect(ran.changes).toEqual([{ path: "z", kind: "added" }]);
    expect([existsSync(bench.path("x")), bench.read("z")]).toEqual([false, "12"]);
  });
});
