/** The contract of the tool, and what it must bear beyond it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createApplyPatch } from "../../../../src/tools/edit/apply_patch/tool.ts";
import type { Spawn, SpawnOptions } from "../../../../src/tools/edit/apply_patch/types.ts";
import { TOOL_DEFINITIONS } from "../../../../src/tools/registry/definitions.ts";
import { codeOf, createToolBench, type ToolBench } from "../../tool-kit.ts";

let bench: ToolBench;
beforeEach(() => {
  bench = createToolBench();
});
afterEach(() => bench.remove());

interface Spawned {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: SpawnOptions;
}

/** A `git apply` that ends as given, after doing something to the private copy. */
function fakeSpawn(exitCode: number, stderr = "", act: (options: SpawnOptions) => void = () => {}) {
  const calls: Spawned[] = [];
  const spawn: Spawn = async (command, args, options) => {
    calls.push({ command, args, options });
    act(options);
    return { exitCode, stderr };
  };
  return { calls, spawn };
}

const diff = (path: string, from: string, to: string) =>
  `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${from}\n+${to}\n`;

describe("the definition of done", () => {
  test("a file that does not exist is NOT_FOUND, and no process is started", async () => {
    const { calls, spawn } = fakeSpawn(0);
    const result = await createApplyPatch({ spawn }).invoke(await bench.context(), {
      filePath: "none.txt",
      patch: diff("none.txt", "a", "b"),
    });
    expect(result).toEqual({
      status: "failure",
      reason: "tool",
      message: "file not found: none.txt",
      error: { code: "NOT_FOUND" },
    });
    expect(calls).toEqual([]);
  });

  test("a file over 10 MB is FILE_TOO_LARGE, and no process is started; 10 MB exactly is not", async () => {
    const limit = 10 * 1024 ** 2;
    bench.write("large.txt", new Uint8Array(limit + 1).fill(97));
    bench.write("fits.txt", new Uint8Array(limit).fill(97));
    const { calls, spawn } = fakeSpawn(0);
    const tool = createApplyPatch({ spawn });
    const context = await bench.context();
    expect(await tool.invoke(context, { filePath: "large.txt", patch: "" })).toEqual({
      status: "failure",
      reason: "tool",
      message: `file too large: large.txt (${limit + 1} bytes, limit ${limit})`,
      error: { code: "FILE_TOO_LARGE" },
    });
    expect(calls).toEqual([]);
    expect(codeOf(await tool.invoke(context, { filePath: "fits.txt", patch: "" }))).toBe("success");
  });

  test("exit code 1 with the same hash before and after is APPLY_FAILED, with code and stderr", async () => {
    bench.write("a.txt", "old\n");
    const { calls, spawn } = fakeSpawn(1, "error: patch failed: a.txt:1\n");
    const result = await createApplyPatch({ spawn, hasher: () => "same" }).invoke(await bench.context(), {
      filePath: "a.txt",
      patch: "some patch",
    });
    expect(result).toEqual({
      status: "failure",
      reason: "tool",
      message: "git apply failed with exit code 1: error: patch failed: a.txt:1",
      error: { code: "APPLY_FAILED" },
    });
    expect(calls.map(({ command, args, options: { input } }) => ({ command, args, input }))).toEqual([
      { command: "git", args: ["apply", "--whitespace=fix", "--include", "a.txt", "-"], input: "some patch" },
    ]);
  });

  test("exit code 1 with another hash is a success, and what git wrote lands in the workspace", async () => {
    bench.write("a.txt", "old\n");
    const { spawn } = fakeSpawn(1, "warning", ({ cwd }) => writeFileSync(join(cwd, "a.txt"), "half\n"));
    const result = await createApplyPatch({ spawn }).invoke(await bench.context(), {
      filePath: "a.txt",
      patch: "",
    });
    expect(result).toEqual({
      status: "success",
      job_id: expect.stringMatching(/^job_/),
      changes: [{ path: "a.txt", kind: "modified" }],
    });
    expect(bench.read("a.txt")).toBe("half\n");
  });

  test("the hasher decides: a changed hash alone is a success too", async () => {
    bench.write("a.txt", "old\n");
    let calls = 0;
    const hasher = () => String(calls++);
    const { spawn } = fakeSpawn(1);
    const result = await createApplyPatch({ spawn, hasher }).invoke(await bench.context(), {
      filePath: "a.txt",
      patch: "",
    });
    expect(codeOf(result)).toBe("success");
  });

  test("exit code 0 is a success without data", async () => {
    bench.write("a.txt", "old\n");
    const toolkit = await bench.toolkit();
    expect(await toolkit.applyPatch({ filePath: "a.txt", patch: diff("a.txt", "old", "new") })).toEqual({
      status: "success",
      job_id: expect.stringMatching(/^job_\d+_[0-9a-z]{8}$/),
      changes: [{ path: "a.txt", kind: "modified" }],
    });
    expect(bench.read("a.txt")).toBe("new\n");
  });

  test("the definition is the public one to the letter", () => {
    expect(TOOL_DEFINITIONS.apply_patch).toEqual({
      name: "apply_patch",
      description: "Applies a unified diff patch to a file. Best for making precise code changes.",
      parameters: {
        type: "object",
        properties: {
          filePath: {
            type: "string",
            description: "Target file path",
          },
          patch: {
            type: "string",
            description: "Unified diff content",
          },
        },
        required: ["filePath", "patch"],
      },
    });
  });
});

