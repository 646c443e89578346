import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { codeOf, createToolBench, dataOf, type ToolBench } from "./tool-kit.ts";

let bench: ToolBench;
beforeEach(() => {
  bench = createToolBench();
});
afterEach(() => bench.remove());

describe("read_file", () => {
  test("returns the text with what it is", async () => {
    bench.write("a.txt", "one\r\ntwo");
    expect(await (await bench.toolkit()).readFile({ path: "a.txt" })).toEqual({
      status: "success",
      data: {
        path: "a.txt",
        content: "one\r\ntwo",
        start_line: 1,
        end_line: 2,
        total_lines: 2,
        size_bytes: 8,
        encoding: "utf-8",
        truncated: false,
      },
    });
  });

  test.each([
    ["the middle", { start_line: 2, end_line: 3 }, "2\n3\n", 2, 3],
    ["from a line on", { start_line: 4 }, "4\n5", 4, 5],
    ["past the end", { start_line: 9 }, "", 9, 8],
    ["beyond the end", { start_line: 5, end_line: 99 }, "5", 5, 5],
  ] as const)("a range: %s", async (_name, range, content, start_line, end_line) => {
    bench.write("a.txt", "1\n2\n3\n4\n5");
    expect(dataOf(await (await bench.toolkit()).readFile({ path: "a.txt", ...range }))).toMatchObject({
      content,
      start_line,
      end_line,
      total_lines: 5,
    });
  });

  const TEXT = "日本語\n";
  test.each([
    ["utf-8 with a mark", Buffer.from(`\uFEFF${TEXT}`), "utf-8"],
    ["utf-16le", Buffer.from(`\uFEFF${TEXT}`, "utf16le"), "utf-16le"],
    ["utf-16be", Buffer.from(`\uFEFF${TEXT}`, "utf16le").swap16(), "utf-16be"],
    ["shift_jis", Buffer.from("93fa967b8cea0a", "hex"), "shift_jis"],
    ["euc-jp", Buffer.from("c6fccbdcb8ec0a", "hex"), "euc-jp"],
  ] as const)("%s is recognised", async (_name, bytes, encoding) => {
    bench.write("a.txt", bytes);
    expect(dataOf(await (await bench.toolkit()).readFile({ path: "a.txt" }))).toMatchObject({
      content: TEXT,
      encoding,
      total_lines: 1,
    });
  });

  test("an encoding can be named, and one that does not fit is refused", async () => {
    bench.write("a.txt", Buffer.from([0xe9, 10]));
    const toolkit = await bench.toolkit();
    expect(dataOf(await toolkit.readFile({ path: "a.txt", encoding: "windows-1252" }))).toMatchObject({
      content: "é\n",
    });
    expect(codeOf(await toolkit.readFile({ path: "a.txt", encoding: "utf-8" }))).toBe(
      "failure UNSUPPORTED_ENCODING",
    );
  });

  test("an entry that is not a text file is refused by its kind", async () => {
    bench.write("bin", Buffer.from([1, 0, 2]));
    bench.write("dir/a", "");
    spawnSync("mkfifo", [bench.path("fifo")]);
    const toolkit = await bench.toolkit();
    const paths = ["bin", "dir", "fifo", "none", "dir/a/b"];
    expect(await Promise.all(paths.map(async (path) => codeOf(await toolkit.readFile({ path }))))).toEqual([
      "failure BINARY_FILE",
      "failure IS_DIRECTORY",
      "failure NOT_A_FILE",
      "failure NOT_FOUND",
      "failure NOT_FOUND",
    ]);
  });

  test("a long file is capped at whole lines, and the note leads through all of it", async () => {
    const lines = Array.from({ length: 1000 }, (_, at) => `line ${at + 1}\n`);
    bench.write("a.txt", lines.join(""));
    const toolkit = await bench.toolkit({ limits: { outputChars: 1000 } });
    let text = "";
    for (let start_line = 1, calls = 0; calls < 20; calls++) {
      const result = await toolkit.readFile({ path: "a.txt", start_line });
      const data = dataOf(result);
      expect(data.content.length).toBeLessThanOrEqual(1000);
      text += data.content;
      if (!data.truncated) break;
      expect(result).toMatchObject({
        notes: [
          `output capped: lines ${start_line}-${data.end_line} of 1000; continue with start_line ${data.end_line + 1}`,
        ],
      });
      start_line = data.end_line + 1;
    }
    expect(text).toBe(lines.join(""));
  });

  test("one endless line is cut within", async () => {
    bench.write("a.txt", "x".repeat(5000));
    const toolkit = await bench.toolkit({ limits: { outputChars: 1000 } });
    const result = await toolkit.readFile({ path: "a.txt" });
    expect(dataOf(result)).toMatchObject({ content: "x".repeat(1000), truncated: true });
    expect(result).toMatchObject({ notes: [expect.stringContaining("cut -c")] });
  });

  test("a range of a file of gigabytes is read without loading it", async () => {
    bench.write("a.txt", "1\n2\n3\n");
    truncateSync(bench.path("a.txt"), 3 * 1024 ** 3);
    const toolkit = await bench.toolkit();
    expect(codeOf(await toolkit.readFile({ path: "a.txt" }))).toBe("failure BINARY_FILE");
    const read = await toolkit.readFile({ path: "a.txt", start_line: 2, end_line: 3, encoding: "utf-8" });
    expect(dataOf(read)).toMatchObject({ content: "2\n3\n", total_lines: null });
  });

  test("a protected file is shown without its values, any other without its secrets", async () => {
    bench.write(".env", "# comment\nNAME=plain\nexport OTHER='x y'\n");
    bench.write("a.txt", `key: sk-ant-${"a1B2c3".repeat(8)}\n`);
    const toolkit = await bench.toolkit();
    const env = await toolkit.readFile({ path: ".env" });
    expect(dataOf(env)).toMatchObject({ content: "# comment\nNAME=****\nexport OTHER=****\n" });
    expect(env).toMatchObject({
      notes: [".env: **** stands for the values of this protected file; do not write it back"],
    });
    expect(dataOf(await toolkit.readFile({ path: "a.txt" })).content).not.toContain("a1B2c3a1B2c3");
    expect(JSON.stringify(await toolkit.search({ pattern: "NAME" }))).not.toContain("plain");
  });
});

