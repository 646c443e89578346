import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseSearchReplace } from "../../../src/domain/patch/formats/search-replace.ts";
import { parsePatch } from "../../../src/domain/patch/parse-patch.ts";
import { runCommands } from "./memory-commands.ts";
import { MemoryTree } from "./memory-tree.ts";

const block = (search: string, replace: string, marks = 7) =>
  `${"<".repeat(marks)} SEARCH\n${search}${"=".repeat(marks)}\n${replace}${">".repeat(marks)} REPLACE\n`;

function commands(text: string) {
  const parsed = parseSearchReplace(text);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return parsed.commands;
}

function run(files: Record<string, string>, text: string) {
  const tree = new MemoryTree();
  for (const [path, content] of Object.entries(files)) tree.put(path, content);
  return { tree, errors: runCommands(tree, commands(text)) };
}

describe("the path of a block", () => {
  const body = block("a\n", "b\n");
  test.each([
    ["src/a.ts\n", "src/a.ts"],
    ["src/a.ts\n```ts\n", "src/a.ts"],
    ["`src/a.ts`\n```\n", "src/a.ts"],
    ["### src/a.ts\n\n```ts\n", "src/a.ts"],
    ["**src/a.ts**:\n```ts\n", "src/a.ts"],
    ["In `src/a.ts` change the name:\n\n```ts\n", "src/a.ts"],
    ["```ts src/a.ts\n", "src/a.ts"],
    ["```ts:src/a.ts\n", "src/a.ts"],
    ["```\nsrc/a.ts\n", "src/a.ts"],
    ["File: src/a.ts\n", "src/a.ts"],
    ["# Makefile\n", "Makefile"],
    ["`docs/two words.md`\n", "docs/two words.md"],
    [".env.example\n", ".env.example"],
    ["src/日本語.md\n", "src/日本語.md"],
    ["app/[id]/page.tsx\n```tsx\n", "app/[id]/page.tsx"],
  ])("%j", (above, path) => {
    expect(commands(above + body)[0]).toMatchObject({ type: "file_edit", action: "update", target: path });
  });
  test("a block without one belongs to the file before it", () => {
    expect(commands(`a.ts\n${body}\nand then\n\n${body}\nb.ts\n${body}`).map((each) => each.target)).toEqual([
      "a.ts",
      "a.ts",
      "b.ts",
    ]);
  });
  test("prose is not a path", () => {
    expect(parseSearchReplace(`Change it like this:\n${body}`).ok).toBe(false);
  });
});