describe("bad arguments", () => {
  const CASES: readonly (readonly [name: string, args: unknown])[] = [
    ["an empty path", { filePath: "", patch: "x" }],
    ["a path that is a number", { filePath: 1, patch: "x" }],
    ["no path", { patch: "x" }],
    ["a patch that is an object", { filePath: "a.txt", patch: {} }],
    ["no patch", { filePath: "a.txt" }],
    ["an argument too many", { filePath: "a.txt", patch: "x", force: true }],
    ["no object at all", "a.txt"],
    ["a list", ["a.txt", "x"]],
    ["a folder", { filePath: "sub", patch: "x" }],
    ["a NUL in the path", { filePath: "a\0.txt", patch: "x" }],
    ["a lone surrogate in the patch", { filePath: "a.txt", patch: "\ud800" }],
  ];
  test.each(CASES)("%s is INVALID_ARGUMENT, and no process is started", async (_name, args) => {
    bench.write("a.txt", "old\n");
    bench.write("sub/b.txt", "");
    const { calls, spawn } = fakeSpawn(0);
    const result = await createApplyPatch({ spawn }).invoke(await bench.context(), args);
    expect(result).toMatchObject({ status: "failure", error: { code: "INVALID_ARGUMENT" } });
    expect(calls).toEqual([]);
  });

  test("an unexpected error is INTERNAL", async () => {
    bench.write("a.txt", "old\n");
    const spawn: Spawn = () => Promise.reject(new Error("the disk is on fire"));
    expect(
      await createApplyPatch({ spawn }).invoke(await bench.context(), { filePath: "a.txt", patch: "" }),
    ).toEqual({
      status: "failure",
      reason: "tool",
      message: "the disk is on fire",
      error: { code: "INTERNAL" },
    });
  });
});

describe("the order of checks", () => {
  const everythingWrong = { filePath: "/etc/passwd", patch: 1 };
  const DENY = { default: "allow", tools: { apply_patch: "deny" } } as const;
  test.each([
    ["policy first", { policy: DENY, writeScope: "read-only" }, everythingWrong, "denied POLICY_DENIED"],
    ["then write permission", { writeScope: "read-only" }, everythingWrong, "denied WRITE_DENIED"],
    ["then the path", {}, everythingWrong, "denied OUTSIDE_WORKSPACE"],
    ["then the tool", {}, { filePath: "a.txt", patch: 1 }, "failure INVALID_ARGUMENT"],
  ] as const)("%s", async (_name, choices, args, expected) => {
    bench.write("a.txt", "");
    const toolkit = await bench.toolkit(choices);
    expect(codeOf(await toolkit.invoke("apply_patch", args))).toBe(expected);
  });
});

