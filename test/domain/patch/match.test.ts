import { describe, expect, test } from "bun:test";
import { applyHunks, type MatchRule } from "../../../src/domain/patch/apply-hunks.ts";
import type { Hunk, HunkLine } from "../../../src/domain/patch/patch-command.ts";
import { Matching } from "../../../src/domain/patch/target-lines.ts";
import { fromBytesText, readableText, toBytesText } from "../../../src/domain/platform/bytes-text.ts";

function hunk(body: string, more: Partial<Hunk> = {}): Hunk {
  const lines = body.split("\n").map((line): HunkLine => {
    const tag = line.charAt(0) as HunkLine["tag"];
    return { tag, text: toBytesText(line.slice(1)), eol: "\n" };
  });
  return { lines, ...more };
}

function run(text: string, hunks: readonly Hunk[], rule: MatchRule = "v4a") {
  const done = applyHunks("f", toBytesText(text), hunks, rule, new Matching());
  return { ...done, text: readableText(done.text), first: done.reports[0] };
}

describe("the ladder", () => {
  const table: [name: string, file: string, body: string, strategy: string, after: string][] = [
    ["exact", "a\nb\nc\n", " a\n-b\n+B\n c", "exact", "a\nB\nc\n"],
    ["trailing white space", "a  \nb\t\nc\n", " a\n-b\n+B\n c", "whitespace", "a  \nB\nc\n"],
    ["line ends", "a\r\nb\r\nc\r\n", " a\n-b\n+B\n+C\n c", "whitespace", "a\r\nB\r\nC\r\nc\r\n"],
    ["no final line end", "a\nb", " a\n-b\n+B", "whitespace", "a\nB\n"],
    ["append without final line end", "a\nb", " a\n b\n+c", "whitespace", "a\nb\nc\n"],
    ["smart quotes", "say(“hi”)\nend\n", "-say(\"hi\")\n+say('ho')\n end", "look-alike", "say('ho')\nend\n"],
    ["full-width and nbsp", "ａ（１）\u00a0x\nend\n", "-a(1) x\n+b\n end", "look-alike", "b\nend\n"],
    [
      "deeper indentation",
      "    if x:\n        y()\n",
      " if x:\n-    y()\n+    z()\n+    w()",
      "indent",
      "    if x:\n        z()\n        w()\n",
    ],
    [
      "less indentation",
      "if x:\n    y()\n",
      "     if x:\n-        y()\n+        z()",
      "indent",
      "if x:\n    z()\n",
    ],
    [
      "tabs for spaces",
      "\tif x:\n\t\ty()\n",
      "     if x:\n-        y()\n+        z()\n+            w()",
      "indent",
      "\tif x:\n\t\tz()\n\t\t\tw()\n",
    ],
    [
      "drifted context",
      "one()\ntwo()\nthree()\nfour()\n",
      " one()\n TWO(changed)\n-three()\n+3\n four()",
      "drift",
      "one()\ntwo()\n3\nfour()\n",
    ],
    [
      "numbered listing",
      "alpha\nbeta\ngamma\n",
      "   1| alpha\n-  2| beta\n+  2| BETA\n   3| gamma",
      "exact",
      "alpha\nBETA\ngamma\n",
    ],
    ["blank line at the edge", "x = 1\ny = 2\n", " \n-y = 2\n+y = 3", "exact", "x = 1\ny = 3\n"],
  ];
  test.each(table)("%s", (_name, file, body, strategy, after) => {
    const done = run(file, [hunk(body)]);
    expect(done.text).toBe(after);
    expect(done.first).toMatchObject({ status: "applied", strategy });
  });

  test("a deleted line that differs is never taken for another", () => {
    const done = run("total = price * 2\nend\n", [hunk("-total = price * 3\n+total = 0\n end")]);
    expect(done.first).toMatchObject({
      status: "not-found",
      candidates: [{ line: 1, text: "total = price * 2\nend" }],
    });
    expect(done.text).toBe("total = price * 2\nend\n");
  });

  test("indentation that changes unevenly is not a match", () => {
    expect(run("  a()\n   b()\nc()\n", [hunk("-a()\n-b()\n+x()")]).ok).toBe(false);
  });

  test("unlike bytes that are not UTF-8 do not look alike", () => {
    const done = applyHunks(
      "f",
      "\x83\x41 caf\xe9\nend\n",
      [{ lines: [{ tag: "-", text: "\x83\x42 caf\xe9", eol: "\n" }] }],
      "v4a",
      new Matching(),
    );
    expect(done.ok).toBe(false);
  });
});

