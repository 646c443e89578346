import { describe, expect, test } from "bun:test";
import { createTwoFilesPatch } from "diff";
import fc from "fast-check";
import { parseUnifiedDiff } from "../../../src/domain/patch/formats/unified-diff/unified-diff.ts";
import { editPaths, formatEditReport, planEdit } from "../../../src/domain/patch/plan-edit.ts";
import { MemoryTree, planOptions } from "./memory-tree.ts";

function files(patch: string) {
  const parsed = parseUnifiedDiff(patch);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return parsed.files;
}

function apply(tree: MemoryTree, patch: string | Uint8Array) {
  const parsed = parseUnifiedDiff(patch);
  if (!parsed.ok) return parsed.failure.message;
  const plan = planEdit({ kind: "diff", files: parsed.files }, tree, planOptions);
  if (!plan.ok) return plan.error;
  tree.write(plan.writes);
  return "ok";
}

const HUNK = "@@ -1 +1 @@\n-a\n+b\n";

describe("paths in headers", () => {
  const table: [header: string, oldPath: string | null, newPath: string | null][] = [
    ["diff --git a/x/y.ts b/x/y.ts\n--- a/x/y.ts\n+++ b/x/y.ts\n", "x/y.ts", "x/y.ts"],
    ["--- a/x/y.ts\n+++ b/x/y.ts\n", "x/y.ts", "x/y.ts"],
    ["--- src/y.ts\n+++ src/y.ts\n", "src/y.ts", "src/y.ts"],
    ["diff --git src/y.ts src/y.ts\n--- src/y.ts\n+++ src/y.ts\n", "src/y.ts", "src/y.ts"],
    ["--- y.ts\n+++ y.ts\n", "y.ts", "y.ts"],
    ["--- i/y.ts\n+++ w/y.ts\n", "y.ts", "y.ts"],
    [
      "--- proj-1.0/y.c\t2010-08-18 20:13:31.5 -0500\n+++ proj-1.1/y.c\t2010-08-18 20:13:31.5 -0500\n",
      "y.c",
      "y.c",
    ],
    ["--- y.c.orig\n+++ y.c\n", "y.c", "y.c"],
    ["--- a/two words.md\n+++ b/two words.md\t\n", "two words.md", "two words.md"],
    ['--- "a/s\\303\\274\\t.md"\n+++ "b/s\\303\\274\\t.md"\n', "sü\t.md", "sü\t.md"],
    ["--- a/日本.md\n+++ b/日本.md\n", "日本.md", "日本.md"],
    ["--- a/y.ts\r\n+++ b/y.ts\r\n", "y.ts", "y.ts"],
    ["--- a/x//y\n+++ b/x//y\n", "x/y", "x/y"],
  ];
  test.each(table)("%j", (header, oldPath, newPath) => {
    expect(files(header + HUNK)[0]).toMatchObject({ oldPath, newPath });
  });

  test("creation and deletion", () => {
    expect(files("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+b\n")[0]).toMatchObject({
      operation: "create",
      newPath: "n",
    });
    expect(files("--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n")[0]).toMatchObject({
      operation: "delete",
      oldPath: "n",
    });
    expect(files("diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+b\n")[0]).toMatchObject({
      operation: "create",
    });
    const epoch =
      "--- a/n\t1970-01-01 09:00:00.0 +0900\n+++ b/n\t1982-09-17 00:00:00.0 +0900\n@@ -0,0 +1 @@\n+b\n";
    expect(files(epoch)[0]).toMatchObject({ operation: "create", oldPath: null });
  });

  test("renames, copies and modes need no hunks", () => {
    expect(files("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n")[0]).toMatchObject(
      { operation: "rename", oldPath: "x", newPath: "y" },
    );
    expect(files("diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n")[0]).toMatchObject({
      operation: "copy",
    });
    expect(files("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n")[0]).toMatchObject({
      oldMode: 0o100644,
      newMode: 0o100755,
    });
  });

  test.each([
    ["diff --git a/f b/f\n--- a/f\n@@ -1 +1 @@\n-a\n+b\n"],
    ["diff --git a/f b/f\nnew mode garbage\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"],
    ["diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+b\n"],
    ["diff --git a/f b/f\ndeleted file mode 100644\nnew file mode 100644\n"],
    ["diff --git a/f b/f\nindex 1234567..2345678 100644\n"],
    ["@@ -1 +1 @@\n-a\n+b\n"],
    ["--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n b\n"],
    ["--- /dev/null\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"],
    ["only prose\n"],
    [""],
  ])("refuses %j", (patch) => {
    expect(parseUnifiedDiff(patch).ok).toBe(false);
  });
});

