/** An edit that is sent again is already applied or refused. It never changes the file a second time. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { createTwoFilesPatch } from "diff";
import fc from "fast-check";
import { applyHunks, type MatchRule } from "../../../src/domain/patch/apply-hunks.ts";
import { parseSearchReplace } from "../../../src/domain/patch/formats/search-replace.ts";
import { parseUnifiedDiff } from "../../../src/domain/patch/formats/unified-diff/unified-diff.ts";
import { parseV4a } from "../../../src/domain/patch/formats/v4a.ts";
import type { DiffFile, Hunk, HunkLine } from "../../../src/domain/patch/patch-command.ts";
import { Matching } from "../../../src/domain/patch/target-lines.ts";
import { readableText, toBytesText } from "../../../src/domain/platform/bytes-text.ts";
import { runs } from "../../require.ts";

type Applied = ReturnType<typeof applyHunks>;

function apply(text: string, hunks: readonly Hunk[], rule: MatchRule): Applied {
  return applyHunks("f", text, hunks, rule, new Matching());
}

/** A changed text after the second time, or null where all is well. */
function changedAgain(before: string, hunks: readonly Hunk[], rule: MatchRule): string | null {
  const once = apply(before, hunks, rule);
  if (!once.ok) return null;
  const twice = apply(once.text, hunks, rule);
  return twice.text === once.text ? null : twice.text;
}

function diffFiles(patch: string): readonly DiffFile[] {
  const parsed = parseUnifiedDiff(patch);
  if (!parsed.ok) throw new Error(parsed.failure.message);
  return parsed.files;
}

/** The same change in the three ways in which models write it, most of them without line numbers. */
function formsOf(hunks: readonly Hunk[]): readonly [MatchRule, readonly Hunk[]][] {
  const plain = hunks.map(({ lines }): Hunk => ({ lines }));
  const blocks = hunks.map(({ lines }): Hunk => {
    const first = lines.findIndex(({ tag }) => tag !== " ");
    return { lines: first < 0 ? lines : lines.slice(first) };
  });
  return [
    ["diff", hunks],
    ["v4a", plain],
    ...plain.map((hunk): [MatchRule, Hunk[]] => ["search-replace", [hunk]]),
    ...blocks.map((hunk): [MatchRule, Hunk[]] => ["search-replace", [hunk]]),
    ...hunks.map(({ lines, oldStart }): [MatchRule, Hunk[]] => [
      "search-replace",
      [{ lines, ...(oldStart !== undefined && { oldStart }) }],
    ]),
    ["v4a", blocks.map((hunk, i) => ({ ...hunk, anchors: [hunks[i]?.lines[0]?.text ?? ""] }))],
    ["v4a", blocks.map((hunk, i) => ({ ...hunk, atEnd: i === blocks.length - 1 }))],
  ];
}