describe("blocks", () => {
  test("replace, and lines in both keep the file's own bytes", () => {
    const { tree } = run(
      { "a.ts": "one  \ntwo\nthree\t\n" },
      `a.ts\n${block("one\ntwo\nthree\n", "one\n2\nthree\n")}`,
    );
    expect(tree.text("a.ts")).toBe("one  \n2\nthree\t\n");
  });
  test("an empty REPLACE deletes", () => {
    expect(run({ "a.ts": "x\ny\n" }, `a.ts\n${block("x\n", "")}`).tree.text("a.ts")).toBe("y\n");
  });
  test("an empty SEARCH creates a missing file and fills an empty one, but refuses any other", () => {
    expect(run({}, `n/a.ts\n${block("", "x\n")}`).tree.text("n/a.ts")).toBe("x\n");
    expect(run({ "a.ts": "" }, `a.ts\n${block("", "x\n")}`).tree.text("a.ts")).toBe("x\n");
    const { tree, errors } = run({ "a.ts": "y\n" }, `a.ts\n${block("", "x\n")}`);
    expect([tree.text("a.ts"), errors.length]).toEqual(["y\n", 1]);
  });
  test.each([5, 6, 8, 9])("marks of %d characters", (marks) => {
    expect(run({ "a.ts": "x\n" }, `a.ts\n${block("x\n", "y\n", marks)}`).tree.text("a.ts")).toBe("y\n");
  });
  test("a heading underlined with equals signs on both sides", () => {
    const { tree } = run(
      { "a.rst": "Old\n=======\ntext\n" },
      `a.rst\n${block("Old\n=======\n", "New\n=======\n")}`,
    );
    expect(tree.text("a.rst")).toBe("New\n=======\ntext\n");
  });
  test.each([
    ["a second divider before REPLACE ends the block", "x\n=======\ny\n=======\n>>>>>>> REPLACE\n", "y\nz\n"],
    ["a second divider in the place of REPLACE ends the block", "x\n=======\ny\n=======\n", "y\nz\n"],
    ["nothing between two dividers is nothing", "x\n=======\n=======\n>>>>>>> REPLACE\n", "z\n"],
    ["what follows the second is not used", "x\n=======\ny\n=======\nw\n>>>>>>> REPLACE\n", "y\nz\n"],
    [
      "blocks that end so follow each other",
      "x\n=======\ny\n=======\n\n<<<<<<< SEARCH\nz\n=======\nZ\n=======\n",
      "y\nZ\n",
    ],
  ])("%s", (_name, body, after) => {
    const patch = `<<<<<<< SEARCH\n${body}`;
    for (const text of [
      `a.ts\n${patch}`,
      `a.ts\n\`\`\`ts\n${patch}\`\`\`\n`,
      `a.ts\n${patch}\n~~~bash\nls\n~~~\n`,
    ]) {
      const parsed = parsePatch(text);
      if (!parsed.ok) throw new Error(parsed.failure.message);
      const edits = parsed.commands.filter(({ type }) => type === "file_edit");
      expect(parsed.commands.length - edits.length).toBe(text.includes("~~~bash") ? 1 : 0);
      const tree = new MemoryTree().put("a.ts", "x\nz\n");
      expect(runCommands(tree, edits)).toEqual([]);
      expect(tree.text("a.ts")).toBe(after);
    }
  });
  test("what a second divider leaves out is warned of", () => {
    const parsed = parseSearchReplace("a.ts\n<<<<<<< SEARCH\nx\n=======\ny\n=======\nw\n>>>>>>> REPLACE\n");
    expect(parsed).toMatchObject({
      ok: true,
      warnings: [
        "line 6: a second '=======' ends the block; the text between it and '>>>>>>> REPLACE' is not used",
      ],
    });
  });
  test("a merge conflict in the file", () => {
    const conflict = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> topic\n";
    expect(run({ "a.ts": `x\n${conflict}y\n` }, `a.ts\n${block(conflict, "ours\n")}`).tree.text("a.ts")).toBe(
      "x\nours\ny\n",
    );
  });
  test("text that holds whole blocks, in longer marks", () => {
    const inner = block("p\n", "q\n");
    expect(run({ "a.md": "x\n" }, `a.md\n${block("x\n", inner, 9)}`).tree.text("a.md")).toBe(inner);
  });
  test("a start line decides between places", () => {
    const text = `a.ts\n<<<<<<< SEARCH\n:start_line:4\n-------\nx\n=======\nz\n>>>>>>> REPLACE\n`;
    expect(run({ "a.ts": "x\ny\ny\nx\n" }, text).tree.text("a.ts")).toBe("x\ny\ny\nz\n");
  });
  test("a block that fails leaves the others applied", () => {
    const { tree, errors } = run(
      { "a.ts": "x\ny\n" },
      `a.ts\n${block("nope\n", "z\n")}${block("y\n", "Y\n")}`,
    );
    expect(tree.text("a.ts")).toBe("x\nY\n");
    expect(errors).toHaveLength(1);
  });
  test.each([
    ["cut off", "a.ts\n<<<<<<< SEARCH\nx\n=======\ny\n"],
    ["no divider", "a.ts\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n"],
    ["nothing in it", `a.ts\n${block("", "")}`],
    ["no block", "a.ts\n"],
  ])("refuses one with %s", (_name, text) => {
    expect(parseSearchReplace(text).ok).toBe(false);
  });
});

test("parsing never throws", () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "<<<<<<< SEARCH",
      "=======",
      ">>>>>>> REPLACE",
      "a.ts",
      "```ts",
      "x",
      "",
      "<<<<<<< HEAD",
      ">>>>>>> x",
    ),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
      const parsed = parseSearchReplace(lines.join("\n"));
      if (parsed.ok) runCommands(new MemoryTree().put("a.ts", "x\ny\n"), parsed.commands);
    }),
    { numRuns: 500 },
  );
});

test("a block made of two texts turns one into the other, with any line ends", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "  c", "", "日本"), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(lines, lines, fc.constantFrom("\n", "\r\n"), (from, to, eol) => {
      fc.pre(from.some((line) => line !== "") && from.join("\n") !== to.join("\n"));
      const file = ["<start>", ...from, "<end>"].join(eol) + eol;
      const wanted = ["<start>", ...to, "<end>"].join(eol) + eol;
      const texts = ["<start>", ...from, "<end>", ""].join("\n");
      const { tree } = run(
        { "a.ts": file },
        `a.ts\n${block(texts, ["<start>", ...to, "<end>", ""].join("\n"))}`,
      );
      expect(tree.text("a.ts")).toBe(wanted);
    }),
    { numRuns: 300 },
  );
});