describe("what models really emit", () => {
  const table: [name: string, before: string, patch: string, after: string][] = [
    [
      "counts too small",
      "a\nb\nc\nd\n",
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n c\n-d\n+D\n",
      "a\nB\nc\nD\n",
    ],
    [
      "counts that leave out the last context before another hunk",
      "a\nb\nc\nd\ne\nf\n",
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n c\n d\n\n@@ -5,2 +5,2 @@\n-e\n+E\n f\n",
      "a\nB\nc\nd\nE\nf\n",
    ],
    ["counts too large", "a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"],
    ["no counts", "a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"],
    ["no numbers", "a\nb\nc\n", "--- a/f\n+++ b/f\n@@ ... @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"],
    ["a bare @@", "a\nb\nc\n", "--- a/f\n+++ b/f\n@@\n a\n-b\n+B\n c\n", "a\nB\nc\n"],
    [
      "wrong line number",
      "x\nx\nx\na\nb\nc\n",
      "--- a/f\n+++ b/f\n@@ -40,3 +40,3 @@\n a\n-b\n+B\n c\n",
      "x\nx\nx\na\nB\nc\n",
    ],
    [
      "blank context without its space",
      "a\n\nb\nc\n",
      "--- a/f\n+++ b/f\n@@ -1,4 +1,4 @@\n a\n\n-b\n+B\n c\n",
      "a\n\nB\nc\n",
    ],
    [
      "SQL comments",
      "-- old\nselect 1;\n",
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n--- old\n+-- new\n select 1;\n",
      "-- new\nselect 1;\n",
    ],
    [
      "SQL comments and wrong counts",
      "-- old\nselect 1;\n",
      "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n--- old\n+-- new\n select 1;\n",
      "-- new\nselect 1;\n",
    ],
    [
      "prose around it",
      "a\nb\n",
      "Here you go:\n\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n\nThat should do. - Done\n",
      "a\nB\n",
    ],
    ["a mail signature", "a\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n-- \n2.39.5\n", "a\nB\n"],
    ["no line end at the end", "a\nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B", "a\nB\n"],
    ["a CRLF file", "a\r\nb\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\r\nB\r\n"],
    ["a CRLF patch", "a\nb\n", "--- a/f\r\n+++ b/f\r\n@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+B\r\n", "a\nB\n"],
    [
      "no trailing context in the middle",
      "a\nb\nc\nd\n",
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n",
      "a\nB\nc\nd\n",
    ],
    [
      "empty lines between hunks",
      "a\nb\nc\nd\ne\nf\n",
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\n@@ -5,2 +5,2 @@\n e\n-f\n+F\n",
      "A\nb\nc\nd\ne\nF\n",
    ],
    [
      "contexts that overlap",
      "a\nb\nc\n",
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n",
      "A\nb\nC\n",
    ],
  ];
  test.each(table)("%s", (_name, before, patch, after) => {
    const tree = new MemoryTree().put("f", before);
    expect(apply(tree, patch)).toBe("ok");
    expect(tree.text("f")).toBe(after);
  });

  test("counts that run into the next file do not swallow it", () => {
    const tree = new MemoryTree().put("f", "a\nb\n").put("g", "a\nb\n");
    const one = (name: string) => `--- a/${name}\n+++ b/${name}\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n`;
    expect(apply(tree, one("f") + one("g"))).toBe("ok");
    expect([tree.text("f"), tree.text("g")]).toEqual(["a\nB\n", "a\nB\n"]);
  });
});

