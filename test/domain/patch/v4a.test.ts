import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseV4a } from "../../../src/domain/patch/formats/v4a.ts";
import { runCommands } from "./memory-commands.ts";
import { MemoryTree } from "./memory-tree.ts";

const wrap = (body: string) => `*** Begin Patch\n${body}*** End Patch\n`;

function commands(text: string) {
  const parsed = parseV4a(text);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return parsed.commands;
}

function run(files: Record<string, string>, text: string) {
  const tree = new MemoryTree();
  for (const [path, content] of Object.entries(files)) tree.put(path, content);
  const errors = runCommands(tree, commands(text));
  return { tree, errors };
}

test("each operation is a command of its own, in order", () => {
  const text = wrap(
    "*** Add File: a.md\n+one\n+\n+two\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n@@ class X\n@@ def y\n-1\n+2\n*** End of File\n",
  );
  expect(commands(text)).toMatchObject([
    { type: "file_edit", action: "create", target: "a.md", content: "one\n\ntwo\n" },
    { type: "file_edit", action: "delete", target: "b", content: "", metadata: { format: "v4a" } },
    {
      type: "file_edit",
      action: "update",
      target: "c",
      edit: { kind: "v4a", path: "c", moveTo: "d", hunks: [{ anchors: ["class X", "def y"], atEnd: true }] },
    },
  ]);
});

describe("leniencies", () => {
  const update = "*** Update File: f\n@@\n-a\n+b\n";
  test.each([
    ["a heredoc", `apply_patch <<'EOF'\n${wrap(update)}EOF\n`],
    ["prose around it", `Sure:\n\n${wrap(update)}\nDone.\n`],
    ["CRLF", wrap(update).replaceAll("\n", "\r\n")],
    ["the whole patch indented", wrap(update).replace(/^(?=.)/gm, "  ")],
    ["no @@ before the first hunk", wrap("*** Update File: f\n-a\n+b\n")],
    ["a unified header", wrap("*** Update File: f\n@@ -1,1 +1,1 @@\n-a\n+b\n")],
    ["a blank line before the next marker", wrap(`${update}\n`)],
    ["context without its space", wrap("*** Update File: f\n@@\n-a\n+b\nc\n")],
  ])("%s", (_name, text) => {
    const { tree, errors } = run({ f: "a\nc\n" }, text);
    expect(errors).toEqual([]);
    expect(tree.text("f")).toBe("b\nc\n");
  });
  test("a move without hunks renames", () => {
    const { tree } = run({ f: "a\n" }, wrap("*** Update File: f\n*** Move to: g/h\n"));
    expect(tree.snapshot()).toEqual({ g: "directory", "g/h": 'file 644 "a\\n"' });
  });
  test("an insertion under an anchor is placed below the anchor", () => {
    const { tree } = run(
      { f: "def a():\n    1\ndef b():\n    2\n" },
      wrap("*** Update File: f\n@@ def a():\n+    0\n"),
    );
    expect(tree.text("f")).toBe("def a():\n    0\n    1\ndef b():\n    2\n");
  });
});

test.each([
  ["a cut off patch", "*** Begin Patch\n*** Update File: f\n@@\n-a\n"],
  ["a patch of no operation", wrap("")],
  ["an unknown header", wrap("*** Add File: ok\n+x\n*** Frobnicate File: f\n")],
  ["an update without changes", wrap("*** Update File: f\n")],
  ["a new file without plus signs", wrap("*** Add File: f\nx\n")],
  ["a header without a name", wrap("*** Delete File: \n")],
  ["no patch", "hello"],
])("refuses %s", (_name, text) => {
  expect(parseV4a(text).ok).toBe(false);
});

test("a hunk that fits twice is refused and its places are named", () => {
  const { tree, errors } = run({ f: "x\na\nx\na\n" }, wrap("*** Update File: f\n@@\n-a\n+b\n"));
  expect(errors[0]).toContain("hunk 1: matches 2 places (lines 2, 4)");
  expect(tree.text("f")).toBe("x\na\nx\na\n");
});

test("a hunk sent twice is named as applied", () => {
  const { errors } = run(
    { f: "first\nsecond new\n" },
    wrap("*** Update File: f\n@@\n first\n-second\n+second new\n"),
  );
  expect(errors[0]).toContain(
    "hunk 1: the file has the result of this edit already, at line 1: leave it out",
  );
  expect(errors[0]).toContain("if another place is meant");
});

