import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { codeOf, createToolBench, dataOf, type ToolBench } from "./tool-kit.ts";

let bench: ToolBench;
beforeEach(() => {
  bench = createToolBench();
});
afterEach(() => bench.remove());

const CHANGED = { job_id: expect.stringMatching(/^job_/) };

describe("view", () => {
  test("shows a file with line numbers, whole or in a range", async () => {
    bench.write("a.txt", "one\ntwo\nthree");
    const toolkit = await bench.toolkit();
    expect(await toolkit.textEditor({ command: "view", path: "a.txt" })).toEqual({
      status: "success",
      data: {
        path: "a.txt",
        content: "     1\tone\n     2\ttwo\n     3\tthree",
        start_line: 1,
        end_line: 3,
        total_lines: 3,
      },
    });
    expect(
      dataOf(await toolkit.textEditor({ command: "view", path: "a.txt", view_range: [2, -1] })),
    ).toMatchObject({ content: "     2\ttwo\n     3\tthree", start_line: 2, end_line: 3 });
    expect(
      dataOf(await toolkit.textEditor({ command: "view", path: "a.txt", view_range: [2, 2] })),
    ).toMatchObject({ content: "     2\ttwo", start_line: 2, end_line: 2 });
  });

  test("shows a folder two levels deep", async () => {
    bench.write("a/b/c.txt", "");
    bench.write("a/d.txt", "");
    bench.write("e.txt", "");
    expect(dataOf(await (await bench.toolkit()).textEditor({ command: "view", path: "." }))).toEqual({
      path: "",
      content: "a/\n  b/\n  d.txt\ne.txt",
      total_lines: 4,
    });
  });

  test("caps what it shows and says how to go on", async () => {
    bench.write("a.txt", "line\n".repeat(100));
    const toolkit = await bench.toolkit({ limits: { outputChars: 100 } });
    expect(await toolkit.textEditor({ command: "view", path: "a.txt" })).toMatchObject({
      data: { start_line: 1, end_line: 20, total_lines: 100 },
      notes: ["output capped; continue with view_range [21, -1]"],
    });
  });
});

describe("create", () => {
  test("makes a file and its folders; one that exists stays", async () => {
    const toolkit = await bench.toolkit();
    const create = { command: "create", path: "a/b.txt", file_text: "x\n" } as const;
    expect(await toolkit.textEditor(create)).toMatchObject({ status: "success", ...CHANGED });
    expect(await toolkit.textEditor({ ...create, file_text: "y" })).toEqual({
      status: "failure",
      reason: "tool",
      message: "a/b.txt exists already; change it with str_replace or insert, or replace it with write_file",
      error: { code: "ALREADY_EXISTS" },
    });
    expect(bench.tree()).toEqual({ "a/b.txt": "x\n" });
  });
});

describe("str_replace", () => {
  const replace = async (old_str: string, new_str?: string) =>
    (await bench.toolkit()).textEditor({
      command: "str_replace",
      path: "a.txt",
      old_str,
      ...(new_str !== undefined && { new_str }),
    });

  test("replaces the one place and shows the lines around it", async () => {
    bench.write("a.txt", "one\ntwo\nthree\n");
    expect(await replace("two", "2\n2b")).toEqual({
      status: "success",
      data: { path: "a.txt", content: "     1\tone\n     2\t2\n     3\t2b\n     4\tthree" },
      ...CHANGED,
      changes: [{ path: "a.txt", kind: "modified" }],
    });
    expect(bench.read("a.txt")).toBe("one\n2\n2b\nthree\n");
  });

  test("without new_str it deletes", async () => {
    bench.write("a.txt", "one two");
    await replace(" two");
    expect(bench.read("a.txt")).toBe("one");
  });

  test("what occurs more than once is left, and every place is named", async () => {
    bench.write("a.txt", "x = 1\ny\nx = 2\n");
    expect(await replace("x = ", "z = ")).toEqual({
      status: "failure",
      reason: "tool",
      message: "old_str occurs 2 times in a.txt; add lines around it until it is unique:\n1: x = 1\n3: x = 2",
      error: { code: "NOT_UNIQUE" },
    });
  });

  test("what does not occur is left, and what resembles it is shown", async () => {
    bench.write("a.txt", "function alpha() {\n  return 1;\n}\n");
    const result = await replace("function alpah() {", "x");
    expect(result).toMatchObject({ status: "failure", error: { code: "NO_MATCH" } });
    expect(result).toMatchObject({ message: expect.stringContaining("1: function alpha() {") });
  });

  test("keeps CRLF, a byte order mark and bytes of another encoding", async () => {
    bench.write("a.txt", "\uFEFFone\r\ntwo\r\nthree\r\n");
    await replace("one\ntwo", "1\n2");
    expect(bench.read("a.txt")).toBe("\uFEFF1\r\n2\r\nthree\r\n");
    bench.write("a.txt", Buffer.from([0x82, 0xa0, 10, 0x61, 10]));
    await replace("a", "b");
    expect([...bench.bytes("a.txt")]).toEqual([0x82, 0xa0, 10, 0x62, 10]);
    expect(codeOf(await replace("b", "あ"))).toBe("failure UNSUPPORTED_ENCODING");
  });

  test("a mask in place of a secret is not written over it", async () => {
    const secret = `ghp_${"a1B2c3D4e5".repeat(4)}`.slice(0, 40);
    bench.write("a.txt", `token = "${secret}"\nname = "x"\n`);
    const toolkit = await bench.toolkit();
    const seen = dataOf(await toolkit.readFile({ path: "a.txt" })).content;
    expect(seen).not.toContain(secret);
    expect(codeOf(await toolkit.writeFile({ path: "a.txt", content: seen.replace("x", "y") }))).toBe(
      "failure MASKED_CONTENT",
    );
    expect(codeOf(await replace('name = "x"', 'name = "y"'))).toBe("success");
    expect(bench.read("a.txt")).toBe(`token = "${secret}"\nname = "y"\n`);
    // A name is masked too: a new file under the mask would not be the one that is meant.
    for (const path of ["ghp_****.txt", "ghp_****/a.txt"])
      expect(codeOf(await toolkit.writeFile({ path, content: "x" }))).toBe("failure MASKED_CONTENT");
    bench.write("****.txt", "mine");
    expect(codeOf(await toolkit.writeFile({ path: "****.txt", content: "x" }))).toBe("success");
    expect(Object.keys(bench.tree()).sort()).toEqual(["****.txt", "a.txt"]);
  });
});