describe("a diff is one unit", () => {
  test("one hunk that fails leaves everything unchanged, and the report shows the file's lines", () => {
    const tree = new MemoryTree().put("f", "a\nb\n").put("g", "first line\nsecond line\n");
    const patch =
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n first line\n-second lime\n+2\n";
    const plan = planEdit({ kind: "diff", files: files(patch) }, tree, planOptions);
    expect(plan.ok).toBe(false);
    expect(formatEditReport(plan.reports)).toContain(
      "The nearest lines:\n  line 1 (90 % alike)\n    1| first line\n    2| second line",
    );
    expect(tree.text("f")).toBe("a\nb\n");
  });
  test("a searched line that is a part of one means that one, regardless of similar lines", () => {
    const whole =
      'test("of a tag", () => assert.deepEqual(listTasks(tasks, { tag: "t" }), ["  2   b  (t)"]));';
    const tree = new MemoryTree().put("f", `test("open first, by priority", () => {\n});\n${whole}\n`);
    const patch = '--- a/f\n+++ b/f\n@@ -3 +3 @@\n-test("of a tag", () =>\n+x\n';
    const plan = planEdit({ kind: "diff", files: files(patch) }, tree, planOptions);
    expect(plan.ok).toBe(false);
    expect(formatEditReport(plan.reports)).toContain(
      `The nearest lines:\n  line 3 (95 % alike)\n    3| ${whole}`,
    );
  });

  test("of a long hunk the lines around the first difference are shown, with the expected ones", () => {
    const lines = Array.from({ length: 40 }, (_, i) => `const name${i} = compute(${i});`);
    const tree = new MemoryTree().put("f", `${["// head", ...lines].join("\n")}\n`);
    const sent = lines.slice(0, 30).map((line, i) => `-${i === 19 ? "const name19 = computed(19);" : line}`);
    const patch = `--- a/f\n+++ b/f\n@@ -1,30 +1,1 @@\n${sent.join("\n")}\n+x\n`;
    const plan = planEdit({ kind: "diff", files: files(patch) }, tree, planOptions);
    const report = formatEditReport(plan.reports);
    expect(report).toContain(
      "The nearest lines:\n  line 2 (99 % alike)\n    18| const name16 = compute(16);\n",
    );
    expect(report).toContain("\n    21| const name19 = compute(19);\n");
    expect(report).toContain(
      "\n  line 21 is the first that differs; expected was\n      | const name19 = computed(19);\n",
    );
  });

  test("the report of a success names lines and how they were found", () => {
    const tree = new MemoryTree().put("f", "a \nb\n");
    const plan = planEdit(
      { kind: "diff", files: files("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n") },
      tree,
      planOptions,
    );
    expect(formatEditReport(plan.reports)).toBe("f hunk 1: applied at line 1 (matched by whitespace)");
  });
  test("a prefix that git would strip is tried where the name as written is missing", () => {
    const tree = new MemoryTree().put("y.ts", "a\n");
    expect(apply(tree, `--- proj/y.ts\n+++ proj/y.ts\n${HUNK}`)).toBe("ok");
    expect(tree.text("y.ts")).toBe("b\n");
  });
  test("a folder whose only file is deleted may become a file", () => {
    const tree = new MemoryTree().put("d/x", "a\n");
    const patch = "--- a/d/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+b\n";
    expect(apply(tree, patch)).toBe("ok");
    expect(tree.snapshot()).toEqual({ d: 'file 644 "b\\n"' });
  });
  test("created then modified, renamed then gone, deleted then created as a link", () => {
    const tree = new MemoryTree().put("old", "x\n").put("kind", "t");
    const patch =
      "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+one\n" +
      "diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1 +1,2 @@\n one\n+two\n" +
      "diff --git a/old b/dir/new\nsimilarity index 100%\nrename from old\nrename to dir/new\n" +
      "diff --git a/kind b/kind\ndeleted file mode 100644\n--- a/kind\n+++ /dev/null\n@@ -1 +0,0 @@\n-t\n\\ No newline at end of file\n" +
      "diff --git a/kind b/kind\nnew file mode 120000\n--- /dev/null\n+++ b/kind\n@@ -0,0 +1 @@\n+n\n\\ No newline at end of file\n";
    expect(apply(tree, patch)).toBe("ok");
    expect(tree.snapshot()).toEqual({
      dir: "directory",
      "dir/new": 'file 644 "x\\n"',
      kind: "link n",
      n: 'file 755 "one\\ntwo\\n"',
    });
  });
  test("a private file stays private", () => {
    const tree = new MemoryTree().put("s", "a\n", 0o600).put("t", "a\n", 0o600);
    expect(
      apply(
        tree,
        "diff --git a/s b/s\nold mode 100644\nnew mode 100755\ndiff --git a/t b/u\nrename from t\nrename to u\n",
      ),
    ).toBe("ok");
    expect(tree.snapshot()).toEqual({ s: 'file 700 "a\\n"', u: 'file 600 "a\\n"' });
  });
  test.each([
    ["a path that leads out", "--- a/../f\n+++ b/../f\n@@ -1 +1 @@\n-a\n+b\n"],
    ["git's own folder", "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+b\n"],
    ["a missing file", "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n"],
    ["a file that exists", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+b\n"],
    ["a folder in the way", "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+b\n"],
    ["a file where a folder must be", "--- /dev/null\n+++ b/f/x\n@@ -0,0 +1 @@\n+b\n"],
    [
      "a deletion that leaves contents",
      "diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    ],
    ["binary files that differ", "diff --git a/f b/f\nindex 1..2 100644\nBinary files a/f and b/f differ\n"],
    ["a diff that was applied", "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n+between\n end\n"],
  ])("refuses %s", (_name, patch) => {
    const tree = new MemoryTree().put("f", "a\nbetween\nend\n").put("d/x", "");
    const before = tree.snapshot();
    expect(apply(tree, patch)).not.toBe("ok");
    expect(tree.snapshot()).toEqual(before);
  });
  test("paths for the policy name both ends and the other reading", () => {
    const edit = {
      kind: "diff",
      files: files(
        "--- src/y\n+++ src/y\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/p b/q\nrename from p\nrename to q\n",
      ),
    } as const;
    expect(editPaths(edit)).toEqual(["src/y", "y", "p", "q"]);
  });
  test("UTF-16 is edited as text and written back as UTF-16", () => {
    const wide = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");
    const tree = new MemoryTree().put("f", wide("a\r\nあ\r\n"));
    expect(apply(tree, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-あ\n+い\n")).toBe("ok");
    expect(tree.look("f")).toMatchObject({ bytes: wide("a\r\nい\r\n") });
  });
});

describe("properties", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", "", "  x", "-- y", "++ z", "@@ -1 +1 @@", "日本"), {
    maxLength: 12,
  });
  test("parsing never throws", () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom(
        "--- a/f",
        "+++ b/f",
        "@@ -1,2 +1 @@",
        "@@",
        "-x",
        "+y",
        " z",
        "",
        "diff --git a/f b/f",
        "GIT binary patch",
        "literal 3",
        "rename from x",
        '--- "a',
        "\\ No newline",
      ),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        const patch = lines.join("\n");
        const parsed = parseUnifiedDiff(patch);
        if (parsed.ok)
          planEdit({ kind: "diff", files: parsed.files }, new MemoryTree().put("f", "x\nz\n"), planOptions);
      }),
      { numRuns: 500 },
    );
  });
  test("a diff made of two texts turns one into the other", () => {
    fc.assert(
      fc.property(
        text,
        text,
        fc.boolean(),
        fc.boolean(),
        fc.constantFrom("\n", "\r\n"),
        (from, to, endFrom, endTo, eol) => {
          const before = from.join(eol) + (endFrom && from.length > 0 ? eol : "");
          const after = to.join(eol) + (endTo && to.length > 0 ? eol : "");
          fc.pre(before !== after && before !== "");
          const patch = createTwoFilesPatch("a/f", "b/f", before, after, "", "", { context: 3 });
          const tree = new MemoryTree().put("f", before);
          expect(apply(tree, patch)).toBe("ok");
          expect(tree.text("f")).toBe(after);
        },
      ),
      { numRuns: 500 },
    );
  });
  test("line ends outside the changed lines stay, of any kind", () => {
    const eols = fc.array(fc.constantFrom("\n", "\r\n"), { minLength: 12, maxLength: 12 });
    fc.assert(
      fc.property(eols, fc.integer({ min: 3, max: 8 }), (ends, at) => {
        const lines = ends.map((eol, i) => `line ${i}${eol}`);
        const tree = new MemoryTree().put("f", lines.join(""));
        const patch = `--- a/f\n+++ b/f\n@@ -${at},3 +${at},3 @@\n line ${at - 1}\n-line ${at}\n+changed\n line ${at + 1}\n`;
        expect(apply(tree, patch)).toBe("ok");
        const rest = (tree.text("f") ?? "").replace(/changed\r?\n/, "");
        expect(rest).toBe(lines.filter((_, i) => i !== at).join(""));
      }),
    );
  });
});