test("parsing never throws", () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "*** Begin Patch",
      "*** End Patch",
      "*** Update File: f",
      "*** Add File: g",
      "*** Move to: h",
      "@@",
      "@@ x",
      "-a",
      "+b",
      " c",
      "",
      "*** End of File",
    ),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      const parsed = parseV4a(lines.join("\n"));
      if (parsed.ok) runCommands(new MemoryTree().put("f", "a\nc\n"), parsed.commands);
    }),
    { numRuns: 500 },
  );
});

describe("hunks that touch each other", () => {
  test.each([
    ["an append, then the lines before it", "a\nb\n", "@@\n+z\n@@\n a\n-b\n+B\n", "a\nB\nz\n"],
    ["an append, then lines under the last", "a\nb\n", "@@\n+z\n@@\n b\n+c\n", "a\nb\nc\nz\n"],
    ["two appends", "a\n", "@@\n+y\n@@\n+z\n", "a\ny\nz\n"],
    ["the last line goes, another comes", "a\nb", "@@\n+z\n@@\n a\n-b\n", "a\nz\n"],
    ["a replacement, then lines above it", "a\nb\nc\n", "@@\n-b\n+B\n@@\n a\n+x\n", "a\nx\nB\nc\n"],
    ["lines above a line, then its replacement", "a\nb\n", "@@\n a\n+x\n@@\n-b\n+B\n", "a\nx\nB\n"],
    ["a replacement, then lines below it", "a\nb\nc\n", "@@\n-b\n+B\n@@\n+x\n c\n", "a\nB\nx\nc\n"],
  ])("%s", (_name, file, body, after) => {
    const { tree, errors } = run({ f: file }, wrap(`*** Update File: f\n${body}`));
    expect({ text: tree.text("f"), errors }).toEqual({ text: after, errors: [] });
  });

  test.each([
    ["lines are put between two that go", "a\nb\n", "@@\n a\n+x\n b\n@@\n-a\n-b\n+c\n"],
    ["an anchor goes", "a\nb\nc\n", "@@\n-a\n-b\n+d\n@@ a\n+x\n"],
    ["two go to the same place", "a\nb\n", "@@\n a\n+x\n@@\n a\n+y\n"],
  ])("refused: %s", (_name, file, body) => {
    const { tree, errors } = run({ f: file }, wrap(`*** Update File: f\n${body}`));
    expect({ text: tree.text("f"), failed: errors.length }).toEqual({ text: file, failed: 1 });
  });

  test("the order of hunks with their own lines does not matter", () => {
    const change = fc.record({
      line: fc.nat(19),
      kind: fc.constantFrom("replace", "remove", "above", "below"),
    });
    fc.assert(
      fc.property(fc.uniqueArray(change, { selector: ({ line }) => line, maxLength: 8 }), (changes) => {
        const lines = Array.from({ length: 20 }, (_, i) => `line ${i};`);
        const hunk = ({ line, kind }: (typeof changes)[number]) => {
          const own = lines[line];
          if (kind === "replace") return `@@\n-${own}\n+new ${line};\n`;
          if (kind === "remove") return `@@\n-${own}\n`;
          return kind === "above" ? `@@\n+new ${line};\n ${own}\n` : `@@\n ${own}\n+new ${line};\n`;
        };
        // Two that are put between the same lines have no order of their own.
        const between = changes.map(({ line, kind }) =>
          kind === "below" ? line + 1 : kind === "above" ? line : -line - 1,
        );
        fc.pre(new Set(between).size === between.length);
        const sorted = changes.toSorted((x, y) => x.line - y.line);
        const expected = lines.flatMap((own, i) => {
          const kind = changes.find(({ line }) => line === i)?.kind;
          if (kind === "remove") return [];
          if (kind === "replace") return [`new ${i};`];
          if (kind === "above") return [`new ${i};`, own];
          return kind === "below" ? [own, `new ${i};`] : [own];
        });
        for (const order of changes.length === 0 ? [] : [changes, sorted, sorted.toReversed()]) {
          const patch = wrap(`*** Update File: f\n${order.map(hunk).join("")}`);
          const { tree, errors } = run({ f: `${lines.join("\n")}\n` }, patch);
          expect({ text: tree.text("f"), errors }).toEqual({ text: `${expected.join("\n")}\n`, errors: [] });
        }
      }),
    );
  });
});