describe("tree", () => {
  test("lists folders in order, to a depth, without what git ignores", async () => {
    bench.write(".gitignore", "*.log\nbuild/\n!keep.log\n");
    bench.write("a/b/c/d.txt", "");
    bench.write("a/x.log", "");
    bench.write("a/keep.log", "");
    bench.write("build/out.js", "");
    bench.write(".git/config", "");
    const toolkit = await bench.toolkit();
    expect(dataOf(await toolkit.tree({}))).toEqual({
      path: "",
      tree: ".gitignore\na/\n  b/\n    c/\n  keep.log",
      entries: 5,
      truncated: false,
    });
    expect(dataOf(await toolkit.tree({ path: "a", depth: 1, include_ignored: true }))).toEqual({
      path: "a",
      tree: "b/\nkeep.log\nx.log",
      entries: 3,
      truncated: false,
    });
  });

  test("is capped, and says how to get the rest", async () => {
    for (let at = 0; at < 5; at++) bench.write(`f${at}`, "");
    expect(await (await bench.toolkit()).tree({ max_entries: 3 })).toEqual({
      status: "success",
      data: { path: "", tree: "f0\nf1\nf2", entries: 3, truncated: true },
      notes: ["output capped at 3 entries; list a folder below, lower depth, or raise max_entries"],
    });
  });

  test("of a file or of nothing is an error", async () => {
    bench.write("a", "");
    const toolkit = await bench.toolkit();
    expect([codeOf(await toolkit.tree({ path: "a" })), codeOf(await toolkit.tree({ path: "b" }))]).toEqual([
      "failure NOT_A_DIRECTORY",
      "failure NOT_FOUND",
    ]);
  });
});

describe("git_status_summary", () => {
  test("tells branch and files", async () => {
    bench.git("init", "-q", "-b", "main");
    bench.write("a.txt", "1");
    bench.write("é b.txt", "1");
    bench.git("add", "-A");
    bench.git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x");
    bench.write("a.txt", "2");
    bench.write("new/c d.txt", "");
    bench.write("staged.txt", "");
    bench.git("add", "staged.txt");
    bench.git("mv", "é b.txt", "moved.txt");
    expect(dataOf(await (await bench.toolkit()).gitStatusSummary({}))).toEqual({
      branch: "main",
      head: bench.git("rev-parse", "HEAD").trim(),
      upstream: null,
      ahead: 0,
      behind: 0,
      staged: ["moved.txt", "staged.txt", "é b.txt"],
      modified: ["a.txt"],
      untracked: ["new/c d.txt"],
      conflicted: [],
      clean: false,
      counts: { staged: 3, modified: 1, untracked: 1, conflicted: 0 },
    });
  });

  test("runs nothing that the repository names", async () => {
    bench.git("init", "-q");
    bench.write("a.txt", "1");
    bench.git("add", "-A");
    bench.write(".gitattributes", "* filter=a=b\n");
    bench.git("config", "core.fsmonitor", `touch ${bench.folder}/ran`);
    bench.git("config", "filter.a=b.clean", `touch ${bench.folder}/ran; cat`);
    bench.write("a.txt", "2");
    expect(codeOf(await (await bench.toolkit()).gitStatusSummary({}))).toBe("success");
    expect(bench.exists("../ran")).toBe(false);
  });

  test("without a repository says so", async () => {
    expect(codeOf(await (await bench.toolkit()).gitStatusSummary({}))).toBe("failure NOT_A_REPOSITORY");
  });

  test("is capped", async () => {
    bench.git("init", "-q");
    for (let at = 0; at < 5; at++) bench.write(`f${at}`, "");
    expect(await (await bench.toolkit()).gitStatusSummary({ max_paths: 2 })).toMatchObject({
      data: { untracked: ["f0", "f1"], counts: { untracked: 5 } },
      notes: ["lists capped at 2 paths; raise max_paths"],
    });
  });
});