describe("any workspace, any name", () => {
  const NAMES = [
    "plain.txt",
    "with space.txt",
    'quo"te.txt',
    "apos'trophe.txt",
    "日本語/ファイル.txt",
    "é.txt",
    "[id].tsx",
    "a[b]*?.txt",
    "-dash.txt",
    "back\\slash.txt",
    "{a,b}.txt",
    "#hash !bang.txt",
  ];
  const git = (path: string) =>
    /["\\]/.test(path)
      ? [`"a/${path.replace(/["\\]/g, "\\$&")}"`, `"b/${path.replace(/["\\]/g, "\\$&")}"`]
      : [`a/${path}`, `b/${path}`];

  test.each(NAMES)("%s is patched, its neighbours are not, and undo restores it", async (path) => {
    bench.write(path, "old\n");
    bench.write("id.txt", "old\n");
    bench.write("ab.txt", "old\n");
    const before = bench.tree();
    const [a, b] = git(path);
    const tab = path.includes(" ") ? "\t" : "";
    const patch = `--- ${a}${tab}\n+++ ${b}${tab}\n@@ -1 +1 @@\n-old\n+new\n`;
    const toolkit = await bench.toolkit();
    expect(await toolkit.applyPatch({ filePath: path, patch })).toMatchObject({ status: "success" });
    expect(bench.tree()).toEqual({ ...before, [path]: "new\n" });
    expect(await toolkit.undoJob({})).toMatchObject({ status: "success" });
    expect(bench.tree()).toEqual(before);
  });

  const PLACES: readonly (readonly [name: string, prepare: () => void])[] = [
    ["no repository", () => {}],
    ["a repository", () => void bench.git("init", "-q")],
    [
      "a repository whose index is locked",
      () => {
        bench.git("init", "-q");
        bench.write(".git/index.lock", "");
      },
    ],
    [
      "a repository with a broken configuration",
      () => {
        bench.git("init", "-q");
        bench.write(".git/config", "[broken");
      },
    ],
  ];
  test.each(PLACES)("it works in %s", async (_name, prepare) => {
    prepare();
    bench.write("src/a.txt", "old\n");
    const toolkit = await bench.toolkit();
    const result = await toolkit.applyPatch({
      filePath: "src/a.txt",
      patch: diff("src/a.txt", "old", "new"),
    });
    expect(result).toMatchObject({ status: "success", changes: [{ path: "src/a.txt", kind: "modified" }] });
    expect(bench.read("src/a.txt")).toBe("new\n");
  });

  test("it works in a folder of another repository, with paths from the workspace", async () => {
    bench.git("init", "-q");
    bench.write("packages/api/a.txt", "old\n");
    bench.write("a.txt", "old\n");
    const toolkit = await bench.toolkit({}, {}, bench.path("packages/api"));
    const result = await toolkit.applyPatch({ filePath: "a.txt", patch: diff("a.txt", "old", "new") });
    expect(codeOf(result)).toBe("success");
    expect(bench.tree()).toEqual({ "packages/api/a.txt": "new\n", "a.txt": "old\n" });
  });

  test("an absolute path inside the workspace, and a link that stays inside, lead to the file", async () => {
    bench.write("real/a.txt", "1\n");
    bench.link("link.txt", "real/a.txt");
    const toolkit = await bench.toolkit();
    await toolkit.applyPatch({ filePath: bench.path("real/a.txt"), patch: diff("real/a.txt", "1", "2") });
    await toolkit.applyPatch({ filePath: "link.txt", patch: diff("link.txt", "2", "3") });
    expect(bench.read("real/a.txt")).toBe("3\n");
    bench.link("out.txt", "/etc/hostname");
    expect(codeOf(await toolkit.applyPatch({ filePath: "out.txt", patch: "" }))).toBe(
      "denied OUTSIDE_WORKSPACE",
    );
  });
});

describe("what git does, lands", () => {
  test("a patch of several files changes only the named one", async () => {
    bench.write("a.txt", "old\n");
    bench.write("b.txt", "old\n");
    const toolkit = await bench.toolkit();
    const patch = diff("a.txt", "old", "new") + diff("b.txt", "old", "new");
    expect(codeOf(await toolkit.applyPatch({ filePath: "a.txt", patch }))).toBe("success");
    expect(bench.tree()).toEqual({ "a.txt": "new\n", "b.txt": "old\n" });
  });

  test("a patch of another file is git's success, makes no job, and says so", async () => {
    bench.write("a.txt", "old\n");
    const toolkit = await bench.toolkit();
    expect(await toolkit.applyPatch({ filePath: "a.txt", patch: diff("b.txt", "old", "new") })).toEqual({
      status: "success",
      notes: ["git apply changed nothing: the patch may name another path than a.txt"],
    });
    expect(toolkit.context.workspace.archive.list()).toEqual([]);
  });

  test("white space is fixed in added lines, unless the workspace's attributes say otherwise", async () => {
    bench.write("a.md", "old\n");
    const toolkit = await bench.toolkit();
    await toolkit.applyPatch({ filePath: "a.md", patch: diff("a.md", "old", "one  ") });
    expect(bench.read("a.md")).toBe("one\n");
    bench.write(".gitattributes", "*.md -whitespace\n");
    await toolkit.applyPatch({ filePath: "a.md", patch: diff("a.md", "one", "two  ") });
    expect(bench.read("a.md")).toBe("two  \n");
  });

  test("bytes that are not UTF-8 stay unchanged", async () => {
    bench.write("a.txt", Buffer.from([0x82, 0xa0, 10, 0x61, 10]));
    const patch = "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-a\n+b\n";
    const toolkit = await bench.toolkit();
    expect(codeOf(await toolkit.applyPatch({ filePath: "a.txt", patch }))).toBe("success");
    expect([...bench.bytes("a.txt")]).toEqual([0x82, 0xa0, 10, 0x62, 10]);
  });

  test("a new mode and a deletion are carried over, and undone", async () => {
    bench.write("a.sh", "echo\n");
    bench.write("gone.txt", "x\n");
    const toolkit = await bench.toolkit();
    const mode = "diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n";
    expect(codeOf(await toolkit.applyPatch({ filePath: "a.sh", patch: mode }))).toBe("success");
    expect(bench.mode("a.sh") & 0o111).not.toBe(0);
    const gone =
      "diff --git a/gone.txt b/gone.txt\ndeleted file mode 100644\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    expect(codeOf(await toolkit.applyPatch({ filePath: "gone.txt", patch: gone }))).toBe("success");
    expect(bench.exists("gone.txt")).toBe(false);
    await toolkit.undoJob({});
    await toolkit.undoJob({});
    expect([bench.read("gone.txt"), bench.mode("a.sh") & 0o111]).toEqual(["x\n", 0]);
  });

  test("no filter of the user's git is run on the file", async () => {
    bench.write("a.txt", "old\n");
    bench.write(".gitattributes", "* filter=evil\n");
    writeFileSync(
      join(bench.folder, "user/.gitconfig"),
      `[filter "evil"]\n\tclean = touch ${bench.folder}/ran; cat\n\tsmudge = touch ${bench.folder}/ran; cat\n`,
    );
    const toolkit = await bench.toolkit();
    expect(codeOf(await toolkit.applyPatch({ filePath: "a.txt", patch: diff("a.txt", "old", "new") }))).toBe(
      "success",
    );
    expect(bench.exists("../ran")).toBe(false);
  });

  test("a file written while git works is not lost: git works again on the new content", async () => {
    bench.write("a.txt", "old\nlast\n");
    const { calls, spawn } = fakeSpawn(0, "", ({ cwd }) => {
      const copy = join(cwd, "a.txt");
      writeFileSync(copy, readFileSync(copy, "utf8").replace("old", "new"));
      if (calls.length === 1) bench.write("a.txt", "old\nmine\n");
    });
    const result = await createApplyPatch({ spawn }).invoke(await bench.context(), {
      filePath: "a.txt",
      patch: "",
    });
    expect([codeOf(result), calls.length, bench.read("a.txt")]).toEqual(["success", 2, "new\nmine\n"]);
  });

  test("a file that is written all the time ends in an error, and keeps the written text", async () => {
    bench.write("a.txt", "0\n");
    const { calls, spawn } = fakeSpawn(0, "", ({ cwd }) => {
      writeFileSync(join(cwd, "a.txt"), "git\n");
      bench.write("a.txt", `${calls.length}\n`);
    });
    const result = await createApplyPatch({ spawn }).invoke(await bench.context(), {
      filePath: "a.txt",
      patch: "",
    });
    expect([codeOf(result), bench.read("a.txt")]).toEqual(["failure CONFLICT", `${calls.length}\n`]);
  });

  test("a long stderr is capped with head and tail, and masked", async () => {
    bench.write("a.txt", "old\n");
    const stderr = `first token=${"ghp_"}${"a1B2".repeat(9)}\n${"x".repeat(9000)}\nlast`;
    const { spawn } = fakeSpawn(1, stderr);
    const result = await createApplyPatch({ spawn }).invoke(
      await bench.context({}, { PICOCLAW_TOOLS_APPLY_PATCH_MAX_ERROR_CHARS: "200" }),
      { filePath: "a.txt", patch: "" },
    );
    if (result.status === "success") throw new Error("it should fail");
    expect(result.message.length).toBeLessThan(300);
    expect(result.message).toStartWith("git apply failed with exit code 1: first");
    expect(result.message).toEndWith("last");
    expect(result.message).toContain("characters cut");
    expect(result.message).not.toContain("a1B2a1B2");
  });

  test("the limit is configurable", async () => {
    bench.write("a.txt", "12345\n");
    const toolkit = await bench.toolkit({}, { PICOCLAW_TOOLS_APPLY_PATCH_MAX_BYTES: "5" });
    expect(codeOf(await toolkit.applyPatch({ filePath: "a.txt", patch: "" }))).toBe("failure FILE_TOO_LARGE");
  });

  test("a protected file and git's own are denied", async () => {
    bench.git("init", "-q");
    bench.write(".env", "A=1\n");
    const toolkit = await bench.toolkit();
    expect([
      codeOf(await toolkit.applyPatch({ filePath: ".env", patch: diff(".env", "A=1", "A=2") })),
      codeOf(await toolkit.applyPatch({ filePath: ".git/config", patch: "" })),
    ]).toEqual(["denied PROTECTED_FILE", "denied PROTECTED_FILE"]);
    expect(bench.read(".env")).toBe("A=1\n");
  });
});