describe("a change that is there already", () => {
  const table: [name: string, before: string, search: string, replace: string][] = [
    [
      "a line put into a block",
      "for k in f:\n    form[k] = v\n",
      "form[k] = v\n",
      "if k in allowed:\n    form[k] = v\n",
    ],
    ["a closing bracket appended", "x = [\n  1,\n", "  1,\n", "  1,\n]\n"],
    ["a brace appended", "f() {\n  a()\n", "  a()\n", "  a()\n}\n"],
    ["a line of dashes put below", "title\n\ntext\n", "title\n", "title\n-----\n"],
    ["other white space", "if x:\n  a()  \n", "if x:\n  a()\n", "if x:\n  if y:\n    a()\n"],
  ];
  test.each(table)("%s", (_name, before, search, replace) => {
    const block = parseSearchReplace(`f.txt\n<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n`);
    const edit = block.ok ? block.commands[0]?.edit : undefined;
    if (edit?.kind !== "search-replace") throw new Error("not read");
    const once = apply(before, [edit.hunk], "search-replace");
    expect(once.ok).toBe(true);
    const twice = apply(once.text, [edit.hunk], "search-replace");
    expect(twice).toMatchObject({ ok: false, text: once.text, reports: [{ status: "already-applied" }] });
  });

  test("a section between two blank lines, of which one moves below its heading", () => {
    const [before, after] = ["a\n\nb\n\n\n", "a\n\nb\n\n## Heading\n\nSome text of it\n"];
    const patch = `--- a/f\n+++ b/f\n@@ -4,2 +4,4 @@\n \n+## Heading\n \n+Some text of it\n`;
    const [file] = diffFiles(patch);
    const hunks = file?.change === "text" ? file.hunks : [];
    expect(apply(before, hunks, "diff")).toMatchObject({ ok: true, text: after });
    const again = { ok: false, text: after, reports: [{ status: "already-applied" }] };
    expect(apply(after, hunks, "diff")).toMatchObject(again);
  });

  test("an anchor does not lead on to the next function", () => {
    const before = "def a():\n    return 1\n\ndef b():\n    return 1\n";
    const read = parseV4a(
      "*** Begin Patch\n*** Update File: f\n@@ def a():\n-    return 1\n+    return 2\n*** End Patch\n",
    );
    const edit = read.ok ? read.commands[0]?.edit : undefined;
    if (edit?.kind !== "v4a") throw new Error("not read");
    const once = apply(before, edit.hunks, "v4a");
    expect(once.text).toBe("def a():\n    return 2\n\ndef b():\n    return 1\n");
    expect(apply(once.text, edit.hunks, "v4a")).toMatchObject({
      ok: false,
      reports: [{ status: "already-applied" }],
    });
  });

  test("lines added at the end by V4A are not added again", () => {
    const hunk: Hunk = { lines: [{ tag: "+", text: "}", eol: "\n" }] };
    const once = apply("f() {\n", [hunk], "v4a");
    expect(once.text).toBe("f() {\n}\n");
    expect(apply(once.text, [hunk], "v4a").ok).toBe(false);
  });

  test("an import that moved stays whole", () => {
    const before = "import a\nimport b\nimport c\n\nx = 1\ny = 2\nz = 3\n";
    const after = "import b\nimport c\n\nx = 1\ny = 2\nimport a\nz = 3\n";
    const [file] = diffFiles(createTwoFilesPatch("a/f", "b/f", before, after, "", "", { context: 1 }));
    if (file?.change !== "text") throw new Error("not read");
    for (const [rule, hunks] of formsOf(file.hunks)) expect(changedAgain(before, hunks, rule)).toBeNull();
  });
});

describe("a first edit is not taken for a second one", () => {
  test("the same change is in another function", () => {
    const text = "def a():\n    return 2\n\ndef b():\n    return 1\n";
    const hunk: Hunk = {
      lines: [
        { tag: "-", text: "    return 1", eol: "\n" },
        { tag: "+", text: "    return 2", eol: "\n" },
      ],
    };
    expect(apply(text, [hunk], "search-replace").text).toBe(text.replace("return 1", "return 2"));
    const crlf = text.replaceAll("\n", "\r\n");
    expect(apply(crlf, [hunk], "search-replace").text).toBe(crlf.replace("return 1", "return 2"));
  });
  /** A block, and the same kind of block before it, so that both ends of the deleted lines are as the lines around them. */
  test.each<[name: string, before: string, hunk: string]>([
    [
      "an object of a list",
      '[\n  {\n    "name": "a"\n  },\n  {\n    "name": "b"\n  },\n  {\n    "name": "c"\n  }\n]\n',
      '   },\n-  {\n-    "name": "b"\n-  },\n   {\n',
    ],
    [
      "a table of TOML",
      '[[all]]\nname = "a"\n\n[[all]]\nname = "b"\n\n[[all]]\nname = "c"\n',
      ' \n-[[all]]\n-name = "b"\n-\n [[all]]\n',
    ],
    [
      "one of two blocks under the same condition",
      "def f(x):\n    if x:\n        a(x)\n    if x:\n        b(x)\n    if x:\n        a(x)\n    return x\n",
      "         a(x)\n-    if x:\n-        b(x)\n-    if x:\n-        a(x)\n     return x\n",
    ],
    [
      "an if beside one with the same condition",
      "  }\n  if (x) {\n    one();\n  }\n  if (x) {\n    two();\n  }\n",
      "   }\n-  if (x) {\n-    one();\n-  }\n   if (x) {\n",
    ],
    [
      "a method with an annotation",
      "\n  @Override\n  public int a() {\n    return 1;\n  }\n\n  @Override\n  public int b() {\n    return 2;\n  }\n",
      " \n-  @Override\n-  public int a() {\n-    return 1;\n-  }\n-\n   @Override\n",
    ],
    [
      "the last block of a block",
      "    it('a', () => {\n      a();\n    });\n\n    it('b', () => {\n      b();\n    });\n  });\n});\n",
      "     });\n-\n-    it('b', () => {\n-      b();\n-    });\n   });\n",
    ],
  ])("%s is removed with one line around it, and not a second time", (_name, before, hunk) => {
    const read = parseV4a(`*** Begin Patch\n*** Update File: f\n@@\n${hunk}*** End Patch\n`);
    const edit = read.ok ? read.commands[0]?.edit : undefined;
    if (edit?.kind !== "v4a") throw new Error("not read");
    const gone = edit.hunks[0]?.lines.flatMap(({ tag, text }) => (tag === "-" ? [`${text}\n`] : [])).join("");
    const once = apply(before, edit.hunks, "v4a");
    expect(once).toMatchObject({ ok: true, text: before.replace(gone ?? "", "") });
    expect(apply(once.text, edit.hunks, "v4a")).toMatchObject({ ok: false, text: once.text });
  });

  test("one of two equal blocks in a row is not removed: nothing shows which", () => {
    const before = "[\n  {\n    b\n  },\n  {\n    b\n  },\n  {\n    c\n  }\n]\n";
    const lines = ["   },", "-  {", "-    b", "-  },", "   {"].map(
      (each): HunkLine => ({ tag: each[0] as HunkLine["tag"], text: each.slice(1), eol: "\n" }),
    );
    expect(apply(before, [{ lines }], "v4a")).toMatchObject({ ok: false, text: before });
  });

  test("a line is removed, and the line above it is named", () => {
    const lines = [
      { tag: " ", text: "a", eol: "\n" },
      { tag: "-", text: "b", eol: "\n" },
    ] as const;
    expect(apply("a\nb\nc\n", [{ lines }], "search-replace").text).toBe("a\nc\n");
  });
});