describe("insert", () => {
  test.each([
    ["at the beginning", "a\nb\n", 0, "x", "x\na\nb\n"],
    ["after a line", "a\nb\n", 1, "x\n", "a\nx\nb\n"],
    ["at the end", "a\nb\n", 2, "x\ny", "a\nb\nx\ny\n"],
    ["at the end of a file without a final line end", "a\nb", 2, "x", "a\nb\nx\n"],
    ["into an empty file", "", 0, "x", "x\n"],
    ["into CRLF", "a\r\nb\r\n", 1, "x\ny\n", "a\r\nx\r\ny\r\nb\r\n"],
  ] as const)("%s", async (_name, before, insert_line, insert_text, after) => {
    bench.write("a.txt", before);
    const toolkit = await bench.toolkit();
    const result = await toolkit.textEditor({ command: "insert", path: "a.txt", insert_line, insert_text });
    expect([codeOf(result), bench.read("a.txt")]).toEqual(["success", after]);
  });

  test("takes new_str for insert_text, and refuses a line that is not there", async () => {
    bench.write("a.txt", "a\n");
    const toolkit = await bench.toolkit();
    const at = (insert_line: number) =>
      toolkit.textEditor({ command: "insert", path: "a.txt", insert_line, new_str: "x" });
    expect(codeOf(await at(2))).toBe("failure INVALID_ARGUMENT");
    expect(codeOf(await at(1))).toBe("success");
    expect(bench.read("a.txt")).toBe("a\nx\n");
  });
});

describe("undo_edit", () => {
  test("is undone edit by edit, in a new process too, and leaves other tools' jobs alone", async () => {
    const create = { command: "create", path: "a.txt", file_text: "1\n" } as const;
    await (await bench.toolkit()).textEditor(create);
    for (const [old_str, new_str] of [
      ["1", "2"],
      ["2", "3"],
    ] as const)
      await (await bench.toolkit()).textEditor({ command: "str_replace", path: "a.txt", old_str, new_str });
    await (await bench.toolkit()).writeFile({ path: "b.txt", content: "other" });
    const seen: (string | null)[] = [];
    for (let step = 0; step < 4; step++) {
      const toolkit = await bench.toolkit();
      const result = await toolkit.textEditor({ command: "undo_edit", path: "a.txt" });
      seen.push(codeOf(result), bench.exists("a.txt") ? bench.read("a.txt") : null);
    }
    expect(seen).toEqual([
      ...["success", "2\n"],
      ...["success", "1\n"],
      ...["success", null],
      ...["failure NOTHING_TO_UNDO", null],
    ]);
    expect(bench.tree()).toEqual({ "b.txt": "other" });
  });

  test("a later change is a conflict, and stays", async () => {
    const toolkit = await bench.toolkit();
    await toolkit.textEditor({ command: "create", path: "a.txt", file_text: "1\n" });
    bench.write("a.txt", "mine\n");
    expect(codeOf(await toolkit.textEditor({ command: "undo_edit", path: "a.txt" }))).toBe(
      "failure CONFLICT",
    );
    expect(bench.read("a.txt")).toBe("mine\n");
  });
});

describe("bad arguments", () => {
  test.each([
    ["no text to create", { command: "create", path: "a.txt" }],
    ["nothing to replace", { command: "str_replace", path: "a.txt", new_str: "x" }],
    ["an empty old_str", { command: "str_replace", path: "a.txt", old_str: "" }],
    ["no line to insert after", { command: "insert", path: "a.txt", insert_text: "x" }],
    ["nothing to insert", { command: "insert", path: "a.txt", insert_line: 1 }],
    ["a negative line", { command: "insert", path: "a.txt", insert_line: -1, insert_text: "x" }],
    ["a range that runs backwards", { command: "view", path: "a.txt", view_range: [3, 2] }],
    ["a range from 0", { command: "view", path: "a.txt", view_range: [0, 2] }],
    ["half a range", { command: "view", path: "a.txt", view_range: [1] }],
    ["an unknown command", { command: "delete", path: "a.txt" }],
    ["no path", { command: "view" }],
    ["an empty path", { command: "view", path: "" }],
  ])("%s is INVALID_ARGUMENT", async (_name, args) => {
    bench.write("a.txt", "x\n");
    expect(codeOf(await (await bench.toolkit()).invoke("text_editor", args))).toBe(
      "failure INVALID_ARGUMENT",
    );
    expect(bench.tree()).toEqual({ "a.txt": "x\n" });
  });
});