describe("several places", () => {
  const file = "def a():\n    return 1\n\ndef b():\n    return 1\n\ndef c():\n    return 1\n";
  const body = "-    return 1\n+    return 2";
  test("are ambiguous, and the lines are named", () => {
    const done = run(file, [hunk(body)]);
    expect(done.first).toMatchObject({
      status: "ambiguous",
      candidates: [{ line: 2 }, { line: 5 }, { line: 8 }],
    });
    expect(done.first?.message).toContain("2, 5, 8");
  });
  test("an anchor decides", () => {
    expect(run(file, [hunk(body, { anchors: ["def b():"] })]).first?.line).toBe(5);
  });
  test("an anchor may be a part of its line", () => {
    const exported = file.replaceAll("def ", "export def ");
    expect(run(exported, [hunk(body, { anchors: ["def b("] })]).first?.line).toBe(5);
  });
  test("an anchor that occurs twice does not decide", () => {
    const twice = "def a():\n  x\ndef a():\n  x\n";
    expect(run(twice, [hunk("-  x\n+  y", { anchors: ["def a():"] })]).first).toMatchObject({
      status: "ambiguous",
    });
    expect(run(twice, [hunk("+  y", { anchors: ["def a():"] })]).first).toMatchObject({
      status: "ambiguous",
    });
    expect(run(twice, [hunk("+  y", { anchors: ["def z():"] })]).first).toMatchObject({
      status: "not-found",
    });
  });
  test("stacked anchors decide", () => {
    const nested = "class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n";
    const done = run(nested, [hunk("-    x\n+    y", { anchors: ["class B:", "def f():"] })]);
    expect(done.text).toBe("class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n");
  });
  test("a claimed line decides for a diff", () => {
    expect(run(file, [hunk(body, { oldStart: 6 })], "diff").first?.line).toBe(5);
  });
  test("the only one after the hunk before decides", () => {
    const done = run(file, [hunk(" def b():\n-    return 1\n+    return 0"), hunk(body)]);
    expect(done.reports.map((report) => report.line)).toEqual([4, 8]);
  });
  test("the end-of-file mark decides", () => {
    expect(run(file, [hunk(body, { atEnd: true })]).first?.line).toBe(8);
  });
});

describe("results that are already in the file", () => {
  test("a replaced line is reported, not sought elsewhere", () => {
    expect(run("a\nnew value\nc\n", [hunk(" a\n-old value\n+new value\n c")]).first).toMatchObject({
      status: "already-applied",
    });
  });
  test("an insertion is not made twice", () => {
    expect(run("a\nimport b\nc\n", [hunk(" a\n+import b")]).first).toMatchObject({
      status: "already-applied",
    });
    expect(run("import b\na\n", [hunk("+import b\n a")]).first).toMatchObject({ status: "already-applied" });
  });
});

describe("bytes that are not touched", () => {
  test("a mixed file stays mixed; inserted lines follow their neighbours", () => {
    expect(run("a\r\nb\r\nc\nd\ne\n", [hunk(" a\n+x\n b"), hunk(" d\n+y\n e")]).text).toBe(
      "a\r\nx\r\nb\r\nc\nd\ny\ne\n",
    );
  });
  test("a byte order mark stays in front of a replaced first line", () => {
    expect(run("\ufeffa\nb\n", [hunk("-a\n+A\n b")]).text).toBe("\ufeffA\nb\n");
  });
  test("bytes that are not UTF-8 survive", () => {
    const text = "caf\xe9\na\n\xff\xfe\n";
    const done = applyHunks("f", text, [hunk("-a\n+b")], "v4a", new Matching());
    expect(Buffer.from(fromBytesText(done.text)).toString("latin1")).toBe("caf\xe9\nb\n\xff\xfe\n");
  });
  test("lines ended by a lone carriage return can be edited", () => {
    expect(run("a\rb\rc\r", [hunk(" a\n-b\n+B\n c")]).text).toBe("a\rB\rc\r");
  });
});

test("a hostile edit ends in a refusal", () => {
  const budget = new Matching(1_000);
  const many = Array.from({ length: 500 }, () => hunk("-a\n+b"));
  const done = applyHunks("f", "a\n".repeat(5_000), many, "v4a", budget);
  expect(done.ok).toBe(false);
  expect(done.reports.at(-1)).toMatchObject({ status: "refused" });
});