describe("an edit that would fit its own result", () => {
  const lines = (hunk: string): Hunk["lines"] =>
    hunk.split("\n").map((each) => ({ tag: each[0] as HunkLine["tag"], text: each.slice(1), eol: "\n" }));
  test.each<[name: string, rule: MatchRule, before: string, hunk: Hunk]>([
    [
      "one of several equal last lines goes",
      "diff",
      "a a\n".repeat(3),
      { oldStart: 2, lines: lines(" a a\n-a a") },
    ],
    ["V4A removes one of two equal lines", "v4a", "]\n]\n  zdj(nf);\n", { lines: lines("-]\n   zdj(nf);") }],
    [
      "a block removes one of two",
      "search-replace",
      "]\n]\n  zdj(nf);\n",
      { lines: lines("-]\n   zdj(nf);") },
    ],
    ["the next equal line is elsewhere", "search-replace", "]\n\na\n]\nb\n", { lines: lines("-]\n ") }],
    ["a blank line becomes two lines", "diff", "\n\n", { oldStart: 1, lines: lines(" \n-\n+}\n+a") }],
  ])("%s: it is refused, and says why", (_name, rule, before, hunk) => {
    const once = apply(before, [hunk], rule);
    const message = expect.stringContaining("add the lines around it");
    expect(once).toMatchObject({ ok: false, text: before, reports: [{ status: "refused", message }] });
  });

  test.each<[name: string, rule: MatchRule, before: string, hunk: Hunk]>([
    ["a line number", "search-replace", "x\ny\ny\nx\n", { oldStart: 4, lines: lines("-x\n+z") }],
    ["an anchor", "v4a", "f:\n  x\ng:\n  x\n", { anchors: ["g:"], lines: lines("-  x\n+  y") }],
    ["the end of the file", "v4a", "x\ny\nx\n", { atEnd: true, lines: lines("-x\n+z") }],
  ])("%s chose the place, and still does", (_name, rule, before, hunk) => {
    const once = apply(before, [hunk], rule);
    expect(once.ok).toBe(true);
    const reports = [{ status: "already-applied" }];
    expect(apply(once.text, [hunk], rule)).toMatchObject({ ok: false, text: once.text, reports });
  });
});

/** Words as code has them, and lines that occur often. */
const line = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^ {0,8}[a-z]{1,6}\(?[a-z]{0,3}\)?;?$/) },
  { weight: 1, arbitrary: fc.constantFrom("}", "]", "", "    return x;", "{", "  },", "値") },
);

const few = fc.constantFrom("a", "ab c", "}", "", "    return x;", "  ab c");