describe("a binary patch that was cut off", () => {
  const OLD =
    "004420823cfde6f1c26b30f90ec7dd01e4887534a20f0b0d04c36ed80e71e0fd77b07670eb940bd5335f973daad8619b91ffc911f57cced458bbbf2ce03753c9bdfa0ff0169dc9";
  const FORWARD = `diff --git a/f b/f
index 4e587acf2983cb2c3db4ad173cde027c9c582e62..2dabaa7a408c29e87d3fe40406d68f6e60b05f63 100644
GIT binary patch
literal 61
zcmV-D0K)$O94;%kR-J%s5>edAzT=4!4!Z86!q\`+=cy<h0rdUO|UF6idwYlU{%<O;q
Tj{mjj?6c|lai&#?^\`4v1#pWY}

`;
  const REVERSE = `literal 71
zcmV-N0J#4EL?D7Z{pRt)YcTl^$K3(sh;=lg4+{+h!*19Pap3)Tuy%0klnd1}Uza_q
d*kPNI|H%>ce9qKZyT2^pH&e;I\`Va6Hoyq;EC3gS-
`;
  const applied = (patch: string) =>
    apply(new MemoryTree().put("f", Buffer.from(OLD, "hex")), patch) === "ok";

  test("whole, with and without its way back, it applies", () => {
    expect([`${FORWARD}${REVERSE}\n`, FORWARD + REVERSE, FORWARD].map(applied)).toEqual([true, true, true]);
  });

  test("anywhere in its way back, it is refused", () => {
    const whole = REVERSE.trimEnd();
    for (let cut = 1; cut < whole.length; cut++)
      for (const end of ["", "\n", "\n\n"])
        expect(applied(FORWARD + whole.slice(0, cut) + end), JSON.stringify(whole.slice(0, cut))).toBe(false);
  });
});