test.each([
  ["of code", line, 25],
  ["of lines that repeat", few, 8],
] as const)("no generated edit %s is applied twice", (_name, line, most) => {
  const edits = fc.record({
    before: fc.array(line, { minLength: 1, maxLength: most }),
    at: fc.nat(most - 1),
    remove: fc.nat(3),
    insert: fc.array(line, { maxLength: 4 }),
    second: fc.option(
      fc.record({ at: fc.nat(most - 1), remove: fc.nat(2), insert: fc.array(line, { maxLength: 2 }) }),
    ),
    context: fc.integer({ min: 1, max: 3 }),
    eol: fc.constantFrom("\n", "\n", "\r\n"),
  });
  fc.assert(
    fc.property(edits, ({ before, at, remove, insert, second, context, eol }) => {
      const after = before.toSpliced(at, remove, ...insert);
      if (second !== null) after.splice(second.at, second.remove, ...second.insert);
      const text = (all: readonly string[]) => all.map((each) => each + eol).join("");
      if (text(before) === text(after)) return;
      const [file] = diffFiles(
        createTwoFilesPatch("a/f", "b/f", text(before), text(after), "", "", { context }),
      );
      if (file?.change !== "text") return;
      for (const [rule, hunks] of formsOf(file.hunks))
        expect(changedAgain(toBytesText(text(before)), hunks, rule)).toBeNull();
    }),
    { numRuns: runs(600) },
  );
});

describe("a block that quotes a part of its lines", () => {
  const edit = (before: string, search: string, replace: string) => {
    const block = parseSearchReplace(
      `f.txt\n<<<<<<< SEARCH\n${search}\n=======\n${replace}${replace && "\n"}>>>>>>> REPLACE\n`,
    );
    const read = block.ok ? block.commands[0]?.edit : undefined;
    if (read?.kind !== "search-replace") throw new Error("not read");
    const once = apply(before, [read.hunk], "search-replace");
    return { once, twice: apply(once.text, [read.hunk], "search-replace") };
  };

  test.each([
    ["removed", "one(foo)\nfoo\n", ""],
    ["replaced by what says too little", "one(foo)\nfoo\n", "}"],
  ])(
    "a whole line is %s, and the line that holds its text stays when that is sent again",
    (_name, before, made) => {
      const { once, twice } = edit(before, "foo", made);
      expect(once.text).toBe(before.replace("\nfoo\n", made === "" ? "\n" : `\n${made}\n`));
      expect(twice).toMatchObject({ ok: false, text: once.text });
    },
  );

  test.each<[name: string, before: string, search: string, replace: string]>([
    ["inside of a line", "f() {\n  return a - b;\n}\n", "return a - b", "return a + b"],
    ["over two lines", "let x = sum(a,\n  b) + c;\n", "sum(a,\n  b)", "sum(\n  b)"],
    ["with itself in the replacement", 'import { add } from "x";\n', "{ add", "{ add, mul"],
    ["in a file without a last line end", "a\nlet x = one;", "= one", "= two"],
    [
      "as two lines, in a file of one line without an end",
      "let x = one; // why",
      "= one;",
      "= two;\nlet y = x;",
    ],
    ["beside a word of another language", toBytesText("# 合計total\n"), "total", "sum"],
  ])("%s", (_name, before, search, replace) => {
    const { once, twice } = edit(before, search, replace);
    expect(once).toMatchObject({ ok: true, text: before.replace(search, replace) });
    expect(twice).toMatchObject({ ok: false, text: once.text });
  });

  test.each<[name: string, before: string, search: string]>([
    ["a word is not cut", "let total = subtotal;\nmyadd(a, b);\n", "add(a"],
    ["two places are refused", "x = f(a); y = f(a);\n", "f(a)"],
    ["a bracket says too little", "f(a, (b))\n", "))"],
    ["a word with an accent is not cut", toBytesText("un café noir\n"), "caf"],
    ["a word in Cyrillic is not cut", toBytesText("слово который\n"), toBytesText("кот")],
    ["lines with ends of two kinds", "one\n  f(a, b);\r\ntwo\n", "f(a, b)"],
    ["line ends of old Macintosh files", "one\r  f(a, b);\rtwo\r", "f(a, b)"],
  ])("%s", (_name, before, search) => {
    expect(edit(before, search, "other").once).toMatchObject({ ok: false, text: before });
  });

  test("Japanese has no spaces between words", () => {
    const [before, search] = [toBytesText("# 合計値を返す\n"), "合計値"];
    expect(edit(before, search, "小計値").once.text).toBe(toBytesText("# 小計値を返す\n"));
  });

  test("line ends of the file are kept", () => {
    expect(edit("a(1,\r\n  2);\r\n", "1,\n  2", "1,\n  3").once.text).toBe("a(1,\r\n  3);\r\n");
  });

  test("no generated one is applied twice, or elsewhere", () => {
    const blocks = fc.record({
      before: fc.array(line, { minLength: 1, maxLength: 12 }),
      from: fc.nat(60),
      length: fc.integer({ min: 1, max: 30 }),
      replace: fc.array(fc.oneof(line, fc.constantFrom("<S>", "a<S>", "<S> b", " <S><S>")), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(blocks, ({ before, from, length, replace }) => {
        const text = toBytesText(before.map((each) => `${each}\n`).join(""));
        const search = text.slice(from, from + length).replace(/^\n+|\n+$/g, "");
        if (search === "") return;
        const made = replace.map((each) => toBytesText(each).replaceAll("<S>", search)).join("\n");
        const lines: Hunk["lines"] = [
          ...search.split("\n").map((each) => ({ tag: "-", text: each, eol: "\n" }) as const),
          ...(replace.length === 0 ? [] : made.split("\n")).map(
            (each) => ({ tag: "+", text: each, eol: "\n" }) as const,
          ),
        ];
        expect(changedAgain(text, [{ lines }], "search-replace")).toBeNull();
        const isWhole = `\n${text}`.includes(`\n${search}\n`);
        const once = apply(text, [{ lines }], "search-replace");
        if (isWhole || !once.ok || once.reports[0]?.strategy !== "exact") return;
        expect(once.text).toBe(text.replace(search, () => made));
      }),
      { numRuns: runs(600) },
    );
  });
});

/** Another repository, to try its history: its work tree or its git directory. */
const root = process.env.PICOCLAW_TEST_HISTORY ?? join(import.meta.dir, "../../..");
function git(args: readonly string[], input?: string): Buffer {
  return spawnSync("git", args, { cwd: root, input, maxBuffer: 1 << 30 }).stdout;
}

/** The last commits with one parent, and for each the files that it changes: before, after and the hunks. */
function* historyOf(
  count: number,
  context: number,
): Generator<{ name: string; before: string; after: string; hunks: readonly Hunk[] }> {
  const ids = git(["rev-list", "--no-merges", "--min-parents=1", "-n", String(count), "HEAD"]).toString();
  for (const id of ids.split("\n").filter((each) => each !== "")) {
    const patch = git(["diff", `-U${context}`, "--no-renames", "--no-ext-diff", `${id}^`, id]).toString(
      "latin1",
    );
    if (patch === "" || patch.length > 2_000_000) continue;
    const files = diffFiles(Buffer.from(patch, "latin1").toString()).filter(
      (file) => file.change === "text" && file.operation === "modify" && file.hunks.length > 0,
    );
    const names = files.flatMap((file) => [`${id}^:${file.oldPath}`, `${id}:${file.newPath}`]);
    const blobs = readBlobs(names);
    for (const [n, file] of files.entries())
      if (file.change === "text")
        yield {
          name: `${id.slice(0, 10)} ${file.newPath}`,
          before: blobs[2 * n] as string,
          after: blobs[2 * n + 1] as string,
          hunks: file.hunks,
        };
  }
}

function readBlobs(names: readonly string[]): string[] {
  const all = git(["cat-file", "--batch"], names.map((name) => `${name}\n`).join(""));
  const blobs: string[] = [];
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf(10, at);
    const size = Number(all.toString("latin1", at, end).split(" ")[2]);
    blobs.push(all.toString("latin1", end + 1, end + 1 + size));
    at = end + 1 + size + 1;
  }
  return blobs;
}

const commits = process.env.PICOCLAW_TEST_NIGHTLY === "1" ? 500 : 20;
const hasHistory = git(["rev-list", "--no-merges", "--min-parents=1", "-n", "1", "HEAD"]).length > 0;

describe.if(hasHistory)("git's history", () => {
  test.each([3, 1])("no commit is applied to its own result (%i lines around a change)", (context) => {
    const wrong: string[] = [];
    for (const { name, before, after, hunks } of historyOf(commits, context)) {
      const once = apply(before, hunks, "diff");
      // Of equal blocks in a row, nothing shows which one a short diff removes: git applies it again and again.
      if (once.text !== after && !once.reports.every(({ status }) => status === "refused"))
        wrong.push(`${name}: is not applied the first time`);
      for (const [rule, form] of formsOf(hunks))
        if (changedAgain(before, form, rule) !== null) wrong.push(`${name}: ${rule}: ${showHunks(form)}`);
      for (const { lines } of hunks) {
        const { status } = apply(before, [{ lines }], "v4a").reports[0] ?? {};
        if (status === "already-applied") wrong.push(`${name}: the first edit: ${showHunks([{ lines }])}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

function showHunks(hunks: readonly Hunk[]): string {
  const lines = hunks.flatMap((hunk) => hunk.lines.map(({ tag, text }) => tag + text));
  return readableText(lines.slice(0, 12).join("\n"));
}
